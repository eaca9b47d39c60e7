#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Memory of rdmad: idle, after 10 000 Allocates, and with 8, 64 and 512 devices.

PSS: memory that only rdmad has, and its share of libraries that others have loaded too.
"""

import time

import benchlib
from benchlib import ALLOCATE, Daemon, Scratch, Table, largest_mappings, memory_of

GOAL = 6 * 1024
ALLOCATES, SLOTS = 10000, 1000
SETTLE = 1.0


def weigh(daemon):
    time.sleep(SETTLE)
    memory = memory_of(daemon.pid)
    return memory["Pss"] / 1024, memory["Rss"] / 1024


def add(table, what, weights, limit=None):
    table.value(f"{what}, PSS", weights[0], limit)
    table.value(f"{what}, RSS", weights[1])


def measure_recorded_node(build, table):
    with Scratch() as scratch:
        root = benchlib.expand("gpu-8rail", scratch.path("machine"))
        with Daemon(build, root, scratch.path("rdmad")) as daemon:
            add(table, "idle, eight rails", weigh(daemon), GOAL / 1024)
            mappings = largest_mappings(daemon.pid, 6)
            socket = daemon.socket()
            offer = benchlib.Offer(socket)
            requests = benchlib.write_requests(scratch.path("requests"), offer.slots[:SLOTS])
            build.ask("bench-client", socket, ALLOCATE, requests, ALLOCATES)
            add(table, f"after {ALLOCATES} Allocates of {SLOTS} slots", weigh(daemon))
            build.ask("bench-client", socket, ALLOCATE, requests, ALLOCATES)
            add(table, "after as many again", weigh(daemon))
            offer.close()
    return mappings


def measure_devices(build, table):
    idle = {}
    for devices in (8, 64, 512):
        with Scratch() as scratch:
            root = benchlib.expand_rails(scratch.path("machine"), devices)
            with Daemon(build, root, scratch.path("rdmad")) as daemon:
                idle[devices] = weigh(daemon)[0]
        table.value(f"idle, {devices} devices, PSS", idle[devices])
    return (idle[512] - idle[8]) * 1024 / 504


def main():
    build = benchlib.build_from_command_line()
    table = Table("Memory", "MiB")
    mappings = measure_recorded_node(build, table)
    per_device = measure_devices(build, table)
    table.note("without a kubelet that lists pods no allocation ends: each Allocate is one more that is kept")
    table.note(f"{per_device:.1f} KiB a device with four GIDs")
    table.note("another rdmad on this machine makes PSS smaller; alone it is nearer to RSS")
    table.note("largest when idle, PSS: "
               + ", ".join(f"{name} {kib} KiB" for name, kib in mappings))
    table.print()


if __name__ == "__main__":
    main()
