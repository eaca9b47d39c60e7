#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Manuals against the tables of keys, and what README and the documents name exists: test-manuals.py SOURCE"""

import glob
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import tap  # noqa: E402

SOURCE = os.path.abspath(sys.argv[1])
# Where the keys of a table are explained.
MANUALS = {
    "core/daemon/settings.c": "rdmad.conf.5",
    "core/daemon/settings-attributes.c": "rdmad.conf.5",
    "core/daemon/settings-modules.c": "rdmad.conf.5",
    "core/http/access/web-config.c": "rdmad-web-config.5",
    "modules/device-plugin/settings.c": "rdmad-device-plugin.7",
    "modules/device-plugin/selector/key.c": "rdmad-device-plugin.7",
    "modules/metrics/settings.c": "rdmad-metrics.7",
    "modules/cni/settings.c": "rdmad-cni.7",
    "modules/nccl/settings.c": "rdmad-nccl.7",
    "modules/kube/settings.c": "rdmad-kube.7",
    "modules/erdma/settings.c": "rdmad-erdma.7",
    "modules/erdma/driver/driver-settings.c": "rdmad-erdma.7",
    "modules/erdma/nic/nic-settings.c": "rdmad-erdma.7",
    "modules/erdma/smc/smc-settings.c": "rdmad-erdma.7",
}
# The last form is that of the selectors' own table.
KEY = re.compile(r'(?:RDMAD_CONFIG_[A-Z]+_FIELD\(\s*|\.key\s*=\s*|^\t\[SELECT_\w+\] = \{ )"(\w+)"', re.M)


def read(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        return file.read()


def tables():
    return {os.path.relpath(path, SOURCE) for path in glob.glob(os.path.join(SOURCE, "*/**/*.c"), recursive=True)
            if path.startswith((os.path.join(SOURCE, "core"), os.path.join(SOURCE, "modules")))
            and KEY.search(read(path)) and re.search("RDMAD_CONFIG|SELECT_", read(path))}


class Keys(unittest.TestCase):
    def test_every_table_of_keys_has_a_manual(self):
        self.assertEqual(tables(), set(MANUALS))

    def test_every_key_is_in_the_manual(self):
        for path, manual in MANUALS.items():
            words = set(re.findall(r"\w+", read(f"contrib/man/{manual}").replace(r"\&", "")))
            missing = set(KEY.findall(read(path))) - words
            with self.subTest(path):
                self.assertEqual(missing, set(), manual)


class Documents(unittest.TestCase):
    def test_links_lead_somewhere(self):
        for path in ["README.md", *(os.path.relpath(found, SOURCE) for found in
                                    glob.glob(os.path.join(SOURCE, "contrib/docs/*.md")))]:
            for link in re.findall(r"\]\((?!http)([^)#]+)\)|src=\"([^\"]+)\"", read(path)):
                target = os.path.join(SOURCE, os.path.dirname(path), link[0] or link[1])
                self.assertTrue(os.path.exists(target), f"{path}: {link}")

    def test_manuals_that_readme_names_exist(self):
        for name, section in re.findall(r"\b(rdmad[\w.-]*)\((\d)\)", read("README.md")):
            self.assertTrue(os.path.exists(os.path.join(SOURCE, f"contrib/man/{name}.{section}")), name)

    def test_readme_has_its_parts_in_order(self):
        self.assertEqual(re.findall(r"^## (.*)$", read("README.md"), re.M),
                         ["Why", "Try it", "Modules", "Install", "Configure", "Observe", "Migrate", "Requirements",
                          "Documents"])


if __name__ == "__main__":
    tap.main()
