#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""From a cable that is pulled or put in to the ListAndWatch message with the device's health, on soft-RoCE devices
in the lab, against a plain listener in the same guest that reads the port's state after the same event.
"""

import json
import os
import subprocess
import sys

import benchlib
from benchlib import Table, percentile

LAB = os.path.join(benchlib.TESTS, "lab/run")
GOAL_MS = 20


def measure(build):
    """The line of JSON that the lab's benchmark prints."""
    done = subprocess.run([LAB, "-v", "bench-events"], stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "LAB_BUILD": build.directory})
    if done.returncode:
        print(done.stdout)
        sys.exit(done.returncode)
    return next(json.loads(line[2:]) for line in done.stdout.splitlines() if line.startswith("# {"))


def add_rows(table, what, floors, afters):
    """`afters`: to the message, less the coalescing time."""
    beyonds = [after - floor for after, floor in zip(afters, floors)]
    for percent in (50, 99):
        table.at_most_times(f"{what} to ListAndWatch, less coalescing, p{percent}", percentile(afters, percent),
                            "plain listener", percentile(floors, percent))
        table.value(f"{what}, beyond coalescing and listener, p{percent}", percentile(beyonds, percent),
                    GOAL_MS)


def main():
    found = measure(benchlib.build_from_command_line())
    coalesce_ms = found["coalesce_us"] / 1000
    table = Table(f"A cable pulled or put in, {len(found['up']['told_us'])} times each, in the lab", "ms")
    for state in ("down", "up"):
        add_rows(table, f"link {state}", [us / 1000 for us in found[state]["floor_us"]],
                 [us / 1000 - coalesce_ms for us in found[state]["told_us"]])
    table.note(f"four soft-RoCE devices in a virtual machine{'' if os.environ.get('LAB_KVM') else ', software emulation'}; "
               f"coalescing: {coalesce_ms:.0f} ms")
    table.note("beyond: of each change, the message less the listener less the coalescing time")
    table.print()


if __name__ == "__main__":
    main()
