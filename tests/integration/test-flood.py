#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Kubelet is served before strangers: test-flood.py RDMAD MODULE-DIR

Sixteen clients poll a TCP listener for its largest answers for ever.  How fast Allocate is meanwhile is
a benchmark (tests/bench/flood.py); here it only must not wait behind them.
"""

import json
import resource
import socket
import statistics
import time
import urllib.request

from http_flood import Flood
from plugin_case import ATTEMPTS, HCA, PATIENCE, PluginCase, tap
from ports import free_port

ALLOCATIONS = 2000
CALLS = 40
FLOODS = [
    ["/api/v1/events", "/api/v1/allocations"],
    ["/metrics", "/"],
    ["/api/v1/devices", "/api/v1/topology", "/api/v1/status", "/api/v1/doctor"],
]
CONFIG = """modules = {
	device-plugin = { resources = ( { name = "rdma/hca"; count = %d; } ); };
	metrics = { listen = "127.0.0.1:%d"; };
};"""


class UnderFlood(PluginCase):
    def setUp(self):
        super().setUp()
        self.port = free_port()
        self.start_kubelet()
        count = ALLOCATIONS + 2 * CALLS * ATTEMPTS * len(FLOODS) + 1
        self.start_daemon(CONFIG % (count, self.port), "--module=metrics")
        self.wait_ready(count)
        self.slots = iter(sorted(self.kubelet.manager.resources[HCA].healthy))
        for _ in range(0, ALLOCATIONS, 20):
            self.allocate_raw(*([next(self.slots)] for _ in range(20)))

    def times(self):
        taken = []
        for _ in range(CALLS):
            began = time.monotonic()
            self.allocate_raw([next(self.slots)])
            taken.append(time.monotonic() - began)
        return statistics.median(taken)

    def get(self, path):
        url = f"http://127.0.0.1:{self.port}{path}"
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
            return json.load(answer)

    def test_allocate_does_not_wait_behind_a_flood(self):
        def attempt():
            """What it takes, as a part of what it may take."""
            quiet = self.times()
            with Flood(self.port, paths) as flood:
                flooded = self.times()
            self.assertGreater(flood.answers, 0)
            return flooded / (5 * quiet + 0.02)

        for paths in FLOODS:
            with self.subTest(paths=paths):
                self.check_soon(attempt, 1)

    def test_what_strangers_share_is_true_again_soon(self):
        before = self.get("/api/v1/allocations")["allocations"]
        self.assertEqual(len(before), ALLOCATIONS)
        self.allocate_raw([next(self.slots)])
        self.assertEqual(len(self.allocations()), ALLOCATIONS + 1)    # the control socket: at once
        self.wait_for(lambda: len(self.get("/api/v1/allocations")["allocations"]) == ALLOCATIONS + 1,
                      "allocation in the answer of the TCP listener")
        events = self.get("/api/v1/events")
        self.assertEqual([e["sequence"] for e in events["events"]],
                         list(range(events["last"] - 1023, events["last"] + 1)))
        few = self.get(f"/api/v1/events?after={events['last'] - 2}")
        self.assertEqual(few["events"], events["events"][-2:])


class Descriptors(PluginCase):
    """More connections are allowed than the process may open files."""

    def setUp(self):
        super().setUp()
        self.port = free_port()
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (128, before[1]))
        try:
            self.start_daemon("http = { max_connections = 4096; };" + CONFIG % (8, self.port),
                              "--module=metrics")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
        self.wait_for(lambda: "is ready" in self.log(), "ready daemon")

    def test_connections_leave_descriptors_for_others(self):
        self.assertIn("http.max_connections: ", self.log())
        silent = []
        for n in range(200):
            client = socket.create_connection(("127.0.0.1", self.port), PATIENCE,
                                              (f"127.0.1.{n + 1}", 0))
            self.addCleanup(client.close)
            silent.append(client)
        listeners = {listener["address"]: listener
                     for listener in self.ask("status")["listeners"]}
        self.assertEqual(listeners[f"127.0.0.1:{self.port}"]["connections"], 32)
        self.assertNotIn("cannot accept", self.log())


tap.main()
