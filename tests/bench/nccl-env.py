#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""rdmad-nccl-env on 8 devices with 256 GIDs each, from start to end, against the same files that are only read,
and against a shell script that reads them with cat, as the platforms' scripts do."""

import os
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
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - began) * 1e6


def main():
    build = benchlib.build_from_command_line()
    with Scratch() as scratch:
        root = scratch.path("machine")
        benchlib.expand("rails", root, RAILS=DEVICES)
        tool = [os.path.join(build.directory, "contrib/nccl/rdmad-nccl-env"), "--sysroot", root]
        measured = median(took_us(tool) for _ in range(RUNS))
        reads = build.ask("bench-scan", root, 11)["reads_us"]
        shell = median(took_us(["dash", "-c", SHELL, "sh", root]) for _ in range(3))
    table = Table(f"rdmad-nccl-env, {DEVICES} devices with 256 GIDs", "us")
    table.at_most_times("the whole program", measured, "bare reads", reads, 2)
    table.times_better("the whole program", measured, "a shell with cat", shell, 100)
    table.print()


if __name__ == "__main__":
    main()
