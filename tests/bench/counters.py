#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The counters of 8, 64 and 512 ports, against the same files that are only opened and read."""

import benchlib
from benchlib import Scratch, Table, median

PORTS = (8, 64, 512)
PASSES = 9
ROUNDS = {8: 31, 64: 5, 512: 1}     # of each size in one pass


def measure(build, scratch):
    """{ports: [what bench-counters says]}, the sizes in turn."""
    roots = {n: benchlib.expand_rails(scratch.path(f"machine{n}"), n) for n in PORTS}
    passes = [{n: build.ask("bench-counters", roots[n], ROUNDS[n]) for n in PORTS}
              for _ in range(PASSES)]
    return {n: {key: [p[n][key] for p in passes] for key in passes[0][n]} for n in PORTS}


def main():
    build = benchlib.build_from_command_line()
    with Scratch() as scratch:
        found = measure(build, scratch)
    table = Table(f"Reading counters, CPU time, {PASSES} passes", "us")

    def compare(what, mine, name, others, limit=None):
        table.at_most_times(what, median(mine), name, median(others), limit, benchlib.ratios(mine, others))

    for n in PORTS:
        bare = found[n]["baseline_us"]
        compare(f"{n} ports", found[n]["reader_us"], "bare reads", bare, 0.7)
        compare(f"{n} ports, no file kept open", found[n]["unkept_us"], "bare reads", bare)
        compare(f"{n} ports, the first time", found[n]["first_us"], "bare reads", bare)
    for what, key in (("a port, of 512", "reader_us"), ("the same of bare reads", "baseline_us")):
        compare(what, [us / 512 for us in found[512][key]], "of 8", [us / 8 for us in found[8][key]])
    compare("a file of this machine's own sysfs, kept open", found[8]["sysfs_kept_us"], "bare read",
            found[8]["sysfs_us"])
    files, kept = ([int(median(found[n][key])) for n in PORTS] for key in ("files", "kept"))
    table.note(f"of {files[0]}, {files[1]} and {files[2]} files {kept[0]}, {kept[1]} and {kept[2]} are kept open")
    table.note(f"{files[0] // 8} files a port; they are in memory, where they cost less "
               "than sysfs and a device's firmware have to make them")
    table.print()


if __name__ == "__main__":
    main()
