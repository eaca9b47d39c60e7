#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The interface of modules does not change unnoticed.

usage: check-abi.py [--update] [SOURCE-ROOT]

abi.digest holds RDMAD_MODULE_ABI and a digest of the public headers without their comments and
spacing.  A module that was built against other headers under the same number would be loaded and
crash; so headers that change raise the number, or the change is one that built modules do not feel.
"""

import hashlib
import re
import sys
from pathlib import Path

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)

CHANGED = """\
The public headers changed, and RDMAD_MODULE_ABI (core/include/rdmad/module.h) is still {number}.
If a module that is already built would not work with them (a struct, an enum's values or a signature
changed), raise RDMAD_MODULE_ABI.  If it would (something was added at an end, a name, a comment of
a macro), leave it.  Before the first release there are no built modules: leave it.  Then run
    tests/style/check-abi.py --update
and commit tests/style/abi.digest with the headers."""

RAISED = """\
RDMAD_MODULE_ABI is {number}, tests/style/abi.digest has {stored}: run
    tests/style/check-abi.py --update
and commit tests/style/abi.digest."""


def digest(root):
    whole = hashlib.sha256()
    for path in sorted((root / "core/include/rdmad").glob("*.h")):
        code = COMMENT.sub(" ", path.read_text(encoding="utf-8"))
        whole.update(f"{path.name}\n{' '.join(code.split())}\n".encode())
    return whole.hexdigest()


def abi_number(root):
    text = (root / "core/include/rdmad/module.h").read_text(encoding="utf-8")
    return re.search(r"#define\s+RDMAD_MODULE_ABI\s+(\d+)", text)[1]


def main():
    arguments = [a for a in sys.argv[1:] if a != "--update"]
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parents[2]
    store = root / "tests/style/abi.digest"
    number, now = abi_number(root), digest(root)
    if "--update" in sys.argv:
        store.write_text(f"{number} {now}\n", encoding="utf-8")
        return 0
    stored_number, stored = store.read_text(encoding="utf-8").split()
    if number != stored_number:
        print(RAISED.format(number=number, stored=stored_number))
        return 1
    if now != stored:
        print(CHANGED.format(number=number))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
