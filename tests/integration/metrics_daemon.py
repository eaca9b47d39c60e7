# SPDX-License-Identifier: Apache-2.0
"""rdmad with the metrics module alone, on a recorded machine."""

import os
import signal
import subprocess
import tempfile
import time
import urllib.error

from ports import free_port
from prometheus_server import fetch

TESTS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..")
PATIENCE = 60
TEXT = "text/plain;version=0.0.4"
OPENMETRICS = "application/openmetrics-text;version=1.0.0"


def machines():
    """Names of all that are recorded."""
    return sorted(name.removesuffix(".machine") for name in os.listdir(f"{TESTS}/machines")
                  if name.endswith(".machine"))


def expand(machine, root, *values):
    subprocess.run([f"{TESTS}/machines/expand", machine, root, *values], check=True,
                   stdout=subprocess.DEVNULL)


class MetricsDaemon:
    """`root`: the tree of a machine.  `settings`: of the module, as libconfig has them."""

    def __init__(self, rdmad, modules, root, settings=""):
        self.directory = tempfile.TemporaryDirectory(prefix="rdmad-metrics-")
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        conf = os.path.join(self.directory.name, "rdmad.conf")
        with open(conf, "w", encoding="utf-8") as file:
            file.write(f'modules = {{ metrics = {{ listen = "{self.address}"; {settings} }}; }};')
        self.log = open(os.path.join(self.directory.name, "log"), "a+b")
        self.process = subprocess.Popen(
            [rdmad, "--config", conf, "--module-dir", modules, "--sysroot", root,
             "--run-dir", os.path.join(self.directory.name, "run"),
             "--state-dir", os.path.join(self.directory.name, "state")], stderr=self.log)
        self.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def said(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def wait(self):
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return self.metrics()
            except (urllib.error.URLError, OSError):
                assert self.process.poll() is None and time.monotonic() < end, self.said()
                time.sleep(0.05)

    def metrics(self, accept=TEXT):
        return fetch(f"http://{self.address}/metrics", {"Accept": accept})[1].decode()

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE)
        text = self.said()
        self.log.close()
        self.directory.cleanup()
        assert code == 0, text
