#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Allocate through rdmad against bare nghttp2 and libgrpc++ servers that answer the same bytes.

One client for all, one call after the other, each for a slot of its own.  The write to the
database is measured alone (bench-grant) in the same rounds, on the disk and in memory; rdmad's own
gRPC without anything behind it as well.
"""

import atexit
import os
import subprocess
import sys

import benchlib
from benchlib import ALLOCATE, Daemon, Scratch, Table, median

ROUNDS = 9
CALLS = 500
WARM_UP = 50


class Server:
    """A server of the comparison, and what its rounds gave."""

    def __init__(self, build, name, socket, pid, method=ALLOCATE):
        self.build, self.name, self.socket = build, name, socket
        self.pid, self.method, self.rounds = pid, method, []

    def call(self, requests, count, *reply):
        return self.build.ask("bench-client", self.socket, self.method, requests, count, *reply)

    def round(self, requests):
        before = benchlib.processor_us_of(self.pid)
        result = self.call(requests, CALLS)
        result["processor_us"] = (benchlib.processor_us_of(self.pid) - before) / CALLS
        self.rounds.append(result)

    def us(self, key):
        return median(r[key] for r in self.rounds)


class Echo(Server):
    """A program that answers, from `command SOCKET [REPLY-FILE]`."""

    def __init__(self, build, name, scratch, command, *reply, **options):
        socket = scratch.path(os.path.basename(command[-1]) + ".sock")
        self.process = subprocess.Popen([*command, socket, *reply], stdout=subprocess.DEVNULL)
        atexit.register(self.process.kill)      # also when a round breaks
        benchlib.wait_for_server(socket)
        super().__init__(build, name, socket, self.process.pid, **options)

    def close(self):
        self.process.kill()
        self.process.wait()


class Grant:
    """rdmad_allocations_grant() alone, with a database that grows as the daemon's does."""

    def __init__(self, build, directory):
        self.build, self.directory, self.rounds = build, directory, []
        os.mkdir(directory, 0o700)

    def round(self, slots_file):
        self.rounds.append(self.build.ask("bench-grant", self.directory, slots_file))

    def us(self, key):
        return median(r[key] for r in self.rounds)


def counterpart(build, scratch, reply):
    if build.has("grpcpp-echo"):
        return Echo(build, "libgrpc++", scratch, [build.program("grpcpp-echo")], reply)
    print("libgrpc++ is not there: python3-grpcio is the counterpart")
    script = os.path.join(benchlib.HERE, "grpcio-echo.py")
    return Echo(build, "python3-grpcio", scratch, [sys.executable, script], reply)


def slices(scratch, slots):
    """Requests and slots of the warm-up, and of each round after it."""
    cuts = [0, *(WARM_UP + CALLS * i for i in range(ROUNDS + 1))]
    for number, (begin, end) in enumerate(zip(cuts, cuts[1:])):
        part = slots[begin:end]
        listed = scratch.path(f"slots{number}")
        with open(listed, "w") as file:
            file.write("".join(slot + "\n" for slot in part))
        yield benchlib.write_requests(scratch.path(f"requests{number}"), part), listed


def run_rounds(servers, grants, rounds):
    """All in turn, so that what disturbs the machine disturbs each of them."""
    for requests, listed in rounds:
        for server in servers:
            server.round(requests)
        for grant in grants:
            grant.round(listed)


def measure(build, scratch, disk, in_memory, on_disk):
    offers = [benchlib.Offer(daemon.socket()) for daemon in (in_memory, on_disk)]
    warm_up, *rounds = slices(scratch, offers[0].slots)
    reply = scratch.path("reply")
    memory = Server(build, "memory", in_memory.socket(), in_memory.pid)
    memory.call(warm_up[0], WARM_UP, reply)
    echoes = [Echo(build, "bare nghttp2", scratch, [build.program("baseline-echo")], reply),
              counterpart(build, scratch, reply),
              Echo(build, "rdmad's gRPC", scratch, [build.program("../integration/grpc-echo")],
                   method="/test.Echo/Echo")]
    servers = [memory, Server(build, "disk", on_disk.socket(), on_disk.pid), *echoes]
    grants = [Grant(build, scratch.path("grants")), Grant(build, disk.path("grants"))]
    for server in servers[1:]:
        server.call(warm_up[0], WARM_UP)
    run_rounds(servers, grants, rounds)
    for part in (*echoes, *offers):
        part.close()
    return servers, grants


def report(servers, grants):
    (memory, disk, baseline, other, bare), (grant_memory, grant_disk) = servers, grants
    table = Table("Allocate: one call after the other, "
                  f"median of {ROUNDS} rounds of {CALLS} calls", "us")

    def both(what, us, key="p50_us", baseline_limit=None, other_limit=None):
        table.at_most_times(what, us, baseline.name, baseline.us(key), baseline_limit)
        table.times_better(what, us, other.name, other.us(key), other_limit)

    both("p50 without the write", memory.us("p50_us") - grant_memory.us("p50_us"),
         baseline_limit=2, other_limit=3)
    both("p50 with it, database in memory", memory.us("p50_us"))
    both("p50 with it, database on disk", disk.us("p50_us"))
    both("p99 with it, database on disk", disk.us("p99_us"), "p99_us")
    both("p50 of rdmad's gRPC with nothing behind it", bare.us("p50_us"))
    table.times_better("p50 of the baseline", baseline.us("p50_us"), other.name, other.us("p50_us"))
    both("CPU time a call, database in memory", memory.us("processor_us"), "processor_us")
    both("CPU time, rdmad's gRPC alone", bare.us("processor_us"), "processor_us")
    table.value("the write alone in memory, p50", grant_memory.us("p50_us"))
    table.value("the write alone on disk, p50", grant_disk.us("p50_us"))
    table.value("the write alone on disk, p99", grant_disk.us("p99_us"))
    table.note("the write: rdmad_allocations_grant() alone; on disk it waits for fsync(); times are the "
               "client's, and half of the baseline is its own")
    table.print()


def main():
    build = benchlib.build_from_command_line()
    count = WARM_UP + ROUNDS * CALLS
    config = ("modules = { device-plugin = { resources = ( "
              f'{{ name = "rdma/hca"; count = {count}; }} ); }}; }};')
    with Scratch() as scratch, Scratch(on_disk=True) as disk:
        root = benchlib.expand("gpu-8rail", scratch.path("machine"))
        with Daemon(build, root, scratch.path("rdmad"), config=config) as in_memory, \
                Daemon(build, root, disk.path("rdmad"), config=config) as on_disk:
            report(*measure(build, scratch, disk, in_memory, on_disk))


if __name__ == "__main__":
    main()
