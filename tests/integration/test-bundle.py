#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""rdmad doctor --bundle, and rdmad on the machine that is in it: test-bundle.py RDMAD EXPAND MODULE-DIR"""

import json
import os
import resource
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

from machine_daemon import PATIENCE, RDMAD, Daemon

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import tap  # noqa: E402

TOP = "rdmad-bundle"


class Bundle(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="rdmad-bundle-")
        self.addCleanup(scratch.cleanup)
        self.dir = scratch.name
        self.file = os.path.join(self.dir, "node.tar.gz")

    def daemon(self, *args, **options):
        daemon = Daemon(*args, **options)
        self.addCleanup(daemon.close)
        return daemon

    def make(self, daemon, *options):
        done = daemon.run("doctor", "--bundle", self.file, "--sysroot", daemon.sysroot, *options)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def unpack(self):
        """{path below the top: text}"""
        with tarfile.open(self.file) as tar:
            tar.extractall(self.dir)
            return {member.name.removeprefix(TOP + "/"): tar.extractfile(member).read().decode(errors="replace")
                    for member in tar.getmembers() if member.isfile()}

    def replayed(self, machine):
        """The answer of the recorded machine, and of the one in its bundle."""
        daemon = self.daemon(machine)
        self.make(daemon)
        self.unpack()
        other = self.daemon(None, root=os.path.join(self.dir, TOP, "machine"))
        return daemon.json("devices"), other.json("devices")

    def assertReplays(self, machine):
        before, after = self.replayed(machine)
        self.assertTrue(before["devices"])
        self.assertEqual(after, before)

    def test_its_machine_has_the_devices_of_eight_rails(self):
        self.assertReplays("gpu-8rail")

    def test_its_machine_has_virtual_functions(self):
        self.assertReplays("sriov")

    def test_its_machine_has_bonds(self):
        self.assertReplays("bond")

    def test_its_machine_has_infiniband(self):
        self.assertReplays("infiniband")

    def test_what_cannot_be_read_cannot_be_read_in_it_and_is_listed(self):
        self.assertReplays("broken")
        with open(os.path.join(self.dir, TOP, "left-out"), encoding="utf-8") as text:
            self.assertIn("machine/sys/", text.read())

    def test_it_has_the_answers_of_rdmad(self):
        daemon = self.daemon("gpu-8rail")
        self.make(daemon)
        files = self.unpack()
        self.assertEqual(json.loads(files["api/devices.json"]), daemon.json("devices"))
        for name in ("status", "doctor", "allocations", "topology", "events", "attributes"):
            self.assertIsInstance(json.loads(files[f"api/{name}.json"]), dict)
        self.assertTrue(files["versions"].startswith("rdmad "))
        self.assertEqual(os.stat(self.file).st_mode & 0o777, 0o600)

    def test_passwords_are_not_in_it(self):
        daemon = self.daemon("gpu-8rail", config="""modules = { good = { }; };
            # password = "hunter2-a"; x = 1;
            # api_token : "hunter2-b
            # proxy = "https://me:hunter2-c@proxy:3128/";
            """)
        self.make(daemon)
        files = self.unpack()
        config, = [text for name, text in files.items() if name.startswith("config/")]
        self.assertIn("good", config)
        self.assertIn("@proxy:3128/", config)
        for name, text in files.items():
            self.assertNotIn("hunter2", text, name)

    # A value that is refused, and lines that cannot be parsed.
    REFUSED = ['log = { level = "https://me:hunter2-d@host/"; };', 'server = "https://me:hunter2-e@host" = 1;',
               'password = "hunter2-f" = 1;']

    def test_passwords_of_a_refused_configuration_are_neither_in_it_nor_in_the_log(self):
        good = "modules = { good = { }; };\n"
        daemon = self.daemon("gpu-8rail", config=good)
        for number, line in enumerate(self.REFUSED, 1):
            daemon.configure(good + line + "\n")
            daemon.process.send_signal(signal.SIGHUP)
            self.wait_for(lambda: len([e for e in daemon.json("events")["events"]   # noqa: B023
                                       if e["kind"] == "config-refused"]) == number)
        self.assertEqual(daemon.run("attributes", "set", "proxy", "http://me:hunter2-g@proxy").returncode, 0)
        self.make(daemon)
        for name, text in self.unpack().items():
            self.assertNotIn("hunter2", text, name)
        self.assertNotIn("hunter2", daemon.said())
        self.assertIn("https://REDACTED@host", daemon.said())

    def wait_for(self, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def test_without_rdmad_it_has_the_machine(self):
        daemon = self.daemon("gpu-8rail")
        daemon.process.send_signal(signal.SIGTERM)
        daemon.process.wait(PATIENCE)
        self.make(daemon)
        files = self.unpack()
        self.assertIn("status.json: rdmad is not running", files["left-out"])
        self.assertTrue(os.path.exists(os.path.join(self.dir, TOP, "machine/sys/class/infiniband/mlx5_0")))

    def test_a_file_that_is_there_stays(self):
        daemon = self.daemon("gpu-8rail")
        with open(self.file, "w", encoding="utf-8") as file:
            file.write("mine")
        done = daemon.run("doctor", "--bundle", self.file)
        self.assertEqual(done.returncode, 1)
        self.assertIn("File exists", done.stderr)
        with open(self.file, encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine")

    def test_a_file_that_cannot_be_written_is_removed(self):
        daemon = self.daemon("gpu-8rail")

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

        done = subprocess.run([RDMAD, "doctor", "--bundle", self.file, "--sysroot", daemon.sysroot, "--socket",
                               daemon.socket], capture_output=True, text=True, preexec_fn=limit, timeout=PATIENCE)
        self.assertEqual(done.returncode, 1)
        self.assertIn("File too large", done.stderr)
        self.assertFalse(os.path.exists(self.file))


if __name__ == "__main__":
    tap.main()
