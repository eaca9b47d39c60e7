#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One look at the hardware for 8, 64 and 512 devices, against the same files that are only read."""

import benchlib
from benchlib import Scratch, Table, median

DEVICES = (8, 64, 512)
PASSES = 9
LOOKS = {8: 11, 64: 3, 512: 1}     # of each size in one pass


def measure(build, scratch):
    """{devices: {key: [of each pass]}}, the sizes in turn."""
    roots = {n: benchlib.expand_rails(scratch.path(f"machine{n}"), n) for n in DEVICES}
    passes = [{n: build.ask("bench-scan", roots[n], LOOKS[n]) for n in DEVICES}
              for _ in range(PASSES)]
    return {n: {key: [p[n][key] for p in passes] for key in passes[0][n]} for n in DEVICES}


def main():
    build = benchlib.build_from_command_line()
    with Scratch() as scratch:
        found = measure(build, scratch)
    table = Table(f"One look at the hardware, {PASSES} passes", "us")

    def compare(what, mine, name, others, limit=None):
        table.at_most_times(what, median(mine), name, median(others), limit, benchlib.ratios(mine, others))

    for what, key, limit in (("a device, of 512, CPU time", "scan_cpu_us", 1.5),
                             ("the same of bare reads", "reads_cpu_us", None)):
        compare(what, [us / 512 for us in found[512][key]], "of 8", [us / 8 for us in found[8][key]], limit)
    for n in DEVICES:
        compare(f"{n} devices, CPU time", found[n]["scan_cpu_us"], "bare reads", found[n]["reads_cpu_us"], 1.2)
        compare(f"{n} devices", found[n]["scan_us"], "bare reads", found[n]["reads_us"])
    opens = found[512]["opens"][0] // 512
    table.note(f"{opens} files, directories and links a device, with a GID table of 32; they are in "
               "memory, where they cost less than sysfs has to make them")
    table.print()


if __name__ == "__main__":
    main()
