#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""From kubelet.sock appearing to a registered resource, with the fake kubelet.

The clock starts with the time that the socket has in the file system, and stops when Register has
returned; kubelet's part of it (it calls back inside Register) is in it, on Python's gRPC.
"""

import os
import random
import threading
import time

import benchlib
from benchlib import Daemon, Scratch, Table, percentile

from fake.devices import DeviceManager
from fake.legacy import LegacyRegistration, wipe_sockets

ROUNDS = 40
GOAL = 200


class TimedRegistration(LegacyRegistration):
    """kubelet.sock that notes when Register came, and when it was done."""

    def __init__(self, directory, manager):
        self.came = self.done = None
        self.finished = threading.Event()
        super().__init__(directory, manager, lambda line: None)

    def _register(self, request, context):
        self.came = self.came or time.time()
        reply = super()._register(request, context)
        self.done = time.time()
        self.finished.set()
        return reply


def one_start(directory):
    """Milliseconds from the socket to the call, and to its end."""
    manager = DeviceManager(directory, 300, lambda line: None)
    wipe_sockets(directory)
    kubelet = TimedRegistration(directory, manager)
    appeared = os.lstat(kubelet.path).st_ctime
    if not kubelet.finished.wait(benchlib.PATIENCE):
        raise TimeoutError("not registered")
    kubelet.close()
    manager.close()
    return (kubelet.came - appeared) * 1000, (kubelet.done - appeared) * 1000


def measure(directory):
    times = []
    for _ in range(ROUNDS):
        time.sleep(random.uniform(0.1, 0.5))
        times.append(one_start(directory))
    return [list(column) for column in zip(*times)]


def main():
    build = benchlib.build_from_command_line()
    config = 'modules = { device-plugin = { registration = "legacy"; }; };'
    with Scratch() as scratch:
        root = benchlib.expand("gpu-8rail", scratch.path("machine"))
        with Daemon(build, root, scratch.path("rdmad"), config=config) as daemon:
            came, done = measure(os.path.join(daemon.kubelet, "device-plugins"))
    table = Table(f"Registration, {ROUNDS} starts of kubelet", "ms")
    table.value("kubelet.sock appears to Register, p50", percentile(came, 50))
    table.value("kubelet.sock appears to Register, p99", percentile(came, 99))
    table.value("kubelet.sock appears to registered, p50", percentile(done, 50), GOAL)
    table.value("kubelet.sock appears to registered, p99", percentile(done, 99), GOAL)
    table.print()


if __name__ == "__main__":
    main()
