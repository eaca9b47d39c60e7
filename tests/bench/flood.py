#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Allocate while 16 clients poll a TCP listener for the largest answers, against Allocate in peace.

The daemon holds 2000 allocations and a full event log.  Quiet and flooded rounds follow each other in one run,
with the database on the disk, as it is on a node.
"""

import os
import sys

import benchlib
from benchlib import ALLOCATE, Daemon, Scratch, Table, median

sys.path.insert(0, os.path.join(benchlib.TESTS, "integration"))
from http_flood import Flood  # noqa: E402
from ports import free_port  # noqa: E402

ROUNDS = 9
CALLS = 100
ALLOCATIONS = 2000
API = "/api/v1/"
FLOODS = {
    "events and allocations": [API + "events", API + "allocations"],
    "all of the API": [API + name for name in ("events", "allocations", "devices", "topology",
                                               "status", "doctor")],
    "metrics": ["/metrics"],
    "the page": ["/", "/metrics"],
}
CONFIG = """modules = {
	device-plugin = { resources = ( { name = "rdma/hca"; count = %d; } ); };
	metrics = { listen = "127.0.0.1:%d"; };
};"""


def measure(build, daemon, port, offer, scratch):
    """{flood: ([quiet rounds], [flooded rounds], answers)}"""
    slots = iter(offer.slots)

    def allocate(calls):
        part = [next(slots) for _ in range(calls)]
        requests = benchlib.write_requests(scratch.path("requests"), part)
        return build.ask("bench-client", daemon.socket(), ALLOCATE, requests, calls)

    allocate(ALLOCATIONS)
    taken = {}
    for name, paths in FLOODS.items():
        quiet, flooded, answers = [], [], 0
        for _ in range(ROUNDS):
            quiet.append(allocate(CALLS))
            with Flood(port, paths) as flood:
                flooded.append(allocate(CALLS))
            answers += flood.answers
        taken[name] = quiet, flooded, answers
    return taken


def report(taken):
    table = Table(f"Allocate in a flood of 16 clients, median of {ROUNDS} rounds of {CALLS} calls", "us")
    for name, (quiet, flooded, answers) in taken.items():
        for key, limit in (("p50_us", None), ("p99_us", 2)):
            table.at_most_times(f"{key[:3]}, {name}", median(r[key] for r in flooded), "quiet",
                                median(r[key] for r in quiet), limit)
        table.note(f"{name}: {answers} answers meanwhile")
    table.print()


def main():
    build = benchlib.build_from_command_line()
    port = free_port()
    config = CONFIG % (ALLOCATIONS + 2 * len(FLOODS) * ROUNDS * CALLS, port)
    with Scratch(on_disk=True) as scratch:
        machine = benchlib.expand("gpu-8rail", scratch.path("machine"))
        with Daemon(build, machine, scratch.path("rdmad"), config=config,
                    modules=["device-plugin", "metrics"]) as daemon:
            offer = benchlib.Offer(daemon.socket())
            report(measure(build, daemon, port, offer, scratch))
            offer.close()


if __name__ == "__main__":
    main()
