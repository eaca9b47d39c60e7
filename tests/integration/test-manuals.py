#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Manuals against the tables of keys, and what README and the documents name exists.

usage: test-manuals.py SOURCE BUILD [TEST...]
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import tap  # noqa: E402

SOURCE, BUILD = (os.path.abspath(path) for path in sys.argv[1:3])
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


BOUNDED = re.compile(r'RDMAD_CONFIG_(INT|DURATION|SIZE)_FIELD\(\s*"(\w+)",\s*\w+,\s*[\w.]+,\s*([^,;]+),\s*([^;]*?)\),?\n')
# Its keys are of another file than etc/rdmad.conf.
WEB_CONFIG = "core/http/access/web-config.c"


def constants():
    """The numbers that sources and headers name."""
    found = {"G_MAXINT32": "2147483647"}
    for path in glob.glob(os.path.join(SOURCE, "core/**/*.[ch]"), recursive=True) + \
            glob.glob(os.path.join(SOURCE, "modules/**/*.[ch]"), recursive=True):
        for name, text in re.findall(r"^#define\s+([A-Z]\w+)\s+([^\n]+)$", read(path), re.M):
            found.setdefault(name, re.sub(r"/\*.*", "", text))
    return found


def value(expression, own, others):
    """Of a constant expression of C."""
    text = re.sub(r"\(\w+\)(?=\d)|(?<=\d)[uUlL]+\b", "", expression)
    for _ in range(8):
        text = re.sub(r"\b[A-Z_]\w+\b", lambda name: f"({own.get(name[0], others.get(name[0], name[0]))})", text)
    text = re.sub(r"(?<=\d)[uUlL]+\b", "", text)
    return int(eval(text.replace("/", "//"), {"__builtins__": {}}))     # of our own source


def bound(kind, number):
    """As the manual has it: "64", "250ms", "10m", "1M"."""
    units = {"DURATION": ((86400000, "d"), (3600000, "h"), (60000, "m"), (1000, "s"), (1, "ms")),
             "SIZE": ((1 << 20, "M"), (1 << 10, "K"), (1, "")), "INT": ((1, ""),)}[kind]
    size, unit = next(one for one in units if number % one[0] == 0)
    if number == 0:
        return "0"
    if unit == "d":
        size, unit = 3600000, "h"
    return f"{number // size}{unit}"


def bounds():
    """{(module or part, key): (least, largest)}"""
    others, found = constants(), {}
    for path in MANUALS:
        own = dict(re.findall(r"^#define\s+(\w+)\s+([^\n]+)$", read(path), re.M))
        own = {name: re.sub(r"/\*.*", "", text) for name, text in own.items()}
        for kind, key, least, largest in BOUNDED.findall(read(path)):
            part = path.split("/")[1] if path.startswith("modules") else "rdmad"
            if "web-config" in path:
                part = "web-config"
            if "erdma" in path:
                part = {"nic": "erdma nics", "smc": "erdma smc", "driver": "erdma driver"}[path.split("/")[2]]
            found[part, key] = (bound(kind, value(least, own, others)), bound(kind, value(largest, own, others)))
    return found


# Their default is a list of groups, which the manual describes.
DESCRIBED = {"resources", "selectors"}
# Groups, whose keys are shown with the group's name before a dot or in a section of their own.
GROUPS = {"log", "kubelet", "http", "modules", "driver", "nics", "smc", "install", "metadata"}


def group_of(path):
    """The part of the commented configuration that has the keys of a source file."""
    text = read("etc/rdmad.conf")
    if path.startswith("core/"):
        return text
    return re.search(rf"^\t{path.split('/')[1]} = \{{\n(.*?)^\t\}};", text, re.M | re.S)[1]


def plain(text):
    """Of mdoc: the text that a reader sees, without spaces."""
    return re.sub(r"\s", "", text.replace(r"\(dq", '"').replace(r"\&", ""))


def shown(manual):
    """{key: {values}} of the lines ".It Ic key No = Li value"."""
    found = {}
    for key, text in re.findall(r"^\.It Ic ([\w.]+) No = Li (.*)$", read(f"contrib/man/{manual}"), re.M):
        found.setdefault(key.split(".")[-1], set()).add(plain(text))
    return found


class Keys(unittest.TestCase):
    def test_every_key_is_shown_with_its_default_or_an_example_of_the_commented_configuration(self):
        for path in sorted(set(MANUALS) - {WEB_CONFIG, "core/daemon/settings-modules.c"}):
            values = shown(MANUALS[path])
            for key in sorted(set(KEY.findall(read(path))) - DESCRIBED - GROUPS):
                configured = {plain(text) for text in
                              re.findall(rf"\b{key} = ([^;{{}}]*(?:\{{[^}}]*\}})?)", group_of(path)) +
                              re.findall(rf"\b{key} = .*# by default (\S+)$", group_of(path), re.M)}
                with self.subTest(manual=MANUALS[path], key=key):
                    self.assertTrue(values.get(key), "not shown")
                    self.assertLessEqual(values[key], configured)

    def test_the_bounds_of_every_number_are_in_the_manual(self):
        told = {(part.replace("\\&", ""), key): (least, largest) for part, key, least, largest in
                re.findall(r"^\.It ([\w -]+) Ta (\w+) Ta (\S+) Ta (\S+)$", read("contrib/man/rdmad.conf.5"), re.M)}
        self.assertEqual(told, bounds())

    def test_every_key_with_its_default_is_in_the_commented_configuration(self):
        words = set(re.findall(r"\w+", read("etc/rdmad.conf")))
        for path in set(MANUALS) - {WEB_CONFIG}:
            self.assertEqual(set(KEY.findall(read(path))) - words, set(), path)

    def test_every_key_of_web_configurations_has_its_type_default_and_example(self):
        rows = re.findall(r"^\.It (\w+) Ta (\S.*) Ta (\S.*) Ta (\S.*)$", read("contrib/man/rdmad-web-config.5"), re.M)
        keys = set(KEY.findall(read(WEB_CONFIG))) | \
            set(re.findall(r'^\t(?:PEM|CHECKED_STRINGS)_FIELD\("(\w+)"', read(WEB_CONFIG), re.M))
        self.assertIn("cert", keys)
        self.assertEqual(keys - {"tls_server_config", "http_server_config", "rate_limit"}, {row[0] for row in rows})

    def test_every_table_of_keys_has_a_manual(self):
        self.assertEqual(tables(), set(MANUALS))

    def test_every_key_is_in_the_manual(self):
        for path, manual in MANUALS.items():
            words = set(re.findall(r"\w+", read(f"contrib/man/{manual}").replace(r"\&", "")))
            missing = set(KEY.findall(read(path))) - words
            with self.subTest(path):
                self.assertEqual(missing, set(), manual)


@unittest.skipUnless(shutil.which("man") and shutil.which("groff"), "man is missing: apt-get install man-db groff-base")
class Rendering(unittest.TestCase):
    def assert_renders(self, *arguments):
        done = subprocess.run(["man", "--warnings", *arguments], capture_output=True, text=True, check=False, timeout=60,
                              env=os.environ | {"MANWIDTH": "80", "LC_ALL": "C.UTF-8"})
        self.assertEqual((done.returncode, done.stderr), (0, ""), arguments)
        self.assertIn("DESCRIPTION", done.stdout, arguments)

    def test_manuals_render_without_a_warning(self):
        for path in glob.glob(os.path.join(SOURCE, "contrib/man/*.[0-9]")):
            self.assert_renders("-l", path)

    @unittest.skipUnless(shutil.which("meson"), "meson is missing: apt-get install meson")
    def test_manuals_render_where_they_are_installed(self):
        with tempfile.TemporaryDirectory(prefix="rdmad-man-") as directory:
            subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--tags", "man", "--destdir", directory],
                           check=True, capture_output=True)
            installed = glob.glob(os.path.join(directory, "**/man[0-9]/*"), recursive=True)
            self.assertEqual({os.path.basename(path).removesuffix(".gz") for path in installed},
                             set(os.listdir(os.path.join(SOURCE, "contrib/man"))))
            for path in installed:
                name, section = os.path.basename(path).removesuffix(".gz").rsplit(".", 1)
                self.assert_renders("-l", path)
                self.assert_renders("-M", os.path.dirname(os.path.dirname(path)), section, name)

    def test_the_options_of_a_program_are_in_its_manual(self):
        for program, manual in (("contrib/nccl/rdmad-nccl-env.c", "rdmad-nccl-env.1"),):
            options = set(re.findall(r'^\t"  --([\w-]+)', read(program), re.M))
            self.assertTrue(options)
            self.assertEqual(set(re.findall(r"^\.It Fl \\-([\w-]+)", read(f"contrib/man/{manual}"), re.M)), options)


def sources():
    """The text of all sources of the daemon."""
    for path in glob.glob(os.path.join(SOURCE, "core/**/*.c"), recursive=True) + \
            glob.glob(os.path.join(SOURCE, "modules/**/*.c"), recursive=True):
        yield read(path)


def doctor_subjects():
    """What a line of `rdmad doctor` begins with, besides names of devices and resources."""
    calls = r'\b(?:rdmad_doctor_add|doctor_say)\(\s*findings,\s*(?:[^;"]*?),\s*"([\w -]+)"'
    return {subject for text in sources() for subject in re.findall(calls, text)} | {"DEVICE", "RESOURCE"}


def code_spans():
    """(document, code) of all documents that tell people what to do."""
    for pattern in ("README.md", "contrib/docs/*.md", "contrib/prometheus/runbooks/*.md", "contrib/prometheus/alerts.yml"):
        for path in sorted(glob.glob(os.path.join(SOURCE, pattern))):
            for code in re.findall(r"`([^`\n]+)`", read(path)):
                yield os.path.relpath(path, SOURCE), code


class Documents(unittest.TestCase):
    def test_advice_to_run_doctor_names_lines_that_it_has(self):
        subjects = doctor_subjects()
        self.assertLess({"kubelet", "cni", "erdma nic", "modules"}, subjects)
        advice = re.compile(r"`rdmad doctor`(?:, lines (`[^`]+`(?: and `[^`]+`)*))?")
        found = 0
        for path in ["contrib/docs/troubleshooting.md", *glob.glob(os.path.join(SOURCE, "contrib/prometheus/runbooks/*"))]:
            for line in read(path).splitlines():
                if line.startswith("Run `rdmad doctor` first"):
                    continue
                for lines in advice.findall(line):
                    found += 1
                    named = set(re.findall("`([^`]+)`", lines))
                    with self.subTest(document=os.path.basename(path), line=line):
                        self.assertTrue(named, "which lines?")
                        self.assertLessEqual(named, subjects)
        self.assertGreater(found, 5)

    def test_commands_and_options_in_documents_exist(self):
        text = read("contrib/man/rdmad-cli.8") + read("contrib/man/rdmad.8") + read("contrib/man/rdmad-nccl.7")
        commands = set(re.findall(r"^\.It Cm ([\w-]+)", text, re.M)) | {"import-config", "version", "help"}
        options = {option.replace("\\-", "-").lstrip("-") for option in re.findall(r"(?:\bFl (?:Fl |\\-)?|--)([\w\\-]+)", text)}
        self.assertLess({"doctor", "nccl-env"}, commands)
        self.assertLess({"bundle", "module", "o"}, options)
        for path, code in code_spans():
            words = code.split()
            if words[0] != "rdmad":
                continue
            with self.subTest(document=path, code=code):
                if len(words) > 1 and not words[1].startswith("-"):
                    self.assertIn(words[1], commands)
                for word in words:
                    if word.startswith("-") and word != "-":
                        self.assertIn(word.lstrip("-").split("=")[0], options)

    def test_events_in_documents_exist(self):
        kinds = {kind for text in sources() for kind in re.findall(r'"([a-z]+(?:-[a-z]+)+)"', text)}
        for pattern in ("NEWS", "README.md", "contrib/docs/*.md", "contrib/prometheus/runbooks/*.md"):
            for path in glob.glob(os.path.join(SOURCE, pattern)):
                for first, second in re.findall(r"\bevents? `([a-z-]+)`(?:\s+and\s+`([a-z-]+)`)?", read(path)):
                    with self.subTest(document=os.path.relpath(path, SOURCE)):
                        self.assertLessEqual({first, second} - {""}, kinds)

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

    def test_each_platform_of_readme_has_its_values_and_its_tests(self):
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in read("README.md").splitlines()
                if re.search(r"\| `\w+Test`", line)]
        seeds = read("tests/integration/test-seeds.py")
        tested = set()
        for row in rows:
            self.assertEqual((len(row), row.count("")), (5, 0), row)
            document, _, _, values, tests = row
            self.assertTrue(os.path.exists(os.path.join(SOURCE, "contrib/helm/values", values.strip("`"))), document)
            for name in re.findall(r"`([^`]+)`", tests):
                found = os.path.join(SOURCE, "tests/integration", name)
                self.assertTrue(f"class {name}(SeedCase)" in seeds or os.path.exists(found), f"{document}: {name}")
                tested.add(name)
        self.assertLessEqual(set(re.findall(r"class (\w+)\(SeedCase\)", seeds)), tested)


if __name__ == "__main__":
    tap.main(sys.argv[3:])
