# SPDX-License-Identifier: Apache-2.0
"""A tree with slow or failing files, for tests; see tests/machines/slow-files.c."""

import os
import signal
import subprocess
import tempfile
import unittest


class SlowFiles:
    """Shows `source` at `path`; rules as "*/mlx5_0/*=delay:2000".

    Skips the test where the program was not built, or the kernel lets nobody mount."""

    def __init__(self, program, source, *rules):
        self.process = None
        if not os.path.exists(program):
            raise unittest.SkipTest("slow-files was not built: libfuse3-dev is missing")
        self.directory = tempfile.TemporaryDirectory(prefix="rdmad-slow-")
        self.path = os.path.join(self.directory.name, "tree")
        os.mkdir(self.path)
        self.process = subprocess.Popen([program, source, self.path, *rules],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "mounted\n":
            said = self.process.communicate()[1].splitlines()[-1]
            self.directory.cleanup()
            if self.process.returncode == 77:
                raise unittest.SkipTest(said)
            raise AssertionError(said)

    def rules(self, hold):
        """From now on the rules hold, or not; a read that is under way goes on."""
        self.process.send_signal(signal.SIGUSR2 if hold else signal.SIGUSR1)
        assert self.process.stdout.readline() == "done\n"

    def close(self):
        """Ends all reads that are under way."""
        self.process.terminate()
        self.process.communicate(timeout=30)
        if os.geteuid() != 0:  # what a user's program has mounted it cannot unmount
            subprocess.run(["fusermount3", "-uzq", self.path], check=False)
        self.directory.cleanup()
