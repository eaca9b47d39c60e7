#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""rdmad with all modules on each machine of tests/machines, and on those that tests/machines/zoo found:
test-machines.py RDMAD MODULE-DIR RDMAD-NCCL-ENV [TEST...]

Everything is asked and every command runs.  Promtool has nothing against /metrics, and the distances are those of
expected/NAME.distances, "DEVICE DEVICE|GPU DISTANCE".
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
MACHINES = os.path.normpath(os.path.join(HERE, "..", "machines"))
sys.path[:0] = [os.path.join(HERE, "..")]

import tap  # noqa: E402
from machine_visit import CONFIG, Visit, scratch  # noqa: E402

PROGRAMS = sys.argv[1:4]
ORIGIN = re.compile(r"^# Origin: (recorded|converted|written from knowledge|composed at random)\b", re.M)
CHANGE_LINE = re.compile(r"^# change: (\S+)(?: = (.*))?$", re.M)
CONFIG_LINE = re.compile(r"^# config: (.*)$", re.M)


def files():
    return sorted(glob.glob(os.path.join(MACHINES, "*.machine")) + glob.glob(os.path.join(MACHINES, "found/*.machine")))


def read(path):
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def distances(topology):
    """{(name, name): distance}, both ways; a GPU's name is its PCI address."""
    names = [gpu["pci_address"] for gpu in topology["gpus"]] + [nic["device_name"] for nic in topology["nics"]]
    return {(a, b): topology["distances"][i][j] for i, a in enumerate(names) for j, b in enumerate(names)}


class Machines(unittest.TestCase):
    def visit(self, path):
        config = "\n".join(CONFIG_LINE.findall(read(path))) or CONFIG
        with scratch() as directory:
            root = os.path.join(directory, "m")
            subprocess.run([os.path.join(MACHINES, "expand"), path, root], check=True)
            changes = [(path, value or None) for path, value in CHANGE_LINE.findall(read(path))]
            visit = Visit(PROGRAMS, root, config, changes, commands=True)
        self.assertEqual([str(problem) for problem in visit.problems], [])
        return visit

    def judge_metrics(self, visit):
        if shutil.which("promtool"):
            done = subprocess.run(["promtool", "check", "metrics"], input=visit.metrics, capture_output=True, text=True)
            self.assertEqual(done.stdout + done.stderr, "")

    def judge_distances(self, name, visit):
        path = os.path.join(MACHINES, "expected", name + ".distances")
        found = distances(visit.answers["topology"])
        for line in read(path).splitlines() if os.path.exists(path) else ():
            a, b, distance = line.split()
            self.assertEqual((line, found.get((a, b))), (line, distance))


class Origins(unittest.TestCase):
    def test_each_machine_file_says_where_it_comes_from(self):
        for path in [*files(), os.path.join(HERE, "..", "sim", "node.machine")]:
            with self.subTest(os.path.basename(path)):
                origins = ORIGIN.findall(read(path))
                self.assertEqual(len(origins), 1)
                self.assertEqual("Filled in" in read(path), origins == ["converted"])


def add(path):
    name = os.path.basename(path).removesuffix(".machine")

    def test(self):
        visit = self.visit(path)
        self.judge_metrics(visit)
        self.judge_distances(name, visit)

    setattr(Machines, "test_" + re.sub(r"\W", "_", name), test)


for each in files():
    add(each)
tap.main(sys.argv[4:])
