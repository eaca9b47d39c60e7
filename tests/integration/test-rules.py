#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The rules of contrib/prometheus do what their texts say: test-rules.py SOURCE

promtool is the judge of the rules and of their tests; here is looked at what it does not: that every
rule has tests, and that a text names no label which its alert does not have.
"""

import glob
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import tap  # noqa: E402

SOURCE = sys.argv[1]
DIRECTORY = os.path.join(SOURCE, "contrib/prometheus")
RULES = ["recording.yml", "alerts.yml"]
TESTS = sorted(glob.glob(os.path.join(SOURCE, "tests/rules/*.yml")))
PATIENCE = 500      # seconds; the machine may be busy
ALERT = re.compile(r'alertname=~?"([^"]+)"')
LABELS = [re.compile(rf'\b{name}="([^"]+)"') for name in ("job", "instance", "device")]


def load(path):
    with open(path, encoding="utf-8") as file:
        return yaml.safe_load(file)


def rules(name, kind):
    return [rule for group in load(os.path.join(DIRECTORY, name))["groups"] for rule in group["rules"]
            if kind in rule]


def expressions():
    """(the expression with what is expected of it, its test), of all tests."""
    for path in TESTS:
        for test in load(path)["tests"]:
            for query in test["promql_expr_test"]:
                yield query, test


def promtool(*args):
    return subprocess.run(["promtool", *args], capture_output=True, text=True, check=False,
                          timeout=PATIENCE)


def run_tests(tests):
    document = {"rule_files": [os.path.join(DIRECTORY, name) for name in RULES],
                "evaluation_interval": "1m", "tests": tests}
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        yaml.safe_dump(document, file)
        file.flush()
        return promtool("test", "rules", file.name)


def of_no_nics(test):
    """The series of a test, of devices that are no NICs."""
    series = [entry for entry in test["input_series"] if not entry["series"].startswith("rdma_device_info{")]
    devices = {tuple(label.search(entry["series"]).group(1) for label in LABELS)
               for entry in series if LABELS[-1].search(entry["series"])}
    return series + [{"series": 'rdma_device_info{job="%s", instance="%s", device="%s", role="%s"}' % (*device, role),
                      "values": "1+0x2000"}
                     for device, role in zip(sorted(devices), itertools.cycle(("switch-management", "sub-device")))]


def what_fires(points):
    """{alert: [(labels, the texts)]} that promtool did not expect at points {alert: (time, test)}."""
    tests = {}
    for alert, (when, test) in points.items():
        entry = tests.setdefault(id(test), {"interval": test["interval"], "input_series": test["input_series"],
                                            "alert_rule_test": []})
        entry["alert_rule_test"].append({"alertname": alert, "eval_time": when})
    output = run_tests(list(tests.values()))
    by_alert = re.split(r"alertname: ?(\w+), time", output.stdout + output.stderr)[1:]
    return {alert: re.findall(r"Labels:\{(.*)\}\n\s*Annotations:\{(.*)\}", text)
            for alert, text in zip(by_alert[::2], by_alert[1::2])}


class Rules(unittest.TestCase):
    def test_promtool_takes_them(self):
        done = promtool("check", "rules", *(os.path.join(DIRECTORY, name) for name in RULES))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_their_tests_pass(self):
        done = promtool("test", "rules", *TESTS)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_every_alert_fires_in_a_test(self):
        fires = {ALERT.search(query["expr"]).group(1) for query, _ in expressions()
                 if ALERT.search(query["expr"]) and query.get("exp_samples")}
        self.assertEqual(fires, {rule["alert"] for rule in rules("alerts.yml", "alert")})

    def test_no_alert_but_that_of_a_failure_is_about_a_device_that_is_no_nic(self):
        query = 'group by (alertname, device) (ALERTS{device!="", alertname!="RdmaDeviceFatal"})'
        done = run_tests([{"interval": test["interval"], "input_series": of_no_nics(test),
                           "promql_expr_test": [{"expr": query, "eval_time": each["eval_time"]}
                                                for each in test["promql_expr_test"]]}
                          for path in TESTS for test in load(path)["tests"]])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_every_alert_is_silent_about_something_in_its_test(self):
        for rule in rules("alerts.yml", "alert"):
            # The expected result is the whole answer.
            silent = [query for query, test in expressions()
                      if (named := ALERT.search(query["expr"]))
                      and re.fullmatch(named.group(1), rule["alert"])
                      and len(query.get("exp_samples", [])) < len(test["input_series"])]
            self.assertTrue(silent, rule["alert"])

    def test_an_alert_says_how_bad_it_is_what_it_means_and_what_to_do_first(self):
        for rule in rules("alerts.yml", "alert"):
            with self.subTest(rule["alert"]):
                self.assertRegex(rule["alert"], "^Rdma")
                self.assertIn(rule["labels"]["severity"], ("critical", "warning", "info"))
                self.assertEqual(sorted(rule["annotations"]), ["description", "runbook_url", "summary"])
                self.assertIn("First", rule["annotations"]["description"])
                self.assertLess(len(rule["annotations"]["summary"]), 120)

    def test_the_runbook_of_each_alert_has_meaning_cause_and_what_to_do(self):
        pages = set(os.listdir(os.path.join(DIRECTORY, "runbooks")))
        self.assertEqual(pages, {rule["alert"] + ".md" for rule in rules("alerts.yml", "alert")})
        for rule in rules("alerts.yml", "alert"):
            path = os.path.join(SOURCE, rule["annotations"]["runbook_url"])
            self.assertEqual(os.path.basename(path), rule["alert"] + ".md")
            with open(path, encoding="utf-8") as file:
                text = file.read()
            title, *sections = re.split(r"^#+ (.*)\n", text, flags=re.M)[1::2]
            self.assertEqual((title, sections), (rule["alert"], ["Meaning", "Cause", "What to do"]))
            self.assertTrue(all(part.strip() for part in re.split(r"^##+ .*\n", text, flags=re.M)), title)
            for link in re.findall(r"\]\((.*?)\)", text):
                self.assertIn(link, pages, title)

    def test_texts_are_filled_in_from_labels_that_the_alert_has(self):
        templates = {rule["alert"]: rule["annotations"] for rule in rules("alerts.yml", "alert")}
        points = {}
        for query, test in expressions():
            named = ALERT.search(query["expr"])
            if named and query.get("exp_samples"):
                points.setdefault(named.group(1), (query["eval_time"], test))
        self.assertEqual(set(points), set(templates))
        fired = what_fires(points)
        for alert, annotations in templates.items():
            wanted = set(re.findall(r"\$labels\.(\w+)", " ".join(annotations.values())))
            self.assertTrue(fired.get(alert), alert)
            for labels, texts in fired[alert]:
                has = set(re.findall(r'(\w+)="', labels))
                self.assertLessEqual(wanted, has, alert)
                self.assertNotRegex(texts, r"\{\{|<no value>|<error|%!|\\n|NaN", alert)

    def test_recorded_names_tell_level_metric_and_operation(self):
        for rule in rules("recording.yml", "record"):
            self.assertRegex(rule["record"], r"^[a-z_]+:rdma_[a-z0-9_]+:[a-z0-9_]+$")

    def test_recorded_series_are_used_or_tested(self):
        used = " ".join(rule["expr"] for rule in rules("alerts.yml", "alert")
                        + rules("recording.yml", "record"))
        used += " ".join(query["expr"] for query, _ in expressions())
        for rule in rules("recording.yml", "record"):
            self.assertRegex(used, rf"\b{rule['record']}\b")


if not shutil.which("promtool"):
    print("1..0 # SKIP promtool is missing: apt-get install prometheus")
    sys.exit()
tap.main()
