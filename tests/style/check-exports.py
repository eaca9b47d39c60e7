#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Modules export their class and nothing else.

usage: check-exports.py DIRECTORY

Every NAME.so below DIRECTORY is a module.  Exit status 77 (skipped) when there is none.
"""

import subprocess
import sys
from pathlib import Path

WANTED = "rdmad_module_class"
# Shared objects that are not modules, and what they export.
OTHERS = {"rdmad-crypt.so": "rdmad_http_crypt", "rdmad-curl.so": "rdmad_http_curl", "rdmad-tls.so": "rdmad_http_tls"}
# Sanitizers and coverage put their own into every shared object.
FOREIGN = ("__asan", "__ubsan", "__odr_asan", "__start___", "__stop___", "__gcov", "__llvm", "__sanitizer")


def exports(path):
    text = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", path], check=True,
                          capture_output=True, text=True).stdout
    names = [line.split()[0].split("@")[0] for line in text.splitlines()]
    return sorted(name for name in names if not name.startswith(FOREIGN))


def main():
    modules = sorted(Path(sys.argv[1]).rglob("*.so"))
    failed = False
    for path in modules:
        names = exports(path)
        wanted = OTHERS.get(path.name, WANTED)
        if names != [wanted]:
            print(f"{path}: exports {', '.join(names) or 'nothing'}; wanted is {wanted} alone: "
                  "make the others static, or build with gnu_symbol_visibility: 'hidden'")
            failed = True
    if not modules:
        return 77
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
