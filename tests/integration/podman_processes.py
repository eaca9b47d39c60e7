# SPDX-License-Identifier: Apache-2.0
"""Processes of a test's podman."""

import contextlib
import glob
import os
import time

PATIENCE = 60


def is_argument(text):
    """Of any process."""
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        with contextlib.suppress(OSError), open(path, "rb") as file:     # it has ended
            if os.fsencode(text) in file.read():
                return True
    return False


def wait_for_podman(root):
    """podman run ends before the processes that clean up after the container and write to its --root."""
    end = time.monotonic() + PATIENCE
    while is_argument(root):
        assert time.monotonic() < end, f"a podman of {root} does not end"
        time.sleep(0.05)
