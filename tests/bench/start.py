#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""From exec to READY with 512 devices and 1000 allocations; and how often an idle rdmad wakes up."""

import os
import subprocess
import time

import benchlib
from benchlib import Daemon, Scratch, Table, median

from fake import Kubelet

DEVICES, ALLOCATIONS = 512, 1000
ROUNDS = 9
IDLE_ROUNDS, IDLE_SECONDS = 3, 10
SETTLE = 5


def fill(build, daemon, scratch):
    """Allocations of the first slots, in the state directory of a daemon that does not run."""
    with daemon:
        offer = benchlib.Offer(daemon.socket())
        offer.close()
    path = scratch.path("slots")
    with open(path, "w") as file:
        file.write("".join(slot + "\n" for slot in offer.slots[:ALLOCATIONS]))
    build.ask("bench-grant", os.path.join(daemon.directory, "state"), path)


def time_start(daemon):
    took = daemon.start()
    daemon.stop()
    return took * 1000


def time_exec(build):
    begun = time.monotonic()
    subprocess.run([build.rdmad, "--version"], check=True, stdout=subprocess.DEVNULL)
    return (time.monotonic() - begun) * 1000


def measure_start(build, table):
    with Scratch() as scratch, Scratch(on_disk=True) as disk:
        few = benchlib.expand_rails(scratch.path("few"), 8)
        many = benchlib.expand_rails(scratch.path("many"), DEVICES)
        cases = [("8 devices, no allocations", Daemon(build, few, disk.path("a"))),
                 (f"{DEVICES} devices, no allocations", Daemon(build, many, disk.path("b"))),
                 (f"{DEVICES} devices, {ALLOCATIONS} allocations", Daemon(build, many, disk.path("c")))]
        fill(build, cases[2][1], scratch)
        bare, took = [], [[] for _ in cases]
        for _ in range(ROUNDS):
            bare.append(time_exec(build))
            for (_, daemon), times in zip(cases, took):
                times.append(time_start(daemon))
        look = build.ask("bench-scan", many, 5)["scan_us"] / 1000
    few, *many = [median(times) for times in took]
    table.at_most_times(f"exec to READY, {cases[0][0]}", few, "rdmad --version", median(bare))
    for (what, _), value in zip(cases[1:], many):
        table.at_most_times(f"exec to READY, {what}", value, "one look at them", look)


def count_sleeps(daemons):
    """Of each daemon, in a round."""
    before = [benchlib.sleeps_of(daemon.pid) for daemon in daemons]
    time.sleep(IDLE_SECONDS)
    return [benchlib.sleeps_of(daemon.pid) - b for daemon, b in zip(daemons, before)]


def measure_idle(build):
    table = Table(f"Idle: wake-ups in {IDLE_ROUNDS} x {IDLE_SECONDS} s, all threads", "")
    with Scratch() as scratch:
        root = benchlib.expand("gpu-8rail", scratch.path("machine"))
        with Daemon(build, root, scratch.path("alone"), registry=False) as alone, \
                Daemon(build, root, scratch.path("served")) as served, \
                Kubelet(served.kubelet) as kubelet:
            kubelet.wait("rdma/hca", 1000, benchlib.PATIENCE)
            time.sleep(SETTLE)
            rounds = [count_sleeps((alone, served)) for _ in range(IDLE_ROUNDS)]
    table.value("no kubelet on the node", sum(r[0] for r in rounds), 0)
    table.value("kubelet watches a resource", sum(r[1] for r in rounds), 0)
    table.print()


def main():
    build = benchlib.build_from_command_line()
    table = Table(f"Start, median of {ROUNDS} rounds", "ms")
    measure_start(build, table)
    table.print()
    measure_idle(build)


if __name__ == "__main__":
    main()
