#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""/livez, /readyz and /healthz: test-readiness.py RDMAD MODULE-DIR [TEST...]"""

import contextlib
import http.client
import os
import signal
import socket
import sqlite3
import sys

sys.dont_write_bytecode = True

from plugin_case import HCA, PATIENCE, AdmissionError, PluginCase, tap  # noqa: E402

LINES = ["[+]ping ok", "[+]hardware ok", "[+]state ok", "[+]config ok", "[+]device-plugin ok",
         "[+]shutdown ok", "readyz check passed"]


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("rdmad", timeout=PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(self.path)


class ReadinessTest(PluginCase):
    def get(self, target):
        """Status and lines; over a connection of its own."""
        with contextlib.closing(Connection(self.socket)) as connection:
            connection.request("GET", target)
            response = connection.getresponse()
            self.assertTrue(response.getheader("Content-Type").startswith("text/plain"))
            return response.status, response.read().decode().splitlines()

    def start_alone(self, config=None, *options):
        self.start_daemon(config, *options)
        self.wait_for(lambda: "is ready" in self.log(), "ready daemon")

    def line(self, check, target="/readyz?verbose"):
        lines = [line for line in self.get(target)[1] if line[3:].startswith(check + " ")]
        self.assertEqual(len(lines), 1)
        return lines[0]

    def test_it_lives_whatever_kubelet_does(self):
        self.start_alone()
        for path in ("livez", "healthz"):
            self.assertEqual(self.get("/" + path), (200, ["ok"]))
            self.assertEqual(self.get(f"/{path}?verbose"),
                             (200, ["[+]ping ok", path + " check passed"]))

    def test_probes_come_by_tcp(self):
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        self.start_alone('modules = { metrics = { listen = "127.0.0.1:%d"; }; };' % port,
                         "--module=metrics")
        for path, expected in (("livez", 200), ("healthz", 200), ("readyz", 503)):
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
                connection.request("GET", "/" + path)
                self.assertEqual(connection.getresponse().status, expected)

    def test_it_is_ready_while_kubelet_watches(self):
        self.start_alone()
        self.wait_for(lambda: "not registered" in self.log(), "try to register")
        status, lines = self.get("/readyz")
        self.assertEqual((status, lines[-1]), (503, "readyz check failed"))
        self.assertIn("[-]device-plugin failed: rdma/hca: not registered at kubelet: "
                      "kubelet.sock is not there", lines)
        self.assertEqual(len(lines), len(LINES))
        self.start_kubelet(registry=False)
        self.wait_ready()
        self.wait_for(lambda: self.get("/readyz") == (200, ["ok"]), "readiness")
        self.assertEqual(self.get("/readyz?verbose"), (200, LINES))
        self.kubelet.stop()
        self.wait_for(lambda: self.get("/readyz")[0] == 503, "unreadiness")

    def test_each_resource_must_be_registered(self):
        self.start_alone('modules = { device-plugin = { resources = ('
                         '{ name = "a/one"; selectors = { names = "mlx5_0"; }; },'
                         '{ name = "a/two"; selectors = { names = "mlx5_1"; }; } ); }; };')
        line = self.line("device-plugin")
        self.assertRegex(line, r"^\[-\]device-plugin failed: a/one: not .*; a/two: not ")

    def test_checks_can_be_left_out(self):
        self.start_alone()
        self.assertEqual(self.get("/readyz?exclude=device-plugin"), (200, ["ok"]))
        self.assertEqual(self.line("device-plugin", "/readyz?verbose&exclude=state"
                                   "&exclude=device-plugin"), "[+]device-plugin excluded: ok")
        self.assertEqual(self.get("/readyz?exclude=nothing")[0], 503)

    def test_a_refused_configuration_is_said_and_no_harm(self):
        self.both("modules = { device-plugin = { }; };")
        self.wait_ready()
        self.write_config("modules = { device-plugin = { resources = 7; }; };")
        self.daemon.send_signal(signal.SIGHUP)
        self.wait_for(lambda: "config-refused" in self.log(), "refusal")
        self.assertEqual(self.get("/readyz"), (200, ["ok"]))
        self.assertRegex(self.line("config"), r"^\[\+\]config ok, but the old one stays: .*rdmad.conf:1")

    def test_it_is_not_ready_when_the_hardware_cannot_be_looked_at(self):
        self.both()
        self.wait_ready()
        sys_dir, away = os.path.join(self.machine, "sys"), os.path.join(self.machine, "away")
        os.rename(sys_dir, away)
        try:
            self.ask_rescan()
            self.wait_for(lambda: self.get("/readyz")[0] == 503, "unreadiness")
            self.assertTrue(self.line("hardware").startswith("[-]hardware failed: "))
        finally:
            os.rename(away, sys_dir)
        self.wait_for(lambda: self.get("/readyz")[0] == 200, "readiness")

    def ask_rescan(self):
        with contextlib.closing(Connection(self.socket)) as connection:
            connection.request("POST", "/api/v1/rescan")
            self.assertEqual(connection.getresponse().status, 200)

    def test_it_is_not_ready_while_nothing_can_be_written(self):
        self.both()
        self.wait_ready()
        path = os.path.join(self.dir, "state", "rdmad.db")
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with self.assertRaises(AdmissionError):
                self.kubelet.allocate("ml/a", HCA, 1)
            status, lines = self.get("/readyz")
            self.assertEqual(status, 503, lines)
            self.assertRegex(self.line("state"), r"^\[-\]state failed: database .*: .*locked")
            other.execute("ROLLBACK")
        # It is not tried again with each question, but it is without another Allocate.
        self.assertEqual(self.get("/readyz")[0], 503)
        self.wait_for(lambda: self.get("/readyz")[0] == 200, "readiness")


if __name__ == "__main__":
    tap.main(sys.argv[3:])
