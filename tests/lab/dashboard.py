# SPDX-License-Identifier: Apache-2.0
"""Asks the queries of contrib/grafana of a Prometheus that scrapes the lab's rdmad, and looks at all
rules: for test-dashboard.sh, in its directory."""

import collections
import os
import re
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, "../integration"))

import dashboard_queries as contrib  # noqa: E402
from prometheus_server import Prometheus  # noqa: E402

SCRAPES = 8
RATE_INTERVAL = "30s"
# Queries without a counter of soft-RoCE: panel and target.
WITHOUT_DATA = {
    "(Throughput.*|Utilization|Receive|Transmit) .": "soft-RoCE counts packets, and no bytes",
    "(ECN-marked packets|Congestion notifications|Completions with errors) .|Receiver not .* C":
        "counters of real cards",
    "Port errors .": "soft-RoCE has no counters of the port",
    "(PFC pause.*|Pause frames|NIC discards|PCIe stalls|Forward error.*|Pre-FEC bit errors) .":
        "statistics of a real interface",
    "Unreadable counters .": "all can be read",
    "(CNI|NCCL|eRDMA|SMC|Outdated NCCL|Containers without NCCL).*": "of a module that does not run there",
}


def reason(panel):
    return next((text for pattern, text in WITHOUT_DATA.items() if re.fullmatch(pattern, panel)), None)


def start():
    os.makedirs("prometheus")
    rules = [os.path.join(contrib.CONTRIB, f"prometheus/{name}.yml") for name in ("recording", "alerts")]
    return Prometheus(os.path.abspath("prometheus"), {
        "global": {"scrape_interval": "3s", "scrape_timeout": "3s", "evaluation_interval": "3s"},
        "rule_files": rules,
        "scrape_configs": [{"job_name": "rdmad", "static_configs": [
            {"targets": ["127.0.0.1:9889"], "labels": {"instance": "lab"}}]}]})


def look_at_dashboards(prometheus):
    """How many queries have data, how many have none for which reason, and what has none without a reason."""
    with_data, explained, unexplained = 0, collections.Counter(), []
    for board, panel, expression in contrib.panels():
        query = contrib.fill(expression, rate_interval=RATE_INTERVAL)
        if prometheus.query(query):
            with_data += 1
        elif reason(panel):
            explained[reason(panel)] += 1
        else:
            unexplained.append(f"{board}: {panel}: no data: {query}, of "
                               f"{[prometheus.query(name) for name in contrib.metrics_of(query)]}")
    return with_data, explained, unexplained


def look_at_rules(prometheus):
    rules = [rule for group in prometheus.get("rules")["groups"] for rule in group["rules"]]
    bad = [f"rule {rule['name']}: {rule['lastError']}" for rule in rules if rule["health"] != "ok"]
    recorded = {rule["name"] for rule in rules if rule["type"] == "recording"} & prometheus.names()
    print(f"{len(rules)} rules, {len(bad)} that cannot be evaluated")
    print(f"recorded: {sorted(recorded)}")
    alerts = {alert["labels"]["alertname"] for alert in prometheus.get("alerts")["alerts"]}
    print(f"alerts: {sorted(alerts)}")
    return bad


def main():
    prometheus = start()
    try:
        prometheus.wait_scraped(SCRAPES)
        prometheus.wait_evaluated()
        with_data, explained, unexplained = look_at_dashboards(prometheus)
        bad = look_at_rules(prometheus)
        packets = prometheus.query("sum(device_port:rdma_transmit_packets:rate5m)")
        print(f"{with_data} queries with data; without, and why: {dict(explained)}")
        print(f"packets a second: {packets}")
        if not packets or not packets[0][1]:
            unexplained.append("no packets")
        if wrong := [*unexplained, *bad, *prometheus.warnings()]:
            sys.exit("\n".join(wrong))
    finally:
        prometheus.stop()


main()
