#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Module cni against the running kernel, with Debian's plugins; what RDMA says is the lab's.

usage: test-cni.py RDMAD MODULE-DIR RDMAD-CNI [TEST...]
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from cni_case import (INSTRUMENTED, NICS, PLUGINS, SLOW, CniCase, Failure, addresses, enter_private_host, ip, link,
                      run, tap, until)
from processes import few_descriptors, has_ended, unix_sockets

HOST_LOCAL = {"type": "host-local", "subnet": "192.0.2.0/24", "routes": [{"dst": "10.0.0.0/8", "gw": "192.0.2.1"}]}
ONE, OTHER = NICS


class Shared(CniCase):
    """One virtual NIC upon one of the host's, as Multus asks for it."""

    def setUp(self):
        super().setUp()
        self.start_daemon()
        self.pod("a")
        self.net = self.network(ONE, ipam=HOST_LOCAL)

    def leases(self):
        directory = Path("/var/lib/cni/networks/rdma")
        return [f.name for f in directory.iterdir() if f.name[0].isdigit()] if directory.exists() else []

    def assertNothingLeft(self):
        until(lambda: self.left() == 0, "the event log to be empty")
        self.assertHostIs(self.before)
        self.assertEqual(self.leases(), [])

    def test_add_gives_a_link_with_addresses_and_delete_takes_it_back(self):
        result = self.add("c1", "a", self.net)
        made = link("net1", "a")
        self.assertEqual(made["linkinfo"]["info_kind"], "macvlan")
        self.assertEqual(made["mtu"], 4200)
        until(lambda: link("net1", "a")["operstate"] == "UP", "a link that is up")
        self.assertEqual(addresses("net1", "a"), [result["ips"][0]["address"]])
        self.assertEqual(result["interfaces"][0]["mac"], made["address"])
        self.assertEqual(result["interfaces"][0]["sandbox"], "/run/netns/a")
        rules = [r for r in ip("rule", netns="a") if r.get("table") == "1000"]
        self.assertEqual(rules[0]["src"], result["ips"][0]["address"].split("/")[0])
        self.check("c1", "a", self.net)
        self.delete("c1", "a", self.net)
        self.assertIsNone(link("net1", "a"))
        self.assertNothingLeft()

    def test_a_result_is_told_in_the_version_of_the_caller(self):
        for version in ("0.3.1", "0.4.0", "1.0.0", "1.1.0"):
            # Debian's IPAM plugins do not know 1.1.0.
            net = self.network(ONE, cniVersion=version,
                               runtimeConfig={"deviceID": self.nics[ONE], "ips": ["192.0.2.9/24"]})
            result = self.add("c1", "a", net)
            self.assertEqual(result["cniVersion"], version)
            self.assertEqual("version" in result["ips"][0], version < "1")
            self.assertEqual("mtu" in result["interfaces"][0], version == "1.1.0")
            self.delete("c1", "a", net)
        self.assertNothingLeft()

    def test_delete_may_come_in_any_form(self):
        for pod in ("a", None):
            self.add("c1", "a", self.net)
            for _ in range(3):
                self.delete("c1", pod, {**self.net, "prevResult": {"cniVersion": "1.0.0"}})
            self.assertIsNone(link("net1", "a"))
        self.add("c1", "a", self.net)
        self.remove_pod("a")
        Path("/run/netns/plain").write_text("")
        self.plugin("DEL", "c1", "/run/netns/plain", "net1", self.net)
        self.delete("never", "gone", self.net)
        self.assertNothingLeft()

    def test_delete_leaves_what_it_did_not_make(self):
        run("ip", "link", "add", "net1", "type", "veth", "peer", "name", "x", netns="a")
        with self.assertRaises(Failure) as refused:
            self.add("c1", "a", self.net)
        self.assertEqual(refused.exception.code, 102)
        self.delete("c1", "a", self.net)
        self.assertIsNotNone(link("net1", "a"))
        self.assertNothingLeft()

    def test_an_add_that_is_repeated_gets_the_first_answer(self):
        first = self.add("c1", "a", self.net)
        self.assertEqual(self.add("c1", "a", self.net), first)
        self.assertEqual(len(self.leases()), 1)

    def test_the_same_container_in_another_namespace_replaces_the_first(self):
        self.add("c1", "a", self.net)
        self.pod("b")
        self.add("c1", "b", self.net)
        self.assertIsNone(link("net1", "a"))
        self.assertIsNotNone(link("net1", "b"))
        self.assertEqual(len(self.leases()), 1)
        self.delete("c1", "a", self.net)        # late, of the one before
        self.assertIsNotNone(link("net1", "b"))

    def test_a_namespace_with_the_inode_of_the_first_is_another_one(self):
        inode = lambda: os.stat("/run/netns/a").st_ino
        self.add("c1", "a", self.net)
        first = inode()
        self.remove_pod("a")
        for number in range(50):
            time.sleep(0.1)     # the kernel takes its time to let go of it
            self.pod("a")
            if inode() == first:
                break
            self.pod(f"other{number}")      # takes the next one
            self.remove_pod("a")
        else:
            self.skipTest("this kernel gives no inode twice")
        self.add("c1", "a", self.net)
        self.assertIsNotNone(link("net1", "a"))
        self.assertEqual(len(self.leases()), 1)
        self.delete("c1", "a", self.net)
        self.assertNothingLeft()

    def test_a_gateway_outside_the_network_of_the_address_is_used(self):
        ways = [("0.0.0.0/0", "198.51.0.50/32", "198.51.0.1"), ("::/0", "fd00:1::50/128", "fd00:1::1")]
        net = self.network(ONE, ipam={
            "type": "static", "routes": [{"dst": to} for to, _, _ in ways],
            "addresses": [{"address": address, "gateway": gateway} for _, address, gateway in ways]})
        self.add("c1", "a", net)
        for family, (_, _, gateway) in zip(("-4", "-6"), ways):
            for table in ("main", "1000"):
                route, = ip(family, "route", "show", "default", "table", table, netns="a")
                self.assertEqual((route["dev"], route["gateway"]), ("net1", gateway))
        self.check("c1", "a", net)
        self.delete("c1", "a", net)
        self.assertEqual(ip("route", netns="a"), [])

    def test_an_ipam_plugin_that_fails_leaves_nothing(self):
        directory = self.dir / "plugins"
        directory.mkdir()
        cases = {"fails": ("echo '{\"code\":7,\"msg\":\"no pool\"}'; exit 1", 103),
                 "talks": ("echo nonsense", 103), "silent": ("exit 1", 103),
                 "twice": ("echo '{\"cniVersion\":\"1.0.0\",\"ips\":[]}{}'", 103)}
        for name, (script, code) in cases.items():
            (directory / name).write_text(f"#!/bin/sh\n[ $CNI_COMMAND = DEL ] && exit 0\n{script}\n")
            (directory / name).chmod(0o755)
            with self.subTest(name), self.assertRaises(Failure) as refused:
                child = self.environment
                self.environment = lambda *a, **k: {**child(*a, **k), "CNI_PATH": str(directory)}
                try:
                    self.add("c1", "a", {**self.net, "ipam": {"type": name}})
                finally:
                    self.environment = child
            self.assertEqual(refused.exception.code, code)
            self.assertIsNone(link("net1", "a"))
        self.assertNothingLeft()

    def test_gc_ends_what_is_not_valid(self):
        for number in range(3):
            self.pod(f"p{number}")
            self.add(f"c{number}", f"p{number}", self.net)
        valid = [{"containerID": "c1", "ifname": "net1"}]
        for bad in ({}, {"cni.dev/valid-attachments": None}, {"cni.dev/valid-attachments": "c1"}):
            with self.assertRaises(Failure) as refused:
                self.plugin("GC", None, None, None, {**self.net, "cniVersion": "1.1.0", **bad})
            self.assertEqual(refused.exception.code, 7)
            self.assertEqual(self.left(), 3)
        self.plugin("GC", None, None, None,
                    {**self.net, "cniVersion": "1.1.0", "cni.dev/valid-attachments": valid})
        until(lambda: self.left() == 1, "two attachments to go")
        self.assertIsNotNone(link("net1", "p1"))
        self.assertEqual(len(self.leases()), 1)

    def test_status_is_answered(self):
        """Debian's IPAM plugins are older than STATUS: they do not know the command."""
        for net in ({**self.NETWORK, "cniVersion": "1.1.0"}, {**self.net, "cniVersion": "1.1.0"}):
            self.assertIsNone(self.plugin("STATUS", None, None, None, net))

    def test_an_address_of_ipv6_is_given_where_ipv6_is_off(self):
        both = {**HOST_LOCAL, "ranges": [[{"subnet": "192.0.2.0/24"}], [{"subnet": "2001:db8:9::/64"}]]}
        both.pop("subnet", None)
        net = self.network(ONE, ipam=both)
        run("ip", "-n", "a", "link", "add", "eth0", "type", "veth", "peer", "name", "end")
        for name in ("all", "default"):
            run("sysctl", f"net.ipv6.conf.{name}.disable_ipv6=1", netns="a")
        self.add("c1", "a", net)
        names = [f"net.ipv6.conf.{name}.disable_ipv6" for name in ("all", "default", "lo", "eth0", "net1")]
        self.assertEqual(run("sysctl", "-n", *names, netns="a").split(), ["1", "1", "1", "1", "0"])
        self.assertEqual(len([a for a in addresses("net1", "a") if not a.startswith("fe80:")]), 2)
        self.delete("c1", "a", net)
        self.assertNothingLeft()

    def test_check_sees_what_is_missing(self):
        result = self.add("c1", "a", self.net)
        run("ip", "addr", "del", result["ips"][0]["address"], "dev", "net1", netns="a")
        with self.assertRaises(Failure) as refused:
            self.check("c1", "a", self.net)
        self.assertEqual(refused.exception.code, 107)
        with self.assertRaises(Failure) as refused:
            self.check("c2", "a", self.net)
        self.assertEqual(refused.exception.code, 3)

    def test_check_sees_what_is_other(self):
        mac = self.add("c1", "a", self.net)["interfaces"][0]["mac"]
        changes = [("address", "02:00:00:00:00:aa", mac, "MAC address 02:00:00:00:00:aa, not"),
                   ("mtu", "1500", "4200", "MTU 1500, not 4200")]
        for key, value, before, words in changes:
            with self.subTest(key):
                run("ip", "link", "set", "net1", key, value, netns="a")
                with self.assertRaisesRegex(Failure, words):
                    self.check("c1", "a", self.net)
                # A later plugin of the chain has changed it.
                told = {"name": "net1", "sandbox": "/run/netns/a", "mac" if key == "address" else key:
                        value if key == "address" else int(value)}
                self.check("c1", "a", {**self.net, "cniVersion": "1.1.0", "ipam": {},
                                       "prevResult": {"cniVersion": "1.1.0", "interfaces": [told]}})
                run("ip", "link", "set", "net1", key, before, netns="a")
                self.check("c1", "a", self.net)
        for table in ("main", "1000"):
            with self.subTest(table):
                route = ["10.0.0.0/8", "dev", "net1", "table", table, "proto", "boot", "via"]
                run("ip", "route", "replace", *route, "192.0.2.77", netns="a")
                with self.assertRaisesRegex(Failure, "route 10.0.0.0/8"):
                    self.check("c1", "a", self.net)
                run("ip", "route", "replace", *route, "192.0.2.1", netns="a")
                self.check("c1", "a", self.net)

    def test_a_namespace_of_the_host_is_refused(self):
        with self.assertRaises(Failure) as refused:
            self.plugin("ADD", "c1", f"/proc/{os.getpid()}/ns/net", "net1", self.net)
        self.assertEqual(refused.exception.code, 8)
        self.assertNothingLeft()

    def test_a_pod_on_the_network_of_the_host_passes_through_a_chain(self):
        previous = {"cniVersion": "1.0.0", "interfaces": [{"name": "eth0"}], "ips": [], "dns": {}}
        net = {**self.net, "prevResult": previous}
        result = self.plugin("ADD", "c1", f"/proc/{os.getpid()}/ns/net", "eth0", net)
        self.assertEqual(result["interfaces"][0]["name"], "eth0")
        until(lambda: any(e["kind"] == "cni-host-network" for e in self.client("events")["events"]), "an event")

    def test_deletes_without_a_daemon_are_done_before_the_next_add(self):
        self.add("c1", "a", self.net)
        self.end_daemon()
        self.delete("c1", "a", self.net)
        self.assertEqual(len(list((self.dir / "state/cni-spool").iterdir())), 1)
        self.start_daemon()
        self.add("c1", "a", self.net)
        self.assertEqual(len(self.leases()), 1)
        self.assertEqual(list((self.dir / "state/cni-spool").iterdir()), [])
        self.delete("c1", "a", self.net)
        self.assertNothingLeft()

    def test_a_killed_daemon_finds_its_attachments_again(self):
        self.add("c1", "a", self.net)
        self.pod("b")
        self.add("c2", "b", self.net)
        self.end_daemon(signal.SIGKILL)
        self.remove_pod("b")
        self.start_daemon()
        until(lambda: self.left() == 1, "the end of the one whose namespace is gone")
        self.check("c1", "a", self.net)
        self.delete("c1", "a", self.net)
        self.assertNothingLeft()

    def process(self):
        """With a network and capabilities of its own, which rdmad has none of."""
        process = subprocess.Popen(["unshare", "--net", "sleep", "1000"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        until(lambda: Path(f"/proc/{process.pid}/comm").read_text() == "sleep\n", "the process")
        return process

    def links(self, process):
        return run("nsenter", "--net", "--target", str(process.pid), "ip", "-br", "link")

    def test_a_delete_without_a_namespace_finds_it_by_its_path(self):
        process = self.process()
        path = f"/proc/{process.pid}/ns/net"
        self.plugin("ADD", "c1", path, "net1", self.net)
        self.assertIn("net1", self.links(process))
        self.delete("c1", None, self.net)
        self.assertNotIn("net1", self.links(process))
        self.plugin("ADD", "c1", path, "net1", self.net)
        self.end_daemon()
        self.plugin("DEL", "c1", path, "net1", self.net)
        self.start_daemon()
        until(lambda: self.left() == 0, "the DEL in the spool")
        self.assertNotIn("net1", self.links(process))
        self.assertNothingLeft()

    def test_a_namespace_that_rdmad_may_not_open_is_not_gone(self):
        process = self.process()
        self.plugin("ADD", "c1", f"/proc/{process.pid}/ns/net", "net1", self.net)
        self.end_daemon(signal.SIGKILL)
        self.start_daemon()
        # Pending undos are done before the next ADD.
        self.add("c2", "a", self.net)
        self.assertEqual(self.left(), 2)
        self.plugin("DEL", "c1", f"/proc/{process.pid}/ns/net", "net1", self.net)
        self.delete("c2", "a", self.net)
        self.assertNothingLeft()

    def has_no_caller(self):
        """The daemon has closed all connections: only the socket that listens is left."""
        return unix_sockets(self.dir / "run/cni.sock") == 1

    def test_a_namespace_is_not_gone_because_rdmad_has_no_descriptor(self):
        net = self.network(ONE)
        net["runtimeConfig"]["ips"] = ["192.0.2.9/24"]
        for pod in ("a", None):
            with self.subTest(pod):
                self.add("c1", "a", net)
                until(self.has_no_caller, "the end of the caller")
                # For the caller and the namespace of the pod, but not for that of rdmad.
                with few_descriptors(self.daemon.pid, 2), self.assertRaises(Failure) as refused:
                    self.delete("c1", pod, net)
                self.assertIn("Too many open files", refused.exception.message)
                self.assertIsNotNone(link("net1", "a"))
                self.delete("c1", pod, net)
                self.assertIsNone(link("net1", "a"))
                self.assertNothingLeft()

    def test_a_caller_that_hangs_up_is_undone(self):
        directory = self.dir / "plugins"
        directory.mkdir()
        (directory / "slow").write_text("#!/bin/sh\n[ $CNI_COMMAND = DEL ] && exit 0\nexec sleep 30\n")
        (directory / "slow").chmod(0o755)
        environment = self.environment
        self.environment = lambda *a, **k: {**environment(*a, **k), "CNI_PATH": str(directory)}
        net = {**self.net, "ipam": {"type": "slow"}}
        child = self.start_plugin("ADD", "c1", "/run/netns/a", "net1", net)
        until(lambda: self.left() == 1, "the attachment")
        child.kill()
        child.communicate()
        until(lambda: self.left() == 0, "its end")
        # And one slow IPAM holds nobody else, nor its own DEL.
        child = self.start_plugin("ADD", "c1", "/run/netns/a", "net1", net)
        until(lambda: self.left() == 1, "the attachment")
        self.environment = environment
        self.pod("b")
        self.add("c2", "b", self.net)
        self.delete("c2", "b", self.net)
        self.delete("c1", "a", net)
        with self.assertRaises(Failure) as refused:
            self.end_plugin(child)
        self.assertEqual(refused.exception.code, 11)
        self.assertNothingLeft()

    def test_debians_plugins_stand_in_one_chain_with_it(self):
        chain = [{"type": "ptp", "ipam": {**HOST_LOCAL, "subnet": "10.88.0.0/16", "routes": [{"dst": "0.0.0.0/0"}]}},
                 {"type": "rdmad-cni", "runtimeConfig": {"deviceID": self.nics[ONE]}, "ipam": HOST_LOCAL},
                 {"type": "tuning", "sysctl": {"net.core.somaxconn": "500"}}]
        result = None
        # The chain names CNI_IFNAME eth0; the NIC of a given device is CNI_IFNAME in a network of its own.
        for plugin in (chain[0], chain[2]):
            config = {"cniVersion": "1.0.0", "name": "pods", **plugin, **({"prevResult": result} if result else {})}
            result = self.plugin("ADD", "c1", "/run/netns/a", "eth0", config, f"{PLUGINS}/{plugin['type']}")
        own = {"cniVersion": "1.0.0", "name": "pods", **chain[1], "prevResult": result}
        del own["runtimeConfig"]
        self.assertEqual(self.add("c1", "a", own, "eth0")["interfaces"], result["interfaces"])
        self.delete("c1", "a", own, "eth0")
        self.assertIsNotNone(link("eth0", "a"))
        self.plugin("DEL", "c1", "/run/netns/a", "eth0", {"cniVersion": "1.0.0", "name": "pods", **chain[0]},
                    f"{PLUGINS}/ptp")

    def test_an_executor_that_died_is_started_again(self):
        self.add("c1", "a", self.net)
        executor = self.executor()
        os.kill(executor, signal.SIGKILL)
        until(lambda: has_ended(executor), "its end")
        self.delete("c1", "a", self.net)
        self.assertNothingLeft()

    def test_64_at_once(self):
        pods = [self.pod(f"p{n}") for n in range(64)]
        for command in ("ADD", "DEL"):
            children = [self.start_plugin(command, f"c{n}", f"/run/netns/{pod}", "net1", self.net)
                        for n, pod in enumerate(pods)]
            answers = [self.end_plugin(child) for child in children]
            if command == "ADD":
                self.assertEqual(len({a["ips"][0]["address"] for a in answers}), 64)
        self.assertNothingLeft()

    def cycle(self, pods, net):
        """ADD and DEL of all of them at once."""
        for command in ("ADD", "DEL"):
            for child in [self.start_plugin(command, f"c{n}", f"/run/netns/{pod}", "net1", net)
                          for n, pod in enumerate(pods)]:
                self.end_plugin(child)

    def belongings(self):
        """Descriptors and threads of the processes, files, namespaces."""
        processes = [self.daemon.pid, *self.children(self.daemon.pid), self.executor()]
        return {"descriptors": [len(os.listdir(f"/proc/{pid}/fd")) for pid in processes],
                "files": sorted(str(path) for path in self.dir.rglob("*") if path.name != "log"),
                "pods": os.listdir("/run/netns")}

    def anonymous(self, pid):
        return int(re.search(r"^Anonymous: *(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)[1])

    @staticmethod
    def is_no_more(now, had):
        """The daemon may have been closing a connection at the first look."""
        return all(map(int.__le__, now["descriptors"], had["descriptors"])) and \
            {**now, "descriptors": 0} == {**had, "descriptors": 0}

    def test_cycles_leave_nothing(self):
        """No descriptor, file, netdev, row or byte."""
        pods = [self.pod(f"p{n}") for n in range(16)]
        net = self.network(ONE, ipam=HOST_LOCAL)
        for _ in range(4):
            self.cycle(pods, net)
        had, executor = self.belongings(), self.executor()
        kilobytes = [self.anonymous(pid) for pid in (self.daemon.pid, executor)]
        for _ in range(10000 // 16 if SLOW else 10):
            self.cycle(pods, net)
        until(lambda: self.is_no_more(self.belongings(), had), f"{had}, not {self.belongings()}")
        self.assertEqual(self.executor(), executor)
        if not INSTRUMENTED:
            for pid, before in zip((self.daemon.pid, executor), kilobytes):
                # Memory kept by the allocator, and pages of the database's cache not used before.
                self.assertLess(self.anonymous(pid), before + 1024)
        for pod in pods:
            self.assertEqual([entry["ifname"] for entry in ip("link", netns=pod)], ["lo"])
        self.assertNothingLeft()

    @unittest.skipIf(INSTRUMENTED, "a sanitizer has memory of its own")
    def test_1000_adds_fit_into_16_megabytes(self):
        """Of the daemon; and its executor has 1 MiB of its own beside what it shares with files."""
        pods = [self.pod(f"p{n}") for n in range(64)]
        net = self.network(ONE, ipam=HOST_LOCAL)
        rounds = 16 if SLOW else 2
        for _ in range(rounds):
            self.cycle(pods, net)
        peak = int(re.search(r"^VmHWM:\s*(\d+)", Path(f"/proc/{self.daemon.pid}/status").read_text(), re.M)[1])
        self.assertLess(peak, 16 * 1024)
        self.assertLess(self.anonymous(self.executor()), 2048)
        print(f"# {64 * rounds} ADDs: at most {peak} kB of the daemon, {self.anonymous(self.executor())} kB anonymous "
              "of its executor", flush=True)


class DefaultRoute(CniCase):
    """The NIC's default route replaces that of eth0, which another plugin made."""
    NETWORKS = "default_route = true;"
    OWN = [("eth0", "10.9.0.1"), ("eth0", "fd00:9::1")]
    ROUTES = [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]
    UNREACHABLE = {"dst": "10.0.0.0/8", "gw": "203.0.113.9"}

    def setUp(self):
        super().setUp()
        self.start_daemon()
        self.pod("a")
        run("ip", "link", "add", "eth0", "type", "veth", "peer", "name", "far", netns="a")
        for name in ("far", "eth0"):
            run("ip", "link", "set", name, "up", netns="a")
        for address, gateway in (("10.9.0.2/24", "10.9.0.1"), ("fd00:9::2/64", "fd00:9::1")):
            run("ip", "addr", "add", address, "dev", "eth0", *["nodad"][:":" in address], netns="a")
            run("ip", "route", "add", "default", "via", gateway, "dev", "eth0", netns="a")
        self.net, self.other = self.asked(ONE, 1), self.asked(OTHER, 2)
        self.assertEqual(self.defaults(), self.OWN)

    def asked(self, nic, number, *routes):
        return self.network(nic, ipam={"type": "static", "routes": [*self.ROUTES, *routes], "addresses": [
            {"address": f"192.0.{number}.7/24", "gateway": f"192.0.{number}.1"},
            {"address": f"fd00:{number}::7/64", "gateway": f"fd00:{number}::1"}]})

    def defaults(self):
        """Of IPv4 in their order, and of IPv6."""
        routes = [route for family in ("-4", "-6") for route in ip(family, "route", "show", "default", netns="a")]
        return [(hop["dev"], hop["gateway"]) for route in routes for hop in route.get("nexthops", [route])]

    @staticmethod
    def of(name, number):
        return [(name, f"192.0.{number}.1"), (name, f"fd00:{number}::1")]

    def test_it_comes_back_with_the_delete(self):
        routes = ip("route", netns="a"), ip("-6", "route", netns="a")
        for _ in range(2):
            self.add("c1", "a", self.net)
            self.assertEqual(self.defaults(), self.of("net1", 1))
            self.check("c1", "a", self.net)
            self.delete("c1", "a", self.net)
            self.assertEqual((ip("route", netns="a"), ip("-6", "route", netns="a")), routes)

    def test_it_comes_back_if_the_container_has_renamed_the_link(self):
        self.add("c1", "a", self.net)
        for words in (("down",), ("name", "moved"), ("up",)):
            run("ip", "link", "set", "moved" if words == ("up",) else "net1", *words, netns="a")
        run("ip", "route", "add", "default", "via", "192.0.1.1", "dev", "moved", netns="a")
        self.delete("c1", "a", self.net)
        self.assertEqual(self.defaults(), self.OWN)

    def test_it_comes_back_with_an_add_that_fails(self):
        with self.assertRaises(Failure):
            self.add("c1", "a", self.asked(ONE, 1, self.UNREACHABLE))
        self.assertEqual(self.defaults(), self.OWN)

    def test_it_comes_back_after_two_nics_in_each_order(self):
        nets = {"net1": self.net, "net2": self.other}
        for first, last in (("net2", "net1"), ("net1", "net2")):
            for name, net in nets.items():
                self.add("c1", "a", net, name)
            self.assertEqual(self.defaults(), self.of("net2", 2))
            self.delete("c1", "a", nets[first], first)
            self.assertEqual(self.defaults()[0], self.of(last, int(last[-1]))[0])
            self.delete("c1", "a", nets[last], last)
            self.assertEqual(self.defaults(), self.OWN)


class DefaultRouteOfTheNic(DefaultRoute):
    NETWORKS = 'mode = "exclusive"; default_route = true;'


class Exclusive(CniCase):
    """The NIC itself goes into the pod, with its addresses."""
    NETWORKS = 'mode = "exclusive";'

    def setUp(self):
        super().setUp()
        self.start_daemon()
        self.pod("a")
        self.net = self.network(ONE)

    def test_the_nic_goes_and_comes_back_whole(self):
        result = self.add("c1", "a", self.net)
        self.assertIsNone(link(ONE))
        self.assertEqual(result["ips"][0]["address"], "198.51.0.7/24")
        self.assertEqual(addresses("net1", "a"), ["198.51.0.7/24"])
        self.check("c1", "a", self.net)
        self.delete("c1", "a", self.net)
        self.assertHostIs(self.before)

    def test_a_nic_that_is_held_is_refused(self):
        self.add("c1", "a", self.net)
        self.pod("b")
        with self.assertRaises(Failure) as refused:
            self.add("c2", "b", self.net)
        self.assertIn(refused.exception.code, (100, 101))
        self.delete("c2", "b", self.net)
        self.assertIsNone(link(ONE))
        self.delete("c1", "a", self.net)
        self.assertHostIs(self.before)

    def test_a_link_that_the_pod_made_in_its_place_is_not_taken_for_it(self):
        mac, peer = link(ONE)["address"], link(ONE)["link"]
        self.add("c1", "a", self.net)
        run("ip", "link", "set", "net1", "down", netns="a")
        run("ip", "link", "set", "net1", "name", "mine", "group", "default", "address", "02:00:00:00:00:aa", netns="a")
        run("ip", "link", "add", "net1", "address", mac, "group", "1919184246", "type", "veth", "peer", "name", "end",
            netns="a")
        for number in range(490):
            run("ip", "link", "property", "add", "dev", "mine", "altname", f"{number:0127}", netns="a")
        self.delete("c1", "a", self.net)
        self.assertEqual(link(ONE)["link"], peer)
        self.assertHostIs(self.before)

    def test_a_default_route_by_advertisement_is_no_reason_to_stay(self):
        run("ip", "route", "add", "default", "via", "198.51.1.1", "dev", OTHER)
        for name, metric in ((ONE, "1024"), (OTHER, "1025")):
            run("ip", "-6", "route", "add", "default", "via", "fe80::1", "dev", name, "proto", "ra", "metric", metric)
        self.add("c1", "a", self.net)
        self.assertEqual([r["dev"] for r in ip("-6", "route", "show", "default")], [OTHER])
        self.pod("b")
        for route in ("by hand", "by advertisement, which is the last one"):
            with self.subTest(route), self.assertRaisesRegex(Failure, "has the host's default route"):
                self.add("c2", "b", self.network(OTHER))
            run("ip", "route", "del", "default", check=False)
        self.delete("c1", "a", self.net)
        run("ip", "-6", "route", "flush", "proto", "ra")
        self.assertHostIs(self.before)

    def test_ipv6_is_as_before_when_it_comes_back(self):
        """The pod has it although it is off there; the host's NIC alone has not."""
        names = [f"net.ipv6.conf.{name}.disable_ipv6" for name in ("all", "default", ONE)]
        run("sysctl", "net.ipv6.conf.all.disable_ipv6=1", netns="a")
        run("sysctl", f"{names[-1]}=1")
        net = self.network(ONE, runtimeConfig={"deviceID": self.nics[ONE], "ips": ["2001:db8::7/64"]})
        self.add("c1", "a", net)
        self.assertIn("2001:db8::7/64", addresses("net1", "a"))
        self.delete("c1", "a", net)
        self.assertEqual(run("sysctl", "-n", *names).split(), ["0", "0", "1"])

    def test_a_killed_daemon_gives_it_back(self):
        self.add("c1", "a", self.net)
        self.end_daemon(signal.SIGKILL)
        self.start_daemon()
        self.assertIsNone(link(ONE))
        self.delete("c1", None, self.net)
        self.assertHostIs(self.before)


class Contained(CniCase):
    """/proc/sys is read-only, as in a container that is not privileged; the node's is where the chart mounts it."""
    NETWORKS = 'mode = "exclusive";'
    NODE = "/run/host"

    def mount(self, place, *words):
        run("mount", *words, place)
        self.addCleanup(run, "umount", place)

    def setUp(self):
        super().setUp()
        os.makedirs(self.NODE, exist_ok=True)
        self.mount(self.NODE, "-t", "tmpfs", "tmpfs")
        os.makedirs(f"{self.NODE}/proc/sys/net")
        self.mount(f"{self.NODE}/proc/sys/net", "--bind", "/proc/sys/net")
        self.mount("/proc/sys", "--bind", "/proc/sys")
        run("mount", "-o", "remount,ro,bind", "/proc/sys")

    def test_sysctls_of_the_pod_and_of_the_node_are_written(self):
        self.start_daemon()
        before = self.snapshot()
        self.pod("a")
        net = self.network(ONE)
        self.add("c1", "a", net)
        self.assertEqual(run("sysctl", "-n", "net.ipv4.conf.net1.arp_ignore", netns="a").strip(), "1")
        self.delete("c1", "a", net)
        self.assertHostIs(before)

    def test_ipv6_needs_a_place_where_it_can_be_switched_on(self):
        self.start_daemon()
        self.pod("a")
        run("nsenter", "--net=/run/netns/a", "sh", "-c", f"echo 1 >{self.NODE}/proc/sys/net/ipv6/conf/all/disable_ipv6")
        net = self.network(ONE, runtimeConfig={"deviceID": self.nics[ONE], "ips": ["2001:db8::7/64"]})
        self.add("c1", "a", net)
        self.assertIn("2001:db8::7/64", addresses("net1", "a"))
        self.delete("c1", "a", net)
        run("mount", "-o", "remount,ro,bind", f"{self.NODE}/proc/sys/net")
        with self.assertRaises(Failure) as refused:
            self.add("c1", "a", net)
        self.assertEqual(refused.exception.code, 104)


class ContainedProof(CniCase):
    """RDMA_CM may not be opened, as in a container that is not privileged; ADD would prove the pod's address."""
    GROUPS = """cni = { carrier_timeout = 0;
                networks = ( { name = "all"; wait_gid = false; announce = false; } ); };"""
    DIRECTORY = "/dev/infiniband"

    def setUp(self):
        super().setUp()
        if not os.path.isdir(self.DIRECTORY):
            os.mkdir(self.DIRECTORY)
            self.addCleanup(os.rmdir, self.DIRECTORY)
        run("mount", "-t", "tmpfs", "tmpfs", self.DIRECTORY)
        self.addCleanup(run, "umount", self.DIRECTORY)

    def attach(self, mode):
        file = Path(self.DIRECTORY) / "rdma_cm"
        file.touch()
        file.chmod(mode)
        self.start_daemon()
        self.pod("a")
        return self.add("c1", "a", self.network(ONE, ipam=HOST_LOCAL))

    def test_an_address_is_given_without_a_proof(self):
        self.assertTrue(self.attach(0o000)["ips"])

    def test_an_error_of_rdma_cm_itself_is_one(self):
        with self.assertRaises(Failure) as caught:
            self.attach(0o666)
        self.assertIn("RDMA_CM cannot be used", caught.exception.message)


if __name__ == "__main__":
    enter_private_host()
    del sys.argv[1:4]
    tap.main(sys.argv[1:])
