#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The injector strikes where it is told to, and nowhere else: test-injector.py INJECT [TEST...]"""

import os
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.dirname(HERE), HERE]
sys.dont_write_bytecode = True

import tap  # noqa: E402
from injector import Injector, Point  # noqa: E402

INJECT = os.path.abspath(sys.argv[1])
WRITES = """
import os
fd = os.open("file", os.O_RDWR)
os.pwrite(fd, b"synced", 0)
os.fsync(fd)
os.pwrite(fd, b"lost", 0)
os.pwrite(fd, b"more", 6)
os.ftruncate(fd, 1)
os.mkdir("end")
"""


class InjectorTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="rdmad-inject-")
        self.addCleanup(directory.cleanup)
        self.dir = directory.name
        self.injector = Injector(INJECT, self.path("page"), "/bin/cat")
        self.addCleanup(self.injector.close)
        for name in "abc":
            self.write(name, name)

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="ascii") as file:
            file.write(text)

    def read(self, name):
        with open(self.path(name), encoding="ascii") as file:
            return file.read()

    def run_at(self, point, *command):
        self.injector.new_process()
        if point:
            self.injector.arm(Point.parse("test:" + point))
        return subprocess.run(command, cwd=self.dir, env=self.injector.environment,
                              capture_output=True, text=True)

    def test_one_call_fails_and_the_next_does_not(self):
        done = self.run_at("open:2:EIO", "/bin/cat", "a", "b", "c")
        self.assertEqual((done.stdout, self.injector.struck()), ("ac", 1))
        self.assertIn("b: Input/output error", done.stderr)

    def test_all_calls_from_one_on_fail(self):
        done = self.run_at("open:2+:EMFILE", "/bin/cat", "a", "b", "c")
        self.assertEqual((done.stdout, self.injector.struck()), ("a", 2))

    def test_nothing_is_struck_or_counted_before_it_is_armed(self):
        self.assertEqual(self.run_at(None, "/bin/cat", "a").stdout, "a")
        self.assertEqual((self.injector.counts(), self.injector.struck()), ({}, 0))

    def test_calls_are_counted_by_function(self):
        self.injector.new_process()
        self.injector.arm()
        subprocess.run(["/bin/cat", "a", "b", "c"], cwd=self.dir, env=self.injector.environment,
                       check=True, stdout=subprocess.DEVNULL)
        self.assertEqual(self.injector.counts()["open"], 3)

    def test_a_process_is_killed_before_the_call(self):
        done = self.run_at("mkdir:2:kill", "/bin/mkdir", "x", "y", "z")
        self.assertEqual(done.returncode, -signal.SIGKILL)
        self.assertEqual([name for name in "xyz" if os.path.isdir(self.path(name))], ["x"])

    def test_a_cut_of_power_takes_what_was_not_synced(self):
        for point, expected in (("mkdir:1:kill", "l"), ("mkdir:1:cut", "synced here"),
                                ("fsync:1:cut", "before here"), ("truncate:1:cut", "synced here")):
            with self.subTest(point=point):
                self.write("file", "before here")
                done = self.run_at(point, sys.executable, "-c", WRITES)
                self.assertEqual(done.returncode, -signal.SIGKILL, done.stderr)
                self.assertEqual(self.read("file"), expected)

    def test_the_caller_is_known(self):
        self.run_at("open:1:EIO", "/bin/cat", "a")
        self.assertIn("open", self.injector.stack()[0])

    def test_what_is_no_point_is_refused(self):
        for text in ("", "a:open:1", "a:open:x:EIO", "a:open:1:ENOTHING", "a:open:1:EIO:more"):
            with self.subTest(text=text), self.assertRaises(ValueError):
                Point.parse(text)
        for text in ("a-b:open:1:EIO", "a:changes:12:kill", "a:open:3+:ENOSPC", "a:changes:1:cut"):
            self.assertEqual(str(Point.parse(text)), text)


if __name__ == "__main__":
    tap.main(sys.argv[2:])
