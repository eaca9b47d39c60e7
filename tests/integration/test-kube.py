#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Module kube against an API server that is good or bad.

usage: test-kube.py RDMAD EXPAND MODULE-DIR RDMAD-CNI [TEST...]
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../kubelet"))
from control_socket import Connection  # noqa: E402
from fake_api_server import ApiServer, Authority, Wire  # noqa: E402
from machine_changes import Machine, post  # noqa: E402
from machine_daemon import Daemon  # noqa: E402
from ports import free_port  # noqa: E402
import tap  # noqa: E402
from fake import Kubelet  # noqa: E402

SHIM = sys.argv[4]
MACHINE = "gpu-8rail"
PATIENCE = 180
INSTRUMENTED = b"__asan_init" in Path(sys.argv[1]).read_bytes()
FAST, SLOW = 'retry = "20ms"; retry_max = "200ms";', 'retry = "60s"; retry_max = "60s";'
REST = 'publish_interval = "20ms"; event_interval = "20ms"; timeout = "2s";'
MODE = "vke.node.rdma.mode"
PLUGIN = """device-plugin = { resources = ( { name = "rdma/hca"; mode = "shared"; mode_from = "label:%s"; } ); };""" % MODE


def until(true, what):
    end = time.monotonic() + PATIENCE
    while not (value := true()):
        if time.monotonic() > end:
            raise AssertionError(f"waited in vain for {what}")
        time.sleep(0.02)
    return value


class KubeCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.secrets = Path(tempfile.mkdtemp(prefix="rdmad-kube-"))
        cls.addClassCleanup(shutil.rmtree, cls.secrets)
        cls.good, cls.other = Authority(cls.secrets, "good"), Authority(cls.secrets, "other")

    def setUp(self):
        self.dir = Path(tempfile.mkdtemp(prefix="rdmad-kube-"))
        self.addCleanup(shutil.rmtree, self.dir)
        self.write_token("one")
        self.write_ca(self.good)
        self.server = ApiServer(self.good, labels={"zone": "a"})
        self.url = self.server.url
        self.addCleanup(self.server.end)
        self.daemon = None
        self.addCleanup(self.stop)

    def write(self, name, text):
        """As kubelet does: by a rename."""
        (self.dir / "new").write_text(text)
        (self.dir / "new").rename(self.dir / name)

    def write_token(self, token):
        self.write("token", token + "\n")

    def write_ca(self, authority):
        self.write("ca.crt", authority.ca.read_text())

    def config(self, more="", modules="", pace=FAST):
        return """modules = { kube = { server = "%s"; node = "n1"; token_file = "%s"; ca_file = "%s"; %s %s };
                  %s };""" % (self.url, self.dir / "token", self.dir / "ca.crt", pace + REST, more, modules)

    def start(self, more="", modules="", pace=FAST):
        self.daemon = Daemon(MACHINE, self.config(more, modules, pace))

    def stop(self):
        if self.daemon:
            daemon, self.daemon = self.daemon, None
            daemon.close()

    def status(self):
        for module in self.daemon.json("status")["modules"]:
            if module["name"] == "kube":
                return module["status"]
        raise AssertionError("no module kube")

    def attributes(self):
        return {entry["name"]: entry["value"] for entry in self.daemon.json("attributes")["attributes"]}

    def label(self, name):
        return self.attributes().get("label:" + name)

    def until_label(self, name, value):
        try:
            until(lambda: self.label(name) == value, f"{name} to be {value}")
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.status()}\n{self.daemon.said()[-2000:]}") from None

    def until_state(self, state, text=""):
        def there():
            api = self.status()["api_server"]
            return api["state"] == state and text in (api.get("last_error") or "")
        try:
            until(there, f"{state} {text}")
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.status()['api_server']}") from None

    def problems(self):
        """Doctor's, of this module and of the daemon."""
        return {finding["subject"]: finding for finding in self.daemon.json("doctor")["findings"]
                if finding["level"] == "problem"}

    def until_problem(self, subject, text, advice):
        """A problem with this advice, which names RBAC only where a right is what lacks."""
        finding = until(lambda: self.problems().get(subject), f"the problem {subject}")
        self.assertIn(text, finding["text"])
        self.assertIn(advice, finding["advice"])
        if "403" not in text:
            self.assertNotRegex(finding["advice"], "RBAC|service account")

    def until_no_problem(self, *subjects):
        try:
            until(lambda: not set(subjects) & set(self.problems()), f"the end of {subjects}")
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.problems()}") from None

    def until_watching(self):
        """The watch of before the last list is none: its end is noticed later."""
        until(lambda: [watch.list for watch in self.server.watches] == [self.server.count("list")], "one watch")


class Node(KubeCase):
    def test_labels_are_attributes_and_follow_the_watch(self):
        self.start()
        self.until_label("zone", "a")
        self.until_watching()
        lists = self.server.count("list")
        self.server.label(zone="b", vke_node_rdma_mode="exclusive")
        self.until_label("zone", "b")
        self.until_label(MODE, "exclusive")
        self.server.label(zone=None)
        self.until_label("zone", None)
        self.assertEqual(self.server.count("list"), lists, "a watch was enough")

    def test_the_label_is_the_mode_of_a_resource_and_is_published(self):
        self.start(modules=PLUGIN)
        until(lambda: self.server.labels().get("rdmad.io/mode.rdma.hca") == "shared", "the mode")
        self.server.label(vke_node_rdma_mode="exclusive")
        until(lambda: self.server.labels().get("rdmad.io/mode.rdma.hca") == "exclusive", "the other mode")

    def test_a_restart_publishes_no_mode_that_the_label_does_not_name(self):
        self.server.label(vke_node_rdma_mode="exclusive")
        self.start(modules=PLUGIN)
        until(lambda: self.server.labels().get("rdmad.io/mode.rdma.hca") == "exclusive", "the mode")
        self.stop()
        before = len(self.server.patches)
        self.start(modules=PLUGIN)
        self.until_label(MODE, "exclusive")
        self.server.label(rdmad_io__rails=None)
        until(lambda: self.server.labels().get("rdmad.io/rails"), "a later patch")
        changed = {name for patch in self.server.patches[before:] for name in patch["metadata"]["labels"]}
        self.assertEqual(changed, {"rdmad.io/rails"})

    def test_bookmarks_are_where_a_watch_resumes(self):
        self.start("publish = false;")
        self.until_watching()
        self.server.bookmark()
        version = str(self.server.version)
        until(lambda: self.status()["node"]["watch"]["resource_version"] == version, "the bookmark")
        watches = self.server.count("watch")
        self.server.drop_watches()
        until(lambda: self.server.count("watch") > watches, "another watch")
        again = [asked for asked in self.server.asked if asked[0] == "watch"][-1]
        self.assertEqual(again[2]["resourceVersion"], version)
        self.assertEqual(again[2]["allowWatchBookmarks"], "true")
        self.assertTrue(300 <= int(again[2]["timeoutSeconds"]) <= 600)
        self.assertEqual(self.server.count("list"), 1)

    def test_an_expired_version_within_a_200_lists_again(self):
        self.start("publish = false;")
        self.until_watching()
        self.server.expire()
        with self.server.lock:      # while nobody watches
            self.server.drop_watches()
            self.server.node["metadata"]["labels"]["zone"] = "c"
        self.until_label("zone", "c")
        self.assertGreaterEqual(self.server.expired, 1)
        self.until_watching()

    def test_a_server_that_sends_to_list_for_ever_is_asked_ever_less(self):
        self.server.modes["watch"] = "gone"
        self.start()
        until(lambda: self.server.expired >= 5, "many")
        begun, before = time.monotonic(), len(self.server.asked)
        until(lambda: time.monotonic() - begun > 2, "two seconds")
        # Of 200 ms at least a half: two requests each.
        self.assertLess(len(self.server.asked) - before, 2 * (time.monotonic() - begun) / 0.1 + 4)

    def test_a_watch_that_ends_at_once_is_no_busy_loop(self):
        self.server.modes["watch"] = "empty"
        self.start()
        until(lambda: self.server.count("watch") >= 5, "many")
        begun, before = time.monotonic(), self.server.count("watch")
        until(lambda: time.monotonic() - begun > 2, "two seconds")
        self.assertLess(self.server.count("watch") - before, (time.monotonic() - begun) / 0.1 + 2)
        del self.server.modes["watch"]
        self.until_watching()

    def test_a_silent_watch_is_begun_again(self):
        self.start('watch_quiet = "300ms";')
        until(lambda: self.server.count("watch") >= 3, "watches")
        self.assertEqual(self.server.count("list"), 1)
        self.assertIn("no line came", self.status()["node"]["watch"]["error"])
        self.server.label(zone="z")
        self.until_label("zone", "z")

    def test_a_watch_whose_connection_is_dead_is_begun_again(self):
        wire = Wire(self.server.server_address[1])
        self.addCleanup(wire.end)
        self.url = wire.url
        self.start('watch_quiet = "1s";')
        self.until_label("zone", "a")
        self.until_watching()
        wire.cut()
        self.server.label(zone="b")
        self.until_label("zone", "b")
        self.assertEqual(self.server.count("list"), 1, "it goes on where it was")

    def test_a_long_watch_that_is_cut_has_ended(self):
        self.server.modes["watch"] = 500
        self.start("publish = false;")
        until(lambda: self.status()["node"]["watch"]["error"], "the failure")
        self.server.modes.clear()
        # Without a line, its length is what shows that it works.
        until(lambda: not self.status()["node"]["watch"]["error"], "a long watch")
        before, watches = self.status()["api_server"], self.server.count("watch")
        self.server.cut()
        until(lambda: self.server.count("watch") > watches, "another watch")
        self.until_watching()
        after = self.status()["api_server"]
        self.assertEqual((after["state"], after["last_error"]), ("ok", before["last_error"]))

    def test_bytes_that_are_no_line_are_no_life(self):
        self.server.modes["watch"] = "trickle"
        self.start('watch_quiet = "500ms";')
        until(lambda: self.server.count("watch") >= 3, "watches")
        self.assertIn("no line came", self.status()["node"]["watch"]["error"])
        del self.server.modes["watch"]
        self.server.label(zone="b")
        self.until_label("zone", "b")

    def test_a_watch_that_the_server_does_not_end_is_ended(self):
        """timeoutSeconds, and the time that any other response may take."""
        self.start('watch_timeout = "1s";')
        self.until_watching()

        def begun_again():
            self.server.bookmark()
            return self.server.count("watch") >= 2
        until(begun_again, "another watch")
        self.assertEqual(self.server.count("list"), 1)
        self.assertEqual(self.server.asked[-1][2]["watch"], "1")

    def test_lines_that_are_none_list_again_and_lose_no_label(self):
        self.start()
        for line in (b"{\n", b"\n", b"[]\n", b'{"type": "ADDED"}\n', b"\xff\xfe\n", b'{"type": 7, "object": {}}\n',
                     b'{"type": "MODIFIED", "object": {"metadata": {}}}\n', b"x" * (5 << 20)):
            with self.subTest(line[:40]):
                self.until_watching()
                lists = self.server.count("list")
                self.server.say(line)
                until(lambda: self.server.count("list") > lists, "another list")
                self.assertEqual(self.label("zone"), "a")

    def test_another_node_is_not_taken_for_ours(self):
        self.start("publish = false;")
        self.until_watching()
        self.server.tell("MODIFIED", {"metadata": {"name": "n2", "resourceVersion": "7", "labels": {"zone": "x"}}})
        self.server.bookmark()
        version = str(self.server.version)
        until(lambda: self.status()["node"]["watch"]["resource_version"] == version, "the bookmark")
        self.assertEqual(self.label("zone"), "a")

    def test_labels_hold_while_the_node_is_gone(self):
        self.start("publish = false;")
        self.until_label("zone", "a")
        self.until_watching()
        self.server.tell("DELETED", {"metadata": {"name": "n1", "resourceVersion": "2000"}})
        until(lambda: not self.status()["node"]["known"], "the end")
        self.assertEqual(self.label("zone"), "a")
        self.assertIn("no Node n1", self.daemon.run("doctor").stdout)

    def test_a_reload_with_other_patterns(self):
        self.start()
        self.until_label("zone", "a")
        self.daemon.configure(self.config('labels = ( "!zone" );'))
        self.daemon.process.send_signal(1)
        self.until_label("zone", None)


class Trouble(KubeCase):
    MEMORY_MAX_KB = 200 << 10 if INSTRUMENTED else 48 << 10

    def check_memory(self):
        with open(f"/proc/{self.daemon.process.pid}/status", encoding="ascii") as file:
            [most] = [int(line.split()[1]) for line in file if line.startswith("VmHWM:")]
        self.assertLess(most, self.MEMORY_MAX_KB)

    def check_pace(self, verb):
        """Of 200 ms at least a half passes between two."""
        begun, before = time.monotonic(), self.server.count(verb)
        until(lambda: time.monotonic() - begun > 0.5, "half a second")
        self.assertLess(self.server.count(verb) - before, (time.monotonic() - begun) / 0.1 + 2)

    def check_readiness(self):
        self.assertEqual(self.daemon.process.poll(), None)
        with contextlib.closing(Connection(self.daemon.socket, PATIENCE)) as connection:
            connection.request("GET", "/readyz?verbose")
            response = connection.getresponse()
            self.assertEqual(response.status, 200, response.read())

    def check_recovery(self):
        self.server.modes.clear()
        self.server.label(zone="after")
        self.until_label("zone", "after")
        self.until_state("ok")

    def test_statuses_of_a_list(self):
        for status, state, text in ((403, "forbidden", "RBAC"), (500, "failing", "status 500"),
                                    (429, "throttled", "too many"), (404, None, ""), (410, None, ""),
                                    ("redirect", "redirected", "not followed"), ("garbage", "failing", "byte"),
                                    ("list-of-nothing", "failing", "not an object"), ("cut", "unreachable", ""),
                                    ("huge", "unreachable", "more than"), ("endless", "unreachable", "more than"),
                                    ("gzip", "failing", "byte"), ("trickle", "unreachable", "")):
            with self.subTest(status):
                self.server.modes["list"] = status
                self.start()
                if state:
                    self.until_state(state, text)
                until(lambda: self.server.count("list") >= 2, "another try")
                self.check_readiness()
                self.check_pace("list")
                self.check_memory()
                if state:
                    self.assertIn("API server", self.daemon.run("doctor").stdout)
                self.check_recovery()
                self.assertFalse([asked for asked in self.server.asked if asked[1] == "/elsewhere"])
                self.stop()
                self.server.asked.clear()
                self.server.label(zone="a")

    def test_statuses_of_a_watch(self):
        for status, state, text in ((401, "unauthorized", "token"), (403, "forbidden", "RBAC"),
                                    (429, "throttled", "too many"), (500, "failing", "status 500"),
                                    (504, "failing", "status 504"), ("redirect", "redirected", "not followed"),
                                    ("cut", "unreachable", ""), ("endless", "unreachable", "more than")):
            with self.subTest(status):
                self.server.modes["watch"] = status
                self.start()
                self.until_label("zone", "a")
                until(lambda: self.server.count("watch") >= 2, "another try")
                until(lambda: text in (self.status()["api_server"]["last_error"] or "-"), text)
                self.check_readiness()
                self.check_pace("watch")
                self.check_memory()
                self.check_recovery()
                self.stop()
                self.server.asked.clear()
                self.server.label(zone="a")

    def test_retry_after_is_kept(self):
        self.server.modes["list"] = 429
        self.server.retry_after = "3"
        self.start()
        self.until_state("throttled")
        until(lambda: self.server.count("list") > 1, "another try")
        first, second = [asked[-1] for asked in self.server.asked if asked[0] == "list"][:2]
        self.assertGreater(second - first, 1.5)
        self.check_recovery()

    def test_no_server(self):
        self.server.end()
        self.start()
        self.until_state("unreachable")
        self.check_readiness()

    def test_a_certificate_of_another_authority(self):
        self.server.use(self.other)
        self.start()
        self.until_state("unreachable", "certificate")
        self.assertEqual(self.server.asked, [], "no token for a stranger")
        self.server.use(self.good)
        self.until_label("zone", "a")

    def test_an_authority_that_was_rotated(self):
        self.start()
        self.until_watching()
        self.server.use(self.other)
        self.server.drop_watches()
        self.until_state("unreachable", "certificate")
        self.write_ca(self.other)
        self.until_watching()

    def test_a_rotated_token(self):
        self.start()
        self.until_watching()
        self.write_token("two")
        self.server.tokens.add("two")
        self.server.drop_watches()
        until(lambda: self.server.asked[-1][3] == "two", "the new token")

    def test_a_token_that_is_rotated_after_a_401(self):
        self.start()
        self.until_watching()
        self.server.tokens = {"two"}
        self.server.drop_watches()
        self.until_state("unauthorized")
        self.write_token("two")
        self.until_state("ok")
        self.until_watching()

    def test_a_token_that_is_none(self):
        for token in ("", "a b", "x\r\nHost: evil", "y" * 20000):
            with self.subTest(token[:20]):
                self.write_token(token)
                self.start()
                self.until_state("unreachable", "no token")
                self.assertEqual(self.server.asked, [])
                self.write_token("one")
                self.until_label("zone", "a")
                self.stop()
                self.server.asked.clear()


class Publish(KubeCase):
    OURS = {"rdmad.io/capable": "true", "rdmad.io/link-layer.ethernet": "true"}

    def ours(self):
        return {name: value for name, value in self.server.labels().items() if name.startswith("rdmad.io/")}

    def test_what_is_true_is_published_and_what_is_not_is_removed(self):
        self.server.label(rdmad_io__mode_old="exclusive", rdmad_io__mine="stays")
        self.start('rails = ( "mlx5_[0-7]", "mlx5_*" );')
        until(lambda: "rdmad.io/capable" in self.ours(), "labels")
        labels = self.ours()
        self.assertLessEqual(self.OURS.items(), labels.items())
        self.assertNotIn("rdmad.io/mode.old", labels)
        self.assertEqual(labels["rdmad.io/mine"], "stays")
        self.assertTrue(labels["rdmad.io/rails"].isdigit())
        self.assertEqual(self.server.labels()["zone"], "a")

    def test_only_nics_count(self):
        root = self.dir / "machine"
        subprocess.run([sys.argv[2], "infiniband", root], check=True)
        machine = Machine(root)
        rails = []
        for managing in [], ["mlx5_0"], machine.devices():
            for device in managing:
                machine.manage_switches(device)
            self.daemon = Daemon(None, self.config('rails = ( "mlx5_*" );'), root=root)
            devices = self.daemon.json("devices")["devices"]
            nics = [device for device in devices if device["role"] == "nic"]
            labels = self.status()["publish"]["labels"]
            self.assertEqual(labels.get("rdmad.io/capable"), "true" if nics else None)
            self.assertEqual({name for name in labels if "link-layer" in name},
                             {"rdmad.io/link-layer." + port["link_layer"] for nic in nics for port in nic["ports"]})
            rails.append(int(labels.get("rdmad.io/rails", 0)))
            self.stop()
        self.assertEqual([rails[0] - 1, 0], rails[1:])

    def test_nothing_is_asked_while_nothing_differs(self):
        self.start()
        until(lambda: self.status()["publish"]["patches"] == 1, "the patch")
        self.server.label(zone="b")
        self.until_label("zone", "b")
        self.assertEqual(len(self.server.patches), 1)

    def test_a_label_that_others_change_is_repaired(self):
        self.start()
        until(lambda: "rdmad.io/capable" in self.ours(), "labels")
        self.server.label(rdmad_io__capable=None)
        until(lambda: "rdmad.io/capable" in self.ours(), "the repair")

    def test_a_watch_that_overtakes_the_response_to_a_patch_is_right(self):
        self.server.patches_answered.clear()
        self.start()
        until(lambda: "rdmad.io/capable" in self.ours(), "labels")
        self.until_watching()
        self.server.label(zone="b", rdmad_io__capable=None)
        self.until_label("zone", "b")
        self.server.patches_answered.set()
        until(lambda: "rdmad.io/capable" in self.ours(), "the repair")
        self.assertEqual(self.label("zone"), "b")

    def test_a_watch_behind_the_response_to_a_patch_takes_nothing_back(self):
        def fall_behind():
            self.server.withheld = []
            self.server.label(zone="b")

        self.start()
        until(lambda: self.status()["publish"]["patches"] == 1, "the patch")
        self.until_watching()
        self.until_label("rdmad.io/capable", "true")
        self.server.before_patch = fall_behind
        self.server.label(rdmad_io__capable=None)
        self.until_label("zone", "b")
        self.assertEqual(len(self.server.withheld), 2)
        for n in 1, None:
            version = str(self.server.version - (n or 0))
            self.server.tell_withheld(n)
            until(lambda: self.status()["node"]["watch"]["resource_version"] == version, version)
            self.assertEqual(self.label("rdmad.io/capable"), "true")
        self.server.label(zone="c")
        self.until_label("zone", "c")
        self.assertEqual(len(self.server.patches), 2)

    def test_a_refused_patch_is_tried_again_and_told(self):
        self.server.modes["patch"] = 403
        self.start()
        until(lambda: "RBAC" in (self.status()["publish"].get("error") or ""), "the refusal")
        self.assertIn("patch on nodes", self.daemon.run("doctor").stdout)
        self.assertEqual(self.label("zone"), "a")
        del self.server.modes["patch"]
        until(lambda: "rdmad.io/capable" in self.ours(), "labels")

    def test_a_problem_ends_when_the_labels_are_right(self):
        """The watch shows that a request took effect whose response was lost: no other follows."""
        for mode in "applied", 504:
            with self.subTest(mode):
                self.server.modes["patch"] = mode
                self.start(pace=SLOW)
                if mode == "applied":
                    until(lambda: "rdmad.io/capable" in self.ours(), "labels")
                else:
                    self.until_problem("node labels", "status 504", "tries again")
                    self.until_problem("API server", "status 504", "tries again")
                    labels = self.status()["publish"]["labels"]
                    self.server.patch_node({"metadata": {"labels": labels, "annotations": {
                        "rdmad.io/labels": " ".join(sorted(labels))}}})
                until(lambda: "504" in (self.status()["api_server"]["last_error"] or ""), "the response")
                self.until_no_problem("node labels", "API server")
                self.assertEqual(self.server.count("patch"), 1)
                until(lambda: self.status()["publish"]["error"] is None, "the end of the error")
                self.until_state("ok")
                self.stop()
                self.server.asked.clear()
                self.server.patch_node({"metadata": {"labels": dict.fromkeys(self.ours()),
                                                     "annotations": {"rdmad.io/labels": None}}})

    def test_the_advice_is_that_of_the_status(self):
        for status, advice in ((401, "token_file"), (403, "patch on nodes"), (404, "check node"), (409, "tries again"),
                               (422, "configuration"), (429, "limits its clients"), (500, "tries again"),
                               (503, "tries again"), (400, "admission policies"), ("redirect", "set server"),
                               ("garbage", "no API server"), ("cut", "ca_file")):
            with self.subTest(status):
                self.server.modes["patch"] = status
                self.start()
                text = f"status {status}" if isinstance(status, int) else ""
                self.until_problem("node labels", text, advice)
                self.server.modes.clear()
                self.until_no_problem("node labels", "API server")
                self.stop()
                self.server.patch_node({"metadata": {"labels": dict.fromkeys(self.ours())}})

    def test_the_advice_is_that_of_the_status_in_a_watch(self):
        """An ERROR event has a status of its own, in a response with 200."""
        for code, state, advice in ((500, "failing", "tries again"), (504, "failing", "tries again"),
                                    (429, "throttled", "limits its clients"), (403, "forbidden", "service account"),
                                    (410, "ok", "tries again"), (None, "failing", "no API server")):
            with self.subTest(code):
                self.start("publish = false;", pace=SLOW)
                self.until_label("zone", "a")
                self.until_watching()
                self.server.tell("ERROR", {"kind": "Status", "code": code, "message": "\x1b[31m\x9b31m"})
                self.until_problem("watch of the Node", f"status {code or 0}", advice)
                self.until_state(state)
                self.assertNotRegex(self.daemon.run("doctor").stdout, "[\x1b\x80-\x9f]")
                self.stop()
                self.server.asked.clear()

    def test_a_problem_ends_when_the_node_is_deleted(self):
        self.server.modes["patch"] = 503
        self.start(pace=SLOW)
        self.until_problem("node labels", "status 503", "")
        self.until_watching()
        self.server.tell("DELETED", {"metadata": {"name": "n1", "resourceVersion": "2000"}})
        self.until_no_problem("node labels", "API server")
        self.assertIn("Node", self.problems())

    def test_labels_are_taken_away(self):
        """On a reload, and at a start, without labels and with another prefix."""
        other = 'prefix = "example.com/";'
        for name, before, after, is_start in (("publish", "", "publish = false;", False),
                                              ("publish, at a start", "", "publish = false;", True),
                                              ("prefix", "", other, False), ("prefix, at a start", "", other, True),
                                              ("publish of another prefix", other, "publish = false;", True),
                                              ("both", other, "", False)):
            with self.subTest(name):
                self.server.label(rdmad_io__mine="stays", example_com__capable_mine="stays", capable="stays")
                self.start(before)
                was = until(self.published, "labels")
                self.assertIn(("example.com/" if before else "rdmad.io/") + "capable", was)
                if is_start:
                    self.stop()
                    self.start(after)
                else:
                    self.daemon.configure(self.config(after))
                    self.daemon.process.send_signal(1)
                until(lambda: not set(was) & set(self.server.labels()), "the end of the labels")
                wanted = self.status()["publish"]["labels"]
                self.assertEqual(bool(wanted), "false" not in after)
                until(lambda: self.published() == sorted(wanted), "the annotation")
                self.assertLessEqual({"rdmad.io/mine", "example.com/capable.mine", "capable"}, set(self.server.labels()))
                self.stop()
                self.server.node["metadata"].pop("annotations", None)
                self.server.label(**{name.replace("/", "__").replace(".", "_"): None for name in wanted})

    def test_a_reload_forgets_what_it_knew_of_the_node(self):
        """While it is listed again, the answer to a patch arrives; the list is of before the patch, or of after it."""
        for is_before in (False, True):
            with self.subTest(is_before=is_before):
                listed = threading.Event()
                self.server.asked.clear()
                self.server.patches_answered.clear()
                self.server.before_patch = listed.wait if is_before else None
                self.start()
                until(lambda: self.server.count("patch") if is_before else self.published(), "a patch")
                self.server.lists_answered.clear()
                self.daemon.configure(self.config('prefix = "example.com/";'))
                self.daemon.process.send_signal(1)
                until(lambda: self.server.count("list") > 1, "another list")
                listed.set()
                until(self.published, "labels")
                self.server.patches_answered.set()
                until(lambda: self.status()["publish"]["patches"], "the answer")
                time.sleep(0.1)     # five times the pause between patches
                self.server.lists_answered.set()
                until(lambda: "example.com/capable" in self.published(), "the other labels")
                self.assertEqual({name.partition("/")[0] for name in self.server.labels()}, {"zone", "example.com"})
                self.stop()
                self.server.label(**{name.replace("/", "__").replace(".", "_"): None for name in self.published()})
                self.server.patch_node({"metadata": {"annotations": None}})

    def published(self):
        return self.server.node["metadata"].get("annotations", {}).get("rdmad.io/labels", "").split()

    def test_an_annotation_lends_no_label_of_others(self):
        labels = {"topology.kubernetes.io/zone": "a", "example.com/capable.mine": "1", "capable": "1"}
        self.server.patch_node({"metadata": {"labels": labels, "annotations": {
            "rdmad.io/labels": "  " + " ".join(labels) + " absent x/"}}})
        self.start("publish = false;")
        until(lambda: not self.published(), "the end of the annotation")
        self.assertLessEqual(set(labels), set(self.server.labels()))

    def test_a_label_that_may_not_be_taken_away_is_told(self):
        self.start()
        until(self.published, "labels")
        self.server.modes["patch"] = 403
        self.daemon.configure(self.config("publish = false;"))
        self.daemon.process.send_signal(1)
        self.until_problem("node labels", "status 403", "take labels away")
        self.server.modes.clear()
        until(lambda: not self.ours(), "the end of the labels")
        self.until_no_problem("node labels", "API server")

    def test_publish_false(self):
        self.start("publish = false;")
        self.until_label("zone", "a")
        self.server.label(zone="b")
        self.until_label("zone", "b")
        self.assertEqual(self.server.count("patch"), 0)

    def test_another_prefix(self):
        self.start('prefix = "example.com/";')
        until(lambda: self.server.labels().get("example.com/capable") == "true", "labels")
        self.assertEqual(self.ours(), {})


class Away(KubeCase):
    """A device that a pod has alone is in the pod's namespace: it leaves sys/class, and its PCI function stays."""

    PLUGIN = 'device-plugin = { resources = ( { name = "rdma/hca"; mode = "exclusive"; } ); };'

    def rails(self):
        return int(self.server.labels().get("rdmad.io/rails", 0))

    def unplug(self, name):
        self.machine.unplug(name)
        self.assertEqual(post(self.daemon.socket, "/api/v1/rescan"), 200)
        until(lambda: name not in [device["device_name"] for device in self.daemon.json("devices")["devices"]
                                   if device["place"] == "host"], "the scan")

    def assertPublished(self, rails):
        """By the patch that repairs another label."""
        self.server.label(rdmad_io__capable=None)
        until(lambda: "rdmad.io/capable" in self.server.labels(), "a later patch")
        self.assertEqual(self.rails(), rails)
        self.assertIn("rdmad.io/link-layer.ethernet", self.server.labels())

    def removed(self):
        return [event["message"] for event in list(self.server.events.values()) if event["reason"] == "RdmaDeviceRemoved"]

    def test_a_device_in_a_pod_is_counted_and_not_called_removed(self):
        self.start(modules=self.PLUGIN)
        self.machine = Machine(self.daemon.root)
        self.machine.separate_namespaces()
        kubelet = Kubelet(os.path.join(self.daemon.directory.name, "kubelet"))
        kubelet.start()
        self.addCleanup(kubelet.stop)
        rails = until(self.rails, "the label")
        until(lambda: kubelet.resources().get("rdma/hca", {}).get("allocatable"), "devices")
        kubelet.allocate("ml/train-0", "rdma/hca", 1)
        (held,), = [allocation["device_names"] for allocation in self.daemon.json("allocations")["allocations"]]
        other = next(name for name in self.machine.devices() if name != held)
        self.unplug(held)
        self.assertPublished(rails)
        self.unplug(other)
        until(lambda: self.rails() == rails - 1, "a device less")
        self.assertEqual(until(self.removed, "the Event"), [other])
        self.daemon.stop()
        self.daemon.start()
        self.until_watching()
        self.assertPublished(rails - 1)


class Events(KubeCase):
    """An unknown mode is an entry of the event log that concerns the Node."""

    def trouble(self, value):
        self.server.label(vke_node_rdma_mode=value)

    def events(self):
        return [event for event in list(self.server.events.values()) if event["reason"] == "RdmaModeUnknown"]

    def test_an_event_of_the_node_is_counted(self):
        self.start("publish = false;", PLUGIN)
        self.until_label("zone", "a")
        self.trouble("bad1")
        [event] = until(self.events, "the event")
        self.assertEqual(event["involvedObject"], {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "n1"})
        self.assertEqual((event["type"], event["count"]), ("Warning", 1))
        self.assertEqual(event["source"], {"component": "rdmad", "host": "n1"})
        self.assertIn("bad1", event["message"])
        for n in range(2, 5):
            self.trouble(f"bad{n}")
            until(lambda: self.events()[0]["count"] == n, f"the count {n}")
        self.assertEqual(len(self.events()), 1)
        self.assertIn("bad4", self.events()[0]["message"])

    def sandbox(self):
        """A network namespace, by the process that holds it."""
        holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        self.addCleanup(holder.wait)
        self.addCleanup(holder.kill)
        path = f"/proc/{holder.pid}/ns/net"
        until(lambda: os.readlink(path) != os.readlink("/proc/self/ns/net"), "the namespace")
        return path

    def refuse_pod(self, container, netns):
        """It was not allocated any device."""
        run = os.path.dirname(self.daemon.socket)
        environment = {"CNI_COMMAND": "ADD", "CNI_CONTAINERID": container, "CNI_NETNS": netns, "CNI_IFNAME": "eth1",
                       "CNI_PATH": "/none", "RDMAD_CNI_SOCKET": f"{run}/cni.sock",
                       "CNI_ARGS": "K8S_POD_NAMESPACE=ml;K8S_POD_NAME=train-0"}
        network = {"cniVersion": "1.0.0", "name": "rdma", "type": "rdmad-cni"}
        done = subprocess.run([SHIM], input=json.dumps(network), env=environment, text=True, timeout=PATIENCE,
                              stdout=subprocess.PIPE)
        self.assertEqual(json.loads(done.stdout)["code"], 106, done.stdout)

    def test_the_retries_of_a_pod_that_is_refused_are_one_event(self):
        """Each is of another container."""
        netns = self.sandbox()
        self.server.pods[("ml", "train-0")] = {"metadata": {"name": "train-0", "namespace": "ml", "uid": "u-train"}}
        self.start("publish = false;", "cni = { };")
        self.until_label("zone", "a")
        for n in range(1, 6):
            self.refuse_pod(f"again{n}", netns)
            until(lambda: [event["count"] for event in list(self.server.events.values())] == [n], f"one Event, {n} times")
        [event] = self.server.events.values()
        self.assertEqual(event["reason"], "RdmaCniFailed")
        self.assertEqual(event["involvedObject"], {"apiVersion": "v1", "kind": "Pod", "namespace": "ml",
                                                   "name": "train-0", "uid": "u-train"})
        self.assertIn("again5", event["message"])
        self.assertEqual((self.server.count("create"), self.server.count("patch")), (1, 4))

    def test_a_pod_that_is_made_again_has_an_event_of_its_own(self):
        netns = self.sandbox()
        self.start("publish = false;", "cni = { };")
        self.until_label("zone", "a")
        for n, (uid, counts) in enumerate((("u-old", {"u-old": 1}), ("u-old", {"u-old": 2}),
                                           ("u-new", {"u-old": 2, "u-new": 1}),
                                           ("u-new", {"u-old": 2, "u-new": 2}),
                                           (None, {"u-old": 2, "u-new": 3}))):
            with self.subTest(n):
                self.server.pods[("ml", "train-0")] = uid and {"metadata": {"name": "train-0", "uid": uid}}
                self.refuse_pod(f"again{n}", netns)
                until(lambda: self.status()["events"]["sent"] == n + 1, "the Event")
                self.assertEqual({event["involvedObject"]["uid"]: event["count"]
                                  for event in list(self.server.events.values())}, counts)

    def test_a_pod_that_cannot_be_asked_for_is_asked_for_again(self):
        """An Event without the pod's UID is not in `kubectl describe pod`.  Without RBAC's "get" none has it."""
        netns = self.sandbox()
        self.server.pods[("ml", "train-0")] = {"metadata": {"name": "train-0", "namespace": "ml", "uid": "u-train"}}
        for mode, retry_after, uid in ((503, None, "u-train"), (429, "1", "u-train"), ("cut", None, "u-train"),
                                       ("garbage", None, "u-train"), (403, None, None)):
            with self.subTest(mode):
                self.stop()
                self.server.events.clear()
                self.server.asked.clear()
                self.server.modes["get"], self.server.retry_after = mode, retry_after
                self.start("publish = false;", "cni = { };")
                self.until_label("zone", "a")
                self.refuse_pod("again1", netns)
                until(lambda: self.server.count("get") >= 2 or self.server.events, "the questions")
                if uid:
                    self.assertEqual(self.server.events, {})
                    self.assertIsNotNone(self.status()["events"]["error"])
                    del self.server.modes["get"]
                [event] = until(lambda: list(self.server.events.values()), "the Event")
                self.assertEqual((event["involvedObject"].get("uid"), event["count"]), (uid, 1))
                first, *others = [asked[-1] for asked in self.server.asked if asked[0] == "get"]
                self.assertGreaterEqual(len(others) and others[0] - first, 0.9 * float(retry_after or 0))

    def test_a_refusal_about_the_object_is_no_problem_of_the_server(self):
        self.start("publish = false;", PLUGIN)
        self.until_label("zone", "a")
        self.until_watching()
        self.until_state("ok")
        for n, mode in enumerate(("terminating", 404, 422), 1):
            with self.subTest(mode):
                self.server.modes["create"] = mode
                self.trouble(f"bad{n}")
                until(lambda: self.status()["events"]["refused"] == n, "the refusal")
                status = self.status()
                self.assertEqual((status["api_server"]["state"], status["events"]["error"]), ("ok", None))

    def test_an_event_that_ran_out_is_made_again(self):
        self.start("publish = false;", PLUGIN)
        self.until_label("zone", "a")
        self.trouble("bad1")
        until(self.events, "the event")
        self.server.events.clear()
        self.trouble("bad2")
        [event] = until(self.events, "another event")
        self.assertEqual(event["count"], 2)

    def test_a_right_that_is_granted_later_ends_the_problem(self):
        for status, advice in ((403, "create and patch on events"), (401, "token_file"), (503, "tries again")):
            with self.subTest(status):
                self.server.modes["create"] = status
                self.start("publish = false;", PLUGIN)
                self.until_label("zone", "a")
                self.trouble("bad1")
                self.until_problem("Events", f"status {status}", advice)
                self.server.modes.clear()
                until(self.events, "the Event")
                self.until_no_problem("Events", "API server")
                self.until_state("ok")
                self.stop()
                self.server.events.clear()
                self.trouble(None)

    def test_events_that_are_not_wanted_any_more_are_no_problem(self):
        self.server.modes["create"] = 403
        self.start("publish = false;", PLUGIN)
        self.until_label("zone", "a")
        self.trouble("bad1")
        self.until_problem("Events", "status 403", "events = false")
        self.daemon.configure(self.config("publish = false; events = false;", PLUGIN))
        self.daemon.process.send_signal(1)
        self.until_no_problem("Events", "API server")

    def test_a_server_that_fails_gets_it_later_and_one_that_refuses_never(self):
        self.server.modes["create"] = 503
        self.start("publish = false;", PLUGIN)
        self.until_label("zone", "a")
        self.trouble("bad1")
        until(lambda: self.server.count("create") >= 3, "tries")
        self.server.modes["create"] = 400
        until(lambda: self.status()["events"]["refused"] >= 1, "the refusal")
        self.until_no_problem("Events", "API server")
        before = self.server.count("create")
        del self.server.modes["create"]
        self.trouble("bad2")
        [event] = until(self.events, "the event")
        self.assertEqual(event["count"], 2)
        self.assertEqual(self.server.count("create"), before + 1)


class Idle(KubeCase):
    """Nothing happens: nothing wakes rdmad, in any of its threads."""

    QUIET_S = 4
    MODULES = """device-plugin = { resources = ( { name = "rdma/hca"; } ); }; nccl = { }; cni = { };
        metrics = { listen = "127.0.0.1:%d"; };
        erdma = { driver = { load_with = "none"; }; smc = { mode = "%s"; survey = "1s"; }; };"""

    def switches(self):
        """Times that a thread went to sleep, and so was awake."""
        total = 0
        for path in Path(f"/proc/{self.daemon.process.pid}/task").glob("*/status"):
            [line] = [line for line in path.read_text().splitlines() if line.startswith("voluntary_ctxt_switches")]
            total += int(line.split()[1])
        return total

    def is_quiet(self):
        before = self.switches()
        time.sleep(self.QUIET_S)
        return self.switches() == before

    def check(self, machine, smc):
        directory = Path(tempfile.mkdtemp(prefix="rdmad-kube-", dir=self.dir))
        kubelet = Kubelet(str(directory / "kubelet"))
        kubelet.start()
        self.addCleanup(kubelet.stop)
        self.daemon = Daemon(machine, self.config(modules=self.MODULES % (free_port(), smc)), kubelet=str(directory / "kubelet"))
        until(lambda: "rdma/hca" in kubelet.resources(), "the registration")
        self.until_watching()
        if "polling once a second instead" in self.daemon.said():
            self.skipTest("other programs have all instances of inotify, so rdmad polls")
        until(self.is_quiet, "the daemon to sleep")
        self.stop()
        self.server.asked.clear()

    def test_all_modules_without_a_device(self):
        for smc in ("off", "prefer"):
            with self.subTest(smc):
                self.check(None, smc)

    def test_all_modules_with_devices(self):
        for machine, smc in (("gpu-8rail", "prefer"), ("erdma", "off"), ("erdma", "prefer")):
            with self.subTest(machine, smc=smc):
                self.check(machine, smc)


if __name__ == "__main__":
    tap.main(sys.argv[5:])
