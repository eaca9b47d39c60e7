#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The README's figures are those that the benchmarks wrote into tests/bench/RESULTS.md.

usage: check-figures.py SOURCE-DIRECTORY
"""

import re
import sys
from pathlib import Path

METRIC, MINE, OTHER = 1, 2, 3       # columns of a table
MICROSECONDS = {"us": 1, "ms": 1e3, "s": 1e6}
CLOCK = "rdmad nccl-env and the daemon, by the clock"
# Pattern of a figure in the README, with its number and its unit -> section of the results, metric, its
# counterpart, column.
FIGURES = {
    r"p50 ([\d.]+) (us) without the wait for the disk": ("allocate", "p50, state in memory", "bare nghttp2", MINE),
    r"256 GIDs each in ([\d.]+) (ms)": ("nccl-env", CLOCK, "a shell with cat", MINE),
    r"a shell script with `cat` ([\d.]+) (s)": ("nccl-env", CLOCK, "a shell with cat", OTHER),
    r"script of a cloud's documentation takes ([\d.]+) (s)": ("nccl-env", CLOCK, "the document's script", OTHER),
}
TOLERANCE = 0.1


def measured(results, section, metric, other, column):
    """In microseconds."""
    inside = False
    for line in results.splitlines():
        inside = line == f"## {section}" or (inside and not line.startswith("## "))
        cells = [cell.strip() for cell in line.split("|")]
        if inside and len(cells) > OTHER and cells[METRIC] == metric and cells[OTHER].startswith(other):
            number, unit = re.search(r"([\d.]+) (us|ms|s)$", cells[column]).groups()
            return float(number) * MICROSECONDS[unit]
    return sys.exit(f"RESULTS.md: {section} does not compare {metric!r} with {other!r}")


def main():
    source = Path(sys.argv[1])
    readme = " ".join((source / "README.md").read_text(encoding="utf-8").split())
    results = (source / "tests/bench/RESULTS.md").read_text(encoding="utf-8")
    wrong = []
    for pattern, row in FIGURES.items():
        found = re.search(pattern, readme)
        if not found:
            wrong.append(f"README.md no longer has {pattern!r}")
            continue
        told, was = float(found[1]), measured(results, *row) / MICROSECONDS[found[2]]
        if abs(told - was) > TOLERANCE * was:
            wrong.append(f"README.md has {found[0]!r}, and RESULTS.md {was:.3g} {found[2]}")
    sys.exit("\n".join(wrong) or 0)


main()
