#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Bad input to rdmad-cni and the daemon behind it: the CNI code of each, and nothing touched.

usage: test-cni-input.py RDMAD MODULE-DIR RDMAD-CNI [TEST...]
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from cni_case import (NICS, SHIM, CniCase, Failure, addresses, enter_private_host, ip, link, run, tap, until)

ONE, OTHER = NICS
VERSIONS = ("0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0")
NO_ADDRESSES = {"a-group": "224.0.0.1/24", "this-node": "127.0.0.2/8", "nobody": "0.0.0.0/0",
                "all": "255.255.255.255/32", "a-group-6": "ff02::1/64", "this-node-6": "::1/128", "nobody-6": "::/64",
                "a-mapped-one": "::ffff:192.0.2.1/128"}
ADDRESS = {"address": "192.0.2.9/24", "gateway": "192.0.2.1"}


def told(address):
    """The script of an IPAM plugin."""
    return "print(%r)" % json.dumps({"cniVersion": "1.0.0", "ips": [{"address": address}]})


class Input(CniCase):
    CONFIG = "ipam_timeout = 5; request_timeout = 60;"

    def setUp(self):
        super().setUp()
        self.plugins = self.dir / "plugins"
        self.plugins.mkdir()
        self.start_daemon()
        self.before = self.snapshot()
        self.pod("a")
        self.net = self.network(ONE, runtimeConfig={"deviceID": self.nics[ONE], "ips": ["192.0.2.9/24"]})

    def environment(self, *words, **more):
        made = {**super().environment(*words, **more), "CNI_PATH": str(self.plugins)}
        return made

    def call(self, variables, text):
        """Status and answer; a variable that is None is unset."""
        environment = self.environment("ADD", "c1", "/run/netns/a", "net1")
        environment.update(variables)
        environment = {key: value for key, value in environment.items() if value is not None}
        done = subprocess.run([SHIM], input=text if isinstance(text, bytes) else json.dumps(text).encode(),
                              env=environment, capture_output=True, timeout=60)
        return done.returncode, json.loads(done.stdout) if done.stdout.strip() else None

    def assertRefused(self, code, variables, text):
        status, answer = self.call(variables, text)
        self.assertNotEqual(status, 0)
        self.assertEqual(answer.get("code"), code, answer)
        self.assertTrue(answer["msg"])

    def assertNothingLeft(self):
        until(lambda: self.left() == 0, "the journal to be empty")
        self.assertHostIs(self.before)
        self.assertEqual([entry["ifname"] for entry in ip("link", netns="a")], ["lo"])
        self.assertEqual(list((self.dir / "run/cni-ipam").iterdir()), [])

    def ipam(self, name, script):
        (self.plugins / name).write_text("#!/usr/bin/python3\nimport os, sys, time\n"
                                         "if os.environ['CNI_COMMAND'] == 'DEL': sys.exit(0)\n" + script)
        (self.plugins / name).chmod(0o755)
        return {**self.network(ONE), "ipam": {"type": name}}


class Tables(Input):
    def test_variables(self):
        rows = [("CNI_CONTAINERID", word, 4) for word in
                ("", None, "../x", "a/b", "-a", ".a", "a b", "a\nb", "\u00e9", "x" * 254, "a;b", "a%00b")]
        rows += [("CNI_IFNAME", word, 4) for word in
                 ("", None, "0123456789012345", "a%d", "%", ".", "..", "a/b", "a:b", "a b", "a\tb", b"eth\xff")]
        rows += [("CNI_NETNS", word, 4) for word in ("", None)]
        rows += [("CNI_NETNS", word, 8) for word in
                 ("netns/a", "a", "/run/netns/none", "/etc/passwd", "/dev/null", "/", "/proc/self/ns/mnt", "/proc/self/ns/uts",
                  f"/proc/{os.getpid()}/ns/net", "/proc/self/ns/net", str(self.dir / "fifo"), str(self.dir / "loop"))]
        rows += [("CNI_COMMAND", word, 4) for word in ("", None, "add", "ADD ", "REMOVE", "x" * 1000)]
        rows += [("CNI_ARGS", word, 4) for word in
                 ("nonsense", "MAC=none", "MAC=02:00:00:00:00", "K8S_POD_NAME=../x", "K8S_POD_NAMESPACE=a/b", "=;x")]
        os.mkfifo(self.dir / "fifo")
        (self.dir / "loop").symlink_to(self.dir / "loop")
        for name, word, code in rows:
            with self.subTest(f"{name}={word!r:.40}"):
                self.assertRefused(code, {name: word}, self.net)
                if name != "CNI_COMMAND" and (word or name == "CNI_NETNS"):
                    self.assertEqual(self.call({name: word, "CNI_COMMAND": "DEL"}, self.net)[0], 0)
        self.assertNothingLeft()

    def test_a_symbolic_link_to_a_namespace_is_one(self):
        (self.dir / "link").symlink_to("/run/netns/a")
        (self.dir / "host").symlink_to("/proc/self/ns/net")
        self.assertRefused(8, {"CNI_NETNS": str(self.dir / "host")}, self.net)
        self.assertEqual(self.call({"CNI_NETNS": str(self.dir / "link")}, self.net)[0], 0)
        self.assertIsNotNone(link("net1", "a"))
        self.delete("c1", "a", self.net)
        self.assertNothingLeft()

    def test_arguments_in_any_order_and_unknown_ones(self):
        for text in ("IgnoreUnknown=1;K8S_POD_NAME=p;K8S_POD_NAMESPACE=n", "K8S_POD_NAMESPACE=n;;X=1;K8S_POD_NAME=p;",
                     "K8S_POD_UID=;K8S_POD_NAME=p;K8S_POD_NAMESPACE=n;A==;B=;"):
            with self.subTest(text):
                self.assertEqual(self.call({"CNI_ARGS": text}, self.net)[0], 0)
                row = self.client("attachments")["attachments"][0]
                self.assertEqual((row["namespace"], row["pod"]), ("n", "p"))
                self.delete("c1", "a", self.net)
        self.assertNothingLeft()

    def test_standard_input(self):
        text = json.dumps(self.net).encode()
        rows = [("empty", b"", 6), ("spaces", b"  \n", 6), ("text", b"nonsense", 6), ("cut off", text[:-1], 6),
                ("list", b"[]", 6), ("string", b'"x"', 6), ("null", b"null", 6), ("number", b"7", 6),
                ("more behind", text + b"{}", 6), ("NUL", text[:-1] + b',"x":"a\0b"}', 6),
                ("escaped NUL", text[:-1] + b',"x":"a\\u0000b"}', 6), ("NUL behind", text + b"\0", 6),
                ("no UTF-8", text[:-1] + b',"x":"\xff"}', 6),
                ("duplicate keys", text[:-1] + b',"name":"other"}', 6),
                ("deep", text[:-1] + b',"x":' + b"[" * 100000 + b"]" * 100000 + b"}", 6),
                ("10 MiB", text[:-1] + b',"x":"' + b"x" * (10 << 20) + b'"}', 6),
                ("10 MiB of spaces", b" " * (10 << 20) + text, 6)]
        for name, data, code in rows:
            with self.subTest(name):
                self.assertRefused(code, {}, data)
        self.assertNothingLeft()

    def test_a_name_that_only_the_kernel_would_take(self):
        self.assertEqual(self.call({"CNI_IFNAME": "\u00e9th"}, self.net)[0], 0)
        self.assertIsNotNone(link("\u00e9th", "a"))
        self.delete("c1", "a", self.net, "\u00e9th")
        self.assertNothingLeft()

    def test_networks(self):
        rows = {
            "no version": ({"cniVersion": None}, 6), "another version": ({"cniVersion": "0.2.0"}, 1),
            "future version": ({"cniVersion": "2.0.0"}, 1), "number version": ({"cniVersion": 1}, 6),
            "no name": ({"name": None}, 7), "bad name": ({"name": "a/b"}, 7), "empty name": ({"name": ""}, 7),
            "ipam text": ({"ipam": "host-local"}, 7), "ipam without a type": ({"ipam": {"x": 1}}, 7),
            "ipam path": ({"ipam": {"type": "../../bin/sh"}}, 7), "ipam nobody has": ({"ipam": {"type": "none"}}, 103),
            "runtimeConfig text": ({"runtimeConfig": "x"}, 7), "ips text": ({"runtimeConfig": {"ips": "x"}}, 7),
            "ips none": ({"runtimeConfig": {"ips": ["x"]}}, 7), "mac": ({"runtimeConfig": {"mac": "x"}}, 7),
            "guid": ({"runtimeConfig": {"infinibandGUID": "x"}}, 7),
            "device number": ({"runtimeConfig": {"deviceID": 7}}, 7),
            "device nobody has": ({"runtimeConfig": {"deviceID": "0000:ff:00.0"}}, 100),
            "prevResult text": ({"prevResult": "x"}, 6), "prevResult ips": ({"prevResult": {"ips": [{}]}}, 6),
        }
        for name, (change, code) in rows.items():
            with self.subTest(name):
                status, answer = self.call({}, {**self.net, **change})
                self.assertNotEqual(status, 0)
                self.assertEqual(answer["code"], code, answer)
            self.assertEqual(self.left(), 0, name)
        self.assertNothingLeft()

    def test_ipam_that_misbehaves(self):
        answer = "'{\"cniVersion\":\"1.0.0\",\"ips\":[{\"address\":\"192.0.2.9/24\"}]}'"
        rows = {"hangs": ("time.sleep(60)", 11), "hangs-deaf": ("import signal\nsignal.signal(15, 1)\ntime.sleep(60)", 11),
                "garbage": ("print('nonsense')", 103), "one": ("sys.exit(1)", 103), "killed": ("os.kill(0, 9)", 103),
                "twice": (f"print({answer} * 2)", 103), "nothing": ("", 103), "megabytes": ("print('x' * (8 << 20))", 103),
                "stderr": ("sys.stderr.write('x' * (8 << 20)); sys.exit(1)", 103),
                "list": ("print('[]')", 103), "empty": ("print('{}')", 104),
                "no-address": ("print('{\"ips\":[{\"address\":\"x\"}]}')", 103),
                **{f"of-{kind}": (told(address), 104) for kind, address in NO_ADDRESSES.items()},
                "again": ("print('{\"code\":11,\"msg\":\"later\"}'); sys.exit(1)", 11),
                "own-code": ("print('{\"code\":150,\"msg\":\"no\"}'); sys.exit(1)", 103),
                "zero-code": ("print('{\"code\":7,\"msg\":\"no\"}')", 104)}
        for name, (script, code) in rows.items():
            net = self.ipam(name, script)
            with self.subTest(name):
                self.assertRefused(code, {}, net)
        self.assertNothingLeft()

    def test_an_interface_that_the_pod_has_is_not_overwritten(self):
        run("ip", "link", "add", "net1", "type", "veth", "peer", "name", "peer1", netns="a")
        run("ip", "link", "property", "add", "dev", "peer1", "altname", "net2", netns="a")
        had = [entry for entry in ip("link", netns="a")]
        for name in ("net1", "net2", "lo"):
            with self.subTest(name):
                self.assertRefused(102, {"CNI_IFNAME": name}, self.net)
                self.call({"CNI_IFNAME": name, "CNI_COMMAND": "DEL"}, self.net)
        self.assertEqual(ip("link", netns="a"), had)

    def test_two_networks_with_the_same_interface_name(self):
        other = {**self.network(OTHER, runtimeConfig={"deviceID": self.nics[OTHER], "ips": ["192.0.2.10/24"]}),
                 "name": "other"}
        self.add("c1", "a", self.net)
        self.assertRefused(102, {}, other)
        self.delete("c1", "a", other)
        self.assertEqual(addresses("net1", "a"), ["192.0.2.9/24"])
        self.check("c1", "a", self.net)
        self.delete("c1", "a", self.net)
        self.assertNothingLeft()


class Versions(Input):
    def previous(self, version):
        ip4 = {"address": "10.0.0.5/24", "gateway": "10.0.0.1", "interface": 0}
        if version < "1":
            ip4["version"] = "4"
        return {"cniVersion": version, "interfaces": [{"name": "eth0", "mac": "0a:00:00:00:00:01", "sandbox": "/x"}],
                "ips": [ip4], "routes": [{"dst": "0.0.0.0/0", "gw": "10.0.0.1"}],
                "dns": {"nameservers": ["10.0.0.2"]}}

    def test_each_result_in_each_version(self):
        """Our own, of IPAM, and behind another plugin."""
        for version in VERSIONS:
            for told in VERSIONS:
                address = {**ADDRESS, **({"version": "4"} if told < "1" else {})}
                text = json.dumps({"cniVersion": told, "ips": [address],
                                   "routes": [{"dst": "10.9.0.0/16", "gw": "192.0.2.1"}]})
                net = {**self.ipam("told", f"print({text!r})"), "cniVersion": version}
                with self.subTest(f"{told} in {version}"):
                    result = self.add("c1", "a", net)
                    self.assertEqual(result["cniVersion"], version)
                    found, = result["ips"]
                    self.assertEqual((found["address"], found["gateway"], found.get("version")),
                                     ("192.0.2.9/24", "192.0.2.1", "4" if version < "1" else None))
                    self.assertEqual(result["routes"][0]["dst"], "10.9.0.0/16")
                    self.assertEqual("mtu" in result["interfaces"][0], version == "1.1.0")
                    if version != "0.3.0":
                        self.assertEqual(self.add("c1", "a", net), result)
                    self.delete("c1", "a", net)
        self.assertNothingLeft()

    def test_prev_result_passes_through_and_is_kept(self):
        for version in VERSIONS:
            previous = self.previous(version)
            # A pod without devices, behind another plugin.
            net = {**self.NETWORK, "cniVersion": version, "prevResult": previous}
            with self.subTest(version):
                status, result = self.call({"CNI_IFNAME": "eth0"}, net)
                self.assertEqual((status, result["cniVersion"]), (0, version))
                for key in ("interfaces", "ips", "routes", "dns"):
                    self.assertEqual(result[key], previous[key])
                # One NIC more: earlier entries keep their places and indexes.
                chained = {**self.net, "cniVersion": version, "prevResult": previous}
                status, result = self.call({}, chained)
                self.assertEqual(status, 0, result)
                self.assertEqual(result["ips"][0], previous["ips"][0])
                self.assertEqual([i["name"] for i in result["interfaces"]], ["eth0", "net1"])
                self.assertEqual(result["ips"][1]["interface"], 1)
                self.delete("c1", "a", chained)
        self.assertNothingLeft()

    def test_a_result_that_grows_beyond_what_a_plugin_may_print_is_refused(self):
        previous = {"cniVersion": "1.0.0", "interfaces": [{"name": "eth0"}], "ips": [], "dns": {"x": [0.1] * 200000}}
        text = json.dumps({**self.net, "prevResult": previous}, separators=(",", ":")).encode()
        self.assertLess(len(text), 1 << 20)     # as JSON has it, and 0.10000000000000001 as jansson has it
        for name, netns in ("of the pod", "/run/netns/a"), ("of the host", f"/proc/{os.getpid()}/ns/net"):
            with self.subTest(name):
                self.assertRefused(6, {"CNI_NETNS": netns}, text)
        self.assertNothingLeft()

    def test_status_is_that_of_the_ipam_plugin(self):
        def failing(code):
            return f"print('{{\"code\": {code}, \"msg\": \"the pool is empty\"}}'); sys.exit(1)"

        asked = ("import json; net = json.load(sys.stdin)\n"
                 "ok = os.environ['CNI_COMMAND'] == 'STATUS' and not os.environ['CNI_NETNS'] and "
                 "not os.environ['CNI_IFNAME'] and net['name'] == 'rdma' and net['ipam']['type'] == 'well'\n"
                 "sys.exit(not ok)")
        # A plugin that lacks the command may serve ADD nevertheless.
        rows = [("well", asked, 0), ("older", failing(4), 0), ("oldest", failing(3), 0), ("unready", failing(50), 50), ("partly", failing(51), 51),
                ("otherwise", failing(100), 50), ("later", failing(11), 11), ("old", failing(1), 1),
                ("silent", "sys.exit(1)", 50), ("killed", "os.kill(os.getpid(), 9)", 50),
                ("hanging", "time.sleep(60)", 11)]
        for name, script, code in rows:
            with self.subTest(name):
                status, answer = self.call({"CNI_COMMAND": "STATUS", "CNI_NETNS": "", "CNI_IFNAME": ""},
                                           {**self.ipam(name, script), "cniVersion": "1.1.0"})
                self.assertEqual((status, (answer or {}).get("code", 0)), (int(code != 0), code), answer)
                if "pool" in script and code:
                    self.assertIn("the pool is empty", answer["msg"])
        self.assertRefused(50, {"CNI_COMMAND": "STATUS"},
                           {**self.net, "cniVersion": "1.1.0", "ipam": {"type": "none"}})
        self.assertNothingLeft()

    def test_check_and_gc_and_status_need_their_version(self):
        for command, since in (("CHECK", "0.4.0"), ("GC", "1.1.0"), ("STATUS", "1.1.0")):
            for version in VERSIONS:
                with self.subTest(f"{command} {version}"):
                    status, answer = self.call({"CNI_COMMAND": command},
                                               {**self.net, "cniVersion": version, "cni.dev/valid-attachments": [],
                                                "prevResult": {}})
                    if version < since:
                        self.assertEqual(answer["code"], 1)
                    else:
                        self.assertNotEqual((answer or {}).get("code"), 1)


class Races(Input):
    CONFIG = ""

    def test_delete_in_all_its_forms(self):
        forms = [{"CNI_NETNS": None}, {"CNI_NETNS": ""}, {"CNI_NETNS": "/run/netns/none"}, {"CNI_NETNS": "/etc/passwd"},
                 {"CNI_NETNS": "/dev/null"}, {"CNI_NETNS": f"/proc/{os.getpid()}/ns/net"}, {"CNI_ARGS": "nonsense"},
                 {"CNI_PATH": None}, {"CNI_NETNS": "relative"}, {"CNI_CONTAINERID": "never"}]
        networks = [self.net, {**self.net, "prevResult": None}, {**self.net, "prevResult": "nonsense"},
                    {**self.net, "runtimeConfig": "nonsense", "ipam": 7}]
        for form in forms:
            for net in networks:
                with self.subTest(f"{form} {net.get('prevResult', '-')!r}"):
                    self.add("c1", "a", self.net)
                    for _ in range(2):
                        self.assertEqual(self.call({**form, "CNI_COMMAND": "DEL"}, net)[0], 0)
                    if "CNI_CONTAINERID" in form:
                        self.assertIsNotNone(link("net1", "a"))
                        self.delete("c1", "a", self.net)
                    self.assertIsNone(link("net1", "a"))
        self.assertNothingLeft()

    def test_a_namespace_that_dies_while_it_is_worked_on(self):
        """At each moment of an ADD or DEL; a bind mount that is gone and nobody else's descriptor."""
        for command in ("ADD", "DEL"):
            for delay in range(0, 30, 3):
                name = f"{command}{delay}"
                self.pod(name)
                if command == "DEL":
                    self.add(name, name, self.net)
                child = self.start_plugin(command, name, f"/run/netns/{name}", "net1", self.net)
                time.sleep(delay / 1000)
                self.remove_pod(name)
                try:
                    self.end_plugin(child)
                except Failure as refused:
                    with self.subTest(f"{command} {delay} ms"):
                        self.assertEqual(command, "ADD")
                        self.assertIn(refused.code, (5, 8, 11, 102))
                self.delete(name, None, self.net)
        self.assertNothingLeft()

    def test_one_slow_ipam_holds_nobody_else(self):
        slow = self.ipam("slow", "while not os.path.exists('%s/go'): time.sleep(0.02)\n%s" %
                         (self.dir, told("192.0.3.9/24")))
        child = self.start_plugin("ADD", "slow", "/run/netns/a", "net9", slow)
        until(lambda: self.left() == 1, "the slow one")
        children = []
        for number in range(63):
            self.pod(f"p{number}")
            net = self.network(ONE, runtimeConfig={"deviceID": self.nics[ONE], "ips": [f"192.0.2.{number + 10}/24"]})
            children.append((number, net, self.start_plugin("ADD", f"c{number}", f"/run/netns/p{number}", "net1", net)))
        for number, net, other in children:
            self.end_plugin(other)
        self.assertIsNone(child.poll())
        (self.dir / "go").touch()
        self.end_plugin(child)
        ends = [self.start_plugin("DEL", f"c{number}", f"/run/netns/p{number}", "net1", net)
                for number, net, _ in children]
        for end in ends:
            self.end_plugin(end)
        self.plugin("DEL", "slow", "/run/netns/a", "net9", slow)
        self.assertNothingLeft()


if __name__ == "__main__":
    enter_private_host()
    del sys.argv[1:4]
    tap.main(sys.argv[1:])
