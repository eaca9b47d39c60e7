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
SETTLE = 20     # after the last look whether kubelet has taken the resource, and an idle worker's wait
BEFORE = "before"


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
    """By the clock, and CPU time; in ms."""
    took = daemon.start()
    used = benchlib.all_processor_us_of(daemon.pid)
    daemon.stop()
    return took * 1000, used / 1000


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
        if benchlib.earlier_build():
            cases.append((BEFORE, Daemon(benchlib.earlier_build(), many, disk.path("before"))))
        bare, looks, taken = [], [], {what: [] for what, _ in cases}
        for _ in range(ROUNDS):
            bare.append(time_exec(build))
            looks.append(build.ask("bench-scan", many, 1))
            for what, daemon in cases:
                taken[what].append(time_start(daemon))
    report_start(table, cases, taken, bare, looks)


def report_start(table, cases, taken, bare, looks):
    """`bare`, `looks`: of each round, rdmad --version and one look at the many devices, with its bare reads."""
    few, *many = [what for what, _ in cases if what != BEFORE]

    def compare(what, mine, name, others, limit=None):
        table.at_most_times(what, median(mine), name, median(others), limit, benchlib.ratios(mine, others))

    compare(f"exec to READY, {few}", [ms for ms, _ in taken[few]], "rdmad --version", bare)
    for what in many:
        times, used = zip(*taken[what])
        compare(f"exec to READY, {what}", times, "one look at them", [look["scan_us"] / 1000 for look in looks])
        compare(f"CPU time until READY, {what}", used, "reading their files",
                [look["reads_cpu_us"] / 1000 for look in looks])
    if BEFORE in taken:
        for what, column in (("exec to READY", 0), ("CPU time until READY", 1)):
            compare(f"{what}, {many[0]}", [each[column] for each in taken[many[0]]], "before",
                    [each[column] for each in taken[BEFORE]])
    table.value(f"CPU time until READY, {few}", median(used for _, used in taken[few]))


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
