# SPDX-License-Identifier: Apache-2.0
"""A node under the injector, and the judge of what a fault has left behind.

Programs that import it have RDMAD MODULE-DIR INJECT as their first arguments.
"""

import contextlib
import glob
import json
import os
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))
sys.dont_write_bytecode = True

from injector import ENDS, Injector  # noqa: E402
from machine_changes import request  # noqa: E402
from plugin_case import HCA, RDMAD, AdmissionError, PluginCase  # noqa: E402

INJECT = os.path.abspath(sys.argv[3])
OTHER = "rdma/other"
DO_WITHIN = 2           # seconds that an operation has while calls fail
WELL_WITHIN = 60        # from the end of an error; the machine may be busy
HELD = {"ml/held-0": 1, "ml/held-1": 2}     # pods that stay, and how many devices they have
CONFIG = "modules = { device-plugin = { forget_delay = 1; resources = ( %s ); }; };"
RESOURCE = '{ name = "%s"; count = %d; shared_with = ( %s ); }'


class Node(PluginCase):
    """One small machine, one kubelet that lives on, and the daemon under the injector."""

    MACHINE = ("rails", "RAILS=1", "LAST=1")

    def setUp(self):
        super().setUp()
        self.injector = Injector(INJECT, os.path.join(self.dir, "page"), RDMAD)
        self.addCleanup(self.injector.close)
        self.environment = self.injector.environment
        self.calls, self.restarted = [], False
        self.start_kubelet(registry=False)
        self.begin()

    # ---- the daemon and its kubelet ----

    def begin(self):
        """From nothing: a daemon with allocations that were acknowledged."""
        self.injector.disarm()
        if self.daemon is not None and self.daemon.poll() is None:
            self.daemon.kill()
            self.daemon.wait()
        self.wipe()
        self.count, self.with_other = 16, False
        self.configure()
        self.start_daemon()
        self.wait_for(self.is_served, "served kubelet")
        for pod, count in HELD.items():
            self.kubelet.allocate(pod, HCA, count)
        self.refresh()

    def wipe(self):
        """A node on which rdmad has never run."""
        self.release_all()
        for name in ("state", "run"):
            shutil.rmtree(os.path.join(self.dir, name), ignore_errors=True)

    def release_all(self, but=()):
        for pod in {f"{namespace}/{pod}" for namespace, pod, _ in self.kubelet.pods()}.difference(but):
            self.kubelet.release(pod)

    def configure(self):
        names = [HCA, OTHER] if self.with_other else [HCA]
        self.write_config(CONFIG % ", ".join(
            RESOURCE % (name, self.count, ", ".join(f'"{other}"' for other in names if other != name))
            for name in names))

    def spawn_daemon(self, config=None, *options):
        self.injector.new_process()
        self.endpoint_before = self.endpoint() if HCA in self.kubelet.resources() else None
        # Kubelet that notices the end of the old stream after the new one stops the new one.
        self.kubelet.wait_for(lambda: not any(r["connected"] for r in self.kubelet.resources().values()),
                              WELL_WITHIN)
        return super().spawn_daemon(None, "--config", os.path.join(self.dir, "rdmad.conf"), *options)

    def restart_kubelet(self):
        self.endpoint_before = self.endpoint()
        self.kubelet.restart()

    def refresh(self):
        return request(self.socket, "POST", "/api/v1/allocations/refresh")[0] == 200

    # ---- waiting ----

    def until(self, condition, seconds=DO_WITHIN):
        """The end of the daemon ends the waiting as well."""
        end = time.monotonic() + seconds
        while not condition() and self.daemon.poll() is None and time.monotonic() < end:
            time.sleep(0.002)

    def call(self, function, *args):
        """Meanwhile it may hang; judge_well() wants an answer, of whichever kind, in the end."""
        def run():
            with contextlib.suppress(AdmissionError, OSError, ValueError, EOFError):
                function(*args)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        self.calls.append(thread)
        self.until(lambda: not thread.is_alive())

    def wait_for(self, condition, what):
        """Without the log, of which the sweep shows the end."""
        end = time.monotonic() + WELL_WITHIN
        while not condition():
            if self.daemon.poll() is not None:
                self.fail(f"rdmad ended with {self.daemon.returncode}")
            if time.monotonic() > end:
                self.fail(f"no {what} within {WELL_WITHIN} s")
            time.sleep(0.005)

    # ---- a point ----

    def try_point(self, operation, point):
        """Whether the point was reached; an exception says what did not hold."""
        os.truncate(os.path.join(self.dir, "log"), 0)
        self.calls = []
        operation.prepare(self)
        self.injector.arm(point)
        operation.do(self)
        self.injector.disarm()
        if operation.begins or operation.ends:
            # It may be on its way to the end, also when the error is over.
            self.until(self.is_served if operation.begins else lambda: False, WELL_WITHIN)
        reached = self.injector.struck() > 0
        ended = self.daemon.wait() if reached and point.what in ENDS else self.daemon.poll()
        self.restarted = ended is not None
        if self.restarted:
            self.daemon = None
        self.judge_end(operation, reached and point.what in ENDS, ended)
        if self.restarted:
            self.start_daemon()
        operation.judge(self)
        self.judge_well()
        self.judge_files()
        return reached

    def judge_end(self, operation, killed, ended):
        if killed:
            self.assertEqual(ended, -signal.SIGKILL, "how it ended")
        elif operation.ends:
            self.assertIn(ended, (0, 1), "its exit status")
        elif ended is not None:
            self.assertTrue(operation.begins, f"it ended with {ended}")
            self.assertEqual(ended, 1, "its exit status")

    def judge_well(self):
        """Ready, able to admit a pod, and with all that it has acknowledged."""
        self.wait_for(lambda: not any(call.is_alive() for call in self.calls), "answer to a call")
        self.wait_for(self.is_served_at_last, "served kubelet")
        self.wait_for(self.admits, "admission of a pod")
        self.wait_for(self.is_ready, "readiness")
        self.check_acknowledged(self.in_table(), "the table")
        self.check_acknowledged(self.in_database(), "the database")
        self.release_all(HELD)

    def judge_files(self):
        self.assertEqual(glob.glob(os.path.join(self.dir, "state", "*.damaged-*")), [],
                         "a database was set aside")
        self.wait_for(lambda: not self.temporary_files(), "end of the temporary files")

    # ---- what it looks at ----

    def is_served(self):
        """By this daemon, with the lists of this configuration."""
        resources = self.kubelet.resources()
        for name, offered in {HCA: True, OTHER: self.with_other}.items():
            found = resources.get(name)
            if bool(found and found["connected"]) != offered:
                return False
            # A slot beyond the new count stays for as long as it is held; counts differ by 8.
            if offered and not self.count <= found["allocatable"] < self.count + 8:
                return False
        return self.endpoint() is not self.endpoint_before

    def is_served_at_last(self):
        """Without cgroups rdmad asks kubelet rarely, and slots of pods that have ended outlive a smaller count."""
        if self.is_served():
            return True
        with contextlib.suppress(OSError):
            self.refresh()
        time.sleep(0.1)
        return False

    def admits(self):
        with contextlib.suppress(AdmissionError):
            return len(self.kubelet.allocate("ml/well", HCA, 1).ids) == 1
        return False

    def is_ready(self):
        with contextlib.suppress(OSError):
            return request(self.socket, "GET", "/readyz")[0] == 200
        return False

    def listed(self):
        status, text = request(self.socket, "GET", "/api/v1/allocations")
        self.assertEqual(status, 200, text)
        return json.loads(text)["allocations"]

    def is_listed(self, pod):
        return pod in {f"{allocation['namespace']}/{allocation['pod']}" for allocation in self.listed()}

    def in_table(self):
        return {allocation["id"]: (allocation["resource"], sorted(allocation["slots"])) for allocation in self.listed()}

    def temporary_files(self):
        return [os.path.join(directory, name) for directory, _, names in os.walk(os.path.join(self.dir, "run"))
                for name in names if name.startswith(".")]

    def check_acknowledged(self, allocations, where):
        """Each response that kubelet got is an allocation with its id and its slots."""
        for (holder, name), grant in self.kubelet.manager.grants.items():
            allocation = grant.reply.envs["RDMAD_ALLOCATION"]
            self.assertIn(allocation, allocations, f"{where} has lost the allocation of {'/'.join(holder)}")
            self.assertEqual(allocations[allocation], (name, grant.ids), f"{where}: {'/'.join(holder)}")
