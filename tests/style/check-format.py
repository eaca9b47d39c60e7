#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check-format.py SOURCE: every C file is as .clang-format says, but for those named here, whose lines have its width."""

import glob
import os
import re
import shutil
import subprocess
import sys

WIDTH = 100
LEFT_ALONE = {
    "core/include/rdmad/": "declarations are aligned by hand, to be read",
    "tests/unit/grpc/test-response.c": "tables of bytes",
}


def files(source):
    for directory in ("core", "modules", "tests"):
        for suffix in ("c", "h"):
            for path in glob.glob(f"{source}/{directory}/**/*.{suffix}", recursive=True):
                name = os.path.relpath(path, source)
                if not any(name.startswith(left) for left in LEFT_ALONE):
                    yield path


def too_wide(source):
    """Lines of files that clang-format leaves alone."""
    for name in LEFT_ALONE:
        for path in glob.glob(f"{source}/{name}*.h"):
            with open(path, encoding="utf-8") as file:
                for number, line in enumerate(file, 1):
                    if len(line.rstrip("\n").expandtabs(8)) > WIDTH:
                        yield f"{path}:{number}"


def joined(source):
    """Lines of comments that clang-format has wrapped without the blank: a line with a tab was too wide, and those
    behind it are one text now."""
    for path in files(source):
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if re.match(r" \*[^\s/*]", line):
                    yield f"{path}:{number}"


def main(source):
    if not shutil.which("clang-format"):
        print("there is no clang-format")
        return 77
    done = subprocess.run(["clang-format", "--dry-run", *sorted(files(source))],
                          capture_output=True, text=True, check=False)
    wrong = sorted(set(re.findall(r"^(\S+?:\d+):\d+: warning", done.stderr, re.M)))
    for place in wrong:
        print(f"{os.path.relpath(place, source)}: not formatted; run clang-format -i")
    wide = list(too_wide(source))
    for place in wide:
        print(f"{os.path.relpath(place, source)}: wider than {WIDTH} columns")
    mangled = list(joined(source))
    for place in mangled:
        print(f"{os.path.relpath(place, source)}: a line of a comment without a blank; shorten the lines before it")
    return 1 if wrong or wide or mangled or done.returncode else 0


sys.exit(main(os.path.abspath(sys.argv[1])))
