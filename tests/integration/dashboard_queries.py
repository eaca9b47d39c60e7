# SPDX-License-Identifier: Apache-2.0
"""The queries of contrib/grafana and the metrics that rules and dashboards name."""

import glob
import json
import os
import re

import yaml

SOURCE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../..")
CONTRIB = os.path.join(SOURCE, "contrib")
# Metrics, not functions, labels or recorded series (which have colons).
METRIC = re.compile(r"(?<![\w:])((?:rdmad?|process|node_infiniband)_[a-z0-9_]+)(?![\w:])")


def all_panels(board):
    """Those inside of collapsed rows as well."""
    for panel in board["panels"]:
        yield panel
        yield from panel.get("panels", [])


def panels():
    """(dashboard, title of the panel and letter of the target, expression) of all targets."""
    for path in sorted(glob.glob(os.path.join(CONTRIB, "grafana/*.json"))):
        with open(path, encoding="utf-8") as file:
            board = json.load(file)
        for panel in all_panels(board):
            for target in panel.get("targets", []):
                yield board["uid"], f"{panel['title']} {target['refId']}", target["expr"]


def variables():
    """(dashboard, name, query) of what a dashboard lets choose."""
    for path in sorted(glob.glob(os.path.join(CONTRIB, "grafana/*.json"))):
        with open(path, encoding="utf-8") as file:
            board = json.load(file)
        for variable in board["templating"]["list"]:
            if variable["type"] == "query":
                yield board["uid"], variable["name"], variable["query"]["query"]


def fill(expression, rate_interval="10s", time_range="1m"):
    """As Grafana would ask with all chosen."""
    expression = expression.replace("$__rate_interval", rate_interval)
    expression = expression.replace("$__range", time_range)
    return re.sub(r"\$\{?\w+\}?", ".*", expression)


def rule_expressions():
    for name in ("recording", "alerts"):
        with open(os.path.join(CONTRIB, f"prometheus/{name}.yml"), encoding="utf-8") as file:
            for group in yaml.safe_load(file)["groups"]:
                for rule in group["rules"]:
                    yield rule.get("alert") or rule["record"], rule["expr"]


def metrics_of(expression):
    """Label values in quotes are not metrics."""
    return set(METRIC.findall(re.sub(r'"[^"]*"', '""', expression)))


def metrics_named():
    """{metric: where} of everything that rules and dashboards name; bucket series under their family."""
    named = {}
    for where, expression in [*rule_expressions(),
                              *((f"{board}: {title}", text) for board, title, text in panels()),
                              *((f"{board}: ${name}", text) for board, name, text in variables())]:
        for metric in metrics_of(expression):
            named.setdefault(metric, where)
    return named


def module_families():
    """As samples have them: what the modules' tables of stats lead to, whether or not a machine shows them."""
    found = set()
    for path in glob.glob(os.path.join(SOURCE, "modules/*/**/*.c"), recursive=True):
        with open(path, encoding="utf-8") as file:
            found |= set(re.findall(r'"(rdmad?_(?:cni|nccl|erdma|kube)_[a-z0-9_]+)"', file.read()))
    assert len(found) > 15, found
    return {f"{name}{suffix}" for name in found for suffix in ("", "_total", "_count", "_bucket")}


def netdev_families():
    """Families of counters that only real interfaces have, from the module's table of drivers' names."""
    path = os.path.join(SOURCE, "modules/metrics/names/netdev.c")
    with open(path, encoding="utf-8") as file:
        found = re.findall(r'FAMILY\("(\w+)"\)', file.read())
    assert len(found) > 20, path
    return {f"rdma_netdev_{name}{suffix}" for name in found for suffix in ("", "_total")}
