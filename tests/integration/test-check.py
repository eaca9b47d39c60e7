#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""rdmad --check, with and without a machine: test-check.py RDMAD EXPAND MODULE-DIR"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import tap  # noqa: E402
from machine_daemon import EXPAND, MODULES, RDMAD, Daemon  # noqa: E402
from ports import free_port  # noqa: E402

RESOURCE = 'modules = { device-plugin = { resources = ( { name = "rdma/a"; %s } ); }; };'
SELECTORS = RESOURCE % "selectors = { %s };"

REFUSED = (
    ("a range of a shell", SELECTORS % 'names = "mlx5_[0-3]";', '1: modules.device-plugin.resources[0].selectors.names: "mlx5_[0-3]"'),
    ("names in one string", SELECTORS % 'names = "mlx5_0,mlx5_1";', '( "a", "b" )'),
    ("interfaces in one string", SELECTORS % 'netdevs = "eth0 eth1";', '( "a", "b" )'),
    ("the driver of the RDMA subsystem", SELECTORS % 'drivers = "mlx5_ib";', 'did you mean "mlx5_core"?'),
    ("a label without its source", RESOURCE % 'mode_from = "example.com/mode";', '"label:example.com/mode"'),
    ("a module's misspelt name", "modules = { metrcs = { }; };", "1: modules.metrcs: "),
    ("a module's misspelt name", "modules = { metrcs = { }; };", "did you mean `metrics`?"),
    ("a file that a key names", 'modules = { metrics = { web_config = "/nonexistent"; }; };',
     "1: modules.metrics.web_config: /nonexistent: "),
)

THREE = """log = { level = "loud"; };
run_dir = "relative";
modules = {
  device-plugin = { resources = ( { name = "rdma/a"; count = 0; modus = "shared"; },
    { name = "rdma/b"; selectors = { names = "a,b"; drivers = "mlx5_ib"; }; } ); };
  metrics = { lissen = ":1"; };
};
"""


class Check(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="rdmad-check-")
        cls.addClassCleanup(directory.cleanup)
        cls.directory = directory.name
        cls.machine = os.path.join(cls.directory, "machine")
        subprocess.run([EXPAND, "gpu-8rail", cls.machine], check=True)

    def check(self, text, *options):
        path = os.path.join(self.directory, "rdmad.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return subprocess.run([RDMAD, "--check", "--config", path, "--module-dir", MODULES, *options],
                              capture_output=True, text=True, check=False)

    def test_what_cannot_work_is_refused(self):
        for name, text, expected in REFUSED:
            with self.subTest(name):
                done = self.check(text)
                self.assertEqual(done.returncode, 2)
                self.assertIn(expected, done.stderr)

    def test_nothing_of_the_file_reaches_the_terminal_raw_or_whole(self):
        """Control characters, also C1 and those that change the direction of text, and names of any length."""
        evil, long = "\x1b[2J\x1b]0;x\x07\x9b31m\u202e", "k" * 50000
        for name, text in (("@include", f'@include "{evil}{long}"\n'), ("include", f'include = "{evil}{long}";'),
                           ("a key", f"{long} = 1;"), ("a module", "modules = { %s = { }; };" % long),
                           ("a module's key", "modules = { metrics = { %s = 1; }; };" % long),
                           ("a value", f'log = {{ level = "{evil}"; }};'), ("a line", f"log = {evil};"),
                           ("an escaped value", 'log = { level = "\\x1b[2J\\xc2\\x9b31m"; };'),
                           ("a selector", SELECTORS % f'names = "{evil}";'),
                           ("a path", 'modules = { metrics = { web_config = "/%s"; }; };' % evil),
                           ("a profile", f'profile = "{evil}";'), ("a listener", f'modules = {{ metrics = {{ listen = "{evil}"; }}; }};')):
            for action in ("--check", "--print-config"):
                with self.subTest(name, action=action):
                    done = self.check(text, action)
                    said = done.stdout + done.stderr
                    self.assertNotRegex(said.replace("\n", "").replace("\t", ""), r"[\x00-\x1f\x7f-\x9f\u202e]")
                    if done.returncode:
                        self.assertLess(len(done.stderr), 2000)

    def test_a_file_of_any_name_is_shown_as_text(self):
        directory = os.path.join(self.directory, "\x1b[2J\n\x9b")
        os.makedirs(directory, exist_ok=True)
        path = os.path.join(directory, "rdmad.conf")
        for text, status in (("modules = { metrics = { }; };", 0), ("a = ;", 2)):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            for action in ("--check", "--print-config"):
                done = subprocess.run([RDMAD, action, "--config", path, "--module-dir", MODULES],
                                      capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertNotRegex((done.stdout + done.stderr).replace("\n", "").replace("\t", ""), r"[\x00-\x1f\x7f-\x9f]")

    def test_every_error_is_a_line(self):
        core = self.check(THREE)
        self.assertEqual(core.returncode, 2)
        self.assertEqual([line.split(": ")[2] for line in core.stderr.splitlines()],
                         ["run_dir", "log.level"])
        modules = self.check(THREE[THREE.index("modules"):])
        self.assertEqual([line.split(": ")[2] for line in modules.stderr.splitlines()],
                         ["modules.device-plugin.resources[0].count",
                          "modules.device-plugin.resources[0].modus",
                          "modules.device-plugin.resources[1].selectors.names",
                          "modules.device-plugin.resources[1].selectors.drivers",
                          "modules.metrics.lissen"])
        for line in (core.stderr + modules.stderr).splitlines():
            self.assertTrue(line.startswith("rdmad: "), line)

    def test_words_of_people_are_taken(self):
        for text in (SELECTORS % 'link_layers = "InfiniBand";', 'log = { level = "warn"; };\n' + RESOURCE % ""):
            with self.subTest(text):
                done = self.check(text)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_selectors_that_match_nothing_of_the_machine_are_warnings(self):
        text = SELECTORS % 'names = ( "mlx5_0", "mlx5_99" ); link_layers = "Ethernet";'
        for options, expected in ((("--sysroot", self.machine),
                                   'rdmad: warning: rdma/a: selectors.names: "mlx5_99" matches no device'),
                                  (("--sysroot", self.directory), "")):
            with self.subTest(options):
                done = self.check(text, *options)
                self.assertEqual(done.returncode, 0)
                self.assertTrue(done.stderr.startswith(expected) if expected else not done.stderr, done.stderr)
        empty = self.check(SELECTORS % 'names = "bnxt*";', "--sysroot", self.machine)
        self.assertIn("rdma/a: its selectors match no device of this machine", empty.stderr)

    def test_selectors_that_nobody_wrote_are_no_warning(self):
        done = self.check("modules = { device-plugin = { }; };", "--sysroot", self.machine)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


FIVE = "modules = { device-plugin = { }; metrics = { listen = \"127.0.0.1:%d\"; }; nccl = { }; erdma = { }; %s };"


class Readme(unittest.TestCase):
    @unittest.skipIf(b"__asan_init" in open(RDMAD, "rb").read(), "sanitizers have their own memory")
    def test_resident_memory_is_what_the_readme_says(self):
        with open(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../README.md"),
                  encoding="utf-8") as file:
            promised = int(re.search(r"(\d+) MiB of resident memory with all modules but `kube`", file.read())[1])
        daemon = Daemon("gpu-8rail", FIVE % (free_port(), "cni = { };" if os.geteuid() == 0 else ""))
        try:
            daemon.json("doctor")
            with open(f"/proc/{daemon.process.pid}/status", encoding="utf-8") as file:
                resident = int(re.search(r"VmRSS:\s+(\d+) kB", file.read())[1])
        finally:
            daemon.close()
        self.assertLess(resident, promised * 1024)


tap.main()
