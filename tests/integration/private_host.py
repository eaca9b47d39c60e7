# SPDX-License-Identifier: Apache-2.0
"""A test that runs again in network and mount namespaces of its own, and what it asks `ip` there.

The first argument of the tests that import it is RDMAD.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS)]
sys.dont_write_bytecode = True

import tap  # noqa: E402,F401

RDMAD = sys.argv[1]
INSTRUMENTED = b"__asan_init" in open(RDMAD, "rb").read()
PATIENCE = 60       # seconds; the machine may be busy
SLOW = bool(os.environ.get("RDMAD_TEST_SLOW"))


def enter_private_host():
    """Never returns the first time."""
    if os.environ.get("RDMAD_TEST_HOST") == "private":
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
        os.makedirs("/run/netns", exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run/netns"], check=True)
        os.makedirs("/var/lib/cni", exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/var/lib/cni"], check=True)
        return
    if os.geteuid() != 0:
        print("1..0 # SKIP network namespaces need root")
        sys.exit(0)
    os.environ["RDMAD_TEST_HOST"] = "private"
    os.execvp("unshare", ["unshare", "--mount", "--net", sys.executable, *sys.argv])


def run(*command, netns=None, check=True):
    words = [*(["ip", "netns", "exec", netns] if netns else []), *command]
    return subprocess.run(words, check=check, capture_output=True, text=True).stdout


def ip(*words, netns=None):
    text = run("ip", *(["-n", netns] if netns else []), "-j", *words)
    return json.loads(text) if text.strip() else []


def link(name, netns=None):
    try:
        return ip("-d", "addr", "show", "dev", name, netns=netns)[0]
    except subprocess.CalledProcessError:
        return None


def addresses(name, netns=None):
    found = link(name, netns)
    return sorted(f"{a['local']}/{a['prefixlen']}" for a in found["addr_info"] if a["scope"] == "global") \
        if found else None


def until(condition, what, patience=PATIENCE):
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError(f"waited in vain for {what}")


class HostCase(unittest.TestCase):
    """A daemon on that host.  `dir` has its directories and its log."""

    def setUp(self):
        self.dir = Path(tempfile.mkdtemp(prefix="rdmad-host-"))
        self.addCleanup(shutil.rmtree, self.dir)
        self.daemon = None
        self.addCleanup(self.end_daemon)

    WRAPPER = ()    # a program that becomes the daemon

    def launch(self, *arguments, environment=None):
        """With the configuration that the test has written."""
        with open(self.dir / "log", "a") as log:
            self.daemon = subprocess.Popen(
                [*self.WRAPPER, RDMAD, *arguments, "--config", self.dir / "rdmad.conf", "--sysroot", self.machine,
                 "--run-dir", self.dir / "run", "--state-dir", self.dir / "state",
                 "--kubelet-dir", self.dir / "k", "--log-level", "debug"],
                stdout=log, stderr=log, env=environment)
        until(lambda: self.daemon.poll() is not None or self.client("status"), "the daemon")

    def client(self, *command):
        """What the daemon answered; None: nothing."""
        done = subprocess.run([RDMAD, *command, "--json", "--socket", self.dir / "run/rdmad.sock"],
                              capture_output=True, text=True)
        return json.loads(done.stdout) if done.stdout.startswith("{") else None

    def module_status(self, name):
        for module in (self.client("status") or {}).get("modules", []):
            if module["name"] == name:
                return module.get("status", module)
        return {}

    def end_daemon(self, how=signal.SIGTERM):
        if not self.daemon:
            return
        daemon, self.daemon = self.daemon, None
        daemon.send_signal(how)
        status = daemon.wait(PATIENCE)
        if how == signal.SIGTERM:
            log = (self.dir / "log").read_text()
            self.assertEqual(status, 0, log[-6000:])
            self.assertNotIn("LeakSanitizer", log)
            self.assertNotIn("left over", log)
