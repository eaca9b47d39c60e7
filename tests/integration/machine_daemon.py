# SPDX-License-Identifier: Apache-2.0
"""The daemon on a recorded machine, for tests that ask it things."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

RDMAD, EXPAND, MODULES = sys.argv[1:4]
PATIENCE = 120      # seconds; the machine may be busy


def listens(path):
    """The file is there a moment before anybody listens at it."""
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(path) == 0


class Daemon:
    """rdmad on a machine of tests/machines; only commands ask it anything.

    With a configuration, its modules run instead of one that does nothing; names are for the machine
    ("RAILS=64").  With a root it looks at that instead of a machine of its own, and with a directory of a
    kubelet at that one."""

    def __init__(self, machine, config=None, names=(), root=None, kubelet=None):
        self.directory = tempfile.TemporaryDirectory(prefix="rdmad-test-")
        # rdmad takes modules only from directories that nobody else may write to.
        os.chmod(self.directory.name, 0o755)
        self.root = os.path.join(self.directory.name, "machine")
        self.sysroot = root or self.root
        self.kubelet_dir = kubelet or os.path.join(self.directory.name, "kubelet")
        if machine:
            subprocess.run([EXPAND, machine, self.root, *names], check=True)
        else:
            os.makedirs(os.path.join(self.root, "sys/class"))
        self.socket = os.path.join(self.directory.name, "run", "rdmad.sock")
        self.what = ["--module", "good"]
        if config:
            self.what = ["--config", os.path.join(self.directory.name, "rdmad.conf")]
            self.configure(config)
        self.log = open(os.path.join(self.directory.name, "log"), "a+b")
        self.start()

    def configure(self, config):
        with open(self.what[1], "w", encoding="utf-8") as file:
            file.write(config)

    def start(self):
        self.process = subprocess.Popen(
            [RDMAD, *self.what, "--module-dir", MODULES, "--sysroot", self.sysroot,
             "--run-dir", os.path.dirname(self.socket),
             "--state-dir", os.path.join(self.directory.name, "state"),
             "--kubelet-dir", self.kubelet_dir],
            stderr=self.log)
        end = time.monotonic() + PATIENCE
        while not listens(self.socket):
            assert self.process.poll() is None and time.monotonic() < end, self.said()
            time.sleep(0.02)
        self.run("status")      # answered when the modules have started, and listen

    def said(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def run(self, *args, **kwargs):
        return subprocess.run([RDMAD, *args, "--socket", self.socket], capture_output=True,
                              text=True, timeout=PATIENCE, **kwargs)

    def json(self, *args):
        done = self.run(*args, "--json")
        return json.loads(done.stdout)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def close(self):
        code = self.stop() if self.process.poll() is None else self.process.returncode
        text = self.said()
        self.log.close()
        self.directory.cleanup()
        assert code == 0, text
