#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The JSON API of the daemon on a recorded machine: test-api.py RDMAD EXPAND MODULE-DIR SLOW-FILES"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from urllib.parse import quote

from control_socket import Connection
from machine_daemon import PATIENCE, Daemon
from slow_files import SlowFiles

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import tap  # noqa: E402


SLOW_FILES = sys.argv[4]
WAIT_S = 60     # the longest that a caller may ask for


class Asker(unittest.TestCase):
    @classmethod
    def tearDownClass(cls):
        cls.daemon.close()

    def ask(self, path, method="GET"):
        connection = Connection(self.daemon.socket, PATIENCE)
        try:
            connection.request(method, "/api/v1/" + path)
            response = connection.getresponse()
            self.assertEqual(response.getheader("Content-Type"), "application/json")
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def get(self, path):
        status, answer = self.ask(path)
        self.assertEqual(status, 200, answer)
        return answer


class Api(Asker):
    machine = "sriov"

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(cls.machine)

    def test_every_resource_answers_with_one_object(self):
        for path in ("status", "devices", "allocations", "topology", "events", "attributes", "doctor"):
            with self.subTest(path):
                self.assertIsInstance(self.get(path), dict)
                self.assertEqual(self.ask(path, "POST")[0], 405)
        self.assertEqual(self.ask("nothing")[0], 404)
        self.assertEqual(self.ask("rescan")[0], 405)
        self.assertEqual(self.ask("attributes/a", "POST")[0], 405)

    def test_one_connection_serves_many_requests(self):
        connection = Connection(self.daemon.socket, PATIENCE)
        self.addCleanup(connection.close)
        for _ in range(100):
            connection.request("GET", "/api/v1/status")
            response = connection.getresponse()
            self.assertEqual(json.loads(response.read())["pid"], self.daemon.process.pid)

    def test_virtual_functions_name_their_parent(self):
        devices = {device["device_id"]: device for device in self.get("devices")["devices"]}
        virtual = [device for device in devices.values() if device["pci_role"] == "vf"]
        self.assertTrue(virtual)
        for device in virtual:
            self.assertRegex(device["pf_address"], "^[0-9a-f]{4}:")
            self.assertIsInstance(device["vf_index"], int)

    def test_a_recording_has_no_limits(self):
        for device in self.get("devices")["devices"]:
            self.assertIsNone(device["limits"])
            self.assertEqual([port["limits"] for port in device["ports"]],
                             [None] * len(device["ports"]))

    def test_distances_are_symmetric(self):
        topology = self.get("topology")
        rows = topology["distances"]
        self.assertEqual(len(rows), len(topology["gpus"]) + len(topology["nics"]))
        for i, row in enumerate(rows):
            self.assertEqual(row[i], "X")
            self.assertEqual(row, [other[i] for other in rows])

    def test_events_begin_after_what_the_caller_has(self):
        everything = self.get("events")
        last = everything["last"]
        self.assertEqual(everything["events"][-1]["sequence"], last)
        self.assertEqual(len(self.get(f"events?after={last - 1}")["events"]), 1)
        self.assertEqual(self.get(f"events?after={last}"), {"events": [], "last": last})
        # More than there is: the caller has outlived a daemon.
        self.assertEqual(self.get("events?after=999999&wait=30")["last"], last)

    def test_a_wait_for_events_ends_in_time(self):
        last = self.get("events")["last"]
        start = time.monotonic()
        self.assertEqual(self.get(f"events?after={last}&wait=1")["events"], [])
        self.assertGreater(time.monotonic() - start, 0.9)

    def test_waiting_readers_hold_up_nobody(self):
        last = self.get("events")["last"]
        start = time.monotonic()
        readers = [Connection(self.daemon.socket, PATIENCE) for _ in range(20)]
        for reader in readers:
            self.addCleanup(reader.close)
            reader.request("GET", f"/api/v1/events?after={last}&wait={WAIT_S}")
        self.get("status")
        self.assertLess(time.monotonic() - start, WAIT_S)

    def test_wrong_numbers_are_refused_by_name(self):
        for query, name in (("after=x", "after"), ("after=-1", "after"), ("wait=61", "wait"),
                            ("after=99999999999999999999", "after"), ("wait=", "wait")):
            with self.subTest(query):
                status, answer = self.ask("events?" + query)
                self.assertEqual(status, 400)
                self.assertIn(f'"{name}"', answer["error"])

    def test_a_refresh_without_kubelet_is_unavailable(self):
        status, answer = self.ask("allocations/refresh", "POST")
        self.assertEqual(status, 503)
        self.assertIn("pod-resources/kubelet.sock", answer["error"])

    def test_a_client_that_does_not_wait_for_the_refresh_harms_nobody(self):
        for _ in range(10):
            connection = Connection(self.daemon.socket, PATIENCE)
            connection.request("POST", "/api/v1/allocations/refresh")
            connection.close()
        self.get("status")

    def test_a_rescan_is_accepted_and_finds_the_same(self):
        before = self.get("devices")
        self.assertEqual(self.ask("rescan", "POST"), (200, {"accepted": True}))
        time.sleep(0.2)
        self.assertEqual(self.get("devices"), before)

    def test_a_rescan_of_one_device(self):
        before = self.get("devices")
        device = quote(before["devices"][0]["device_name"], safe="")
        self.assertEqual(self.ask(f"rescan?device={device}", "POST"), (200, {"accepted": True}))
        self.assertEqual(self.ask("rescan?device=none", "POST")[0], 404)
        time.sleep(0.2)
        self.assertEqual(self.get("devices"), before)


class Broken(Api):
    """The same on a machine whose kernel says anything."""
    machine = "broken"

    test_virtual_functions_name_their_parent = None


READ_S = 3      # for so long rdmad waits for files that hang


class SlowMachine(Asker):
    """Files of /proc and /sys hang; answers from memory do not."""

    @classmethod
    def setUpClass(cls):
        cls.source = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.source.cleanup)
        root = os.path.join(cls.source.name, "machine")
        subprocess.run([sys.argv[2], "gpu-8rail", root], check=True)
        cls.files = SlowFiles(SLOW_FILES, root, "*/osrelease=block", "*/cpulist=block")
        cls.files.rules(False)
        cls.daemon = Daemon(None, root=cls.files.path)

    @classmethod
    def tearDownClass(cls):
        cls.files.close()  # the kernel ends no process that reads one of them
        super().tearDownClass()

    def setUp(self):
        self.files.rules(True)
        self.addCleanup(self.files.rules, False)

    def timed(self, path):
        began = time.monotonic()
        return self.get(path), time.monotonic() - began

    def test_a_file_that_hangs_holds_up_nobody_else(self):
        answers = {}

        def ask(path):
            answers[path] = self.timed(path)

        askers = [threading.Thread(target=ask, args=(path,))
                  for path in ("status", "topology", "doctor")]
        for asker in askers:
            asker.start()
        answered = 0
        while not answers:
            self.get("devices")
            answered += 1
        self.assertGreater(answered, 5)
        for asker in askers:
            asker.join(PATIENCE)
        self.assertEqual(len(answers["topology"][0]["nics"]), 11)
        self.assertEqual(answers["topology"][0]["numa_cpus"], {})
        self.assertIsNone(answers["status"][0]["machine"]["kernel"])
        self.assertEqual(answers["status"][0]["devices"]["count"], 11)
        self.assertIn("cannot be read within seconds", json.dumps(answers["doctor"][0]))
        # It still hangs: it is not waited for again.  A busy machine may be late, but not each time.
        for path in ("status", "topology", "doctor"):
            self.assertLess(min(self.timed(path)[1] for _ in range(5)), READ_S)

    def test_a_client_that_leaves_is_not_answered(self):
        for _ in range(10):
            connection = Connection(self.daemon.socket, PATIENCE)
            connection.request("GET", "/api/v1/topology")
            connection.close()
        self.assertLess(self.timed("devices")[1], READ_S)


if __name__ == "__main__":
    tap.main()
