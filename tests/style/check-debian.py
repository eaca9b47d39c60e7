#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The Debian packages have the project's version and every file that is installed, each in one of them, and dpkg and
make take their files; an archive has its commit: check-debian.py SOURCE-ROOT BUILD-ROOT"""

import fnmatch
import json
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


def installed(build):
    """Where the packages have them: /usr is the prefix, and /etc and the unit are not below it."""
    info = build / "meson-info"
    options = json.loads((info / "intro-buildoptions.json").read_text(encoding="utf-8"))
    prefix = next(option["value"] for option in options if option["name"] == "prefix")
    for path in json.loads((info / "intro-installed.json").read_text(encoding="utf-8")).values():
        path = path.removeprefix(prefix).lstrip("/")
        yield path if path.startswith(("etc/", "lib/systemd/")) else "usr/" + path.removeprefix("usr/")


def check_files(debian, packages, build):
    """As dh_install takes them: a pattern is of a file, or of a directory with all that is below."""
    lists = {package: [line.split()[0] for line in (debian / f"{package}.install").read_text(encoding="utf-8")
                       .splitlines() if line.strip()] for package in packages}
    for path in installed(build):
        owners = [package for package, patterns in lists.items()
                  if any(fnmatch.fnmatchcase(path, way) for pattern in patterns for way in (pattern, pattern + "/*"))]
        if len(owners) != 1:
            sys.exit(f"{path} is in {' and '.join(owners) or 'no package'}")


def check_commit(root):
    """`contrib/debian/build` packs an archive, which has no history to ask."""
    if not (root / ".git").exists() or not shutil.which("git"):
        return
    git = ("git", "-c", "safe.directory=*", "-C", root)
    commit = output("bash", "-o", "pipefail", "-c", '"$@" archive HEAD core/commit | tar -xO', "bash", *git)
    if not re.fullmatch("[0-9a-f]{7,}", commit) or not output(*git, "rev-parse", "HEAD").startswith(commit):
        sys.exit(f"core/commit of an archive has {commit!r}, not the commit")


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
    check_commit(root)
    control = (debian / "control").read_text(encoding="utf-8")
    check_files(debian, re.findall(r"^Package: (.*)$", control, re.MULTILINE), Path(sys.argv[2]))


main()
