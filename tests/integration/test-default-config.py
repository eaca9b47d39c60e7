#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""etc/rdmad.conf is good as it is, and every default in it is the default: RDMAD MODULE-DIR CONF"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import tap  # noqa: E402

RDMAD, MODULES, CONF = sys.argv[1:4]
PROFILES = os.path.join(os.path.dirname(CONF), "profiles")


# The file of the state before, whole: a release takes what the one before it took.
PREVIOUS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "previous.conf")


def as_it_is(path=CONF):
    with open(path, encoding="utf-8") as file:
        return file.read()


def uncommented(path=CONF):
    """`#key` and `#<tab>` are what is commented out; `# word` is prose."""
    return re.sub(r"^#(?=[a-z}\t])", "", as_it_is(path), flags=re.M)


class DefaultConfig(unittest.TestCase):
    def run_with(self, text, action):
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
            file.write(text)
            file.flush()
            return subprocess.run([RDMAD, action, "--config", file.name, "--module-dir", MODULES,
                                   "--profile-dir", PROFILES],
                                  capture_output=True, text=True, check=False)

    def check(self, text):
        return self.run_with(text, "--check")

    def in_effect(self, text):
        return re.search("^# in effect: .*", self.run_with(text, "--print-config").stdout,
                         re.M).group()

    def test_the_file_is_good_as_it_is(self):
        run = self.check(as_it_is())
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("device-plugin", run.stdout)

    @unittest.skipUnless(os.geteuid() == 0, "the file has root's directories; others have their own")
    def test_what_is_commented_out_is_the_default(self):
        self.assertEqual(self.in_effect(as_it_is()), self.in_effect(uncommented()))

    def test_every_key_that_is_commented_out_exists(self):
        run = self.check(uncommented())
        self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_every_key_of_the_previous_file_is_still_taken(self):
        for text in (as_it_is(PREVIOUS), uncommented(PREVIOUS)):
            run = self.check(text)
            self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_the_other_examples_are_good(self):
        text = re.sub(r"^\t\t#(?=[a-z)\t])", "\t\t", uncommented(), flags=re.M)
        # Each is in the place of the list before it.
        text = re.sub(r"\tresources = \(.*?\n\t\t\);\n", "", text, count=1, flags=re.S)
        text = text.replace("\tnetworks = ( );", "\t", 1)
        for name in ("rdma/rail", "rails"):
            self.assertIn(f'name = "{name}"', text)
        run = self.check(text)
        self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_every_profile_is_plain_configuration(self):
        resources = {"ack": ["rdma/hca"], "ack-erdma": ["aliyun/erdma"],
                     "mellanox-shared": ["rdma/rdma_shared_device_a", "rdma/rdma_shared_device_b"],
                     "vke": ["vke.volcengine.com/rdma", "vke"]}
        files = [name for name in os.listdir(PROFILES) if name.endswith(".conf")]
        self.assertEqual(sorted(files), sorted(name + ".conf" for name in resources))
        for name, expected in resources.items():
            text = f'profile = "{name}"; log = {{ level = "debug"; }};'
            run = self.check(text)
            self.assertEqual((run.returncode, run.stderr), (0, ""))
            plain = self.run_with(text, "--print-config").stdout
            self.assertEqual(re.findall(r'\bname = "([^"]*)"', plain), expected)
            self.assertNotIn("profile", plain)
            self.assertEqual(self.check(plain).returncode, 0)

    def test_a_key_that_does_not_exist_would_be_found(self):
        run = self.check(uncommented().replace("health_delay", "health_dely"))
        self.assertEqual(run.returncode, 2)
        self.assertIn("health_delay", run.stderr)


tap.main()
