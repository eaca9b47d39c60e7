#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The counters of 8, 64 and 512 ports, against the same files that are only opened and read."""

import benchlib
from benchlib import Scratch, Table, median

PORTS = (8, 64, 512)
PASSES = 5
ROUNDS = {8: 101, 64: 21, 512: 3}     # of each size in one pass


def measure(build, scratch):
    """{ports: what bench-counters says}, the sizes in turn."""
    roots = {n: benchlib.expand_rails(scratch.path(f"machine{n}"), n) for n in PORTS}
    passes = [{n: build.ask("bench-counters", roots[n], ROUNDS[n]) for n in PORTS}
              for _ in range(PASSES)]
    return {n: {key: median(p[n][key] for p in passes) for key in passes[0][n]} for n in PORTS}


def main():
    build = benchlib.build_from_command_line()
    with Scratch() as scratch:
        found = measure(build, scratch)
    table = Table("Reading counters", "us")
    for n in PORTS:
        table.at_most_times(f"{n} ports", found[n]["reader_us"], "bare reads",
                            found[n]["baseline_us"], 0.7)
        table.at_most_times(f"{n} ports, no file kept open", found[n]["unkept_us"], "bare reads",
                            found[n]["baseline_us"])
        table.at_most_times(f"{n} ports, the first time", found[n]["first_us"], "bare reads",
                            found[n]["baseline_us"])
    for what, key in (("a port, of 512", "reader_us"), ("the same of bare reads", "baseline_us")):
        table.at_most_times(what, found[512][key] / 512, "of 8", found[8][key] / 8)
    table.at_most_times("a file of this machine's own sysfs, kept open", found[8]["sysfs_kept_us"],
                        "bare read", found[8]["sysfs_us"])
    table.note(f"of {found[8]['files']}, {found[64]['files']} and {found[512]['files']} files "
               f"{found[8]['kept']:.0f}, {found[64]['kept']:.0f} and {found[512]['kept']:.0f} are kept open")
    table.note(f"{found[8]['files'] // 8} files a port; they are in memory, where they cost less "
               "than sysfs and a device's firmware have to make them")
    table.print()


if __name__ == "__main__":
    main()
