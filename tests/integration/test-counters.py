#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Counters of devices that are slow, that refuse, or that leave while they are read.

usage: test-counters.py READ-COUNTERS EXPAND SLOW-FILES [TEST...]
"""

import contextlib
import errno
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import tap  # noqa: E402
from prometheus_server import wait_for  # noqa: E402
from slow_files import SlowFiles  # noqa: E402

READ_COUNTERS, EXPAND, SLOW_FILES = sys.argv[1:4]
DEVICE = "mlx5_0"


class CountersTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.machine = directory.name
        subprocess.run([EXPAND, "rails", self.machine, "RAILS=2", "LAST=3"], check=True)
        link = os.path.join(self.machine, "sys/class/infiniband", DEVICE)
        self.device = os.path.realpath(link)

    def mount(self, *rules):
        files = SlowFiles(SLOW_FILES, self.machine, *rules)
        self.addCleanup(files.close)
        return files

    @staticmethod
    def start(files, readings=1):
        return subprocess.Popen([READ_COUNTERS, DEVICE, str(readings), files.path],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def read(self, files, readings=1):
        """{"port/1 VL15_dropped": "0"} of the last reading, and how long all took."""
        began = time.monotonic()
        process = self.start(files, readings)
        said, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, errors)
        lines = [line.split(" ", 2) for line in said.splitlines()]
        return ({f"{place} {name}": value for place, name, value in lines},
                time.monotonic() - began)

    def wait_opened(self, process, name):
        """Until it has a file of that name open."""
        directory = f"/proc/{process.pid}/fd"

        def has_it():
            self.assertIsNone(process.poll())
            with contextlib.suppress(FileNotFoundError):    # one was closed meanwhile
                return any(os.readlink(f"{directory}/{fd}").endswith(name) for fd in os.listdir(directory))
            return False

        wait_for(has_it, f"open {name}")

    def test_a_refused_counter_is_said_and_the_others_are_whole(self):
        good, _ = self.read(self.mount())
        counters, _ = self.read(self.mount(f"*/{DEVICE}/*/VL15_dropped=errno:{errno.EINVAL}",
                                           f"*/{DEVICE}/*/out_of_buffer=errno:{errno.EIO}"))
        self.assertGreater(len(good), 50)
        self.assertEqual({name: value for name, value in counters.items() if good[name] != value},
                         {"port/1 VL15_dropped": os.strerror(errno.EINVAL),
                          "hw/1 out_of_buffer": os.strerror(errno.EIO)})
        self.assertEqual(counters.keys(), good.keys())

    def test_a_refused_counter_is_asked_once_and_then_left_alone(self):
        files = self.mount("*/VL15_dropped=delay:3000", f"*/VL15_dropped=errno:{errno.EINVAL}")
        for _ in range(5):      # a busy machine may be late, but not each time
            counters, took = self.read(files, readings=5)
            self.assertEqual(counters["port/1 VL15_dropped"], os.strerror(errno.EINVAL))
            self.assertGreaterEqual(took, 3)
            if took < 2 * 3:
                break
        self.assertLess(took, 2 * 3)

    def test_a_slow_counter_is_read_all_the_same(self):
        counters, took = self.read(self.mount("*/symbol_error=delay:500"))
        self.assertEqual(counters["port/1 symbol_error"], "0")
        self.assertGreaterEqual(took, 0.5)

    def test_a_device_that_leaves_while_it_is_read_is_gone(self):
        process = self.start(self.mount("*/symbol_error=delay:5000"))
        self.wait_opened(process, "symbol_error")
        os.unlink(os.path.join(self.machine, "sys/class/infiniband", DEVICE))
        shutil.rmtree(self.device)
        said, errors = process.communicate(timeout=60)
        self.assertEqual((process.returncode, said), (1, ""))
        self.assertEqual(errors, f"{DEVICE}: the device has left\n")


if __name__ == "__main__":
    tap.main(sys.argv[4:])
