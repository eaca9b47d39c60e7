#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of rdmad before each call that changes something, during ADD, DEL and GC; and each of them failing once.

What the runtime does then is what containerd does: DEL.  After it the host's NICs are whole, and nothing is left
of the pod.  Only the first of several points is tried, but for RDMAD_TEST_SLOW=1.

usage: test-cni-kill.py RDMAD MODULE-DIR RDMAD-CNI INJECT.SO [TEST...]
"""

import contextlib
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "integration"))
from cni_case import (  # noqa: E402
    NICS, PATIENCE, RDMAD, SLOW, CniCase, Failure, enter_private_host, link, tap, until)
from injector import Injector, Point  # noqa: E402

LIBRARY = sys.argv[4]
STEP = 1 if SLOW else 16
HOST_LOCAL = {"type": "host-local", "subnet": "192.0.2.0/24"}


class Sweep:
    """Of one mode."""

    def setUp(self):
        super().setUp()
        self.injector = Injector(LIBRARY, str(self.dir / "faults"), RDMAD)
        self.addCleanup(self.injector.close)
        self.net = {**self.network(NICS[0], **self.MORE), "cniVersion": "1.0.0"}

    WHAT = "kill"

    def start(self):
        self.injector.new_process()
        self.injected = self.injector.environment
        self.start_daemon()

    def strike(self, point, act):
        """Returns how many calls there are, if `point` is 0."""
        self.injector.arm(Point("act", "changes", point, False, self.WHAT) if point else None)
        try:
            act()
        except Failure:
            pass
        self.injector.disarm()
        return self.injector.changes()

    def end(self):
        """As the runtime, after what was interrupted."""
        if self.WHAT == "kill" and self.daemon.poll() is None:
            self.end_daemon(signal.SIGKILL)
        if not self.daemon or self.daemon.poll() is not None:
            self.daemon = None
            self.start()
        self.delete("c1", "a", self.net)
        until(lambda: self.left() == 0, "the event log to be empty")
        self.assertIsNone(link("net1", "a"))
        self.assertHostAsBefore()
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
        for point in range(1, total + 1, STEP):
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
            # What failed is tried again later than anybody waits here.
            with contextlib.suppress(*(() if self.WHAT == "kill" else (AssertionError,))):
                until(lambda: self.daemon.poll() is not None or self.is_collected(), "the collection",
                      PATIENCE if self.WHAT == "kill" else 3)

        self.sweep(lambda: self.add("c1", "a", self.net), collect)

    def is_collected(self):
        try:
            return self.left() == 0
        except (TypeError, KeyError):
            return True


class Shared(Sweep, CniCase):
    MORE = {"ipam": HOST_LOCAL}


class Exclusive(Sweep, CniCase):
    NETWORKS = 'mode = "exclusive";'
    MORE = {}


class SharedErrno(Shared):
    WHAT = "EIO"
    CONFIG = "request_timeout = 10; ipam_timeout = 8;"


class ExclusiveErrno(Exclusive):
    WHAT = "EIO"
    CONFIG = "request_timeout = 10; ipam_timeout = 8;"


if __name__ == "__main__":
    enter_private_host()
    del sys.argv[1:5]
    tap.main(sys.argv[1:])
