#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A scrape of 8, 64 and 512 ports: rdmad against node_exporter with its infiniband collector alone.

Debian's node_exporter does not read hw_counters, so "the same series" is of a tree without them, with its
names, and nothing else.  "All that it has" is rdmad as it is by default on a tree with all of mlx5's
counters: more than twice the files, three times the series.  One after the other in each round, through a
connection that stays open.  A round is longer than the second within which rdmad would answer from one
reading: each scrape reads.  The baseline opens, reads and closes the same files.
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
from benchlib import Daemon, Scratch, Table, median, memory_of, percentile

# of node_exporter's CPU time
SHARES = {8: 5, 64: 5, 512: 4}
# A file of sysfs that was read and stays open, in KiB of the kernel's memory: seq_file's page, and the rest.
# Recorded machines have none of it.
KEPT_KIB = 4.5
# ports: rounds, for each of the two encodings
ROUNDS = {8: 40, 64: 20, 512: 8}
BASELINE_ROUNDS = {8: 101, 64: 21, 512: 5}
ROUND_S = 1.1
SCRAPES = {8: 1000, 64: 1000, 512: 100}
ENCODINGS = ("identity", "gzip")
NODE_EXPORTER = "prometheus-node-exporter"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


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

    def wall(self, encoding, percent=50):
        return percentile([wall for wall, _ in self.taken[encoding]], percent)

    def processor(self, encoding):
        return median(used for _, used in self.taken[encoding])


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


def run_rounds(exporters, rounds):
    for encoding in ENCODINGS:
        for _ in range(rounds):
            begun = time.monotonic()
            for exporter in exporters:
                exporter.round(encoding)
            time.sleep(max(0, ROUND_S - (time.monotonic() - begun)))


def weigh(exporters, scrapes):
    """(RSS, PSS) in MiB of each after so many scrapes."""
    for exporter in exporters:
        for _ in range(scrapes):
            exporter.scrape("gzip")
    time.sleep(1)
    return [(memory["Rss"] / 1024, memory["Pss"] / 1024)
            for memory in (memory_of(exporter.pid) for exporter in exporters)]


def report(ports, exporters, baseline, baseline_all):
    like, default, other = exporters
    table = Table(f"Scrape of {ports} ports: {len(like.taken['gzip'])} rounds, each a reading", "us")
    for encoding in ENCODINGS:
        table.times_better(f"CPU time, same series, {encoding}", like.processor(encoding),
                           other.name, other.processor(encoding), SHARES[ports])
    table.at_most_times("the same, identity", like.processor("identity"), "reading the files",
                        baseline["baseline_cpu_us"], 0.7)
    for encoding in ENCODINGS:
        table.times_better(f"CPU time, all that it has, {encoding}",
                           default.processor(encoding), other.name, other.processor(encoding))
    table.at_most_times("the same, identity", default.processor("identity"), "reading the files",
                        baseline_all["baseline_cpu_us"], 0.7)
    for percent in (50, 99):
        for encoding in ENCODINGS:
            table.times_better(f"wall p{percent}, same series, {encoding}",
                               like.wall(encoding, percent), other.name, other.wall(encoding, percent))
        table.times_better(f"wall p{percent}, all that it has, gzip", default.wall("gzip", percent),
                           other.name, other.wall("gzip", percent))
    alike = lines_of(like.scrape("identity"), b"node_infiniband")
    if alike != lines_of(other.scrape("identity"), b"node_infiniband"):
        raise RuntimeError("the series are not the same")
    table.note(f"{alike} series of {baseline['files']} files, by default "
               f"{lines_of(default.scrape('identity'), b'rdma')} of {baseline_all['files']}; compressed: "
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
    """CPU time of one scrape of all that it has, in us."""
    with Scratch() as scratch:
        same = expand_without_hw_counters(scratch.path("same"), ports)
        root = benchlib.expand_rails(scratch.path("machine"), ports)
        with Rdmad(build, same, scratch.path("like"), LIKE) as like, \
                Rdmad(build, root, scratch.path("default")) as default, NodeExporter(same) as other:
            exporters = [Exporter(name, server.process.pid, server.port) for name, server in
                         (("rdmad", like), ("rdmad", default), ("node_exporter", other))]
            for exporter in exporters:
                exporter.scrape("gzip")
            run_rounds(exporters, ROUNDS[ports])
            report(ports, exporters, *(build.ask("bench-counters", tree, BASELINE_ROUNDS[ports])
                                       for tree in (same, root)))
            add_weights(memory, ports, exporters, (same, root))
            return exporters[1].processor("identity")


def main():
    build = benchlib.build_from_command_line()
    if not shutil.which(NODE_EXPORTER):
        print("skipped: prometheus-node-exporter is missing")
        sys.exit(benchlib.SKIP)
    memory = Table("Memory after 1000 scrapes, of 512 ports after 100", "MiB")
    used = {ports: measure(build, ports, memory) for ports in ROUNDS}
    memory.print()
    each = Table("Linear: CPU time of one port", "us")
    each.at_most_times("of 512 against one of 8", used[512] / 512, "", used[8] / 8, 1.5)
    each.print()


if __name__ == "__main__":
    main()
