#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The first ListAndWatch message of a resource of 100, 1 000 and 10 000 slots: linear or not, and
what the daemon takes for it.  The baseline is a plain call of the same daemon on the same connection.
"""

import os
import sys
import time

import benchlib
from benchlib import Daemon, Scratch, Table, median

from fake import rpc
from fake.messages import plugin

sys.path.insert(0, os.path.join(benchlib.TESTS, "integration"))
from machine_changes import Machine, post  # noqa: E402

SERVICE = "/v1beta1.DevicePlugin/"
SIZES = (100, 1000, 10000)
ROUNDS = 31
CHANGES = 7
DEVICES = 64
QUICK_CONFIG = ("modules = { device-plugin = { health_delay = 0; "
                "resources = ( { name = \"rdma/hca\"; count = %d; } ); }; };")
CONFIG = "modules = { device-plugin = { resources = ( { name = \"rdma/hca\"; count = %d; } ); }; };"


def microseconds(call):
    begun = time.monotonic_ns()
    result = call()
    return (time.monotonic_ns() - begun) / 1000, result


class Lists:
    """Bytes as they come: parsing them is the client's affair."""

    def __init__(self, daemon):
        self.daemon, self.channel = daemon, rpc.dial(daemon.socket())
        self.open = self.channel.unary_stream(SERVICE + "ListAndWatch",
                                              request_serializer=lambda m: m.SerializeToString(),
                                              response_deserializer=None)

    def first(self):
        stream = self.open(plugin.Empty())
        message = next(stream)
        self.last, previous = stream, getattr(self, "last", None)
        if previous is not None:
            previous.cancel()       # one is open at any time: rdmad stays with its socket
        return message

    def options(self):
        return rpc.unary(self.channel, SERVICE + "GetDevicePluginOptions", plugin.Empty(),
                         plugin.DevicePluginOptions)

    def close(self):
        self.last.cancel()
        self.channel.close()


class Result:
    """Medians of one size."""

    def __init__(self, build, root, directory, count):
        with Daemon(build, root, directory, config=CONFIG % count) as daemon:
            lists = Lists(daemon)
            lists.first()
            before = benchlib.processor_us_of(daemon.pid)
            taken = [microseconds(lists.first) for _ in range(ROUNDS)]
            self.processor_us = (benchlib.processor_us_of(daemon.pid) - before) / ROUNDS
            self.us = median(us for us, _ in taken)
            self.bytes = len(taken[0][1])
            self.baseline_us = median(microseconds(lists.options)[0] for _ in range(ROUNDS))
            self.kib = benchlib.memory_of(daemon.pid)["Pss_Anon"]
            lists.close()


class Change:
    """A port that goes down and up, with the largest resource: from the hint to the message.  `hint`: what
    follows /api/v1/rescan."""

    def __init__(self, build, root, directory, count, hint=""):
        self.hint = hint
        machine = Machine(root)
        with Daemon(build, root, directory, config=QUICK_CONFIG % count) as daemon:
            lists = Lists(daemon)
            lists.first()
            control = os.path.join(directory, "run", "rdmad.sock")
            self.taken = [self.once(daemon, machine, control, lists.last, state)
                          for _ in range(CHANGES) for state in ("1: DOWN", "4: ACTIVE")]
            lists.close()
        self.processor_us = median(self.taken)

    def once(self, daemon, machine, control, stream, state):
        before = benchlib.all_processor_us_of(daemon.pid)
        machine.write("infiniband/mlx5_0/ports/1/state", state)
        if post(control, "/api/v1/rescan" + self.hint) != 200:
            raise RuntimeError("the hint was refused")
        next(stream)
        return benchlib.all_processor_us_of(daemon.pid) - before


def changes_table(build, scratch):
    """What a message of the kernel about one port costs, and what it cost when all devices were read."""
    root = benchlib.expand_rails(scratch.path("many"), DEVICES)
    scan = build.ask("bench-scan", root, CHANGES)
    whole = Change(build, root, scratch.path("whole"), SIZES[-1])
    one = Change(build, root, scratch.path("one"), SIZES[-1], "?device=mlx5_0")
    table = Table(f"A port of {DEVICES} devices goes down or up, {SIZES[-1]} slots: hint to ListAndWatch, CPU time "
                  f"of the daemon, median of {2 * CHANGES}", "us")
    table.at_most_times("its device is read", one.processor_us, "all are read", whole.processor_us,
                        rounds=benchlib.ratios(one.taken, whole.taken))
    table.value("its device is read", one.processor_us, 3000)
    table.at_most_times("all are read", whole.processor_us, "one look at them", scan["scan_cpu_us"])
    table.note("with the answer to the request that stands for the kernel's message")
    table.print()


def times_table(results, change, scan_us):
    table = Table(f"ListAndWatch to its first message, median of {ROUNDS}", "us")
    for count, result in results.items():
        table.at_most_times(f"{count} slots", result.us, "GetDevicePluginOptions",
                            result.baseline_us)
        table.value(f"{count} slots, the daemon's CPU time", result.processor_us)
    (small, a), (large, b) = list(results.items())[1:]
    table.at_most_times(f"{large} slots, CPU time against linear", b.processor_us,
                        f"{large // small} x {small}", a.processor_us * large / small, 1.5)
    table.at_most_times(f"{large} slots, a port that goes down or up, CPU time", change.processor_us,
                        "one look at the hardware", scan_us)
    table.note("the client is Python's; the daemon's CPU time has no part of it")
    table.print()


def sizes_table(results):
    table = Table("The same lists: bytes on the wire, and memory of the daemon", "KiB")
    baseline = results[SIZES[0]]
    for count, result in results.items():
        table.value(f"{count} slots, message", result.bytes / 1024)
        table.value(f"{count} slots, anonymous memory", result.kib)
    table.value(f"{SIZES[-1]} slots, memory a slot",
                (results[SIZES[-1]].kib - baseline.kib) / (SIZES[-1] - SIZES[0]), 1)
    table.print()


def main():
    build = benchlib.build_from_command_line()
    with Scratch() as scratch:
        root = benchlib.expand("gpu-8rail", scratch.path("machine"))
        results = {count: Result(build, root, scratch.path(f"rdmad{count}"), count)
                   for count in SIZES}
        change = Change(build, root, scratch.path("change"), SIZES[-1])
        scan = build.ask("bench-scan", root, ROUNDS)
        changes_table(build, scratch)
    times_table(results, change, scan["scan_cpu_us"])
    sizes_table(results)


if __name__ == "__main__":
    main()
