#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""systemd takes the unit and its drop-ins, each gives its module the capabilities and the executor the calls that the
program names, and none is more exposed than was agreed.

usage: check-systemd.py DIRECTORY-OF-UNITS RDMAD MODULE-DIR
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from systemd_units import allowed_calls, settings  # noqa: E402

# Modules beside the device plugin, or the drop-in for metrics alone -> exposure, as systemd-analyze security counts
# it, 0 to 10.
EXPOSURE = {
    (): 2.0,
    ("metrics-only",): 1.5,
    ("metrics",): 2.5,
    # What the processes below the keeper need counts for the whole service: SYS_PTRACE 0.3 (a DEL whose namespace is
    # known by /proc/PID/ns/net alone), SYS_ADMIN 0.3, NET_ADMIN 0.2, NET_RAW 0.1 and AF_PACKET 0.2 (gratuitous ARP;
    # core/network/perform-announce.c has why the kernel's own does not do),
    # sysctls of pods 0.2, their namespaces 0.1, their sysfs 0.1; and capset 0.2, by which the daemon gives all of it up.
    ("cni",): 3.5,
    ("erdma",): 3.7,
    ("cni", "erdma", "metrics"): 4.1,
}
PLACES = {"@sbindir@": "/usr/sbin", "@datadir@": "/usr/share"}
MODULES = ("cni", "device-plugin", "erdma", "kube", "metrics", "nccl")


def text_of(units, name):
    path = units / name
    text = (path if path.exists() else units / f"{name}.in").read_text(encoding="utf-8")
    for word, place in PLACES.items():
        text = text.replace(word, place)
    return text


def analyze(root, *words):
    done = subprocess.run(["systemd-analyze", f"--root={root}", *words], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def exposure(units, drop_ins):
    """Fails with what systemd says of a line that it does not know."""
    with tempfile.TemporaryDirectory() as root:
        directory = Path(root, "usr/lib/systemd/system")
        (directory / "rdmad.service.d").mkdir(parents=True)
        (directory / "rdmad.service").write_text(text_of(units, "rdmad.service"))
        for name in drop_ins:
            (directory / f"rdmad.service.d/{name}.conf").write_text(text_of(units, f"{name}.conf"))
        status, text = analyze(root, "security", "--offline=true", "rdmad.service")
    wrong = [line for line in text.splitlines() if "rdmad" in line and re.search(r":\d+: ", line)]
    level = re.search(r"exposure level for rdmad.service: ([\d.]+)", text)
    if status or wrong or not level:
        sys.exit("\n".join(wrong) or text)
    return float(level[1])


def bounding_set(text):
    lines = re.findall(r"^CapabilityBoundingSet=(.*)$", text, re.MULTILINE)
    return {name for line in lines for name in line.split()}


def table(rdmad, module_dir):
    """{module: capabilities of its daemon and its executor}, of the modules that were built."""
    found = {}
    for module in MODULES:
        if not os.path.exists(f"{module_dir}/{module}.so"):
            continue
        text = subprocess.run([rdmad, "--privileges", "--module-dir", module_dir, f"--module={module}"], check=True,
                              capture_output=True, text=True).stdout
        found[module] = {line.split("\t")[2] for line in text.splitlines()}
    return found


def check_capabilities(units, wanted):
    """A drop-in gives what its module declares, and there is one for each module that declares something."""
    if bounding_set(text_of(units, "rdmad.service")):
        sys.exit("rdmad.service gives capabilities")
    for module, capabilities in wanted.items():
        drop_in = units / f"{module}.conf"
        given = bounding_set(drop_in.read_text(encoding="utf-8")) if drop_in.exists() else set()
        print(f"{module}: {' '.join(sorted(given)) or 'no capability'}")
        if given != capabilities:
            sys.exit(f"{drop_in.name} gives {sorted(given)}, rdmad --privileges has {sorted(capabilities)}")


def check_calls():
    """The executor's own calls, as rdmad's filter has them, pass the unit with the drop-in of module cni, whose
    executor makes all of them."""
    source = Path(__file__).resolve().parents[2] / "core/base/seccomp.c"
    calls = re.search(r'{ EXECUTOR, FALSE, "([^"]+)" }', source.read_text(encoding="utf-8"))[1].split()
    refused = set(calls) - allowed_calls(settings(["rdmad.service.in", "cni.conf"]))
    if refused:
        sys.exit(f"the unit with cni.conf refuses {' '.join(sorted(refused))}")


def main():
    units = Path(sys.argv[1])
    check_capabilities(units, table(*sys.argv[2:4]))
    if not shutil.which("systemd-analyze"):
        print("systemd-analyze is missing")
        sys.exit(77)
    check_calls()
    for drop_ins, agreed in EXPOSURE.items():
        found = exposure(units, drop_ins)
        print(f"rdmad.service {' '.join(drop_ins)}: {found}")
        if found > agreed:
            sys.exit(f"more than {agreed}: what does systemd-analyze security say?")


main()
