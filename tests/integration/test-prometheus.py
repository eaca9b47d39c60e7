#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus scrapes rdmad: test-prometheus.py RDMAD MODULE-DIR

It asks for OpenMetrics by itself; text comes to it through a relay that asks for it.  Rules and
dashboards of contrib are asked of what it has then.
"""

import http.server
import os
import re
import sys
import threading

import yaml

from plugin_case import INSTRUMENTED, MODULES, RDMAD, PluginCase, tap

import dashboard_queries as contrib
from machine_changes import Machine
from metrics_daemon import OPENMETRICS, TEXT, MetricsDaemon, expand
from ports import free_port
from prometheus_server import Prometheus, fetch, installed, wait_for

# Of rdmad itself, and of one scrape: they move from one to the next.
MOVING = re.compile(r"rdmad_|process_|scrape_|.*_duration_seconds|up$")
RULES = [os.path.join(contrib.CONTRIB, f"prometheus/{name}.yml") for name in ("recording", "alerts")]
MODULE = "of a module that does not run here; the name is in its table of stats"
NETDEV = "the driver's statistics of an interface: real hardware only"
DRIVER = "counter of a driver that no recorded machine has"
# Queries without data on the recorded machine, by panel and target.
WITHOUT_DATA = {
    "(PFC pause.*|Pause frames|NIC discards|PCIe stalls|Forward error.*|Pre-FEC bit errors) .": NETDEV,
    "(Queue pairs.*|Memory regions|Completion queues|CM ids|Objects by device) .":
        "who uses a device is told by RDMA netlink: live machines only",
    "Unreadable counters .": "all can be read",
    "Throughput of shared devices .": "a pod has each device alone",
    "(CNI|NCCL|eRDMA|SMC|Outdated NCCL|Containers without NCCL).*": MODULE,
}
# Metrics that no recorded machine shows.
NOT_RECORDED = {
    **{name: MODULE for name in contrib.module_families()},
    **{name: NETDEV for name in contrib.netdev_families()},
    r"rdma_(res_oos|max_retry|seq_err|to_retrans|dup_req|rnr_naks_rcvd|[rt]x_(pkts|cnp|ecn|bytes)).*":
        DRIVER + ": bnxt_re, efa",
    r"rdma_(rcvd|sent|out_of_seq_request|completer|retry).*": DRIVER + ": rxe, in the lab",
    r"rdma_(pod|device)_(queue_pairs|completion_queues|memory_regions|cm_ids|protection_domains|contexts)":
        "who uses a device is told by RDMA netlink: live machines only",
    "rdma_netns_mode": "told by RDMA netlink: live machines only",
    "rdma_counters_saturated": "only while a counter stands at its maximum",
}
# Alerts that a recorded machine rightly has.
EXPECTED_ALERTS = {"RdmaCollectorFailing"}      # no RDMA netlink, so no users


def explained(table, name):
    return any(re.fullmatch(pattern, name) for pattern in table)


def names_in(text):
    """As samples have them."""
    return set(re.findall(r"^([a-z_0-9]+)[{ ]", text, re.M))


class Relay(http.server.ThreadingHTTPServer):
    """Asks rdmad for text in the place of what Prometheus asks for, and keeps the last answer."""

    daemon_threads = True

    def __init__(self, port):
        self.upstream = f"http://127.0.0.1:{port}/metrics"
        self.last = None
        super().__init__(("127.0.0.1", 0), RelayHandler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def lines(self):
        return [line for line in self.last.decode().splitlines() if not line.startswith("#")]


class RelayHandler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        headers, body = fetch(self.server.upstream, {"Accept": TEXT})
        self.server.last = body
        self.send_response(200)
        self.send_header("Content-Type", headers["Content-Type"])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def job(name, address, **more):
    return {"job_name": name, "static_configs": [{"targets": [address], "labels": {"instance": "node"}}],
            **more}


class PrometheusCase(PluginCase):
    SECONDS = "3s" if INSTRUMENTED else "2s"
    INTERVAL = {"scrape_interval": SECONDS, "scrape_timeout": SECONDS, "evaluation_interval": SECONDS}

    def start_rdmad(self, metrics="", resources='{ name = "rdma/rail"; mode = "exclusive"; }'):
        self.port = free_port()
        self.start_kubelet()
        self.start_daemon(f"modules = {{ device-plugin = {{ resources = ( {resources} ); }}; "
                          f'metrics = {{ listen = "127.0.0.1:{self.port}"; {metrics} }}; }};',
                          "--module=metrics")
        self.wait_ready(11, "rdma/rail")

    def give_pod_rails(self, count):
        self.kubelet.allocate("ml/train-0", "rdma/rail", count)
        self.ask("allocations", "--refresh")
        self.wait_for(lambda: [allocation for allocation in self.allocations().values() if allocation["pod"]],
                      "pod of the allocation")

    def start_prometheus(self, *jobs, rules=()):
        directory = os.path.join(self.dir, "prometheus")
        os.mkdir(directory)
        prometheus = Prometheus(directory, {"global": self.INTERVAL, "rule_files": list(rules),
                                         "scrape_configs": list(jobs)})
        self.addCleanup(prometheus.stop)
        prometheus.wait_scraped()
        return prometheus

    def series(self, prometheus, name):
        """{(metric, labels): value} of a job, without what moves."""
        found = {}
        for series in prometheus.get("query", query=f'{{job="{name}"}}')["result"]:
            labels = dict(series["metric"])
            labels.pop("job")
            metric = labels.pop("__name__")
            if not MOVING.match(metric):
                found[metric, tuple(sorted(labels.items()))] = float(series["value"][1])
        return found


class Formats(PrometheusCase):
    def test_both_formats_give_the_same_series_and_none_is_lost(self):
        self.start_rdmad()
        relay = Relay(self.port)
        self.addCleanup(relay.shutdown)
        prometheus = self.start_prometheus(job("open", f"127.0.0.1:{self.port}"),
                                           job("text", f"127.0.0.1:{relay.server_port}"))
        text = self.series(prometheus, "text")
        self.assertGreater(len(text), 800)
        self.assertEqual(self.series(prometheus, "open"), text)
        self.check_all_lines_arrive(prometheus, relay)
        self.check_values(text)
        self.check_types(prometheus)
        self.assertEqual(prometheus.warnings(), [])

    def check_all_lines_arrive(self, prometheus, relay):
        def same():
            return len(relay.lines()) == prometheus.value('scrape_samples_scraped{job="text"}')
        wait_for(same, "scrape whose lines are all samples")
        added = prometheus.value('scrape_samples_post_metric_relabeling{job="text"}')
        self.assertEqual(prometheus.value('scrape_samples_scraped{job="text"}'), added)

    def check_values(self, series):
        machine = Machine(self.machine)
        devices = machine.devices()
        self.assertEqual(len(devices), 11)
        for device in devices:
            labels = (("device", device), ("instance", "node"), ("port", "1"))
            read = f"infiniband/{device}/ports/1/"
            self.assertEqual(series["rdma_port_receive_bytes_total", labels],
                             4 * int(machine.read(read + "counters/port_rcv_data")))
            self.assertEqual(series["rdma_out_of_sequence_total", labels],
                             int(machine.read(read + "hw_counters/out_of_sequence")))
            self.assertEqual(series["rdma_port_state_id", labels], 4)
            self.assertEqual(series["rdma_hw_counters_lifespan_seconds", labels], 0.01)

    def check_types(self, prometheus):
        """As Prometheus knows them of the target that speaks OpenMetrics."""
        known = {entry["metric"]: entry for entry in
                 prometheus.get("targets/metadata", match_target='{job="open"}')}
        for metric, kind in (("rdma_port_receive_bytes", "counter"), ("rdma_port_state_id", "gauge"),
                             ("rdma_device", "info"), ("rdmad_loop_latency_seconds", "histogram")):
            self.assertEqual(known[metric]["type"], kind)
            self.assertTrue(known[metric]["help"])
        self.assertEqual(known["rdma_port_receive_bytes"]["unit"], "bytes")

    def test_each_format_says_what_it_is(self):
        self.start_rdmad()
        url = f"http://127.0.0.1:{self.port}/metrics"
        headers, body = fetch(url, {"Accept": OPENMETRICS})
        self.assertEqual(headers["Content-Type"],
                         "application/openmetrics-text; version=1.0.0; charset=utf-8")
        self.assertTrue(body.endswith(b"# EOF\n"))
        headers, body = fetch(url, {"Accept": TEXT})
        self.assertEqual(headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        self.assertNotIn(b"# EOF", body)


class Contrib(PrometheusCase):
    """Rules and dashboards against what rdmad says."""

    def start(self, machine_pods=True):
        self.start_rdmad()
        if machine_pods:
            self.give_pod_rails(2)
        return self.start_prometheus(job("rdmad", f"127.0.0.1:{self.port}"), rules=RULES)

    def move(self, *counters):
        """Without packets there is nothing to divide by."""
        machine = Machine(self.machine)
        for device in machine.devices():
            for counter in counters:
                path = f"infiniband/{device}/ports/1/counters/{counter}"
                machine.write(path, str(int(machine.read(path)) + 1000))

    def test_no_alert_on_a_healthy_node_and_no_rule_that_cannot_be_evaluated(self):
        prometheus = self.start()
        prometheus.wait_evaluated()
        rules = [rule for group in prometheus.get("rules")["groups"] for rule in group["rules"]]
        self.assertGreater(len(rules), 50)
        for rule in rules:
            self.assertEqual((rule["health"], rule.get("lastError")), ("ok", None), rule["name"])
        alerts = {alert["labels"]["alertname"] for alert in prometheus.get("alerts")["alerts"]}
        self.assertLessEqual(alerts, EXPECTED_ALERTS)
        self.assertEqual(prometheus.warnings(), [])

    def test_a_port_that_goes_down_is_an_alert_in_waiting(self):
        prometheus = self.start(machine_pods=False)
        machine = Machine(self.machine)
        state = "infiniband/mlx5_3/ports/1/state"
        self.addCleanup(machine.write, state, machine.read(state))
        machine.write(state, "1: DOWN")

        def waits():
            return [alert["labels"]["device"] for alert in prometheus.get("alerts")["alerts"]
                    if alert["labels"]["alertname"] == "RdmaPortDown"]
        self.assertEqual(wait_for(waits, "RdmaPortDown"), ["mlx5_3"])

    def test_every_query_of_the_dashboards_has_data_or_a_reason(self):
        prometheus = self.start()
        self.move("port_rcv_packets", "port_xmit_packets")
        prometheus.wait_scraped(prometheus.value("max(count_over_time(up[1h]))") + 3)
        with_data = 0
        for board, panel, expression in contrib.panels():
            found = prometheus.query(contrib.fill(expression))
            with_data += bool(found)
            self.assertTrue(found or explained(WITHOUT_DATA, panel), (board, panel, expression))
        self.assertGreater(with_data, 50)

    def test_every_variable_of_the_dashboards_has_values(self):
        prometheus = self.start()
        for board, name, query in contrib.variables():
            match, label = re.fullmatch(r"label_values\((.*), (\w+)\)", contrib.fill(query)).groups()
            found = prometheus.get(f"label/{label}/values", **{"match[]": match})
            self.assertTrue(found, (board, name))

    def test_metrics_that_rules_and_dashboards_name_exist(self):
        self.start_rdmad()
        self.give_pod_rails(1)
        known = names_in(fetch(f"http://127.0.0.1:{self.port}/metrics", {"Accept": TEXT})[1].decode())
        for machine in ("broken", "erdma", "mixed", "infiniband"):
            known |= self.families_of(machine)
        for name, where in contrib.metrics_named().items():
            if name not in known:
                self.assertTrue(explained(NOT_RECORDED, name), f"{name} ({where})")

    def families_of(self, machine):
        root = os.path.join(self.dir, machine)
        expand(machine, root)
        with MetricsDaemon(RDMAD, MODULES, root) as daemon:
            return names_in(daemon.metrics())


class Kubernetes(PrometheusCase):
    def test_the_job_names_the_node_and_leaves_labels_of_pods_alone(self):
        with open(os.path.join(contrib.CONTRIB, "prometheus/scrape-kubernetes.yml")) as file:
            text = file.read()
        self.start_rdmad()
        self.give_pod_rails(1)
        found = yaml.safe_load(text.replace(":9889", f":{self.port}"))["scrape_configs"][0]
        # Discovery's labels of the chart's pod, which declares no port; Debian's Prometheus was built without it.
        del found["kubernetes_sd_configs"]
        container = {"__meta_kubernetes_pod_node_name": "gpu-01", "__meta_kubernetes_pod_name": "rdmad-x7k2p",
                     "__meta_kubernetes_namespace": "kube-system", "__meta_kubernetes_pod_ip": "127.0.0.1"}
        found["static_configs"] = [
            {"targets": ["127.0.0.1"], "labels": container | {"__meta_kubernetes_pod_container_name": name,
                                                              "__meta_kubernetes_pod_container_init": init}}
            for name, init in (("install-cni", "true"), ("rdmad", "false"))]
        prometheus = self.start_prometheus(found)
        (target,) = prometheus.targets()
        self.assertEqual(target["labels"], {"instance": "gpu-01", "job": "rdmad", "node": "gpu-01"})
        ((labels, value),) = prometheus.query("rdma_pod_device_info")
        self.assertEqual((labels["namespace"], labels["pod"], value), ("ml", "train-0", 1))


if not installed():
    print("1..0 # SKIP prometheus is missing: apt-get install prometheus")
else:
    tap.main(sys.argv[3:])
