#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""SMC-R of pods where it cannot be had, and NICs of pods: recorded eRDMA devices, and a kernel that may have no SMC.

usage: test-erdma-smc.py RDMAD MODULE-DIR [TEST...]
"""

import contextlib
import json
import os
import sqlite3
import subprocess
import sys

import grpc

sys.dont_write_bytecode = True

from plugin_case import PluginCase, tap  # noqa: E402
from fake import Runtime  # noqa: E402

RESOURCE, OTHER = "aliyun/erdma", "aliyun/other"
KEY = "network.alibabacloud.com/erdma-smcr"
UID = "1c8b5f0e-8a5e-4a3c-9a57-0e7d3c1f2b1"


class SmcCase(PluginCase):
    MACHINE = "erdma"

    def setUp(self):
        super().setUp()
        self.cri_socket = os.path.join(self.dir, "cri.sock")
        self.runtime = Runtime(self.cri_socket)
        self.addCleanup(self.runtime.close)

    def start(self, mode):
        self.start_kubelet()
        self.serve(mode)

    def serve(self, mode, nics="manage = false;", resource=""):
        self.start_daemon(f"""modules = {{
            device-plugin = {{ cri_socket = "{self.cri_socket}"; resources = (
                {{ name = "{RESOURCE}"; {resource} selectors = {{ names = "erdma_0"; }}; }},
                {{ name = "{OTHER}"; selectors = {{ names = "erdma_1"; }}; }} ); }};
            erdma = {{ driver = {{ load_with = "none"; }}; nics = {{ {nics} }};
                       smc = {{ mode = "{mode}"; survey = "1s"; }}; }}; }};""", "--module=erdma")
        self.wait_for(lambda: self.kubelet.resources().get(RESOURCE, {}).get('allocatable'), "devices")

    def pod(self, number, annotation, netns="/run/netns/there-is-none", **options):
        name = f"ml/p{number}"
        annotations = {} if annotation is None else {KEY: annotation}
        self.runtime.run(name, f"{UID}{number}", annotations=annotations, netns=netns, **options)
        self.kubelet.allocate(name, RESOURCE, 1)
        return name

    def pods(self):
        for module in self.ask("status")["modules"]:
            if module["name"] == "erdma":
                return {f"{pod['namespace']}/{pod['pod']}": pod for pod in module["status"]["smc"]["pods"]}
        return None

    def kinds(self):
        return [event["kind"] for event in self.ask("events")["events"]]

    def refused(self, *pod, **options):
        with self.assertRaises(grpc.RpcError) as caught:
            self.pod(*pod, **options)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.FAILED_PRECONDITION)
        return caught.exception.details()


class Smc(SmcCase):
    def test_prefer_starts_the_pod_on_tcp(self):
        self.start("prefer")
        name = self.pod(1, "true")
        self.assertEqual(self.pods()[name]["state"], "tcp")
        self.assertIn("/run/netns/there-is-none", self.pods()[name]["reason"])
        self.assertIn("erdma-smc-failed", self.kinds())
        self.assertIn(name, [finding["subject"] for finding in self.findings()])
        self.kubelet.complete(name)
        self.wait_for(lambda: self.ask("allocations", "--refresh") and not self.pods(), "the end of the pod")

    def test_require_refuses_with_the_reason(self):
        self.start("require")
        self.assertIn("SMC-R is not available: ", self.refused(1, "true"))
        self.assertIn("start-refused", self.kinds())

    def test_a_runtime_that_tells_no_namespace(self):
        self.start("require")
        self.assertIn("does not tell the pod's network namespace", self.refused(1, "true", netns=None))

    def test_pods_that_do_not_ask_start_in_any_mode(self):
        self.start("require")
        for number, annotation in enumerate((None, "false", "yes", "", "TRUE ")):
            self.pod(number, annotation)
        self.pod(9, "true", host_network=True)
        self.assertEqual(self.pods(), {})
        told = [event["message"] for event in self.ask("events")["events"] if event["kind"] == "erdma-smc-annotation"]
        self.assertEqual([text.partition(": ")[2].split('"')[1] for text in told], ["yes", "", "TRUE "])

    def test_off_asks_nobody(self):
        self.start("off")
        self.runtime.close()
        self.pod(1, "true")
        self.assertEqual(self.pods(), {})

    def database(self):
        return contextlib.closing(sqlite3.connect(os.path.join(self.dir, "state/rdmad.db")))

    def row(self, database):
        (text,), = database.execute("SELECT pod FROM module_erdma_smc_pods").fetchall()
        return json.loads(text)

    def restart_with_smc_in(self, netns, netns_id=(0, 0)):
        """Of the first container: what a set-up writes into the database, on a kernel that has no SMC."""
        steps = json.dumps([{"step": "sysctl", "in": "pod", "path": "net/smc/tcp2smc", "value": "1", "before": "0"}])
        self.start("prefer")
        name = self.pod(1, "true", netns=netns)
        self.end_daemon()
        with self.database() as database:
            pod = {**self.row(database), "state": 1, "steps": steps, "reason": None, "netns_device": netns_id[0],
                   "netns_inode": netns_id[1]}
            database.execute("UPDATE module_erdma_smc_pods SET pod = ?", (json.dumps(pod),))
            entry = json.dumps([{"step": "smc", "in": "host", "pnetid": pod["pnetid"], "device": pod["device"]}])
            database.execute("INSERT INTO module_erdma_smc_host VALUES (?, ?)", (pod["pnetid"], entry))
            database.commit()
        self.serve("prefer")
        self.wait_for(lambda: self.kubelet.resources().get(OTHER, {}).get("allocatable"), "devices")
        self.assertEqual(self.pods()[name]["state"], "transparent")
        return name, pod

    def sandbox(self):
        """A network namespace, by the process that holds it."""
        holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        self.addCleanup(holder.wait)
        self.addCleanup(holder.kill)
        path = f"/proc/{holder.pid}/ns/net"
        self.wait_for(lambda: os.readlink(path) != os.readlink("/proc/self/ns/net"), "the namespace")
        return path, (os.stat(path).st_dev, os.stat(path).st_ino)

    def assert_left(self, netns, netns_id):
        name, before = self.restart_with_smc_in(netns, netns_id)
        self.kubelet.allocate(name, OTHER, 1, "second")
        self.assertEqual((self.pods()[name]["state"], self.pods()[name]["device_name"]), ("transparent", "erdma_0"))
        self.end_daemon()
        with self.database() as database:
            self.assertEqual(self.row(database), before)
            entries = database.execute("SELECT id FROM module_erdma_smc_host").fetchall()
        self.assertEqual(entries, [(before["pnetid"],)])

    def test_a_container_whose_set_up_fails_leaves_that_of_the_first(self):
        """The pod's interface has one PNETID: another container uses the device of the first."""
        self.assert_left(*self.sandbox())

    def test_a_container_whose_namespace_cannot_be_opened_leaves_the_set_up_of_the_first(self):
        self.assert_left("/run/" + "x" * 300, (1, 2))

    def test_a_container_in_a_namespace_that_is_gone_has_no_smc(self):
        """What the first container set up has ended with the namespace."""
        name, _ = self.restart_with_smc_in("/run/netns/there-is-none", (1, 2))
        self.kubelet.allocate(name, OTHER, 1, "second")
        self.assertEqual((self.pods()[name]["state"], self.pods()[name]["device_name"]), ("tcp", "erdma_0"))

    def test_no_sockets_where_no_pod_has_it(self):
        self.start("prefer")
        self.assertEqual(self.ask("smc"), {"sockets": [], "problems": []})


class Nics(SmcCase):
    def problems(self):
        return [finding["text"] for finding in self.findings() if finding["subject"] == "erdma nic"
                and finding["level"] == "problem"]

    def serve_nics(self):
        self.serve("off", 'address_from = "static";', 'mode = "exclusive";')

    def until_problems_of(self, *devices):
        self.wait_for(lambda: len(self.problems()) == len(devices), "the NICs")
        for text, device in zip(self.problems(), devices):
            self.assertIn(f"interface of {device}: refused", text)

    def test_an_interface_that_is_not_here_may_be_in_a_pod(self):
        """It is while a pod has the device alone, as a restarted rdmad finds it."""
        self.start_kubelet()
        self.serve_nics()
        self.until_problems_of("erdma_0", "erdma_1")
        self.kubelet.allocate("ml/p1", RESOURCE, 1)
        self.end_daemon()
        self.serve_nics()
        self.until_problems_of("erdma_1")


if __name__ == "__main__":
    tap.main(sys.argv[3:])
