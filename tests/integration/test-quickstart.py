#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The demonstration of contrib/quickstart, where the page's port is in use: test-quickstart.py BUILD-DIR"""

import contextlib
import os
import re
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import tap  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
SOURCE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../..")


class Demonstration(unittest.TestCase):
    def test_a_port_that_is_in_use_is_named_and_another_one_taken(self):
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            # In use by somebody else: as well.
            with contextlib.suppress(OSError):
                other.bind(("127.0.0.1", 9889))
                other.listen()
            done = subprocess.run(["contrib/quickstart.d/demo.sh", "--once"], cwd=SOURCE, capture_output=True, text=True,
                                  env={**os.environ, "LAB_BUILD": BUILD}, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"(?m)^Port 9889 is in use: the status page is at port \d+\.$")
        self.assertIn("demo/train", done.stdout)
        # Nothing runs any more that could be asked.
        self.assertNotIn("contrib/quickstart exec status", done.stdout)


if __name__ == "__main__":
    tap.main()
