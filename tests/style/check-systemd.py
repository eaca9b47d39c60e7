#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""systemd takes the unit and its drop-ins, and neither is more exposed than was agreed.

usage: check-systemd.py DIRECTORY-OF-UNITS
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

# Drop-ins beside the unit -> exposure, as systemd-analyze security counts it, 0 to 10.
EXPOSURE = {(): 2.2, ("rdmad-cni.conf",): 3.6}


def analyze(root, *words):
    done = subprocess.run(["systemd-analyze", f"--root={root}", *words], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def exposure(units, drop_ins):
    """Fails with what systemd says of a line that it does not know."""
    with tempfile.TemporaryDirectory() as root:
        directory = os.path.join(root, "usr/lib/systemd/system")
        os.makedirs(os.path.join(directory, "rdmad.service.d"))
        with open(os.path.join(units, "rdmad.service.in")) as unit, \
                open(os.path.join(directory, "rdmad.service"), "w") as made:
            made.write(unit.read().replace("@sbindir@", "/usr/sbin"))
        for name in drop_ins:
            shutil.copy(os.path.join(units, name), os.path.join(directory, "rdmad.service.d"))
        status, text = analyze(root, "security", "--offline=true", "rdmad.service")
    wrong = [line for line in text.splitlines() if "rdmad" in line and re.search(r":\d+: ", line)]
    level = re.search(r"exposure level for rdmad.service: ([\d.]+)", text)
    if status or wrong or not level:
        sys.exit("\n".join(wrong) or text)
    return float(level[1])


def main():
    if not shutil.which("systemd-analyze"):
        print("systemd-analyze is missing")
        sys.exit(77)
    for drop_ins, agreed in EXPOSURE.items():
        found = exposure(sys.argv[1], drop_ins)
        print(f"rdmad.service {' '.join(drop_ins)}: {found}")
        if found > agreed:
            sys.exit(f"more than {agreed}: what does systemd-analyze security say?")


main()
