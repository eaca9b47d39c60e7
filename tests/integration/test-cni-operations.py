#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Module cni around its ADDs and DELs: NICs returned to the host, GC, IPAM's processes, reload, stop.

usage: test-cni-operations.py RDMAD MODULE-DIR RDMAD-CNI [TEST...]
"""

import contextlib
import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import sys
import time
from pathlib import Path

import api_schema
from cni_case import (NICS, PATIENCE, PLUGINS, CniCase, Failure, addresses, enter_private_host, ip, link, run, tap,
                      until)
from processes import has_ended

ONE, OTHER = NICS
POD = "K8S_POD_NAMESPACE=ml;K8S_POD_NAME=job-0"
BOOT, SUM = slice(32, 72), slice(72, 80)    # in CniSpoolHead of modules/cni/shim/message.h
HOST_LOCAL = {"type": "host-local", "subnet": "192.0.2.0/24"}

# Writes down each call; WAIT, FAIL and LATE are files that a test makes.
IPAM = """#!/usr/bin/python3
import json, os, sys, time
directory = os.path.dirname(os.path.realpath(__file__))
command, network = os.environ["CNI_COMMAND"], json.load(sys.stdin)
words = [command, os.environ.get("CNI_CONTAINERID", ""), os.environ.get("CNI_IFNAME", "")]
if command == "CHECK":
    words.append(network.get("prevResult"))
if command == "GC":
    words.append(sorted(v["containerID"] + "/" + v["ifname"] for v in network["cni.dev/valid-attachments"]))
with open(directory + "/calls", "a") as calls:
    calls.write(json.dumps(words) + "\\n")
if os.path.exists(directory + "/FAIL-" + command):
    print(open(directory + "/FAIL-" + command).read())
    sys.exit(1)
if os.path.exists(directory + "/LATE-" + command) and os.fork() == 0:
    for stream in (0, 1, 2):
        os.close(stream)
    with open(directory + "/late", "w") as late:
        late.write(f"{os.getpid()}\\n")
    time.sleep(1000)
while os.path.exists(directory + "/WAIT-" + command):
    time.sleep(0.02)
if command == "ADD":
    number = sum(map(ord, words[1] + words[2])) % 250 + 2
    print(json.dumps({"cniVersion": "1.0.0", "ips": [{"address": f"192.0.2.{number}/24"}]}))
"""


@contextlib.contextmanager
def silent_kubelet(directory):
    """An ADD with the name of a pod waits for its list."""
    (directory / "pod-resources").mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as kubelet:
        kubelet.bind(str(directory / "pod-resources/kubelet.sock"))
        kubelet.listen()
        yield


@contextlib.contextmanager
def listings_of(directory):
    """Yields a function: how often the directory was opened, by its inotify events."""
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init1(os.O_NONBLOCK)

    def count():
        events, n = os.read(watch, 1 << 20), 0
        while events:
            _, mask, _, length = struct.unpack_from("=iIII", events)
            n += length == 0 and bool(mask & 0x20)
            events = events[16 + length:]
        return n
    try:
        if libc.inotify_add_watch(watch, os.fsencode(directory), 0x20) < 0:     # IN_OPEN
            raise OSError(ctypes.get_errno(), directory)
        yield count
    finally:
        os.close(watch)


def fnv(octets):
    total = 0xcbf29ce484222325
    for octet in octets:
        total = (total ^ octet) * 0x100000001b3 & 0xffffffffffffffff
    return total


def summed(record):
    record[SUM] = bytes(8)
    record[SUM] = fnv(record).to_bytes(8, sys.byteorder)
    return record


class Operations(CniCase):
    def setUp(self):
        super().setUp()
        self.plugins = self.dir / "plugins"
        self.plugins.mkdir()
        (self.plugins / "told").write_text(IPAM)
        (self.plugins / "told").chmod(0o755)
        self.start_daemon()
        self.before = self.snapshot()
        self.net = self.network(ONE, ipam={"type": "told"})

    def environment(self, *words, **more):
        return {**super().environment(*words, **more), "CNI_PATH": f"{self.plugins}:{PLUGINS}"}

    def mark(self, name, text=""):
        (self.plugins / name).write_text(text)

    def unmark(self, name):
        (self.plugins / name).unlink()

    def calls(self, command):
        path = self.plugins / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        return [call for call in map(json.loads, lines) if call[0] == command]

    def collect(self, *valid, **more):
        names = [{"containerID": container, "ifname": ifname} for container, ifname in valid]
        return self.plugin("GC", None, None, None, {**self.net, "cniVersion": "1.1.0",
                                                    "cni.dev/valid-attachments": names, **more})

    def assertNothingLeft(self):
        self.assertEqual(self.left(), 0)
        self.assertHostIs(self.before)


class Collection(Operations):
    def setUp(self):
        super().setUp()
        for name in ("a", "b", "c"):
            self.pod(name)
            self.add(f"c-{name}", name, self.net)

    def test_gc_is_answered_when_what_it_collects_is_undone_and_ipam_is_told(self):
        self.collect(("c-b", "net1"))
        self.assertEqual([link("net1", pod) is not None for pod in "abc"], [False, True, False])
        self.assertEqual(self.left(), 1)
        self.assertEqual(sorted(call[1] for call in self.calls("DEL")), ["c-a", "c-c"])
        self.assertEqual(self.calls("GC"), [["GC", "", "", ["c-b/net1"] * 2]])

    def test_gc_of_a_chain_names_each_nic_to_ipam(self):
        previous = {"cniVersion": "1.0.0", "interfaces": [{"name": "eth0", "sandbox": "x"}], "ips": [], "dns": {}}
        net = self.network(OTHER, ipam={"type": "told"}, prevResult=previous)
        self.pod("d")
        self.plugin("ADD", "c-d", "/run/netns/d", "eth0", net)
        self.collect(("c-d", "eth0"))
        self.assertEqual(self.left(), 1)
        self.assertIn("c-d/eth1", self.calls("GC")[0][3])
        self.assertIsNotNone(link("eth1", "d"))

    def test_a_plugin_that_does_not_know_gc_is_no_failure_and_one_that_fails_is(self):
        for code, expected in ((1, None), (4, None), (7, 103)):
            self.mark("FAIL-GC", json.dumps({"code": code, "msg": "unknown CNI_COMMAND: GC"}))
            with self.subTest(code):
                if expected:
                    with self.assertRaises(Failure) as refused:
                        self.collect()
                    self.assertEqual(refused.exception.code, expected)
                else:
                    self.collect()
            self.assertEqual(self.left(), 0)

    def test_a_lease_that_could_not_be_freed_is_told(self):
        self.mark("FAIL-DEL", json.dumps({"code": 5, "msg": "no disk"}))
        with self.assertRaises(Failure) as refused:
            self.collect()
        self.assertEqual(refused.exception.code, 103)
        self.assertEqual(self.calls("GC"), [])
        self.unmark("FAIL-DEL")
        self.collect()
        self.assertNothingLeft()

    def test_a_list_that_is_none_frees_nothing(self):
        lists = {"absent": {}, "null": None, "text": "c-a", "object": {}, "of texts": ["c-a"],
                 "without a container": [{"ifname": "net1"}], "without a name": [{"containerID": "c-a"}],
                 "numbers": [{"containerID": 1, "ifname": 2}], "half": [{"containerID": "c-a", "ifname": "net1"}, 7],
                 "bad name": [{"containerID": "c-a", "ifname": "a/b"}],
                 "long": [{"containerID": "c-a", "ifname": "n" * 16}]}
        for name, entries in lists.items():
            net = {**self.net, "cniVersion": "1.1.0"}
            if name != "absent":
                net["cni.dev/valid-attachments"] = entries
            with self.subTest(name), self.assertRaises(Failure) as refused:
                self.plugin("GC", None, None, None, net)
            self.assertEqual(refused.exception.code, 7)
            self.assertEqual((self.left(), self.calls("DEL"), self.calls("GC")), (3, [], []))

    def test_gc_of_another_network_leaves_this_one(self):
        self.collect(name="other")
        self.assertEqual(self.left(), 3)

    def test_gc_leaves_an_add_that_runs(self):
        self.mark("WAIT-ADD")
        self.pod("d")
        child = self.start_plugin("ADD", "c-d", "/run/netns/d", "net1", self.net)
        until(lambda: len(self.calls("ADD")) == 4, "the ADD")
        self.collect()
        self.unmark("WAIT-ADD")
        self.end_plugin(child)
        self.assertEqual(self.left(), 1)


class CollectionByIpam(Operations):
    """The list of a plugin's GC is that of its begin."""

    def setUp(self):
        super().setUp()
        self.pod("a")
        self.pod("b")

    def start_collection(self):
        return self.start_plugin("GC", None, None, None, {**self.net, "cniVersion": "1.1.0",
                                                          "cni.dev/valid-attachments": []})

    def start_waiting_collection(self):
        self.mark("WAIT-GC")
        child = self.start_collection()
        until(lambda: self.calls("GC"), "the GC of the plugin")
        return child

    def test_one_whose_caller_was_killed_removes_no_lease_of_a_later_add(self):
        child = self.start_waiting_collection()
        child.kill()
        child.communicate()
        self.add("c-a", "a", self.net)
        running = self.children(self.daemon.pid)[1:]    # the first is the keeper
        self.unmark("WAIT-GC")
        self.assertEqual(running, [])
        self.delete("c-a", "a", self.net)
        self.assertNothingLeft()

    def test_an_add_of_the_network_waits_for_its_end_and_no_other_does(self):
        collection = self.start_waiting_collection()
        waiting = self.start_plugin("ADD", "c-a", "/run/netns/a", "net1", self.net)
        until(lambda: self.module_status("cni")["waiting"] == 1, "the ADD")
        own_address = {"runtimeConfig": {"deviceID": self.nics[OTHER], "ips": ["192.0.2.9/24"]}}
        for more in ({"name": "other", "ipam": {"type": "told"}}, own_address):
            net = self.network(OTHER, **more)
            self.add("c-b", "b", net)
            self.delete("c-b", "b", net)
        self.assertEqual([call[1] for call in self.calls("ADD")], ["c-b"])
        self.assertIsNone(collection.poll())
        self.unmark("WAIT-GC")
        self.end_plugin(collection)
        self.end_plugin(waiting)
        self.delete("c-a", "a", self.net)
        self.assertNothingLeft()

    def test_it_begins_when_the_adds_that_choose_have_ended(self):
        with silent_kubelet(self.dir / "k"):
            add = self.start_plugin("ADD", "c-a", "/run/netns/a", "net1", self.net, arguments=POD)
            until(lambda: self.module_status("cni")["running"] == 1, "the ADD")
            self.mark("WAIT-ADD")
            collection = self.start_collection()
            time.sleep(0.5)
            self.assertEqual((self.calls("ADD"), self.calls("GC")), ([], []))
        until(lambda: self.calls("ADD"), "the ADD of the plugin")
        self.unmark("WAIT-ADD")
        self.end_plugin(add)
        self.end_plugin(collection)
        self.assertEqual(self.calls("GC"), [["GC", "", "", ["c-a/net1"]]])


class Check(Operations):
    def test_ipam_gets_the_result_that_is_checked(self):
        self.pod("a")
        result = self.add("c-a", "a", self.net)
        self.check("c-a", "a", {**self.net, "prevResult": result})
        self.assertEqual(self.calls("CHECK"), [["CHECK", "c-a", "net1", result]])

    def test_the_plugin_static_finds_its_addresses(self):
        """It fails without prevResult."""
        addresses = [{"address": "192.0.2.9/24"}, {"address": "2001:db8::9/64"}]
        net = self.network(ONE, ipam={"type": "static", "addresses": addresses})
        self.pod("a")
        result = self.add("c-a", "a", net)
        self.check("c-a", "a", {**net, "prevResult": result})


class Versions(Operations):
    """An IPAM plugin that speaks another version than the network."""

    def setUp(self):
        super().setUp()
        self.pod("a")
        self.refuse("DEL")

    def refuse(self, command):
        self.mark(f"FAIL-{command}", json.dumps({"code": 1, "msg": "incompatible CNI versions"}))

    def test_ipam_that_refused_an_add_has_nothing_to_free(self):
        self.refuse("ADD")
        with self.assertRaises(Failure) as refused:
            self.add("c-a", "a", self.net)
        self.assertEqual((refused.exception.code, refused.exception.message), (1, "ipam told: incompatible CNI versions"))
        self.delete("c-a", "a", self.net)
        self.assertNothingLeft()

    def test_nor_has_one_whose_answer_was_not_waited_for(self):
        self.mark("WAIT-ADD")
        child = self.start_plugin("ADD", "c-a", "/run/netns/a", "net1", self.net)
        until(lambda: self.calls("ADD"), "the ADD")
        child.kill()
        child.communicate()
        until(lambda: self.left() == 0, "its end")
        self.assertNothingLeft()

    def test_a_lease_that_was_given_is_kept_in_mind(self):
        self.add("c-a", "a", self.net)
        with self.assertRaises(Failure) as refused:
            self.delete("c-a", "a", self.net)
        self.assertEqual((refused.exception.code, self.left()), (1, 1))
        self.unmark("FAIL-DEL")
        self.delete("c-a", "a", self.net)
        self.assertNothingLeft()


class Leftovers(Operations):
    """DELs of the time without rdmad."""

    def setUp(self):
        super().setUp()
        self.spool = self.dir / "state/cni-spool"
        self.other = self.network(OTHER, ipam=HOST_LOCAL)
        self.pod("a")
        self.pod("b")

    def spool_delete(self):
        self.add("c-a", "a", self.net)
        self.end_daemon()
        self.delete("c-a", "a", self.net)
        self.assertEqual(len(list(self.spool.iterdir())), 1)

    def end_in_time(self, child):
        """Not with the deadline of the plugin, which is longer."""
        until(lambda: child.poll() is not None, "the answer")
        return self.end_plugin(child)

    def spool_many(self, n):
        """As a runtime's tries do while rdmad is down: a DEL each of another container."""
        before = set(self.spool.iterdir())
        self.delete("c-000000", "a", self.net)
        (record,) = set(self.spool.iterdir()) - before
        octets = record.read_bytes()
        self.assertEqual(octets.count(b"c-000000"), 1)
        for number in range(1, n):
            other = bytearray(octets.replace(b"c-000000", b"c-%06d" % number))
            (self.spool / f"{number:032x}").write_bytes(summed(other))

    def test_a_record_without_a_boot_may_be_of_this_one(self):
        self.spool_delete()
        (record,) = self.spool.iterdir()
        octets = bytearray(record.read_bytes())
        octets[BOOT] = bytes(40)
        record.write_bytes(summed(octets))
        self.start_daemon()
        until(lambda: not list(self.spool.iterdir()), "the DEL")
        self.assertEqual([call[:2] for call in self.calls("DEL")], [["DEL", "c-a"]])
        self.assertNothingLeft()

    def test_many_records_are_listed_once(self):
        """Those without an attachment are dropped, and the other one is done before an ADD."""
        self.spool_delete()
        self.spool_many(3000)
        self.start_daemon()
        with listings_of(self.spool) as listings:
            self.end_in_time(self.start_plugin("ADD", "c-b", "/run/netns/b", "net1", self.net))
            # The second one finds nothing.
            self.assertLess(listings(), 10)
        self.assertEqual(list(self.spool.iterdir()), [])
        self.assertEqual([call[:2] for command in ("DEL", "ADD") for call in self.calls(command)],
                         [["DEL", "c-a"], ["ADD", "c-a"], ["ADD", "c-b"]])
        self.delete("c-b", "b", self.net)
        self.assertNothingLeft()

    def test_a_record_of_an_add_that_runs_is_kept(self):
        with silent_kubelet(self.dir / "k"):
            add = self.start_plugin("ADD", "c-a", "/run/netns/a", "net1", self.net, arguments=POD)
            until(lambda: self.module_status("cni")["running"] == 1, "the ADD")
            away = (self.dir / "run/cni.sock").rename(self.dir / "away")
            self.delete("c-a", "a", self.net)
            away.rename(self.dir / "run/cni.sock")
            self.add("c-b", "b", self.net)
            self.assertEqual(self.module_status("cni")["spooled"], 1)
        with contextlib.suppress(Failure):
            self.end_plugin(add)
        until(lambda: self.module_status("cni")["spooled"] == 0, "the DEL")
        self.assertIsNone(link("net1", "a"))
        self.delete("c-b", "b", self.net)
        self.assertNothingLeft()

    def test_records_that_are_none_do_not_hold_an_add(self):
        self.spool.mkdir(mode=0o700, exist_ok=True)
        for n in range(3):
            (self.spool / f"{n:032x}").write_bytes(b"cut off")
        self.end_in_time(self.start_plugin("ADD", "c-b", "/run/netns/b", "net1", self.net))
        self.delete("c-b", "b", self.net)
        self.assertNothingLeft()

    def check_an_add_waits(self, mend):
        """For the DEL in the spool, until that can be read again."""
        self.start_daemon()
        other = self.start_plugin("ADD", "c-b", "/run/netns/b", "net1", self.net)
        until(lambda: self.module_status("cni")["waiting"] == 1 or other.poll() is not None, "the ADD")
        self.assertIsNone(other.poll())
        self.assertEqual(self.calls("DEL"), [])
        mend()
        self.end_in_time(other)
        self.assertEqual(list(self.spool.iterdir()), [])
        self.delete("c-b", "b", self.net)

    def test_an_add_waits_while_the_spool_cannot_be_listed(self):
        self.spool_delete()
        away = self.spool.rename(self.dir / "away")
        self.spool.symlink_to(self.spool)
        away_link = self.dir / "link"
        away_link.symlink_to(away)
        self.check_an_add_waits(lambda: away_link.replace(self.spool))

    def test_an_add_waits_while_a_record_cannot_be_read(self):
        self.spool_delete()
        # A lease of another process fails open() with EAGAIN.
        (record,) = self.spool.iterdir()
        lease = os.open(record, os.O_WRONLY)
        self.addCleanup(signal.signal, signal.SIGIO, signal.signal(signal.SIGIO, signal.SIG_IGN))
        fcntl.fcntl(lease, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        self.check_an_add_waits(lambda: os.close(lease))

    def test_a_record_that_cannot_be_removed_is_tried_once_before_an_add(self):
        self.spool_delete()
        (record,) = self.spool.iterdir()
        run("mount", "--bind", str(record), str(record))
        self.addCleanup(run, "umount", str(record))
        self.start_daemon()
        self.end_in_time(self.start_plugin("ADD", "c-b", "/run/netns/b", "net1", self.net))
        self.assertEqual([call[:2] for call in self.calls("DEL")], [["DEL", "c-a"]])
        self.assertEqual(self.module_status("cni")["spooled"], 1)
        self.delete("c-b", "b", self.net)

    def leftover_fail(self):
        """The DEL fails before the ADD of another container, and would succeed now."""
        self.spool_delete()
        self.mark("FAIL-DEL", json.dumps({"code": 999, "msg": "no disk"}))
        self.start_daemon()
        self.add("c-b", "b", self.other)
        self.assertEqual(self.module_status("cni")["spooled"], 1)
        self.unmark("FAIL-DEL")

    def test_a_delete_that_failed_does_not_end_a_later_attachment(self):
        self.leftover_fail()
        self.add("c-a", "a", self.net)
        until(lambda: not list(self.spool.iterdir()), "the removal of its record")
        self.end_daemon()
        self.start_daemon()
        self.delete("c-b", "b", self.other)
        self.add("c-b", "b", self.other)
        self.assertIsNotNone(link("net1", "a"))
        self.delete("c-a", "a", self.net)
        self.delete("c-b", "b", self.other)
        self.assertNothingLeft()

    def test_nor_when_its_record_cannot_be_removed_at_first(self):
        self.leftover_fail()
        (record,) = self.spool.iterdir()
        run("mount", "--bind", str(record), str(record))
        self.add("c-a", "a", self.net)
        run("umount", str(record))
        self.daemon.send_signal(signal.SIGHUP)
        until(lambda: self.module_status("cni")["spooled"] == 0, "the retry")
        self.assertIsNotNone(link("net1", "a"))

    def test_a_leftover_waits_for_the_delete_of_its_container_that_runs(self):
        self.spool_delete()
        self.mark("WAIT-DEL")
        self.start_daemon()
        again = self.start_plugin("DEL", "c-a", "/run/netns/a", "net1", self.net)
        until(lambda: self.calls("DEL"), "the DEL")
        other = self.start_plugin("ADD", "c-b", "/run/netns/b", "net1", self.net)
        until(lambda: self.module_status("cni")["running"] + self.module_status("cni")["waiting"] == 3, "the leftover")
        self.assertEqual(self.module_status("cni")["running"], 1)
        self.unmark("WAIT-DEL")
        self.end_in_time(again)
        self.end_in_time(other)
        self.assertEqual(len(self.calls("DEL")), 1)
        self.assertEqual(list(self.spool.iterdir()), [])
        self.delete("c-b", "b", self.net)


class Hanging(Operations):
    """An undo that does not end: its plugin waits."""

    NETWORKS = 'mode = "exclusive";'
    HELD = 5    # seconds that an ADD waits for such an undo, as in modules/cni/server.c

    def setUp(self):
        super().setUp()
        self.pod("a")
        self.pod("b")
        self.add("c-a", "a", self.net)

    def fail_once(self):
        self.mark("FAIL-DEL", json.dumps({"code": 5, "msg": "no disk"}))
        with self.assertRaises(Failure):
            self.delete("c-a", "a", self.net)
        self.unmark("FAIL-DEL")

    def hang(self, retry):
        """The undo of c-a, with the NIC in the host again."""
        before = len(self.calls("DEL"))
        self.mark("WAIT-DEL")
        retry()
        until(lambda: len(self.calls("DEL")) > before, "the undo")

    def restart(self):
        self.end_daemon()
        self.start_daemon()

    def spool(self, nic):
        """The ADD makes rdmad read the spool."""
        self.end_daemon()
        self.delete("c-a", "a", self.net)
        self.start_daemon()
        self.add_of_b = self.start_plugin("ADD", "c-b", "/run/netns/b", "net1", self.network(nic, ipam=HOST_LOCAL))

    def seconds_of_add(self):
        began = time.monotonic()
        self.add("c-b", "b", self.network(OTHER, ipam=HOST_LOCAL))
        return time.monotonic() - began

    def end(self):
        self.unmark("WAIT-DEL")
        until(lambda: self.left() == 1, "the undo")
        self.delete("c-b", "b", self.network(OTHER, ipam=HOST_LOCAL))
        self.assertNothingLeft()

    def test_adds_of_other_pods_do_not_wait_for_it_long(self):
        self.fail_once()
        self.hang(self.restart)
        self.assertLess(self.seconds_of_add(), 2 * self.HELD)
        self.end()

    def test_nor_for_one_of_the_spool(self):
        began = time.monotonic()
        self.hang(lambda: self.spool(OTHER))
        self.end_plugin(self.add_of_b)
        self.assertLess(time.monotonic() - began, 3 * self.HELD)
        self.end()

    def test_nor_at_all_for_one_that_failed_before(self):
        self.fail_once()
        self.hang(lambda: self.daemon.send_signal(signal.SIGHUP))
        self.assertLess(self.seconds_of_add(), self.HELD - 1)
        self.end()

    def test_an_add_waits_for_its_nic_and_for_its_container(self):
        self.hang(lambda: self.spool(ONE))
        own = self.start_plugin("ADD", "c-a", "/run/netns/a", "net1", self.network(OTHER))
        until(lambda: self.module_status("cni")["waiting"] == 2, "the ADDs")
        self.unmark("WAIT-DEL")
        self.end_plugin(self.add_of_b)
        self.end_plugin(own)
        self.assertEqual([link("net1", pod) is not None for pod in "ab"], [True, True])

    def test_an_add_gets_neither_nic_nor_container_of_one_that_hangs(self):
        self.hang(lambda: self.spool(ONE))
        own = self.start_plugin("ADD", "c-a", "/run/netns/a", "net1", self.net)
        with self.assertRaises(Failure) as refused:
            self.end_plugin(self.add_of_b)
        self.assertEqual(refused.exception.code, 101)
        self.assertIsNone(own.poll())
        self.unmark("WAIT-DEL")
        self.end_plugin(own)
        self.assertIsNotNone(link("net1", "a"))


class Leases(Operations):
    """A plugin that fails its DELs."""

    NETWORKS = 'mode = "exclusive";'

    def fail(self, *commands):
        for command in commands:
            self.mark(f"FAIL-{command}", json.dumps({"code": 999, "msg": "no IP ranges specified"}))

    def assertRefused(self, call, *words):
        with self.assertRaises(Failure) as refused:
            call(*words)
        self.assertEqual(refused.exception.code, 103)

    def test_a_plugin_that_refuses_the_add_has_nothing_to_free(self):
        self.pod("a")
        self.fail("ADD", "DEL")
        self.assertRefused(self.add, "c1", "a", self.net)
        self.assertEqual(len(self.calls("DEL")), 1)
        self.assertNothingLeft()
        self.delete("c1", "a", self.net)
        self.unmark("FAIL-ADD")
        self.add("c1", "a", self.net)
        self.assertIsNotNone(link("net1", "a"))

    def test_a_plugin_that_says_nothing_may_have_given_an_address(self):
        self.pod("a")
        self.mark("FAIL-ADD")
        self.fail("DEL")
        self.assertRefused(self.add, "c1", "a", self.net)
        self.assertEqual(self.left(), 1)
        self.unmark("FAIL-DEL")
        self.delete("c1", "a", self.net)
        self.assertNothingLeft()

    def test_a_nic_is_free_while_its_lease_is_not(self):
        self.pod("a")
        self.pod("b")
        other = self.network(ONE, ipam=HOST_LOCAL)
        self.add("c1", "a", self.net)
        self.fail("DEL")
        self.assertRefused(self.delete, "c1", "a", self.net)
        self.assertHostIs(self.before)
        self.add("c2", "b", other)
        self.end_daemon()
        self.start_daemon()
        self.assertRefused(self.delete, "c1", "a", self.net)
        self.assertIsNotNone(link("net1", "b"))
        self.unmark("FAIL-DEL")
        self.delete("c1", "a", self.net)
        self.assertIsNotNone(link("net1", "b"))
        self.assertEqual(self.left(), 1)
        self.delete("c2", "b", other)
        self.assertNothingLeft()


# Like host-local, slowly: the lease is there before its contents, by which it is freed.
SLOW_LEASE = """#!/usr/bin/python3
import json, os, sys, time
json.load(sys.stdin)
path = os.path.dirname(os.path.abspath(__file__)) + "/lease"
owner = os.environ["CNI_CONTAINERID"] + "/" + os.environ["CNI_IFNAME"]
if os.environ["CNI_COMMAND"] == "ADD":
    with open(path, "x") as lease:
        time.sleep(0.5)
        lease.write(owner)
    print(json.dumps({"cniVersion": "1.0.0", "ips": [{"address": "192.0.2.9/24"}]}))
elif os.path.exists(path) and open(path).read() == owner:
    os.unlink(path)
"""


class IpamProcesses(Operations):
    def test_a_lease_that_is_being_written_has_an_owner(self):
        lease = self.plugins / "lease"
        (self.plugins / "slow").write_text(SLOW_LEASE)
        (self.plugins / "slow").chmod(0o755)
        net = self.network(ONE, ipam={"type": "slow"})
        self.pod("a")
        for interruption in ("the end of rdmad", "a caller that hangs up", "a DEL"):
            with self.subTest(interruption):
                child = self.start_plugin("ADD", "c1", "/run/netns/a", "net1", net)
                until(lease.exists, "the lease")
                if interruption == "the end of rdmad":
                    self.end_daemon(signal.SIGKILL)
                    child.communicate()
                    self.start_daemon()
                    self.assertFalse(lease.exists() and not lease.read_text())
                elif interruption == "a DEL":
                    self.delete("c1", "a", net)
                    child.communicate()
                else:
                    child.kill()
                    child.communicate()
                self.delete("c1", "a", net)
                until(lambda: not lease.exists(), "the lease to be free")
        self.assertNothingLeft()

    def process_that_is_late(self):
        """Of the plugin, which does not wait for it."""
        path = self.plugins / "late"
        until(lambda: path.exists() and path.read_text().endswith("\n"), "a process of the plugin")
        pid = int(path.read_text())
        path.unlink()
        return pid

    def test_what_a_plugin_left_ends_before_the_next_daemon_serves(self):
        self.pod("a")
        for command in ("ADD", "DEL"):
            if command == "DEL":
                self.add("c1", "a", self.net)
            self.mark(f"WAIT-{command}")
            self.mark(f"LATE-{command}")
            count = len(self.calls(command))
            child = self.start_plugin(command, "c1", "/run/netns/a", "net1", self.net)
            until(lambda: len(self.calls(command)) > count and list((self.dir / "run/cni-ipam").iterdir()),
                  "the plugin")
            late = self.process_that_is_late()
            self.end_daemon(signal.SIGKILL)
            child.communicate()
            self.unmark(f"WAIT-{command}")
            self.unmark(f"LATE-{command}")
            self.start_daemon()
            self.assertTrue(has_ended(late), command)
            self.delete("c1", "a", self.net)
            self.assertEqual(list((self.dir / "run/cni-ipam").iterdir()), [])
        self.assertNothingLeft()

    def test_a_process_that_has_the_number_by_now_is_left_alone(self):
        import subprocess
        stranger = subprocess.Popen(["sleep", "1000"], start_new_session=True, env={"CNI_CONTAINERID": "c1"})
        self.addCleanup(stranger.wait)
        self.addCleanup(stranger.kill)
        self.end_daemon()
        namespace = os.readlink("/proc/self/ns/pid")
        directory = self.dir / "run/cni-ipam"
        for text in (f"1 {namespace} c1", "1 pid:[1] c1", "", "nonsense", f"{2**64} x"):
            directory.mkdir(exist_ok=True)
            (directory / str(stranger.pid)).write_text(text)
            (directory / "not-a-number").write_text(text)
            self.start_daemon()
            self.assertIsNone(stranger.poll())
            self.assertEqual(list(directory.iterdir()), [])
            self.end_daemon()


class Life(Operations):
    def test_a_reload_changes_what_later_requests_get(self):
        self.pod("a")
        self.pod("b")
        self.mark("WAIT-ADD")
        child = self.start_plugin("ADD", "c1", "/run/netns/a", "net1", self.net)
        until(lambda: self.calls("ADD"), "the ADD")
        config = self.dir / "rdmad.conf"
        text = config.read_text()
        config.write_text(text.replace('name = "all";', 'name = "all"; mtu = 1400;'))
        self.reload(1)
        self.unmark("WAIT-ADD")
        self.end_plugin(child)
        self.assertEqual(link("net1", "a")["mtu"], 4200)
        self.delete("c1", "a", self.net)
        self.add("c2", "b", self.net)
        self.assertEqual(link("net1", "b")["mtu"], 1400)
        config.write_text(text.replace('name = "all";', 'name = "all"; link = "nonsense";'))
        self.reload(2)
        self.check("c2", "b", self.net)
        self.delete("c2", "b", self.net)
        self.assertNothingLeft()

    def reload(self, number):
        kinds = ("config-reloaded", "config-rejected")
        count = lambda: sum(e["kind"].startswith("config") for e in self.client("events")["events"])
        had = count()
        self.daemon.send_signal(signal.SIGHUP)
        until(lambda: count() > had, f"reload {number} {kinds}")

    def test_a_stop_waits_for_what_runs_and_refuses_what_comes(self):
        self.pod("a")
        self.pod("b")
        self.mark("WAIT-ADD")
        child = self.start_plugin("ADD", "c1", "/run/netns/a", "net1", self.net)
        until(lambda: self.calls("ADD"), "the ADD")
        self.daemon.send_signal(signal.SIGTERM)
        until(lambda: self.refusal_of_add() == 11, "a refusal")
        self.unmark("WAIT-ADD")
        self.end_plugin(child)
        self.assertEqual(self.daemon.wait(PATIENCE), 0)
        self.daemon = None
        self.assertIsNotNone(link("net1", "a"))
        self.start_daemon()
        self.delete("c1", "a", self.net)
        self.assertNothingLeft()

    def refusal_of_add(self):
        try:
            self.add("c2", "b", self.net)
        except Failure as refused:
            return refused.code
        self.delete("c2", "b", self.net)
        return None

    def test_a_stop_undoes_what_does_not_end(self):
        self.pod("a")
        self.mark("WAIT-ADD")
        child = self.start_plugin("ADD", "c1", "/run/netns/a", "net1", self.net)
        until(lambda: self.calls("ADD"), "the ADD")
        self.end_daemon()
        with self.assertRaises(Failure) as refused:
            self.end_plugin(child)
        self.assertEqual(refused.exception.code, 11)
        self.assertEqual(len(self.calls("DEL")), 1)
        self.assertHostIs(self.before)
        self.start_daemon()

    def test_attachments_are_listed(self):
        self.pod("a")
        result = self.end_plugin(self.start_plugin("ADD", "c1", "/run/netns/a", "net1", self.net,
                                                   arguments=POD))
        answer = self.client("attachments")
        if api_schema.jsonschema:
            self.assertEqual(api_schema.problems("GET /api/v1/attachments", 200, answer), [])
        row, = answer["attachments"]
        self.assertEqual((row["namespace"], row["pod"], row["container_id"], row["network"], row["interface"], row["mode"], row["state"]),
                         ("ml", "job-0", "c1", "rdma", "net1", "shared", "done"))
        self.assertEqual((row["device_id"], row["addresses"]), (self.nics[ONE], [result["ips"][0]["address"]]))
        self.assertEqual(len(self.client("attachments", "--pod", "ml/job-0")["attachments"]), 1)
        self.assertEqual(self.client("attachments", "--pod", "ml/job-1")["attachments"], [])
        self.delete("c1", "a", self.net)
        self.assertEqual(self.client("attachments")["attachments"], [])


class GidTable(Operations):
    def test_pods_are_counted_against_the_table_of_their_nic(self):
        self.widen_gid_tables(16)
        self.addCleanup(self.widen_gid_tables, 1024)
        made = 0
        with self.assertRaises(Failure) as refused:
            for number in range(8):
                self.pod(f"p{number}")
                self.add(f"c{number}", f"p{number}", self.net)
                made += 1
        self.assertEqual(refused.exception.code, 105)
        self.assertRegex(refused.exception.message, "the GID table of mlx5_0 has 16 entries, [0-9]+ in use")
        self.assertGreater(made, 0)
        # The other NIC has a table of its own, and an end makes room.
        self.add("c8", f"p{made}", self.network(OTHER, ipam={"type": "told"}), "net2")
        self.delete("c0", "p0", self.net)
        self.add("cx", f"p{made}", self.net)


class GivenBack(Operations):
    """What a link loses when it changes its namespace, or a pod may have changed."""
    NETWORKS = 'mode = "exclusive";'

    def everything(self):
        def entries(*words):
            lines = run(*words).splitlines()
            return sorted(line.strip() for line in lines if "fe80" not in line and "ff00" not in line)
        sysctls = {}
        for family in ("ipv4/conf", "ipv6/conf", "ipv4/neigh", "ipv6/neigh"):
            directory = Path(f"/proc/sys/net/{family}/{ONE}")
            for path in directory.iterdir():
                try:
                    sysctls[f"{family}/{path.name}"] = path.read_text()
                except OSError:
                    pass
        found = link(ONE)
        kept = {key: found.get(key) for key in ("ifname", "mtu", "address", "altnames", "ifalias", "txqlen", "group",
                                                "operstate", "promiscuity")}
        kept["addresses"] = [{key: value for key, value in a.items() if not key.endswith("life_time")} |
                             {"forever": a["valid_life_time"] == 2**32 - 1, "old": a["preferred_life_time"] == 0}
                             for a in found["addr_info"] if a["scope"] != "link"]
        kept["addresses"].sort(key=lambda a: a["local"])
        return {"link": kept, "sysctls": sysctls, "rules": [entries("ip", f, "rule") for f in ("-4", "-6")],
                "routes": [entries("ip", f, "route", "show", "table", "all", "dev", ONE) for f in ("-4", "-6")],
                "neighbours": entries("ip", "neigh", "show", "nud", "permanent")}

    def furnish(self):
        words = ["link set {} alias rail-zero", "link set {} txqueuelen 500", "link set {} group 7",
                 "addr add 198.51.9.1 peer 198.51.9.2/32 dev {} metric 77",
                 "addr add 198.51.8.1/24 dev {} label {}:x noprefixroute",
                 "addr add 198.51.7.1/24 broadcast 198.51.7.250 dev {} valid_lft 5000 preferred_lft 0",
                 "-6 addr add 2001:db8:1::7/64 dev {} nodad", "-6 addr add 2001:db8:1::8/64 dev {} nodad "
                 "valid_lft 4000 preferred_lft 300",
                 "-6 addr add 2001:db8:2::7/64 dev {} nodad noprefixroute",
                 "route add 203.0.100.0/24 via 198.51.0.1 dev {} table 77 metric 5 mtu 1400 src 198.51.0.7",
                 "route add 203.0.101.0/24 via 10.9.9.9 dev {} onlink proto 99",
                 "-6 route add 2001:db8:9::/48 via 2001:db8:1::1 dev {} table 78",
                 "rule add iif {} table 77", "rule add oif {} table 77", "-6 rule add iif {} table 78",
                 "neigh add 198.51.0.99 lladdr 02:00:00:00:00:99 dev {} nud permanent",
                 "-6 neigh add 2001:db8:1::99 lladdr 02:00:00:00:00:98 dev {} nud permanent"]
        for line in words:
            run("ip", *line.format(ONE, ONE).split())
        for path, value in (("ipv4/conf/{}/medium_id", 5), ("ipv4/conf/{}/rp_filter", 2),
                            ("ipv6/conf/{}/hop_limit", 33), ("ipv6/conf/{}/accept_ra", 0),
                            ("ipv6/conf/{}/stable_secret", "2001:db8::1"),
                            ("ipv4/neigh/{}/gc_stale_time", 99), ("ipv6/neigh/{}/retrans_time_ms", 1500)):
            Path("/proc/sys/net/" + path.format(ONE)).write_text(str(value))

    def setUp(self):
        super().setUp()
        self.net = self.network(ONE)
        self.furnish()
        # The kernel gives an IPv6 address its own route some time later.
        until(lambda: len([r for r in ip("-6", "route", "show", "table", "local", "type", "local", "dev", ONE)
                           if r["dst"].startswith("2001:")]) == 3, "the routes of the addresses")
        self.pod("a")

    def expect(self, before):
        """The kernel changes operstate and an address's own route some time later."""
        self.maxDiff = None
        with contextlib.suppress(AssertionError):
            until(lambda: self.everything() == before, "all of it")
        after = self.everything()
        for key in before:
            self.assertEqual(after[key], before[key])

    def test_all_of_it_comes_back(self):
        before = self.everything()
        # The NICs are veth, which a dead namespace takes along.
        for how in ("DEL", "after a kill"):
            with self.subTest(how):
                result = self.add("c1", "a", self.net)
                self.assertIn("2001:db8:1::7/64", [i["address"] for i in result["ips"]])
                self.assertIsNone(link(ONE))
                if how == "after a kill":
                    self.end_daemon(signal.SIGKILL)
                    self.start_daemon()
                self.delete("c1", "a", self.net)
                self.expect(before)
        for rule in ip("rule"):
            self.assertFalse(rule.get("iif_detached") or rule.get("oif_detached"))

    def test_a_decoy_of_the_pod_stays_there(self):
        before = self.everything()
        self.add("c1", "a", self.net)
        run("ip", "-n", "a", "link", "set", "net1", "down")
        run("ip", "-n", "a", "link", "set", "net1", "name", "real0")
        run("ip", "-n", "a", "link", "add", "net1", "address", before["link"]["address"], "type", "veth", "peer",
            "name", "end")
        self.delete("c1", "a", self.net)
        self.assertIsNone(link("real0", "a"))
        self.assertIsNotNone(link("net1", "a"))
        self.expect(before)

    def test_links_of_the_pod_on_the_nic_end_with_its_use(self):
        kinds = ("macvlan", "macvlan mode passthru")
        before = self.everything()
        for kind in kinds:
            with self.subTest(kind):
                self.add("c1", "a", self.net)
                run("ip", "-n", "a", "link", "add", "link", "net1", "upper", "type", *kind.split())
                run("ip", "-n", "a", "link", "add", "pair", "type", "veth", "peer", "name", "end")
                self.delete("c1", "a", self.net)
                self.assertIsNone(link("upper", "a"))
                self.assertIsNotNone(link("pair", "a"))
                run("ip", "-n", "a", "link", "del", "pair")
                self.expect(before)

    def test_a_name_that_the_host_gave_away_holds_up_no_delete(self):
        net = self.net
        before = self.everything()
        self.add("c1", "a", net)
        run("ip", "link", "add", ONE, "type", "veth", "peer", "name", "thief")
        self.delete("c1", "a", net)
        self.assertIsNone(link("net1", "a"))
        self.assertEqual(self.module_status("cni")["left"], 1)
        self.assertIn(f"the host has another link called {ONE}", (self.dir / "log").read_text())
        self.assertEqual(len([f for f in self.client("doctor")["findings"]
                              if f["subject"] == "cni" and f["level"] == "problem"]), 1)
        self.pod("b")
        with self.assertRaises(Failure) as refused:
            self.add("c2", "b", net)
        self.assertEqual(refused.exception.code, 101)
        run("ip", "link", "del", "thief")
        until(lambda: self.left() == 0, "another try", 60)
        self.expect(before)

    def test_a_nic_that_is_any_hop_of_a_route_is_refused(self):
        for to, message in (("203.0.102.0/24", "one of several hops of the host's route to 203.0.102.0/24"),
                            ("default", "has the host's default route")):
            with self.subTest(to):
                hops = [word for number in (1, 0) for word in
                        ("nexthop", "via", f"198.51.{number}.1", "dev", NICS[number])]
                run("ip", "route", "add", to, *hops)
                with self.assertRaises(Failure) as refused:
                    self.add("c1", "a", self.net)
                run("ip", "route", "del", to)
                self.assertEqual(refused.exception.code, 100)
                self.assertIn(message, refused.exception.message)

    def test_a_nic_with_a_route_that_cannot_be_given_back_is_refused(self):
        over = ["via", "198.51.0.1", "dev", ONE]
        for to, words in (("203.0.102.0/24", [*over, "initcwnd", "40"]), ("203.0.102.0/24", [*over, "tos", "0x10"]),
                          ("203.0.102.0/24", [*over, "mtu", "lock", "1400"]),
                          ("203.0.102.0/24", [*over, "realms", "5"]),
                          ("2001:db8:a::/48", ["via", "2001:db8:1::1", "dev", ONE, "pref", "high"])):
            with self.subTest(words=words[-2:]):
                family = "-6" if ":" in to else "-4"
                run("ip", family, "route", "add", to, *words)
                with self.assertRaises(Failure) as refused:
                    self.add("c1", "a", self.net)
                run("ip", family, "route", "del", to, *words)
                self.assertEqual(refused.exception.code, 100)
                self.assertIn(f"the host's route to {to}", refused.exception.message)

    def test_a_nic_with_500_routes_is_taken_and_one_with_too_many_is_refused(self):
        def routes(first, last):
            text = "".join(f"route add 100.{n >> 8}.{n & 255}.0/24 via 198.51.0.1 dev {ONE}\n"
                           for n in range(first, last))
            (self.dir / "batch").write_text(text)
            run("ip", "-batch", str(self.dir / "batch"))
        routes(0, 500)
        before = self.everything()
        self.add("c1", "a", self.net)
        self.delete("c1", "a", self.net)
        self.expect(before)
        routes(500, 10000)
        with self.assertRaises(Failure) as refused:
            self.add("c1", "a", self.net)
        self.assertEqual(refused.exception.code, 100)
        self.assertIn("routes", refused.exception.message)
        self.assertEqual(self.left(), 0)
        self.assertIsNotNone(link(ONE))


if __name__ == "__main__":
    enter_private_host()
    del sys.argv[1:4]
    tap.main(sys.argv[1:])
