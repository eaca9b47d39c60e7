#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""rdmad's own stats, as they are scraped: test-own-metrics.py RDMAD MODULE-DIR [TEST...]"""

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request

sys.dont_write_bytecode = True

from plugin_case import HCA, PATIENCE, PluginCase, tap  # noqa: E402
from ports import free_port  # noqa: E402

SAMPLE = re.compile(r'([a-z0-9_]+)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'([a-z0-9_]+)="([^"]*)"')


class OwnMetricsTest(PluginCase):
    def setUp(self):
        super().setUp()
        self.port = free_port()

    def start(self, **kubelet):
        self.start_kubelet(**kubelet)
        self.start_daemon('modules = { device-plugin = { }; metrics = { listen = "127.0.0.1:%d"; }; };'
                          % self.port, "--module=metrics")
        self.wait_ready()

    def scrape(self):
        """{(name, label value, ...): value}; the order of labels is that of their names."""
        found = {}
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics",
                                    timeout=PATIENCE) as response:
            for line in response.read().decode().splitlines():
                if line.startswith("#"):
                    continue
                name, labels, value = SAMPLE.match(line).groups()
                values = [pair[1] for pair in sorted(LABEL.findall(labels or ""))]
                found[(name, *values)] = float(value)
        return found

    def state_size(self):
        return sum(os.stat(os.path.join(self.dir, "state", name)).st_size for name in ("rdmad.db", "rdmad.db-wal"))

    def test_what_kubelet_asked_for_is_counted(self):
        self.start()
        before = self.scrape()
        self.assertEqual(before["rdma_resource_slots", HCA], 1000)
        self.assertEqual(before["rdma_resource_slots_unhealthy", HCA], 0)
        self.assertEqual(before["rdma_resource_slots_allocated", HCA], 0)
        self.assertEqual(before["rdmad_kubelet_registered", HCA], 1)
        self.assertEqual(before["rdmad_allocate_duration_seconds_count",], 0)
        self.assertEqual(before["rdmad_allocations",], 0)
        self.kubelet.allocate("ml/a", HCA, 3)
        self.kubelet.allocate("ml/b", HCA, 1)
        with self.assertRaises(Exception):
            self.allocate_raw(["nonsense"])
        now = self.scrape()
        self.assertEqual(now["rdma_resource_slots_allocated", HCA], 4)
        self.assertEqual(now["rdma_resource_allocations", HCA], 2)
        self.assertEqual(now["rdmad_allocations",], 2)
        self.assertEqual(now["rdmad_allocate_duration_seconds_count",], 3)
        method = "/v1beta1.DevicePlugin/Allocate"
        self.assertEqual(now["rdmad_grpc_calls_total", "OK", method], 2)
        self.assertEqual(now["rdmad_grpc_calls_total", "NOT_FOUND", method], 1)
        self.assertEqual(now["rdmad_grpc_call_duration_seconds_count", method], 3)
        self.assertGreaterEqual(now["rdmad_state_writes_total", "ok"], 2)
        self.assertEqual(now["rdmad_state_writes_total", "error"], 0)
        self.assertEqual(now["rdmad_events_total", "allocation-granted"], 2)
        # The names of the pods may be written between the two.
        self.wait_for(lambda: self.scrape()["rdmad_state_size_bytes",] == self.state_size(), "size of the database")
        # The histogram's sum is of what a call takes, not of what it waits for.
        self.assertLess(now["rdmad_allocate_duration_seconds_sum",], 3)

    def test_registering_is_a_call_of_ours(self):
        self.start(registry=False)
        register = "rdmad_grpc_client_calls_total", "OK", "/v1beta1.Registration/Register"
        # Kubelet answers after it has connected.
        self.wait_for(lambda: register in self.scrape(), "answer of kubelet")
        self.assertEqual(self.scrape()[register], 1)
        self.kubelet.stop()
        self.wait_for(lambda: self.scrape()["rdmad_kubelet_registered", HCA] == 0, "loss of kubelet")

    def test_modules_and_configuration(self):
        self.start()
        now = self.scrape()
        self.assertEqual(now["rdmad_build_info", self.version()], 1)
        self.assertEqual(now["rdmad_module_up", "device-plugin"], 1)
        self.assertEqual(now["rdmad_module_up", "metrics"], 1)
        self.assertEqual(now["rdmad_config_last_reload_successful",], 1)
        loaded = now["rdmad_config_last_reload_timestamp_seconds",]
        self.assertAlmostEqual(loaded, time.time(), delta=PATIENCE)
        self.write_config("modules = 7;")
        self.daemon.send_signal(signal.SIGHUP)
        self.wait_for(lambda: self.scrape()["rdmad_config_last_reload_successful",] == 0, "refusal")
        self.assertEqual(self.scrape()["rdmad_config_last_reload_timestamp_seconds",], loaded)
        self.assertEqual(self.scrape()["rdmad_events_total", "config-refused"], 1)

    def version(self):
        return self.ask("status")["version"]

    def started(self):
        """Seconds since 1970, as ps has it."""
        text = subprocess.run(["ps", "-o", "lstart=", "-p", str(self.daemon.pid)], check=True, capture_output=True,
                              text=True, env={**os.environ, "LC_ALL": "C"}).stdout
        return time.mktime(time.strptime(text.strip(), "%a %b %d %H:%M:%S %Y"))

    def test_the_process_is_as_proc_has_it(self):
        self.start()
        self.scrape()
        proc = f"/proc/{self.daemon.pid}/"

        def differ():
            return abs(self.scrape()["process_open_fds",] - len(os.listdir(proc + "fd")))

        # One of them is the scrape's own directory, or not any more; kubelet may still close a connection.
        self.wait_for(lambda: differ() <= 2, "number of descriptors")
        now = self.scrape()
        with open(proc + "statm", encoding="ascii") as file:
            virtual, resident = (int(word) * os.sysconf("SC_PAGESIZE")
                                 for word in file.read().split()[:2])
        self.assertAlmostEqual(now["process_virtual_memory_bytes",], virtual, delta=virtual / 2)
        self.assertAlmostEqual(now["process_resident_memory_bytes",], resident, delta=resident / 4)
        self.assertAlmostEqual(now["process_start_time_seconds",], self.started(), delta=5)
        self.assertGreater(now["process_max_fds",], now["process_open_fds",])
        used = now["process_cpu_seconds_total",]
        self.assertGreater(used, 0)
        self.assertGreater(self.scrape()["process_cpu_seconds_total",], used)

    def test_the_loop_and_its_workers_are_timed(self):
        self.start()
        self.scrape()
        now = self.scrape()
        self.assertEqual(now["rdmad_loop_latency_seconds_count",], now["rdmad_loop_turns_total",])
        self.assertGreater(now["rdmad_work_jobs_total", "counters", "ok"], 0)
        self.assertGreater(now["rdmad_work_job_duration_seconds_count", "counters"], 0)
        self.assertGreater(now["rdmad_work_threads",], 0)
        self.assertEqual(now["rdmad_hardware_scans_total", "ok"], 1)
        self.assertEqual(now["rdmad_hardware_scans_total", "error"], 0)
        self.assertEqual(now["rdmad_hardware_scan_duration_seconds_count",], 1)


if __name__ == "__main__":
    tap.main(sys.argv[3:])
