#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The file system of slow devices is as slow, and as broken, as its rules.

usage: test-slow-files.py SLOW-FILES [TEST...]
"""

import errno
import os
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import tap  # noqa: E402
from slow_files import SlowFiles  # noqa: E402

PROGRAM = sys.argv[1]


class SlowFilesTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.source = directory.name
        os.makedirs(os.path.join(self.source, "a/b"))
        for name in ("slow", "fast", "bad", "stuck"):
            self.put(name, "1\n")
        os.symlink("a/b", os.path.join(self.source, "link"))

    def put(self, name, value):
        with open(os.path.join(self.source, "a/b", name), "w", encoding="utf-8") as file:
            file.write(value)

    def mount(self, *rules):
        files = SlowFiles(PROGRAM, self.source, *rules)
        self.addCleanup(files.close)
        return files

    @staticmethod
    def read(files, name):
        with open(os.path.join(files.path, "link", name), encoding="utf-8") as file:
            return file.read()

    def time_of(self, files, name):
        began = time.monotonic()
        self.read(files, name)
        return time.monotonic() - began

    def test_only_files_that_fit_are_slow_behind_links_too(self):
        files = self.mount("*/slow=delay:2000")
        self.assertGreaterEqual(self.time_of(files, "slow"), 2)
        self.assertLess(self.time_of(files, "fast"), 2)

    def test_reads_fail_with_the_errno_that_was_asked_for(self):
        files = self.mount(f"a/b/bad=errno:{errno.EINVAL}")
        with self.assertRaises(OSError) as caught:
            self.read(files, "bad")
        self.assertEqual(caught.exception.errno, errno.EINVAL)
        self.assertEqual(self.read(files, "fast"), "1\n")

    def test_each_read_sees_the_source_as_it_is(self):
        files = self.mount()
        self.assertEqual(self.read(files, "fast"), "1\n")
        self.put("fast", "22\n")
        self.assertEqual(self.read(files, "fast"), "22\n")
        os.unlink(os.path.join(self.source, "a/b/fast"))
        with self.assertRaises(FileNotFoundError):
            self.read(files, "fast")
        self.assertEqual(sorted(os.listdir(os.path.join(files.path, "link"))),
                         ["bad", "slow", "stuck"])

    def test_rules_can_be_lifted_and_set_again(self):
        files = self.mount("*/slow=delay:2000")
        files.rules(False)
        self.assertLess(self.time_of(files, "slow"), 2)
        files.rules(True)
        self.assertGreaterEqual(self.time_of(files, "slow"), 2)

    def test_a_read_that_blocks_ends_with_the_program_and_holds_no_other(self):
        files = self.mount("*/stuck=block")
        failed = []

        def read_stuck():
            try:
                self.read(files, "stuck")
            except OSError as error:
                failed.append(error.errno)

        readers = [threading.Thread(target=read_stuck) for _ in range(40)]
        for reader in readers:
            reader.start()
        time.sleep(0.5)
        self.assertEqual(self.read(files, "fast"), "1\n")
        self.assertEqual(failed, [])
        files.process.terminate()
        for reader in readers:
            reader.join(60)
        self.assertEqual(len(failed), 40)

    def test_nothing_can_be_written(self):
        files = self.mount()
        with self.assertRaises(OSError):
            open(os.path.join(files.path, "a/b/fast"), "w", encoding="utf-8")


if __name__ == "__main__":
    tap.main(sys.argv[2:])
