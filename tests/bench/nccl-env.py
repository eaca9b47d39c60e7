#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The plan for 8 devices with 256 GIDs each, from start to end, against the same files that are only read, and
against a shell script that reads them with cat, as the platforms' scripts do: by rdmad-nccl-env, which reads the
files, and by `rdmad nccl-env`, with the daemon, which knows the GIDs.

RDMAD_NCCL_SCRIPT names nccl_env.sh of Volcengine's document, which is not ours to ship: then it runs as well, on
the same tree, with its /sys replaced.
"""

import os
import resource
import subprocess
import time

import benchlib
from benchlib import Daemon, Scratch, Table, all_processor_us_of, median

DEVICES = 8
RUNS = 21
SHELL = """
cd "$1/sys/class/infiniband"
for device in *; do
	for gid in $device/ports/1/gids/*; do
		index=${gid##*/}
		address=$(cat $gid)
		case $address in
		0000:0000:0000:0000:0000:ffff:*)
			type=$(cat $device/ports/1/gid_attrs/types/$index)
			netdev=$(cat $device/ports/1/gid_attrs/ndevs/$index)
			;;
		esac
	done
done
"""


def took_us(command, server):
    """By the clock, and CPU time, which other programs lengthen less.  `server`: the
    process that is asked, or None."""
    before, asked = resource.getrusage(resource.RUSAGE_CHILDREN), all_processor_us_of(server) if server else 0
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    clock = (time.perf_counter() - began) * 1e6
    after, answered = resource.getrusage(resource.RUSAGE_CHILDREN), all_processor_us_of(server) if server else 0
    return clock, ((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e6 + answered - asked)


def medians(command, runs, server=None):
    taken = [took_us(command, server) for _ in range(runs)]
    return median(clock for clock, _ in taken), median(cpu for _, cpu in taken)


def script_for(root, scratch):
    """The document's script, upon the tree; None: it is not here."""
    path = os.environ.get("RDMAD_NCCL_SCRIPT")
    if not path:
        return None
    with open(path) as file:
        text = file.read()
    with open(scratch.path("script"), "w") as file:
        file.write(text.replace("/sys/", f"{root}/sys/"))
    return ["bash", scratch.path("script")]


def ask_daemon(build, root, scratch):
    directory = scratch.path("daemon")
    os.mkdir(directory)
    with Daemon(build, root, directory, modules=("nccl",)) as daemon:
        return medians([build.rdmad, "nccl-env", "--socket", os.path.join(directory, "run/rdmad.sock")], RUNS,
                       daemon.pid)


def main():
    build = benchlib.build_from_command_line()
    table = Table(f"Settings of NCCL, {DEVICES} devices with 256 GIDs", "us")
    with Scratch() as scratch:
        root = scratch.path("machine")
        benchlib.expand("rails", root, RAILS=DEVICES)
        ways = {"rdmad-nccl-env": medians([os.path.join(build.directory, "contrib/nccl/rdmad-nccl-env"), "--sysroot",
                                           root], RUNS),
                "rdmad nccl-env and the daemon": ask_daemon(build, root, scratch)}
        reads = build.ask("bench-scan", root, 11)
        shell = medians(["dash", "-c", SHELL, "sh", root], 3)
        script = script_for(root, scratch)
        others = [("a shell with cat", shell, 100)] + \
            ([("the document's script", medians(script, 3), 1000)] if script else [])
        for (way, (clock, cpu)), limit in zip(ways.items(), (2, 1)):
            table.at_most_times(f"{way}, by the clock", clock, "bare reads", reads["reads_us"], limit)
            table.at_most_times(f"{way}, CPU time", cpu, "bare reads", reads["reads_cpu_us"], limit)
            for name, (other_clock, other_cpu), goal in others:
                table.times_better(f"{way}, by the clock", clock, name, other_clock, goal)
                table.times_better(f"{way}, CPU time", cpu, name, other_cpu, goal)
    table.print()


if __name__ == "__main__":
    main()
