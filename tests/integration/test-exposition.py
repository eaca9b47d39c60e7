#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The metrics of every recorded machine, judged by Prometheus' own programs:
test-exposition.py RDMAD MODULE-DIR

promtool looks at the text; a Prometheus, whose parser of OpenMetrics is strict, takes the other format.
"""

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
sys.dont_write_bytecode = True
import tap  # noqa: E402
from metrics_daemon import OPENMETRICS, MetricsDaemon, expand, machines  # noqa: E402
from prometheus_server import Prometheus, installed, wait_for  # noqa: E402

try:
    from prometheus_client.openmetrics.parser import \
        text_string_to_metric_families as openmetrics_parser
except ImportError:
    openmetrics_parser = None

RDMAD, MODULES = sys.argv[1:3]


def lint(text):
    """The complaints of `promtool check metrics`."""
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True,
                          check=False, timeout=60)
    return done.stdout + done.stderr


class Exposition(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="rdmad-machines-")
        cls.addClassCleanup(cls.directory.cleanup)
        for machine in machines():
            expand(machine, cls.root(machine))

    @classmethod
    def root(cls, machine):
        return os.path.join(cls.directory.name, machine)

    def daemon(self, machine, names):
        return MetricsDaemon(RDMAD, MODULES, self.root(machine), f'names = "{names}";')

    def test_promtool_has_nothing_against_any_machine_under_native_names(self):
        for machine in machines():
            with self.daemon(machine, "native") as daemon:
                self.assertEqual(lint(daemon.metrics()), "", machine)

    def test_promtool_has_nothing_against_any_machine_under_both_names(self):
        for machine in machines():
            with self.daemon(machine, "both") as daemon:
                self.assertEqual(lint(daemon.metrics()), "", machine)

    def test_a_family_without_help_would_be_found(self):
        self.assertIn("no help", lint("# TYPE rdma_x_total counter\nrdma_x_total 1\n"))

    @unittest.skipIf(openmetrics_parser is None, "apt-get install python3-prometheus-client")
    def test_the_strict_parser_of_openmetrics_takes_every_machine(self):
        for machine in machines():
            for names in ("native", "compat", "both"):
                with self.daemon(machine, names) as daemon:
                    text = daemon.metrics(OPENMETRICS)
                families = list(openmetrics_parser(text))
                self.assertEqual(sum(len(family.samples) for family in families),
                                 len(re.findall(r"^[a-z]", text, re.M)), machine)

    def test_a_prometheus_takes_the_openmetrics_of_every_machine(self):
        with contextlib.ExitStack() as stack:
            daemons = {machine: stack.enter_context(self.daemon(machine, "both"))
                       for machine in machines()}
            directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="rdmad-prometheus-"))
            prometheus = Prometheus(directory, {
                "global": {"scrape_interval": "2s", "scrape_timeout": "2s"},
                "scrape_configs": [{"job_name": "rdmad", "static_configs": [
                    {"targets": [daemon.address], "labels": {"instance": machine}}
                    for machine, daemon in daemons.items()]}]})
            stack.callback(prometheus.stop)
            prometheus.wait_scraped()
            wait_for(lambda: {labels["instance"]: value for labels, value in prometheus.query("up")} ==
                     {machine: 1 for machine in machines()}, "scrape of each")
            self.assertEqual(prometheus.warnings(), [])


if not installed():
    print("1..0 # SKIP promtool is missing: apt-get install prometheus")
else:
    tap.main()
