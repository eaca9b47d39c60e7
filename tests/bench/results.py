#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes RESULTS.md of what the benchmarks saved.

usage: results.py DIRECTORY

DIRECTORY is what $RDMAD_BENCH_RESULTS was in their run.  The section of a benchmark that did not run stays as
it is.
"""

import datetime
import json
import os
import platform
import re
import sys

RESULTS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "RESULTS.md")
HEAD = """# Results of the benchmarks

Written by `contrib/quickstart bench`; APPENDIX.md has other measurements, and the
parts of the numbers.  Medians of interleaved rounds, also of their ratios; behind a ratio, the middle half of
the rounds.  Other programs ran on the machine: compare the ratios, not the times and the
memory.
"""
COLUMNS = ("metric", "rdmad", "compared with", "ratio", "target", "met")


def earlier_sections():
    """{name: text}, as they are now."""
    try:
        with open(RESULTS) as file:
            parts = re.split(r"^## (.+)$", file.read(), flags=re.MULTILINE)
    except FileNotFoundError:
        return {}
    return {name: text.strip() for name, text in zip(parts[1::2], parts[2::2])}


def line(cells):
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"


def table_text(table):
    rows = [line((what, measured, against, ratio, goal, verdict.lower()))
            for what, ratio, measured, against, goal, verdict in table["rows"]]
    notes = [f"- {note}" for note in table["notes"]]
    return "\n".join([f"{table['title']}.", "", line(COLUMNS), "|" + "---|" * len(COLUMNS), *rows,
                      *([""] if notes else []), *notes])


def section_text(path):
    day = datetime.date.fromtimestamp(os.path.getmtime(path))
    with open(path) as file:
        tables = [json.loads(text) for text in file]
    return "\n\n".join([f"{day}, {os.cpu_count()} CPUs, Linux {platform.release()}, load "
                        f"{os.getloadavg()[2]:.0f}; {tables[-1]['seconds']} s.", *map(table_text, tables)])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sections = earlier_sections()
    for name in sorted(os.listdir(sys.argv[1])):
        if name.endswith(".jsonl"):
            sections[name[:-len(".jsonl")]] = section_text(os.path.join(sys.argv[1], name))
    with open(RESULTS, "w") as file:
        file.write("\n".join([HEAD, *(f"## {name}\n\n{text}\n" for name, text in sorted(sections.items()))]))


if __name__ == "__main__":
    main()
