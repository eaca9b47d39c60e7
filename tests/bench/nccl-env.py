#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""rdmad-nccl-env on 8 devices with 256 GIDs each, from start to end, against the same files that are only read,
and against a shell script that reads them with cat, as the platforms' scripts do.

RDMAD_NCCL_SCRIPT names nccl_env.sh of Volcengine's document, which is not ours to ship: then it runs as well, on
the same tree, with its /sys replaced.
"""

import os
import resource
import subprocess
import time

import benchlib
from benchlib import Scratch, Table, median

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


def took_us(command):
    """By the clock, and of the processors, which others that use the machine do not lengthen as much."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    clock = (time.perf_counter() - began) * 1e6
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return clock, (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e6


def medians(command, runs):
    taken = [took_us(command) for _ in range(runs)]
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


def main():
    build = benchlib.build_from_command_line()
    table = Table(f"rdmad-nccl-env, {DEVICES} devices with 256 GIDs", "us")
    with Scratch() as scratch:
        root = scratch.path("machine")
        benchlib.expand("rails", root, RAILS=DEVICES)
        tool = [os.path.join(build.directory, "contrib/nccl/rdmad-nccl-env"), "--sysroot", root]
        clock, cpu = medians(tool, RUNS)
        reads = build.ask("bench-scan", root, 11)["reads_us"]
        table.at_most_times("the whole program", clock, "bare reads", reads, 2)
        table.times_better("the whole program", clock, "a shell with cat", medians(["dash", "-c", SHELL, "sh", root], 3)[0],
                           100)
        script = script_for(root, scratch)
        if script:
            script_clock, script_cpu = medians(script, 3)
            table.times_better("by the clock", clock, "the document's script", script_clock, 1000)
            table.times_better("processor time", cpu, "the document's script", script_cpu)
    table.print()


if __name__ == "__main__":
    main()
