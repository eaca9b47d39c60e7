#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""HACKING.md's recipe for a module, followed literally in a copy of the tree: SOURCE-DIRECTORY RDMAD

Only the module is compiled there; the rdmad of this build loads it.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import tap  # noqa: E402

SOURCE, RDMAD = sys.argv[1:3]


def recipe():
    """The code blocks of the section, in their order: meson.build, hello.c, table line, commands."""
    with open(os.path.join(SOURCE, "HACKING.md"), encoding="utf-8") as file:
        section = file.read().split("## How to add a module")[1].split("\n## ")[0]
    blocks = re.findall(r"^   ```\w*\n(.*?)^   ```", section, re.S | re.M)
    return [re.sub(r"^   ", "", block, flags=re.M) for block in blocks]


def run(*command, cwd):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"{command}: {done.stdout[-3000:]}{done.stderr[-3000:]}")


class AddModule(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="rdmad-test-")
        self.addCleanup(scratch.cleanup)
        self.dir = scratch.name
        self.tree = os.path.join(self.dir, "rdmad")
        shutil.copytree(SOURCE, self.tree, ignore=shutil.ignore_patterns("build*", ".git"))

    def write(self, name, text):
        path = os.path.join(self.tree, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def add_line(self, line):
        name = os.path.join(self.tree, "modules/meson.build")
        with open(name, encoding="utf-8") as file:
            text = file.read()
        with open(name, "w", encoding="utf-8") as file:
            file.write(text.replace("modules = {\n", "modules = {\n  " + line, 1))

    def test_one_directory_and_one_line_make_a_module_that_runs(self):
        build_file, source, line, _ = recipe()
        self.write("modules/hello/meson.build", build_file)
        self.write("modules/hello/hello.c", source)
        self.add_line(line)
        build = os.path.join(self.tree, "build")
        run("meson", "setup", build, "-Dwerror=true", cwd=self.tree)
        run("ninja", "-C", build, "modules/hello.so", cwd=self.tree)
        self.assert_runs(build)

    def assert_runs(self, build):
        place = os.path.join(self.dir, "place")
        os.makedirs(os.path.join(place, "sys/class"))
        daemon = subprocess.Popen(
            [RDMAD, "--module=hello", "--module-dir", f"{build}/modules",
             "--sysroot", place, "--run-dir", f"{place}/run", "--state-dir", f"{place}/state"],
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(daemon.stderr.close)
        socket = f"{place}/run/rdmad.sock"
        status = None
        while not status or (status.returncode and daemon.poll() is None):
            time.sleep(0.02)
            status = subprocess.run([RDMAD, "status", "--socket", socket],
                                    capture_output=True, text=True, check=False)
        daemon.send_signal(signal.SIGTERM)
        log = daemon.communicate()[1]
        self.assertIn("module hello: running", status.stdout, log)
        self.assertEqual(daemon.returncode, 0, log)


tap.main()
