# SPDX-License-Identifier: Apache-2.0
"""The device plugin between a recorded machine and the fake kubelet.

usage of the tests that import it: test-X.py RDMAD MODULE-DIR [TEST...]
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
TESTS = os.path.dirname(HERE)
sys.path[:0] = [TESTS, os.path.join(TESTS, "kubelet")]
sys.dont_write_bytecode = True

import tap  # noqa: E402,F401
from fake import AdmissionError, Kubelet, rpc  # noqa: E402,F401
from fake.messages import plugin  # noqa: E402

RDMAD, MODULES = sys.argv[1:3]
INSTRUMENTED = b"__asan_init" in open(RDMAD, "rb").read()
PATIENCE = 60       # seconds; the machine may be busy
ATTEMPTS = 5
SLOW = bool(os.environ.get("RDMAD_TEST_SLOW"))
HCA = "rdma/hca"


class PluginCase(unittest.TestCase):
    MACHINE = "gpu-8rail"       # of tests/machines; or a tuple, with NAME=VALUE

    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="rdmad-machine-")
        cls.addClassCleanup(directory.cleanup)
        cls.machine = directory.name
        name, *values = [cls.MACHINE] if isinstance(cls.MACHINE, str) else cls.MACHINE
        subprocess.run([os.path.join(TESTS, "machines", "expand"), name, cls.machine, *values],
                       check=True, stdout=subprocess.DEVNULL)

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="rdmad-plugin-")
        self.addCleanup(scratch.cleanup)
        self.dir = scratch.name
        self.kubelet_dir = os.path.join(self.dir, "k")
        os.mkdir(self.kubelet_dir)
        self.daemon = self.kubelet = None
        self.environment = None     # the daemon's; None: this one's
        self.addCleanup(self.end_daemon)

    def state_files(self):
        """Of one moment: two looks in turn see the same.  None: they do not."""
        def look():
            state = os.path.join(self.dir, "state")
            files = {}
            for name in os.listdir(state):
                if name.startswith("rdmad.db"):
                    with open(os.path.join(state, name), "rb") as file:
                        files[name] = file.read()
            return files

        with contextlib.suppress(FileNotFoundError):
            first = look()
            return first if first == look() else None

    def query_state(self, sql):
        """Rows of a copy of the database: opening the database itself would mend it for rdmad."""
        copy = os.path.join(self.dir, "copy")
        shutil.rmtree(copy, ignore_errors=True)
        os.mkdir(copy)
        files = {}
        self.wait_for(lambda: files.update(self.state_files() or {}) or files, "pause of the database")
        for name, content in files.items():
            with open(os.path.join(copy, name), "wb") as file:
                file.write(content)
        with contextlib.closing(sqlite3.connect(os.path.join(copy, "rdmad.db"))) as database:
            found = database.execute("PRAGMA integrity_check").fetchall()
            if found != [("ok",)]:
                raise sqlite3.DatabaseError(f"integrity_check: {found}")
            return database.execute(sql).fetchall()

    def in_database(self):
        """{id: (resource, slots)}"""
        rows = self.query_state("SELECT id, resource, slots FROM allocations")
        return {allocation: (resource, slots.split("\n")) for allocation, resource, slots in rows}

    # ---- the two sides ----

    def start_kubelet(self, **options):
        kubelet = Kubelet(self.kubelet_dir, **options)
        kubelet.start()
        self.addCleanup(kubelet.stop)
        self.kubelet = kubelet
        return kubelet

    def spawn_daemon(self, config=None, *options, modules=("--module=device-plugin",)):
        """Another one; start_daemon() is for the only one."""
        command = [RDMAD, *modules, "--module-dir", MODULES,
                   "--sysroot", self.machine, "--run-dir", os.path.join(self.dir, "run"),
                   "--state-dir", os.path.join(self.dir, "state"),
                   "--kubelet-dir", self.kubelet_dir, "--log-level", "debug", *options]
        if config is not None:
            command += ["--config", self.write_config(config)]
        with open(os.path.join(self.dir, "log"), "a") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, env=self.environment)

    def start_daemon(self, config=None, *options):
        self.daemon = self.spawn_daemon(config, *options)

    def write_config(self, text):
        path = os.path.join(self.dir, "rdmad.conf")
        with open(path, "w") as file:
            file.write(text)
        return path

    def end_daemon(self, how=signal.SIGTERM):
        if self.daemon is None:
            return
        self.daemon.send_signal(how)
        status = self.daemon.wait(PATIENCE)
        self.daemon = None
        if how == signal.SIGTERM:
            self.assertEqual(status, 0, self.log())

    def start_over(self):
        """The test goes on as at its begin."""
        self.end_daemon()
        self.doCleanups()
        self.setUp()

    def both(self, config=None, **kubelet):
        self.start_kubelet(**kubelet)
        self.start_daemon(config)

    # ---- what they say ----

    def log(self):
        with open(os.path.join(self.dir, "log")) as file:
            return file.read()

    @property
    def socket(self):
        return os.path.join(self.dir, "run", "rdmad.sock")

    def ask(self, command, *options):
        text = subprocess.run([RDMAD, command, *options, "--json", "--socket", self.socket],
                              check=True, capture_output=True, text=True, timeout=PATIENCE).stdout
        return json.loads(text)

    def findings(self):
        """Of doctor, which ends with 1 when there are problems."""
        text = subprocess.run([RDMAD, "doctor", "--json", "--socket", self.socket],
                              capture_output=True, text=True, timeout=PATIENCE).stdout
        return json.loads(text)["findings"]

    def allocations(self):
        return {allocation["id"]: allocation for allocation in self.ask("allocations")["allocations"]}

    def endpoint(self, name=HCA):
        return self.kubelet.manager.resources[name].endpoint

    def sockets(self, directory):
        path = os.path.join(self.kubelet_dir, directory)
        return [name for name in os.listdir(path) if name.startswith("rdmad-")]

    # ---- waiting ----

    def wait_for(self, condition, what):
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                self.fail(f"no {what} within {PATIENCE} s\n{self.log()}")
            self.check_alive()
            time.sleep(0.02)

    def wait_for_socket(self):
        """Of the API.  One that is there may not listen yet, or be of a daemon that was killed."""
        def listens():
            with socket.socket(socket.AF_UNIX) as client:
                return client.connect_ex(self.socket) == 0

        self.wait_for(listens, "socket")

    def check_alive(self):
        if self.daemon is not None and self.daemon.poll() is not None:
            daemon, self.daemon = self.daemon, None
            self.fail(f"rdmad ended with {daemon.returncode}\n{self.log()}")

    def wait_ready(self, count=1000, name=HCA):
        def ready():
            found = self.kubelet.resources().get(name)
            return found is not None and found["connected"] and found["allocatable"] == count

        self.wait_for(ready, f"{count} healthy {name}")

    def wait_lost(self):
        """Kubelet knows of no plugin, so that wait_ready() is not for one that has ended."""
        self.wait_for(lambda: not any(r["connected"] for r in self.kubelet.resources().values()), "end of the plugins")

    def check_soon(self, attempt, limit):
        """One of the attempts takes less than `limit` seconds: a busy machine may be late."""
        took = [attempt()]
        while took[-1] >= limit and len(took) < ATTEMPTS:
            took.append(attempt())
        self.assertLess(took[-1], limit, took)

    # ---- calls that kubelet would not make so ----

    def allocate_raw(self, *containers, name=HCA):
        """Without a pod: a list of ids for each container."""
        request = plugin.AllocateRequest()
        for ids in containers:
            request.container_requests.add(devices_ids=ids)
        return rpc.unary(self.endpoint(name).channel, "/v1beta1.DevicePlugin/Allocate", request,
                         plugin.AllocateResponse, timeout=PATIENCE)
