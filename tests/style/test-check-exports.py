#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check-exports.py lets a module through that exports its class, and no other."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import tap  # noqa: E402

CHECKER = Path(__file__).resolve().parent / "check-exports.py"
CLASS = "const int rdmad_module_class = 1;\n"


class CheckExports(unittest.TestCase):
    def check(self, code):
        with tempfile.TemporaryDirectory() as directory:
            if code:
                source = Path(directory) / "demo.c"
                source.write_text(code, encoding="utf-8")
                subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o",
                                Path(directory) / "demo.so", source], check=True)
            done = subprocess.run([sys.executable, CHECKER, directory], capture_output=True,
                                  text=True, check=False)
            return done.returncode, done.stdout

    def test_the_class_alone_is_right(self):
        self.assertEqual(self.check(CLASS + "static int used;\nint *p(void);\n"), (0, ""))

    def test_one_more_name_is_wrong(self):
        status, text = self.check(CLASS + "int helper(void)\n{\n\treturn 0;\n}\n")
        self.assertEqual(status, 1)
        self.assertIn("demo.so: exports helper, rdmad_module_class", text)

    def test_no_class_is_wrong(self):
        status, text = self.check("static int x __attribute__((used));\n")
        self.assertEqual(status, 1)
        self.assertIn("demo.so: exports nothing", text)

    def test_no_module_is_nothing_to_say(self):
        self.assertEqual(self.check("")[0], 77)


if __name__ == "__main__":
    tap.main()
