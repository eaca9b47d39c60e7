#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Counts test results that are in TAP.

tally.py --meson LOG    what `meson test` left in testlog.json, as TAP
tally.py --line FILE    one line for a person
tally.py --skips FILE.. the reasons of skips, each with its tests
tally.py --total FILE.. `N passed, M failed, K skipped`; fails when a test did, or none ran
"""
import json
import re
import sys

RESULT = re.compile(r"^\s*(not ok|ok)\b(.*)$", re.M)
# Of a program that ended before it said `not ok`.  A report may have only the first lines after that.
REASON = re.compile(r"Bail out!|^\*\*|ERROR|FAILED|Sanitizer: |runtime error: ")


def count(text):
    passed = failed = skipped = 0
    for verdict, rest in RESULT.findall(text):
        if verdict == "not ok":
            failed += 1
        elif re.search(r"#\s*skip", rest, re.I):
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def meson_test(test):
    """One line a subtest where the program speaks TAP, else one a program; a crash is a failure."""
    name = test["name"].split(" / ")[-1]
    output = test.get("stdout") or ""
    lines = [f"{verdict}{rest}" for verdict, rest in RESULT.findall(output)]
    if test["result"] not in ("OK", "EXPECTEDFAIL", "SKIP"):
        told = any(line.startswith("not ok") for line in lines)
        errors = (test.get("stderr") or "").splitlines()
        lines = [f"# {name} failed"]
        if not told:
            lines.append(f"not ok - {name}: {test['result'].lower()}")
            lines += [f"# {line}" for line in [*output.splitlines(), *errors] if REASON.search(line)][:5]
        lines += [output, *(f"# {line}" for line in errors[-60:])]
    elif not lines and test["result"] == "SKIP":
        reason = (output.strip().splitlines() or ["no reason given"])[-1]
        lines = [f"ok - {name} # SKIP {reason}"]
    elif not lines:
        lines = [f"ok - {name}"]
    return lines


def meson(path):
    for line in read(path).splitlines():
        print("\n".join(meson_test(json.loads(line))))
    return 0


def skips(paths):
    tests = {}
    for path in paths:
        for verdict, rest in RESULT.findall(read(path)):
            name, found, reason = re.sub(r"^[ \d]*-? *", "", rest).partition("# SKIP")
            if found and verdict == "ok":
                tests.setdefault(reason.strip(), {})[name.strip()] = True
    for reason, names in tests.items():
        first, *more = names
        print(f"skipped: {first}{f' and {len(more)} more' if more else ''} - {reason}")
    return 0


def main(mode, *paths):
    if mode == "--meson":
        return meson(paths[0])
    if mode == "--skips":
        return skips(paths)
    passed, failed, skipped = map(sum, zip(*(count(read(path)) for path in paths)))
    if mode == "--line":
        print(f"{passed:5} passed {failed:3} failed {skipped:3} skipped", end="")
        return 0
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


sys.exit(main(*sys.argv[1:]))
