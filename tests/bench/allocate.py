#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Allocate through rdmad against bare nghttp2 and libgrpc++ servers that answer the same bytes.

One client for all, in three ways: one caller with one call after the other, one that pauses for a millisecond
between its calls (kubelet needs more than that for a pod), and 64 callers at once; each call is for a slot of its
own.  Without pauses a call waits for what the one before has left to be done.  With the state in memory nothing waits for a disk; on a disk, what the disk takes for itself
is measured beside it, as are the write to the database alone (bench-grant) and rdmad's own gRPC without anything
behind it.  $RDMAD_BENCH_BEFORE, an earlier build, is measured in the same rounds.
"""

import atexit
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time

import benchlib
from benchlib import ALLOCATE, Daemon, Scratch, Table, median

ROUNDS = 9
CALLS = 256
CALLERS = 64
ONE, PACED, MANY = "", "+1", f"@{CALLERS}"      # as bench-client has them
WARM_UP = 50
PAGES = 64          # of the write-ahead log, before it begins again
MEMORY_LIMIT = 2.5


class Server:
    """A server of the comparison, and what its rounds gave in each way."""

    def __init__(self, build, name, socket, pid, method=ALLOCATE, ways=(ONE, PACED)):
        self.build, self.name, self.socket = build, name, socket
        self.pid, self.method = pid, method
        self.rounds = {way: [] for way in ways}

    def call(self, requests, count, *reply):
        return self.build.ask("bench-client", self.socket, self.method, requests, count, *reply)

    def round(self, requests):
        for way, file in zip(self.rounds, requests):
            before = benchlib.processor_us_of(self.pid)
            result = self.call(file, f"{CALLS}{way}")
            result["processor_us"] = (benchlib.processor_us_of(self.pid) - before) / CALLS
            result["each_us"] = 1e6 / result["calls_per_s"]
            self.rounds[way].append(result)

    def all(self, key, way=ONE):
        return [result[key] for result in self.rounds[way]]

    def us(self, key, way=ONE):
        return median(self.all(key, way))


class Echo(Server):
    """A program that answers, from `command SOCKET [REPLY-FILE ...]`."""

    def __init__(self, build, name, scratch, command, *reply, **options):
        socket = scratch.path(f"{name}.sock")
        self.process = subprocess.Popen([*command, socket, *reply], stdout=subprocess.DEVNULL)
        atexit.register(self.process.kill)      # also when a round breaks
        benchlib.wait_for_server(socket)
        super().__init__(build, name, socket, self.process.pid, **options)

    def close(self):
        self.process.kill()
        self.process.wait()


class Floor(Echo):
    """Bare nghttp2 that writes a row to rdmad's database in `place`, and makes a directory, before it answers."""

    def __init__(self, build, scratch, reply, place):
        directories = place.path("floor-state"), scratch.path(f"floor-run-{os.path.basename(place.name)}")
        for directory in directories:
            os.mkdir(directory)
        super().__init__(build, os.path.basename(place.name), scratch, [build.program("baseline-echo")], reply,
                         *directories)


class Rdmad(Server):
    """A daemon with its state in memory or on a disk; its stream stays open, as kubelet's does."""

    def __init__(self, build, name, daemon):
        super().__init__(build, name, daemon.socket(), daemon.pid, ways=(ONE, PACED, MANY))
        self.offer = benchlib.Offer(self.socket)
        self.system_calls = {}

    def close(self):
        self.offer.close()


class Grant:
    """rdmad_allocations_grant() alone, with a database that grows as the daemon's does."""

    def __init__(self, build, directory):
        self.build, self.directory, self.rounds = build, directory, []
        os.mkdir(directory, 0o700)

    def round(self, slots_file):
        self.rounds.append(self.build.ask("bench-grant", self.directory, slots_file))

    def us(self, key):
        return median(r[key] for r in self.rounds)


class Disk:
    """What the disk takes to keep two pages of a file that has its size, as a transaction's are."""

    def __init__(self, path):
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        self.rounds = []
        for _ in range(PAGES):
            os.write(self.fd, bytes(8192))
        os.fsync(self.fd)

    def round(self):
        taken = []
        for number in range(CALLS):
            begun = time.perf_counter_ns()
            os.pwrite(self.fd, bytes(8192), number % PAGES * 8192)
            os.fdatasync(self.fd)
            taken.append((time.perf_counter_ns() - begun) / 1000)
        self.rounds.append(median(taken))


FILES = {"access", "close", "fchmod", "fchmodat", "linkat", "lstat", "mkdir", "mkdirat", "newfstatat", "openat",
         "rename", "renameat", "stat", "unlinkat", "write"}


def system_calls(server, requests, way, log):
    """{name: how often a call of the client makes it}, of the whole process, by strace."""
    tracer = subprocess.Popen(["strace", "-f", "-c", "-U", "name,calls", "-o", log, "-p", str(server.pid)],
                              stderr=subprocess.PIPE, text=True)
    tracer.stderr.readline()                    # it is attached
    server.call(requests, f"{CALLS}{way}")
    tracer.send_signal(signal.SIGINT)
    tracer.communicate()
    with open(log) as file:
        rows = [text.split() for text in file]
    counts = {row[0]: int(row[1]) / CALLS for row in rows if len(row) == 2 and row[1].isdigit()}
    total = counts.pop("total", sum(counts.values()))
    return {**counts, "total": total, "files": sum(counts.get(name, 0) for name in FILES)}


def counterpart(build, scratch, reply):
    if build.has("grpcpp-echo"):
        return Echo(build, "libgrpc++", scratch, [build.program("grpcpp-echo")], reply)
    print("libgrpc++ is not there: python3-grpcio is the counterpart")
    script = os.path.join(benchlib.HERE, "grpcio-echo.py")
    return Echo(build, "python3-grpcio", scratch, [sys.executable, script], reply)


def slices(scratch, slots):
    """Requests and slots of the warm-up, and of each part of a round after it."""
    cuts = [0, *(WARM_UP + CALLS * i for i in range(3 * ROUNDS + 3))]
    for number, (begin, end) in enumerate(zip(cuts, cuts[1:])):
        part = slots[begin:end]
        listed = scratch.path(f"slots{number}")
        with open(listed, "w") as file:
            file.write("".join(slot + "\n" for slot in part))
        yield benchlib.write_requests(scratch.path(f"requests{number}"), part), listed


class Comparison:
    def __init__(self, build, scratch, disk, daemons):
        self.memory, self.disk, *self.before = (Rdmad(build, name, daemon) for name, daemon in daemons)
        (warm_up, _), *self.parts = slices(scratch, self.memory.offer.slots)
        self.parts, self.extra = self.parts[:-2], self.parts[-2:]
        self.log = scratch.path("strace")
        reply = scratch.path("reply")
        self.memory.call(warm_up, WARM_UP, reply)
        self.floor = Echo(build, "bare nghttp2", scratch, [build.program("baseline-echo")], reply)
        self.floors = [Floor(build, scratch, reply, place) for place in (scratch, disk)]
        self.other = counterpart(build, scratch, reply)
        self.bare = Echo(build, "rdmad's gRPC", scratch, [build.program("../integration/grpc-echo")],
                         method="/test.Echo/Echo")
        self.servers = [self.memory, self.disk, *self.before, self.floor, *self.floors, self.other, self.bare]
        self.grants = [Grant(build, scratch.path("grants")), Grant(build, disk.path("grants"))]
        self.sync = Disk(disk.path("pages"))
        for server in self.servers[1:]:
            server.call(warm_up, WARM_UP)

    def run(self):
        """All in turn, so that what disturbs the machine disturbs each of them."""
        for parts in zip(self.parts[::3], self.parts[1::3], self.parts[2::3]):
            for server in self.servers:
                server.round([requests for requests, _ in parts])
            for grant in self.grants:
                grant.round(parts[0][1])
            self.sync.round()
        if shutil.which("strace"):
            for server in (self.memory, *self.before[:1]):
                for way, requests in ((ONE, self.extra[0][0]), (MANY, self.extra[1][0])):
                    server.system_calls[way] = system_calls(server, requests, way, self.log)
        for server in self.servers:
            server.close()

    # ---- the tables ----

    def both(self, table, what, server, key, way=ONE, limit=None):
        """Against bare nghttp2, and against libgrpc++."""
        mine, floor, other = (each.all(key, way) for each in (server, self.floor, self.other))
        table.at_most_times(what, median(mine), self.floor.name, median(floor), limit,
                            benchlib.ratios(mine, floor))
        table.times_better(what, median(mine), self.other.name, median(other),
                           rounds=benchlib.ratios(other, mine))

    def one_caller(self):
        table = Table(f"Allocate, one caller: {ROUNDS} rounds of {CALLS} calls", "us")
        self.both(table, "p50, state in memory, pauses", self.memory, "p50_us", PACED, MEMORY_LIMIT)
        self.both(table, "p50, state in memory", self.memory, "p50_us", limit=MEMORY_LIMIT)
        memory = self.grants[0].rounds
        parts = [floor + grant["p50_us"] + grant["directory_us"]
                 for floor, grant in zip(self.floor.all("p50_us"), memory)]
        table.at_most_times("p50, state in memory", self.memory.us("p50_us"),
                            "bare nghttp2, the write and a directory, each alone", median(parts),
                            rounds=benchlib.ratios(self.memory.all("p50_us"), parts))
        table.at_most_times("these three", median(parts), self.floor.name, median(self.floor.all("p50_us")),
                            rounds=benchlib.ratios(parts, self.floor.all("p50_us")))
        self.both(table, "CPU time a call, state in memory", self.memory, "processor_us")
        limits = self.disk_limits(PACED)
        table.at_most_times("p50, state on disk, pauses", self.disk.us("p50_us", PACED),
                            f"{MEMORY_LIMIT:g} x bare nghttp2 and one fdatasync()", median(limits), 1,
                            benchlib.ratios(self.disk.all("p50_us", PACED), limits))
        for way, pauses in ((PACED, ", pauses"), (ONE, "")):
            self.one_program(table, way, pauses)
        self.both(table, "p50 of rdmad's gRPC with nothing behind it", self.bare, "p50_us")
        self.both(table, "CPU time, rdmad's gRPC alone", self.bare, "processor_us")
        for place, server, before in zip(("in memory", "on disk"), (self.memory, self.disk), self.before):
            for what, key, way in (("p50, pauses", "p50_us", PACED), ("p50", "p50_us", ONE),
                                   ("CPU time a call", "processor_us", ONE)):
                mine, its = server.all(key, way), before.all(key, way)
                table.at_most_times(f"{what}, state {place}", median(mine), before.name, median(its),
                                    rounds=benchlib.ratios(mine, its))
        for place, grant in zip(("in memory", "on disk"), self.grants):
            table.value(f"the write alone {place}, p50", grant.us("p50_us"))
        table.value("the system calls of a directory alone, in memory, p50", self.grants[0].us("directory_us"))
        table.value("fdatasync() of two pages, p50", median(self.sync.rounds))
        table.note("the write: rdmad_allocations_grant() alone; times are the client's, and half of bare "
                   "nghttp2's is its own; without pauses a call waits for what the one before has left to do: "
                   "its line of the log, its watchers, the next spare directory")
        table.print()

    def disk_limits(self, way):
        return [MEMORY_LIMIT * floor + sync
                for floor, sync in zip(self.floor.all("p50_us", way), self.sync.rounds)]

    def one_program(self, table, way, pauses):
        """What a floor takes that does what must be done, and how much of the limit that is."""
        what = "nghttp2, SQLite and a directory in one program"
        for place, server, floor, bare, name in (
                ("in memory", self.memory, self.floors[0], self.floor.all("p50_us", way), self.floor.name),
                ("on disk", self.disk, self.floors[1], self.disk_limits(way), "the limit")):
            mine, its = server.all("p50_us", way), floor.all("p50_us", way)
            table.at_most_times(f"p50, state {place}{pauses}", median(mine), what, median(its),
                                rounds=benchlib.ratios(mine, its))
            table.at_most_times(f"this program, state {place}{pauses}", median(its), name, median(bare),
                                rounds=benchlib.ratios(its, bare))

    def many_callers(self):
        table = Table(f"Allocate, {CALLERS} callers at once: {ROUNDS} rounds of {CALLS} calls", "us")
        for place, server, limit in (("in memory", self.memory, None), ("on disk", self.disk, 5),
                                     *(("on disk", before, None) for before in self.before[1:])):
            ours = "" if server in (self.memory, self.disk) else f" ({server.name})"
            one, many = server.all("each_us"), server.all("each_us", MANY)
            table.times_better(f"time a call, state {place}{ours}", median(many), "of one caller",
                               median(one), limit, benchlib.ratios(one, many))
        batch = [CALLERS * p50 for p50 in self.disk.all("p50_us")]
        table.at_most_times("p99, state on disk", self.disk.us("p99_us", MANY),
                            f"{CALLERS} x p50 of one caller", median(batch), 4,
                            benchlib.ratios(self.disk.all("p99_us", MANY), batch))
        table.value("CPU time a call, state in memory", self.memory.us("processor_us", MANY))
        table.print()


def system_call_rows(table, memory, before):
    """Why a call costs what it does: what it asks of the kernel."""
    for way, callers in ((ONE, "one caller"), (MANY, f"{CALLERS} callers")):
        for name, what in (("total", "all"), ("files", "of files and directories"),
                           ("pwrite64", "pwrite(): two a page of the database"), ("fdatasync", "fdatasync()")):
            mine = memory.system_calls[way].get(name, 0)
            if before:
                table.at_most_times(f"{what}, {callers}", mine, "before", before.system_calls[way][name])
            else:
                table.value(f"{what}, {callers}", mine)


def daemons(build, root, scratch, disk):
    """[(name, daemon)]: its state in memory and on disk, now and before; in memory what is in /run."""
    count = WARM_UP + (3 * ROUNDS + 2) * CALLS
    config = ("modules = { device-plugin = { resources = ( "
              f'{{ name = "rdma/hca"; count = {count}; }} ); }}; }};')
    builds = [("now", build)]
    if benchlib.earlier_build():
        builds.append(("before", benchlib.earlier_build()))
    return [(name, Daemon(its, root, place.path(name), config=config,
                          run_dir=scratch.path(f"run-{name}-{os.path.basename(place.name)}")))
            for name, its in builds for place in (scratch, disk)]


def main():
    build = benchlib.build_from_command_line()
    with contextlib.ExitStack() as stack:
        scratch, disk = (stack.enter_context(Scratch(on_disk)) for on_disk in (False, True))
        root = benchlib.expand("gpu-8rail", scratch.path("machine"))
        running = [(name, stack.enter_context(daemon)) for name, daemon in daemons(build, root, scratch, disk)]
        comparison = Comparison(build, scratch, disk, running)
        comparison.run()
        comparison.one_caller()
        comparison.many_callers()
        if comparison.memory.system_calls:
            table = Table("Allocate, system calls for each call, before and after its answer", "calls")
            system_call_rows(table, comparison.memory, *comparison.before[:1] or [None])
            table.print()


if __name__ == "__main__":
    main()
