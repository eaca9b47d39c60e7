#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One look at the hardware for 8, 64 and 512 devices, against the same files that are only read."""

import benchlib
from benchlib import Scratch, Table, median

DEVICES = (8, 64, 512)
PASSES = 7
LOOKS = {8: 41, 64: 11, 512: 3}     # of each size in one pass


def measure(build, scratch):
    """{devices: what bench-scan says}, the sizes in turn."""
    roots = {n: benchlib.expand_rails(scratch.path(f"machine{n}"), n) for n in DEVICES}
    passes = [{n: build.ask("bench-scan", roots[n], LOOKS[n]) for n in DEVICES}
              for _ in range(PASSES)]
    return {n: {key: median(p[n][key] for p in passes) for key in passes[0][n]} for n in DEVICES}


def main():
    build = benchlib.build_from_command_line()
    with Scratch() as scratch:
        found = measure(build, scratch)
    table = Table("One look at the hardware", "us")
    for what, key, limit in (("a device, of 512", "scan_us", 1.5),
                             ("the same of bare reads", "reads_us", None)):
        table.at_most_times(what, found[512][key] / 512, "of 8", found[8][key] / 8, limit)
    for n in DEVICES:
        table.at_most_times(f"{n} devices", found[n]["scan_us"], "bare reads", found[n]["reads_us"], 1.2)
        table.at_most_times(f"{n} devices, CPU time", found[n]["scan_cpu_us"], "bare reads",
                            found[n]["reads_cpu_us"])
    opens = found[512]["opens"] // 512
    table.note(f"{opens} files, directories and links a device, with a GID table of 32; they are in "
               "memory, where they cost less than sysfs has to make them")
    table.print()


if __name__ == "__main__":
    main()
