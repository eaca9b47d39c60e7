# SPDX-License-Identifier: Apache-2.0
"""A test that runs again in network and mount namespaces of its own, and what it asks `ip` there.

The first argument of the tests that import it is RDMAD.
"""

import json
import os
import subprocess
import sys
import time
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
