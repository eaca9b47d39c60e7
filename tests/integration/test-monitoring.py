#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Scrape configurations, Kubernetes objects and dashboards in contrib are whole: test-monitoring.py SOURCE"""

import glob
import itertools
import json
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
from dashboard_queries import all_panels, metrics_named, module_families  # noqa: E402

SOURCE = sys.argv[1]
CONTRIB = os.path.join(SOURCE, "contrib")
DASHBOARDS = sorted(glob.glob(os.path.join(CONTRIB, "grafana/*.json")))
COLUMNS = 24
# Those that Grafana itself has.
GLOBALS = {"__rate_interval", "__range", "__all", "__interval"}


def load(path):
    with open(os.path.join(CONTRIB, path), encoding="utf-8") as file:
        return yaml.safe_load(file)


def check_config(document):
    """promtool's complaints about a configuration; '' when there are none."""
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        yaml.safe_dump(document, file)
        file.flush()
        done = subprocess.run(["promtool", "check", "config", "--syntax-only", file.name],
                              capture_output=True, text=True, check=False, timeout=60)
    return done.stdout + done.stderr if done.returncode else ""


@unittest.skipUnless(shutil.which("promtool"), "promtool is missing: apt-get install prometheus")
class Scrape(unittest.TestCase):
    def test_the_static_jobs_are_good_configurations(self):
        for name in ("scrape", "migrate"):
            self.assertEqual(check_config(load(f"prometheus/{name}.yml")), "", name)

    def test_the_kubernetes_job_is_good_but_for_what_debian_leaves_out(self):
        document = load("prometheus/scrape-kubernetes.yml")
        for job in document["scrape_configs"]:
            self.assertTrue(job.pop("kubernetes_sd_configs"))
            job["static_configs"] = [{"targets": ["10.0.0.1:9889"]}]
        self.assertEqual(check_config(document), "")

    def test_series_of_a_migration_have_the_instance_of_what_they_replace(self):
        """As Prometheus relabels: node_exporter's address where its dashboards select by it, else the node."""
        instances = {}
        for job in load("prometheus/migrate.yml")["scrape_configs"]:
            for rule in job.get("relabel_configs", []):
                self.assertEqual((rule["source_labels"], rule["target_label"]), (["__address__"], "instance"))
                found = re.fullmatch(rule["regex"], job["static_configs"][0]["targets"][0])
                instances[job["job_name"]] = rule.get("replacement", "$1").replace("$1", found[1])
        self.assertEqual(instances, {"rdmad-as-node-exporter": "gpu-01:9100", "rdmad-as-vke": "gpu-01",
                                     "rdmad-as-rdma-exporter": "gpu-01"})

    def test_a_misspelt_key_would_be_found(self):
        document = load("prometheus/scrape.yml")
        document["scrape_configs"][0]["static_confgs"] = []
        self.assertIn("static_confgs", check_config(document))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def groups(board):
    """(title, panels, the line above them): what is shown at once, and each collapsed row."""
    yield board["title"], board["panels"], 0
    for row in board["panels"]:
        if row.get("collapsed"):
            yield row["title"], row["panels"], row["gridPos"]["y"] + 1


def overlap(a, b):
    return (a["x"] < b["x"] + b["w"] and b["x"] < a["x"] + a["w"]
            and a["y"] < b["y"] + b["h"] and b["y"] < a["y"] + a["h"])


class Dashboards(unittest.TestCase):
    """Checks without a Grafana; test-prometheus.py runs the queries."""

    def each(self):
        return [(path, json.loads(read(path))) for path in DASHBOARDS]

    def test_there_is_one_for_nodes_and_one_for_pods(self):
        self.assertEqual([board["uid"] for _, board in self.each()], ["rdmad-node", "rdmad-pod"])

    def test_files_are_tidy(self):
        for path, board in self.each():
            tidy = json.dumps(board, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
            self.assertEqual(read(path), tidy)

    def test_they_can_be_imported_anywhere(self):
        for _, board in self.each():
            self.assertIsNone(board["id"])
            self.assertGreaterEqual(board["schemaVersion"], 36)
            variables = {v["name"]: v for v in board["templating"]["list"]}
            self.assertEqual(variables["datasource"]["type"], "datasource")
            sources = {json.dumps(thing["datasource"], sort_keys=True)
                       for panel in all_panels(board) for thing in [panel, *panel.get("targets", [])]
                       if "datasource" in thing}
            self.assertEqual(sources, {'{"type": "prometheus", "uid": "${datasource}"}'})

    def test_panels_have_ids_of_their_own_and_places_of_their_own(self):
        for _, board in self.each():
            ids = [panel["id"] for panel in all_panels(board)]
            self.assertEqual(len(ids), len(set(ids)))
            for _, panels, _ in groups(board):
                for panel in panels:
                    place = panel["gridPos"]
                    self.assertTrue(0 <= place["x"] and place["x"] + place["w"] <= COLUMNS, panel["title"])
                    self.assertGreater(place["h"], 0)
                for a, b in itertools.combinations(panels, 2):
                    self.assertFalse(overlap(a["gridPos"], b["gridPos"]), (a["title"], b["title"]))

    def test_no_gap_is_left_between_rows(self):
        for _, board in self.each():
            for title, panels, top in groups(board):
                lines = {y for panel in panels
                         for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])}
                self.assertEqual(lines, set(range(top, top + len(lines))), title)

    def test_rows_are_collapsed_but_the_first_two(self):
        for _, board in self.each():
            rows = [panel for panel in board["panels"] if panel["type"] == "row"]
            self.assertEqual([row["collapsed"] for row in rows], [False] * 2 + [True] * (len(rows) - 2))
            self.assertEqual([bool(row["panels"]) for row in rows], [row["collapsed"] for row in rows])

    def test_alerts_are_annotations(self):
        for _, board in self.each():
            (alerts,) = [one for one in board["annotations"]["list"] if one["name"] == "Alerts"]
            self.assertTrue(alerts["enable"])
            self.assertEqual(alerts["datasource"], {"type": "prometheus", "uid": "${datasource}"})
            self.assertRegex(alerts["expr"], r'^ALERTS\{.*alertstate="firing".*instance=~"\$instance"\}$')

    def test_each_module_has_its_row(self):
        titles = {panel["title"] for panel in self.each()[0][1]["panels"] if panel["type"] == "row"}
        self.assertLessEqual({"Overview", "Ports", "CNI", "NCCL", "eRDMA"}, titles)

    def test_panels_have_the_titles_that_people_look_for(self):
        titles = {panel["title"] for panel in all_panels(self.each()[0][1])}
        self.assertLessEqual({"Throughput", "Link rate", "NIC discards", "Event loop latency", "CPU",
                              "Retries exceeded"}, titles)

    def test_metrics_of_modules_are_in_their_tables(self):
        known = module_families()
        named = [name for name in metrics_named() if re.match("rdmad?_(cni|nccl|erdma|kube)_", name)]
        self.assertGreater(len(named), 10)
        self.assertEqual(set(named) - known, set())

    def test_panels_say_what_they_show(self):
        for _, board in self.each():
            titles = [panel["title"] for panel in all_panels(board)]
            self.assertEqual(len(titles), len(set(titles)), sorted(titles))
            for panel in all_panels(board):
                if panel["type"] == "row":
                    continue
                self.assertTrue(panel["title"] and panel["description"], panel["title"])
                self.assertTrue(panel["targets"], panel["title"])
                refs = [target["refId"] for target in panel["targets"]]
                self.assertEqual(len(refs), len(set(refs)), panel["title"])

    def test_every_variable_is_there_and_is_used(self):
        for path, board in self.each():
            defined = {variable["name"] for variable in board["templating"]["list"]}
            used = set(re.findall(r"\$\{?(\w+)", read(path))) - GLOBALS
            self.assertEqual(used, defined)

    def test_queries_are_limited_to_what_was_chosen(self):
        for _, board in self.each():
            for panel in all_panels(board):
                for target in panel.get("targets", []):
                    for selector in re.findall(r"\brdmad?_\w+(\{[^}]*\}|)", target["expr"]):
                        self.assertIn('instance=~"$instance"', selector, panel["title"])

    def test_negative_and_dashed_series_exist(self):
        for _, board in self.each():
            for panel in all_panels(board):
                refs = {target["refId"] for target in panel.get("targets", [])}
                for override in panel.get("fieldConfig", {}).get("overrides", []):
                    self.assertIn(override["matcher"]["options"], refs, panel["title"])


tap.main()
