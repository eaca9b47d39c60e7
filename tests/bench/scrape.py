#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A scrape of 8, 64 and 512 ports: rdmad against node_exporter with its infiniband collector alone.

Debian's node_exporter does not read hw_counters, so "the same series" is of a tree without them, with its
names, and nothing else.  "All that it has" is rdmad as it is by default on a tree with all of mlx5's
counters: more than twice the files, three times the series.  One after the other in each round, through a
connection that stays open.  A round is longer than the second within which rdmad would answer from one
reading: each scrape reads.

The baseline opens, reads and closes the same files, in a process of its own that sleeps between the rounds as the
exporters do.  Read again at once they cost up to a quarter less, since caches have them: that is shown too.

A bare scrape is the least that any exporter does: one thread that gets the same request, reads the same files,
as many of them kept open, and answers the same bytes (`baseline-scrape`).
"""

import gzip
import http.client
import os
import shutil
import socket
import subprocess
import sys
import time

import benchlib
from benchlib import Daemon, Scratch, Table, median, memory_of

sys.path.insert(0, os.path.join(benchlib.TESTS, "integration"))
from ports import free_port  # noqa: E402

# of node_exporter's CPU time
SHARES = {8: 5, 64: 5, 512: 4}
# A file of sysfs that was read and stays open, in KiB of the kernel's memory: seq_file's page, and the rest.
# Recorded machines have none of it.
KEPT_KIB = 4.5
# as rdmad keeps open by default
KEPT = 512
# ports: rounds, for each of the two encodings
ROUNDS = {8: 15, 64: 11, 512: 9}
AGAIN = {8: 5, 64: 3, 512: 1}     # the baseline, right after itself, in each of these
ROUND_S = 1.1
SCRAPES = {8: 1000, 64: 200, 512: 40}
ENCODINGS = ("identity", "gzip")
NODE_EXPORTER = "prometheus-node-exporter"


class Exporter:
    """Requests on a port, over one connection."""

    def __init__(self, name, pid, port):
        self.name, self.pid = name, pid
        self.client = http.client.HTTPConnection("127.0.0.1", port, timeout=benchlib.PATIENCE)
        self.taken = {encoding: [] for encoding in ENCODINGS}   # (wall, processor) in us
        self.size = {}

    def scrape(self, encoding):
        self.client.request("GET", "/metrics", headers={
            "Accept": "text/plain;version=0.0.4", "Accept-Encoding": encoding,
            "X-Prometheus-Scrape-Timeout-Seconds": "60"})
        answer = self.client.getresponse()
        body = answer.read()
        if answer.status != 200 or (answer.getheader("Content-Encoding") or "identity") != encoding:
            raise RuntimeError(f"{self.name}: {answer.status} {answer.getheaders()}")
        self.size[encoding] = len(body)
        return gzip.decompress(body) if encoding == "gzip" else body

    def round(self, encoding):
        used = benchlib.all_processor_us_of(self.pid)
        begun = time.monotonic()
        self.scrape(encoding)
        wall = (time.monotonic() - begun) * 1e6
        # Work after the answer is part of the scrape.
        time.sleep(0.05)
        self.taken[encoding].append((wall, benchlib.all_processor_us_of(self.pid) - used))

    def wall(self, encoding):
        return median(wall for wall, _ in self.taken[encoding])

    def processor(self, encoding):
        """Of each round."""
        return [used for _, used in self.taken[encoding]]


class NodeExporter:
    def __init__(self, root):
        self.port = free_port()
        self.process = subprocess.Popen(
            [NODE_EXPORTER, "--collector.disable-defaults", "--collector.infiniband",
             f"--path.sysfs={root}/sys", f"--web.listen-address=127.0.0.1:{self.port}",
             "--web.disable-exporter-metrics", "--log.level=error"])

    def __enter__(self):
        def answers():
            with socket.socket() as client:
                return client.connect_ex(("127.0.0.1", self.port)) == 0
        benchlib.wait_for(answers, NODE_EXPORTER)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


class Rdmad:
    def __init__(self, build, root, directory, options=""):
        self.port = free_port()
        config = f'modules = {{ metrics = {{ listen = "127.0.0.1:{self.port}"; {options} }}; }};'
        os.makedirs(directory)
        self.daemon = Daemon(build, root, directory, config=config, registry=False,
                             modules=["metrics"])
        self.process = None

    def __enter__(self):
        self.daemon.start()
        self.process = self.daemon.process
        return self

    def __exit__(self, *_):
        self.daemon.stop()


class BareScrape:
    """A server of the text that `exporter` answers now."""

    def __init__(self, build, root, scratch, exporter, *options):
        text = scratch.path(f"text-{len(os.listdir(scratch.name))}")
        with open(text, "wb") as file:
            file.write(exporter.scrape("identity"))
        self.command = [build.program("baseline-scrape"), root, text, str(KEPT), *options]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE)
        self.port = int(self.process.stdout.readline())
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(benchlib.PATIENCE)
        self.process.stdout.close()


class Baseline:
    """The CPU time of the bare reads of a tree, in us."""

    def __init__(self, build, root, again, *options):
        self.command = [build.program("bench-files"), root, *options]
        self.again = again
        self.first, self.warm = [], []      # of each round

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.files = int(self.process.stdout.readline())
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(benchlib.PATIENCE)
        self.process.stdout.close()

    def read(self):
        print(file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())

    def round(self):
        self.first.append(self.read())
        self.warm.append(median(self.read() for _ in range(self.again)))


LIKE = 'names = "compat"; netdevs = false; users = false; gids = false; page = false;'


def expand_without_hw_counters(directory, ports):
    root = benchlib.expand_rails(directory, ports)
    for path, directories, _ in os.walk(os.path.join(root, "sys/devices")):
        if "hw_counters" in directories:
            shutil.rmtree(os.path.join(path, "hw_counters"))
            directories.remove("hw_counters")
    return root


def lines_of(body, prefix):
    return sum(line.startswith(prefix) for line in body.splitlines())


def run_rounds(exporters, rounds, baselines):
    """Floors in the rounds of the first encoding alone."""
    for encoding in ENCODINGS:
        for _ in range(rounds):
            begun = time.monotonic()
            for exporter in exporters:
                exporter.round(encoding)
            for baseline in baselines if encoding == ENCODINGS[0] else ():
                baseline.round()
            time.sleep(max(0, ROUND_S - (time.monotonic() - begun)))


def weigh(exporters, scrapes):
    """(RSS, PSS) in MiB of each after so many scrapes."""
    for exporter in exporters:
        for _ in range(scrapes):
            exporter.scrape("gzip")
    time.sleep(1)
    return [(memory["Rss"] / 1024, memory["Pss"] / 1024)
            for memory in (memory_of(exporter.pid) for exporter in exporters)]


def report_processor(table, what, exporter, other, baseline, bare, share=None):
    for encoding in ENCODINGS:
        mine, its = exporter.processor(encoding), other.processor(encoding)
        table.times_better(f"CPU time, {what}, {encoding}", median(mine), other.name, median(its), share,
                           benchlib.ratios(its, mine))
        floor = bare.processor(encoding)
        table.at_most_times(f"the same, {encoding}", median(mine), bare.name, median(floor), None,
                            benchlib.ratios(mine, floor))
    mine = exporter.processor(ENCODINGS[0])
    table.at_most_times(f"the same, {ENCODINGS[0]}", median(mine), "reading the files", median(baseline.first), 0.7,
                        benchlib.ratios(mine, baseline.first))
    table.at_most_times(f"the same, {ENCODINGS[0]}", median(mine), "reading them again at once",
                        median(baseline.warm), None, benchlib.ratios(mine, baseline.warm))


def report_bare(table, what, bare, other, baseline):
    """What the goals leave: of a bare scrape, against the same counterparts."""
    for encoding in ENCODINGS:
        mine, its = bare.processor(encoding), other.processor(encoding)
        table.times_better(f"{bare.name}, {what}, {encoding}", median(mine), other.name, median(its), None,
                           benchlib.ratios(its, mine))
    mine = bare.processor(ENCODINGS[0])
    table.at_most_times(f"the same, {ENCODINGS[0]}", median(mine), "reading the files", median(baseline.first), None,
                        benchlib.ratios(mine, baseline.first))


def report(ports, exporters, baselines, bares):
    like, default, other = exporters
    table = Table(f"Scrape of {ports} ports: {len(like.taken['gzip'])} rounds, each a reading", "us")
    report_processor(table, "same series", like, other, baselines[0], bares[0], SHARES[ports])
    report_processor(table, "all that it has", default, other, baselines[1], bares[1])
    report_bare(table, "same series", bares[0], other, baselines[0])
    report_bare(table, "all that it has", bares[1], other, baselines[1])
    for encoding in ENCODINGS:
        table.times_better(f"wall p50, same series, {encoding}", like.wall(encoding), other.name,
                           other.wall(encoding))
        table.at_most_times("the same", like.wall(encoding), bares[0].name, bares[0].wall(encoding))
    table.times_better("wall p50, all that it has, gzip", default.wall("gzip"), other.name, other.wall("gzip"))
    table.at_most_times("the same", default.wall("gzip"), bares[1].name, bares[1].wall("gzip"))
    alike = lines_of(like.scrape("identity"), b"node_infiniband")
    if alike != lines_of(other.scrape("identity"), b"node_infiniband"):
        raise RuntimeError("the series are not the same")
    table.note(f"{alike} series of {baselines[0].files} files, by default "
               f"{lines_of(default.scrape('identity'), b'rdma')} of {baselines[1].files}; compressed: "
               f"{like.size['gzip']}, {default.size['gzip']} and {other.size['gzip']} bytes")
    table.print()


def kept_files(pid, root):
    """Files of a recorded machine that are open."""
    directory = f"/proc/{pid}/fd"
    targets = [os.readlink(os.path.join(directory, fd)) for fd in os.listdir(directory)]
    return sum(target.startswith(os.path.join(root, "sys/")) for target in targets)


def add_weights(table, ports, exporters, roots):
    weights = weigh(exporters, SCRAPES[ports])
    for exporter, root in zip(exporters, roots):
        kept = kept_files(exporter.pid, root)
        table.value(f"{ports} ports, {kept} files kept open: of the kernel, where they are sysfs's",
                    kept * KEPT_KIB / 1024)
    for name, column in (("RSS", 0), ("PSS", 1)):
        for exporter, what in enumerate(("same series", "all that it has")):
            table.times_better(f"{ports} ports, {what}, {name}", weights[exporter][column],
                               "node_exporter", weights[2][column], 4)


def measure(build, ports, memory):
    """CPU time of one scrape of all that it has, and of a bare one, in us."""
    with Scratch() as scratch:
        same = expand_without_hw_counters(scratch.path("same"), ports)
        root = benchlib.expand_rails(scratch.path("machine"), ports)
        with Rdmad(build, same, scratch.path("like"), LIKE) as like, \
                Rdmad(build, root, scratch.path("default")) as default, NodeExporter(same) as other, \
                Baseline(build, same, AGAIN[ports]) as baseline, \
                Baseline(build, root, AGAIN[ports], "netdevs") as baseline_all:
            exporters = [Exporter(name, server.process.pid, server.port) for name, server in
                         (("rdmad", like), ("rdmad", default), ("node_exporter", other))]
            for exporter in exporters:
                exporter.scrape("gzip")
            with BareScrape(build, same, scratch, exporters[0]) as bare, \
                    BareScrape(build, root, scratch, exporters[1], "netdevs") as bare_all:
                bares = [Exporter("a bare scrape", server.process.pid, server.port) for server in (bare, bare_all)]
                run_rounds([*exporters, *bares], ROUNDS[ports], (baseline, baseline_all))
            report(ports, exporters, (baseline, baseline_all), bares)
            add_weights(memory, ports, exporters, (same, root))
            return [median(exporter.processor("identity")) for exporter in (exporters[1], bares[1])]


def main():
    build = benchlib.build_from_command_line()
    if not shutil.which(NODE_EXPORTER):
        print("skipped: prometheus-node-exporter is missing")
        sys.exit(benchlib.SKIP)
    memory = Table("Memory after " + ", ".join(f"{scrapes} scrapes of {ports} ports"
                                               for ports, scrapes in SCRAPES.items()), "MiB")
    used = {ports: measure(build, ports, memory) for ports in ROUNDS}
    memory.print()
    each = Table("Linear: CPU time of one port", "us")
    for i, (what, limit) in enumerate((("of 512 against one of 8", 1.5), ("the same of a bare scrape", None))):
        each.at_most_times(what, used[512][i] / 512, "", used[8][i] / 8, limit)
    each.print()


if __name__ == "__main__":
    main()
