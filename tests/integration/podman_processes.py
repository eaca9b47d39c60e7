# SPDX-License-Identifier: Apache-2.0
"""Processes of a test's podman."""

import contextlib
import glob
import os

from prometheus_server import wait_for


def is_argument(text):
    """Of any process."""
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        with contextlib.suppress(OSError), open(path, "rb") as file:     # it has ended
            if os.fsencode(text) in file.read():
                return True
    return False


def wait_for_podman(root):
    """podman run ends before the processes that clean up after the container and write to its --root."""
    wait_for(lambda: not is_argument(root), f"end of the podman of {root}")
