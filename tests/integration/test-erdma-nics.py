#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The NICs of module erdma against the running kernel, with a metadata service that is good or bad.

usage: test-erdma-nics.py RDMAD MODULE-DIR [TEST...]
"""

import os
import select
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from private_host import addresses, enter_private_host, ip, link, run, tap, until  # noqa: E402
from erdma_case import GATEWAY, MAC1, ErdmaCase  # noqa: E402

BOTH = 'addresses = ( { nic = "eth1"; addresses = "10.0.0.11/24"; gateways = "%s"; },' \
       ' { nic = "eth2"; addresses = "10.0.0.12/24"; gateways = "%s"; } );' % (GATEWAY, GATEWAY)


class Configuration(ErdmaCase):
    def monitor(self, *what):
        """Call it for the lines that `ip monitor` wrote until then."""
        child = subprocess.Popen(["ip", "-oneline", "monitor", *what], stdout=subprocess.PIPE, text=True)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        mark = "192.0.2.222"

        def lines():
            # A route that only marks the end.
            run("ip", "route", "add", mark, "dev", "lo")
            found = []
            for line in child.stdout:
                if mark in line:
                    break
                found.append(line)
            run("ip", "route", "del", mark)
            child.kill()
            child.stdout.close()
            return found

        # The first line shows that it listens.
        def listens():
            run("ip", "route", "replace", "192.0.2.223", "dev", "lo")
            run("ip", "route", "del", "192.0.2.223")
            ready, _, _ = select.select([child.stdout], [], [], 0.1)
            return bool(ready)

        until(listens, "ip monitor")
        # Changes that the kernel makes when a link goes up are left out.
        return lambda: [line for line in lines() if not
                        any(word in line for word in ("192.0.2.223", "table local", "fe80::", "ff00::"))]

    def maps(self):
        with open(f"/proc/{self.daemon.pid}/maps") as file:
            return file.read()

    def test_nics_are_configured_behind_the_primary_and_stay_so_at_the_end(self):
        monitor = self.monitor("route")
        self.start_daemon()
        self.assertConfigured()
        self.until_state("eth1", "ready")
        changes = monitor()
        self.assertFalse([c for c in changes if "eth0" in c], "a route of the primary NIC was changed")
        # The metric is there from the beginning: no route of eth1 was before those of eth0.
        self.assertFalse([c for c in changes if "dev eth1" in c and "metric" not in c])
        self.assertTrue(link("eth1")["flags"].count("UP"))
        self.assertIn("rdmad-curl.so", self.maps())
        self.end_daemon()
        self.assertConfigured()

    def test_without_the_metadata_source_libcurl_is_not_loaded(self):
        self.start_daemon(BOTH)
        self.assertConfigured()
        self.assertNotIn("curl", self.maps())
        self.assertEqual(self.metadata.asked, [])

    def test_a_restart_asks_nobody_and_changes_nothing(self):
        self.start_daemon()
        self.assertConfigured()
        self.until_state("eth2", "ready")
        self.end_daemon()
        asked = len(self.metadata.asked)
        monitor = self.monitor("link", "address", "route", "rule")
        self.start_daemon()
        self.until_state("eth1", "ready")
        self.until_state("eth2", "ready")
        self.assertEqual(monitor(), [])
        self.assertEqual(len(self.metadata.asked), asked)

    def test_a_nic_that_comes_later_is_configured(self):
        self.remove_link("eth1")
        self.start_daemon()
        self.assertIn("no interface", self.until_state("erdma_0", "refused")["reason"])
        self.make_link("eth1")
        until(lambda: addresses("eth1") == ["10.0.0.11/24"], "eth1")

    def test_mtu_and_ipv6_by_configuration(self):
        self.start_daemon('jumbo_frames = "on"; addresses = ( { nic = "erdma_0"; addresses = ( "2001:db8::7/64", '
                          '"10.0.0.11/24" ); gateways = "2001:db8::1"; } );')
        until(lambda: addresses("eth1") == ["10.0.0.11/24", "2001:db8::7/64"], "addresses")
        self.assertEqual(link("eth1")["mtu"], 8500)
        until(lambda: [r for r in ip("-6", "route") if r["dst"] == "default" and r["metric"] == 200], "a route")
        prefix = [r for r in ip("-6", "route") if r["dst"] == "2001:db8::/64"]
        self.assertEqual([r["metric"] for r in prefix], [200])
        self.reload('jumbo_frames = "off";')
        until(lambda: link("eth1")["mtu"] == 1400, "the MTU")

    def test_a_table_and_a_rule_for_each_nic(self):
        self.start_daemon("policy_routing = true;")
        index = link("eth1")["ifindex"]
        table = str(20000 + index)

        def rules():
            return [r["src"] for r in ip("rule") if r.get("table") == table]

        until(lambda: rules() == ["10.0.0.11"], "the rule")
        self.assertEqual(self.routes("eth1", table), [("10.0.0.0/24", None, 0), ("default", GATEWAY, 0)])
        found = ip("route", "get", "203.0.113.1", "from", "10.0.0.11")[0]
        self.assertEqual(found["dev"], "eth1")
        self.reload("")
        until(lambda: not rules() and not self.routes("eth1", table), "the rule and the table to go")
        self.assertConfigured()

    def test_a_dhcp_client_s_routes_are_put_behind_the_primary_s(self):
        run("ip", "link", "set", "eth1", "up")
        run("ip", "addr", "add", "10.0.0.77/24", "dev", "eth1", "valid_lft", "3600", "preferred_lft", "1800")
        run("ip", "route", "add", "default", "via", GATEWAY, "dev", "eth1")
        self.assertEqual(self.way_out(), "eth1")
        self.start_daemon()
        until(lambda: self.way_out() == "eth0", "the way out")
        until(lambda: self.is_configured("eth1", "10.0.0.77/24", 200), "eth1")
        life = link("eth1")["addr_info"][0]["valid_life_time"]
        self.assertTrue(3000 < life <= 3600, life)
        self.assertIn("10.0.0.11", self.until_state("eth1", "ready")["note"])
        run("ip", "route", "add", "default", "via", GATEWAY, "dev", "eth1")      # its lease is renewed
        until(lambda: self.is_configured("eth1", "10.0.0.77/24", 200), "eth1 again")

    def test_a_name_for_the_primary_nic_and_what_has_only_one_default_route(self):
        run("ip", "route", "del", "default")
        run("ip", "link", "set", "eth1", "up")
        run("ip", "addr", "add", "10.0.0.77/24", "dev", "eth1")
        run("ip", "route", "add", "default", "via", GATEWAY, "dev", "eth1")
        self.start_daemon('address_from = "netdev";')
        self.assertIn("only default route", self.until_state("eth1", "primary")["reason"])
        self.reload('address_from = "netdev"; primary = "eth0";')
        self.until_state("eth1", "ready")
        self.assertEqual(self.way_out(), "eth1")
        self.assertIn(("default", GATEWAY, 0), self.routes("eth1"))


class Drift(ErdmaCase):
    def setUp(self):
        super().setUp()
        self.start_daemon()
        self.assertConfigured()
        self.until_state("eth1", "ready")
        self.until_state("eth2", "ready")

    def repairs(self):
        return self.nic("eth1")["repairs"]

    def test_what_others_change_is_repaired_and_counted(self):
        changes = [("addr", "del", "10.0.0.11/24", "dev", "eth1"),
                   ("route", "del", "default", "dev", "eth1"),
                   ("route", "del", "10.0.0.0/24", "dev", "eth1"),
                   ("link", "set", "eth1", "down")]
        for number, change in enumerate(changes, 1):
            with self.subTest(change):
                run("ip", *change)
                until(lambda: self.repairs() >= number, "the repair")
                self.assertConfigured()
                self.until_state("eth1", "ready")
        events = self.client("events")["events"]
        self.assertTrue([e for e in events if e["kind"] == "erdma-nic-repaired"])

    def test_one_who_changes_it_again_and_again_is_answered_less_often(self):
        for _ in range(7):
            before = self.repairs()
            run("ip", "route", "del", "default", "dev", "eth1")
            until(lambda: self.repairs() > before, "the repair")
            self.until_state("eth1", "ready")
        self.assertTrue([e for e in self.client("events")["events"] if e["kind"] == "erdma-nic-contested"])

    def test_an_excluded_nic_stays_as_it_is_and_is_not_repaired(self):
        self.reload('exclude = "eth1";')
        self.until_state("eth1", "excluded")
        self.assertTrue(self.is_configured("eth1", "10.0.0.11/24", 200))
        run("ip", "addr", "del", "10.0.0.11/24", "dev", "eth1")
        run("ip", "addr", "del", "10.0.0.12/24", "dev", "eth2")
        until(lambda: addresses("eth2") == ["10.0.0.12/24"], "eth2")
        self.assertEqual(addresses("eth1"), [])

    def test_terway_s_rules_make_it_terway_s(self):
        table = str(1000 + link("eth1")["ifindex"])
        run("ip", "rule", "add", "from", "10.0.0.99", "table", table, "priority", "2048")
        self.assertIn("Terway", self.until_state("eth1", "foreign")["reason"])
        run("ip", "addr", "del", "10.0.0.11/24", "dev", "eth1")
        run("ip", "addr", "del", "10.0.0.12/24", "dev", "eth2")
        until(lambda: addresses("eth2") == ["10.0.0.12/24"], "eth2")
        self.assertEqual(addresses("eth1"), [])
        run("ip", "rule", "del", "from", "10.0.0.99", "table", table, "priority", "2048")
        until(lambda: addresses("eth1") == ["10.0.0.11/24"], "eth1")

    def test_a_primary_with_a_higher_metric_stays_the_way_out(self):
        run("ip", "route", "add", "default", "via", GATEWAY, "dev", "eth0", "metric", "1024")
        run("ip", "route", "del", "default", "dev", "eth0", "metric", "100")
        until(lambda: self.way_out() == "eth0", "the way out")
        until(lambda: sorted(r[2] for n in ("eth1", "eth2") for r in self.routes(n) if r[0] == "default")
              == [1025, 1026], "the metrics")

    def test_a_new_address_takes_the_place_of_the_old_one(self):
        self.reload('addresses = ( { nic = "%s"; addresses = "10.0.0.33/24"; gateways = "10.0.0.1"; } );' % MAC1)
        until(lambda: addresses("eth1") == ["10.0.0.33/24"], "the address")
        until(lambda: ("default", "10.0.0.1", 200) in self.routes("eth1"), "the gateway")
        self.assertEqual(self.way_out(), "eth0")

    def test_doctor_tells_of_each_nic(self):
        findings = [f for f in self.client("doctor")["findings"] if f["subject"] == "erdma nic"]
        self.assertEqual([f["level"] for f in findings], ["ok", "ok"])
        self.assertIn("eth1 of erdma_0: ready", findings[0]["text"])


class MetadataService(ErdmaCase):
    BAD = {"slow": "timeout", "huge": "more than", "redirect": "redirect", "broken": "status 500", "cut": "",
           "wrong": "not a MAC"}

    def test_a_bad_service_is_named_and_asked_again(self):
        for mode, words in self.BAD.items():
            with self.subTest(mode):
                self.metadata.mode = mode
                self.METADATA_S = 1 if mode == "slow" else ErdmaCase.METADATA_S
                self.start_daemon()
                until(lambda: self.nic("eth1").get("metadata_error"), "the error")
                nic = self.until_state("eth1", "refused")
                self.assertIn(words.lower(), nic["metadata_error"].lower().replace("timed out", "timeout"))
                self.assertEqual(addresses("eth1"), [])
                self.assertEqual(self.way_out(), "eth0")
                self.metadata.mode = "good"
                # eth2 may have been asked for after eth1 has failed.
                until(self.are_configured, "the NICs")
                self.until_state("eth1", "ready")
                self.until_state("eth2", "ready")
                self.end_daemon()
                for name in ("eth1", "eth2"):
                    self.remove_link(name)
                    self.make_link(name)
                subprocess.run(["rm", "-r", self.dir / "state"], check=True)

    def test_an_absent_service_does_not_disturb_a_configured_nic(self):
        self.start_daemon()
        self.assertConfigured()
        self.until_state("eth2", "ready")
        self.end_daemon()
        self.metadata.mode = "broken"
        self.start_daemon('address_from = "metadata";')
        self.until_state("eth1", "ready")
        run("ip", "addr", "del", "10.0.0.11/24", "dev", "eth1")
        self.assertConfigured()

    def test_the_hardened_mode_wants_a_token(self):
        self.metadata.mode = "hardened"
        self.start_daemon()
        self.assertConfigured()
        self.assertEqual([m for m, _, token in self.metadata.asked if m == "GET" and token != "tOkEn=="], [])

    def test_what_it_says_must_fit_together(self):
        self.metadata.nic(MAC1, "10.0.9.11")
        self.start_daemon()
        until(lambda: "not hosts of the network" in (self.nic("eth1").get("metadata_error") or ""), "the error")
        until(lambda: addresses("eth2") == ["10.0.0.12/24"], "eth2")
        self.assertEqual(addresses("eth1"), [])

    def test_a_slow_service_keeps_nobody_waiting(self):
        self.metadata.mode = "slow"
        self.start_daemon(BOTH.replace("eth1", "eth7"))
        until(lambda: addresses("eth2") == ["10.0.0.12/24"], "eth2")
        self.assertIsNotNone(self.client("status"))


if __name__ == "__main__":
    enter_private_host()
    del sys.argv[1:3]
    tap.main(sys.argv[1:])
