#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of rdmad or of its executor before each call that changes something while NICs are configured or repaired,
and each of these calls failing once.

After a restart, or by itself, the NICs are configured; the default route of the primary NIC was there at all times.
Only the first of several points is tried, but for RDMAD_TEST_SLOW=1.

usage: test-erdma-kill.py RDMAD MODULE-DIR INJECT.SO [TEST...]
"""

import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "integration"))
from private_host import PATIENCE, RDMAD, SLOW, enter_private_host, run, tap, until  # noqa: E402
from erdma_case import ErdmaCase  # noqa: E402
from injector import Injector, Point  # noqa: E402

LIBRARY = sys.argv[3]
STEP = 1 if SLOW else 12


class Sweep(ErdmaCase):
    WHAT = "kill"

    def setUp(self):
        super().setUp()
        self.injector = Injector(LIBRARY, str(self.dir / "faults"), RDMAD)
        self.addCleanup(self.injector.close)
        self.witness = subprocess.Popen(["ip", "monitor", "route"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.witness.wait)
        self.addCleanup(self.witness.kill)

    def start(self):
        self.injector.new_process()
        os.environ.update({k: self.injector.environment[k] for k in ("LD_PRELOAD", "RDMAD_FAULTS")})
        try:
            self.start_daemon()
        finally:
            for name in ("LD_PRELOAD", "RDMAD_FAULTS"):
                del os.environ[name]

    def afresh(self):
        """Interfaces that nobody has configured, and nothing that is known of them."""
        if self.daemon:
            self.end_daemon(signal.SIGKILL)
        for name in ("eth1", "eth2"):
            self.remove_link(name)
            self.make_link(name)
        subprocess.run(["rm", "-rf", self.dir / "state"], check=True)

    def strike(self, point):
        """From the start on, or from a change; returns how many calls there were, if `point` is 0."""
        self.injector.arm(Point("act", "changes", point, False, self.WHAT) if point else None)

    def settle(self):
        """As a service manager: it is started again where it has ended."""
        until(lambda: self.daemon.poll() is not None or self.is_whole(), "the NICs, or the end")
        self.injector.disarm()
        # A call that is on its way may still be the one.
        if not self.client("status"):
            self.daemon.wait(PATIENCE)
            self.daemon = None
            self.start()
        self.assertConfigured()
        self.until_state("eth1", "ready")
        self.until_state("eth2", "ready")

    def assertConfigured(self):
        until(self.are_configured, "the NICs")
        self.assertEqual(self.way_out(), "eth0")

    def is_whole(self):
        return self.are_configured() and all(self.nic(name).get("state") == "ready" for name in ("eth1", "eth2"))

    def sweep(self, prepare, act):
        prepare()
        self.strike(0)
        act()
        self.settle()
        total = self.injector.changes()
        tried = 0
        for point in range(1, total + 1, STEP):
            prepare()
            with self.subTest(point=point):
                self.strike(point)
                act()
                self.settle()
            tried += 1
        self.end_daemon()
        print(f"# {self.id()}: {tried} of {total} points", flush=True)
        self.assertEqual(self.way_out(), "eth0")
        self.witness.terminate()
        lost = [line for line in self.witness.stdout if line.startswith("Deleted default") and "eth0" in line]
        self.assertEqual(lost, [])

    def test_configuration(self):
        self.sweep(self.afresh, self.start)

    def test_repair(self):
        def prepare():
            if not self.daemon:
                self.afresh()
                self.start()
                self.assertConfigured()
            self.until_state("eth2", "ready")

        def act():
            run("ip", "addr", "flush", "dev", "eth1")
            until(lambda: self.daemon.poll() is not None or
                  self.routes("eth1") != [] and any(r[0] == "default" for r in self.routes("eth1")), "the repair")

        self.sweep(prepare, act)


class SweepErrno(Sweep):
    WHAT = "EIO"


if __name__ == "__main__":
    enter_private_host()
    del sys.argv[1:4]
    tap.main(sys.argv[1:])
