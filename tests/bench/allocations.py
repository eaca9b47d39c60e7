#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Allocate with 10 000 allocations in the table against an empty one, and GetPreferredAllocation of 8 out
of 1 000.

Allocate runs in turn on two daemons, each with the database in memory, so that what is compared is
the table and not the disk.
"""

import struct

import benchlib
from benchlib import ALLOCATE, Daemon, Offer, Scratch, Table, median

from fake.messages import plugin

ALLOCATIONS = 10000
ROUNDS = 9
CALLS = 200
PREFERRED = "/v1beta1.DevicePlugin/GetPreferredAllocation"
OPTIONS = "/v1beta1.DevicePlugin/GetDevicePluginOptions"
CONFIG = "modules = { device-plugin = { resources = ( { name = \"rdma/hca\"; count = %d; } ); }; };"


def allocate(build, scratch, socket, slots):
    requests = benchlib.write_requests(scratch.path("requests"), slots)
    return build.ask("bench-client", socket, ALLOCATE, requests, len(slots))


def measure_allocate(build, scratch, root):
    """[[p50, p99]...] of the empty and of the full table."""
    config = CONFIG % (ALLOCATIONS + ROUNDS * CALLS)
    with Daemon(build, root, scratch.path("empty"), config=config) as empty, \
            Daemon(build, root, scratch.path("full"), config=config) as full:
        offers = [Offer(daemon.socket()) for daemon in (empty, full)]
        slots = offers[0].slots
        allocate(build, scratch, full.socket(), slots[ROUNDS * CALLS:])
        taken = [[], []]
        for number in range(ROUNDS):
            part = slots[number * CALLS:(number + 1) * CALLS]
            for daemon, results in zip((empty, full), taken):
                results.append(allocate(build, scratch, daemon.socket(), part))
        for offer in offers:
            offer.close()
    return taken


def report_allocate(taken):
    table = Table(f"Allocate, median of {ROUNDS} rounds of {CALLS} calls", "us")
    for key, limit in (("p50_us", 1.2), ("p99_us", None)):
        empty, full = (median(r[key] for r in results) for results in taken)
        table.at_most_times(f"{key[:3]} with {ALLOCATIONS} allocations", full,
                            f"with 0 to {ROUNDS * CALLS}", empty, limit)
    table.print()


def preferred_request(path, available, size):
    request = plugin.PreferredAllocationRequest()
    request.container_requests.add(available_deviceIDs=available, allocation_size=size)
    message = request.SerializeToString()
    with open(path, "wb") as file:
        file.write(struct.pack(">I", len(message)) + message)
    return path


def measure_preferred(build, scratch, root):
    empty_message = scratch.path("empty-message")
    with open(empty_message, "wb") as file:
        file.write(struct.pack(">I", 0))
    with Daemon(build, root, scratch.path("preferred"), config=CONFIG % 1000) as daemon:
        offer = Offer(daemon.socket())
        request = preferred_request(scratch.path("preferred-request"), offer.slots, 8)
        found = [(build.ask("bench-client", daemon.socket(), PREFERRED, request, CALLS),
                  build.ask("bench-client", daemon.socket(), OPTIONS, empty_message, CALLS))
                 for _ in range(ROUNDS)]
        offer.close()
    return found


def report_preferred(found):
    table = Table("GetPreferredAllocation of 8 out of 1 000", "us")
    for key in ("p50_us", "p99_us"):
        table.at_most_times(key[:3], median(asked[key] for asked, _ in found),
                            "an empty call", median(baseline[key] for _, baseline in found))
    table.print()


def main():
    build = benchlib.build_from_command_line()
    with Scratch() as scratch:
        root = benchlib.expand("gpu-8rail", scratch.path("machine"))
        report_allocate(measure_allocate(build, scratch, root))
        report_preferred(measure_preferred(build, scratch, root))


if __name__ == "__main__":
    main()
