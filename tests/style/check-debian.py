#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The Debian package has the project's version, and dpkg and make take its files: check-debian.py SOURCE-ROOT"""

import re
import shutil
import subprocess
import sys
from pathlib import Path


def output(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout.strip()


def main():
    if not shutil.which("dpkg-parsechangelog"):
        print("dpkg-dev is missing")
        sys.exit(77)
    root = Path(sys.argv[1])
    debian = root / "contrib/debian"
    version = output("dpkg-parsechangelog", "--file", debian / "changelog", "--show-field", "Version")
    wanted = re.search(r"version: '([^']+)'", (root / "meson.build").read_text(encoding="utf-8"))[1]
    if version != wanted:
        sys.exit(f"changelog has {version}, meson.build has {wanted}")
    output("make", "--dry-run", "--file", debian / "rules", "build")
    control = (debian / "control").read_text(encoding="utf-8")
    for package in re.findall(r"^Package: (.*)$", control, re.MULTILINE):
        if not (debian / f"{package}.install").exists():
            sys.exit(f"{package} has no list of files")


main()
