#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check-abi.py sees what a built module would feel, and nothing else."""

import subprocess
import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import tap  # noqa: E402

CHECKER = Path(__file__).resolve().parent / "check-abi.py"
MODULE_H = "#pragma once\n#define RDMAD_MODULE_ABI 1u\n"
TYPES_H = "#pragma once\n/* A thing. */\nstruct thing { int a; };\n"


class CheckAbi(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)
        self.headers = self.root / "core/include/rdmad"
        self.headers.mkdir(parents=True)
        (self.root / "tests/style").mkdir(parents=True)
        self.write(MODULE_H, TYPES_H)
        self.assertEqual(self.run_checker("--update")[0], 0)

    def write(self, module, types):
        (self.headers / "module.h").write_text(module, encoding="utf-8")
        (self.headers / "types.h").write_text(types, encoding="utf-8")

    def run_checker(self, *arguments):
        done = subprocess.run([sys.executable, CHECKER, *arguments, self.root],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    def test_nothing_changed(self):
        self.assertEqual(self.run_checker(), (0, ""))

    def test_comments_and_spacing_are_free(self):
        self.write(MODULE_H, "#pragma once\n// Another.\nstruct thing {\n\tint a;\n};\n")
        self.assertEqual(self.run_checker()[0], 0)

    def test_a_changed_struct_is_seen(self):
        self.write(MODULE_H, TYPES_H.replace("int a;", "int a, b;"))
        status, text = self.run_checker()
        self.assertEqual(status, 1)
        self.assertIn("raise RDMAD_MODULE_ABI", text)
        self.assertIn("check-abi.py --update", text)

    def test_a_new_header_is_seen(self):
        (self.headers / "more.h").write_text("#pragma once\n", encoding="utf-8")
        self.assertEqual(self.run_checker()[0], 1)

    def test_a_raised_number_is_written_down(self):
        self.write(MODULE_H.replace("1u", "2u"), TYPES_H.replace("int a;", "long a;"))
        status, text = self.run_checker()
        self.assertEqual(status, 1)
        self.assertIn("RDMAD_MODULE_ABI is 2, tests/style/abi.digest has 1", text)
        self.assertEqual(self.run_checker("--update")[0], 0)
        self.assertEqual(self.run_checker(), (0, ""))


if __name__ == "__main__":
    tap.main()
