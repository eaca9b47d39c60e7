# SPDX-License-Identifier: Apache-2.0
"""What the kernel knows of processes, also of those that a test has not started itself."""

import contextlib
import itertools
import os
import resource
from pathlib import Path


def has_ended(pid):
    """A zombie has, too: its parent may never wait for it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def unix_sockets(path):
    """How many have this name: the one that listens, and one for each connection to it."""
    return Path("/proc/net/unix").read_text().count(str(path))


@contextlib.contextmanager
def few_descriptors(pid, left):
    """The process can open as many more as `left` says."""
    used = {int(number) for number in os.listdir(f"/proc/{pid}/fd")}
    free = (number for number in itertools.count() if number not in used)
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (next(itertools.islice(free, left, None)), before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
