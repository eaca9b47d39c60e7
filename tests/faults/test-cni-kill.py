#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of rdmad, or of its executor, before each call that changes something, during ADD, DEL, GC and a start
that finds something; each of them failing once, of the executor those that only look as well; and the power cut
there, with what is not synced.

The runtime then does as containerd: DEL.  After it the host's NICs are whole, and nothing is left of the pod.
After a power cut the NICs are new, and nothing is given to them that they had before.  Only a few points of one
operation a class are tried, but for RDMAD_TEST_SLOW=1, with which all are, or RDMAD_TEST_POINTS=N of each operation.

usage: test-cni-kill.py RDMAD MODULE-DIR RDMAD-CNI INJECT.SO [TEST...]
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "integration"))
from cni_case import NICS, PATIENCE, RDMAD, SLOW, CniCase, Failure, enter_private_host, link, tap, until  # noqa: E402
from injector import ALL, CHANGES, KEEPS, Injector, Point  # noqa: E402

LIBRARY = sys.argv[4]
POINTS = int(os.environ.get("RDMAD_TEST_POINTS", 0 if SLOW else 2))     # of each; 0: all
HOST_LOCAL = {"type": "host-local", "subnet": "192.0.2.0/24"}


class Sweep:
    """Of one mode."""

    def setUp(self):
        if not SLOW and self._testMethodName != self.SHORT:
            self.skipTest("a part of the sweep is tried each time, all of it with RDMAD_TEST_SLOW=1")
        super().setUp()
        self.injector = Injector(LIBRARY, str(self.dir / "faults"), RDMAD, self.EXECUTOR)
        self.addCleanup(self.injector.close)
        self.net = {**self.network(NICS[0], **self.MORE), "cniVersion": "1.0.0"}

    WHAT = "kill"
    EXECUTOR = False
    containers = (("c1", "a"),)

    at_start = False

    def function(self):
        if self.EXECUTOR:
            return CHANGES if self.WHAT == "kill" else ALL
        # A look at the machine closes thousands of files.
        return KEEPS if self.at_start else CHANGES

    def start(self):
        self.injector.new_process()
        self.start_daemon(environment=self.injector.environment)

    def strike(self, point, act):
        """Returns how many calls there are, if `point` is 0."""
        self.injector.arm(Point("act", self.function(), point, False, self.WHAT) if point else None)
        try:
            act()
        except Failure:
            pass
        self.injector.disarm()
        return self.injector.calls(self.function())

    def end(self):
        """As the runtime, after what was interrupted."""
        if self.WHAT == "kill" and not self.EXECUTOR and self.daemon and self.daemon.poll() is None:
            self.end_daemon(signal.SIGKILL)
        if not self.daemon or self.daemon.poll() is not None:
            self.daemon = None
            self.start()
        for container, pod in self.containers:
            self.delete(container, pod, self.net)
        until(lambda: self.left() == 0, "the event log to be empty")
        for _, pod in self.containers:
            self.assertIsNone(link("net1", pod))
        self.assertHostIs(self.before)
        directory = Path("/var/lib/cni/networks/rdma")
        leases = [f.name for f in directory.iterdir() if f.name[0].isdigit()] if directory.exists() else []
        self.assertEqual(leases, [])

    def sweep(self, prepare, act):
        self.pod("a")
        self.start()
        prepare()
        total = self.strike(0, act)
        self.end()
        tried = 0
        self.assertGreater(total, 0)
        # Elsewhere each time, so that many short runs are a long one.
        points = range(1, total + 1) if not POINTS else sorted(random.sample(range(1, total + 1), min(POINTS, total)))
        if "RDMAD_TEST_POINT" in os.environ:
            points = [int(os.environ["RDMAD_TEST_POINT"])]
        for point in points:
            prepare()
            with self.subTest(point=point):
                self.strike(point, act)
                self.end()
            tried += 1
        self.end_daemon()
        print(f"# {self.id()}: {tried} of {total} points", flush=True)

    def test_add(self):
        self.sweep(lambda: None, lambda: self.add("c1", "a", self.net))

    def test_del(self):
        self.sweep(lambda: self.add("c1", "a", self.net), lambda: self.delete("c1", "a", self.net))

    def test_gc(self):
        def collect():
            self.plugin("GC", None, None, None,
                        {**self.net, "cniVersion": "1.1.0", "cni.dev/valid-attachments": []})
            # The next try after a failure comes later than the test waits.
            with contextlib.suppress(*(() if self.WHAT == "kill" else (AssertionError,))):
                until(lambda: self.daemon.poll() is not None or self.is_collected(), "the collection",
                      PATIENCE if self.WHAT == "kill" else 3)

        self.sweep(lambda: self.add("c1", "a", self.net), collect)

    def test_start(self):
        """A pod that ended without rdmad, and the next one, which gets its NIC."""
        def act():
            try:
                self.start()
                self.add("c2", "b", self.net)
            except AssertionError:
                # It did not start.
                pass

        def prepare():
            if not self.daemon or self.daemon.poll() is not None:
                self.start()
            self.add("c1", "a", self.net)
            self.end_daemon(signal.SIGKILL)
            self.delete("c1", "a", self.net)

        self.at_start = True
        self.pod("b")
        self.containers = (("c2", "b"), ("c1", "a"))
        self.sweep(prepare, act)

    def is_collected(self):
        try:
            return self.left() == 0
        except (TypeError, KeyError):
            return True


class Shared(Sweep, CniCase):
    SHORT = "test_start"
    MORE = {"ipam": HOST_LOCAL}


class Exclusive(Sweep, CniCase):
    SHORT = "test_add"
    NETWORKS = 'mode = "exclusive";'
    MORE = {}


class SharedExecutor(Shared):
    SHORT = "test_add"
    EXECUTOR = True


class ExclusiveExecutor(Exclusive):
    SHORT = "test_del"
    EXECUTOR = True


class SharedErrno(Shared):
    SHORT = "test_gc"
    WHAT = "EIO"
    CONFIG = "request_timeout = 10; ipam_timeout = 8;"


class ExclusiveErrno(Exclusive):
    SHORT = "test_del"
    WHAT = "EIO"
    CONFIG = "request_timeout = 10; ipam_timeout = 8;"


class SharedExecutorErrno(SharedErrno):
    SHORT = "test_add"
    EXECUTOR = True


class ExclusiveExecutorErrno(ExclusiveErrno):
    SHORT = "test_start"
    EXECUTOR = True


BOOT_ID = "/proc/sys/kernel/random/boot_id"


class Power:
    """A reboot after it: the disk holds what was synced, namespaces and NICs are new."""

    WHAT = "cut"
    test_start = None   # each boot has one

    def setUp(self):
        super().setUp()
        self.boot_id = self.dir / "boot-id"
        self.boots = 0
        self.new_boot()
        subprocess.run(["mount", "--bind", self.boot_id, BOOT_ID], check=True)
        self.addCleanup(subprocess.run, ["umount", BOOT_ID], check=True)

    def new_boot(self):
        self.boots += 1
        self.boot_id.write_text(f"00000000-0000-4000-8000-{self.boots:012}\n")

    def end(self):
        if self.daemon.poll() is None:
            self.end_daemon(signal.SIGKILL)
        self.daemon = None
        self.remove_pod("a")
        self.remove_nics()
        self.new_boot()
        for number, name in enumerate(NICS):
            self.make_nic(number)
            subprocess.run(["ip", "addr", "replace", f"192.168.{number}.{self.boots % 200 + 1}/24", "dev", name],
                           check=True)
        until(lambda: all(link(name)["operstate"] == "UP" for name in NICS), "the carriers")
        self.pod("a")
        self.before = self.snapshot()
        self.start()
        until(lambda: self.left() == 0, "the attachments of the boot before to end")
        super().end()


class SharedPower(Power, Shared):
    SHORT = "test_gc"


class ExclusivePower(Power, Exclusive):
    SHORT = "test_add"


if __name__ == "__main__":
    enter_private_host()
    del sys.argv[1:5]
    tap.main(sys.argv[1:])
