#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Pods on the network of the host that were allocated devices: no runtime sends an ADD for them.

usage: test-cni-host-network.py RDMAD MODULE-DIR [TEST...]
"""

import os
import shutil
import sys

from plugin_case import HCA, PluginCase, tap

PODS = {"ml/host": "0f3c2ab1-1d9c-4bfb-9c3c-5d1f0a3c77a1", "ml/own": "0f3c2ab1-1d9c-4bfb-9c3c-5d1f0a3c77a2",
        "ml/late": "0f3c2ab1-1d9c-4bfb-9c3c-5d1f0a3c77a3"}


class HostNetwork(PluginCase):
    def setUp(self):
        super().setUp()
        for directory in ("var", "proc/1001", "proc/1002", "proc/1003"):
            self.addCleanup(shutil.rmtree, os.path.join(self.machine, directory), ignore_errors=True)

    def process(self, pid, pod, namespace):
        directory = os.path.join(self.machine, "proc", str(pid))
        os.makedirs(os.path.join(directory, "ns"))
        os.symlink(namespace, os.path.join(directory, "ns/net"))
        with open(os.path.join(directory, "cgroup"), "w") as file:
            file.write(f"0::/kubepods/burstable/pod{PODS[pod]}/{'c' * 64}\n")

    def logs(self, pod):
        os.makedirs(os.path.join(self.machine, "var/log/pods", f"{pod.replace('/', '_')}_{PODS[pod]}"))

    def told(self):
        return [event["pod"] for event in self.ask("events")["events"] if event["kind"] == "cni-host-network"]

    def test_they_are_told_once(self):
        host = os.readlink("/proc/self/ns/net")
        for pod in PODS:
            self.logs(pod)
        self.process(1001, "ml/host", host)
        self.process(1002, "ml/own", "net:[1]")
        self.start_kubelet()
        self.start_daemon(None, "--module=cni")
        self.wait_ready()
        for pod in PODS:
            self.kubelet.allocate(pod, HCA, 1)
        self.wait_for(lambda: all(a["pod_name"] for a in self.allocations().values()), "names of the pods")
        self.wait_for(self.told, "an event")
        self.assertEqual(self.told(), ["ml/host"])
        self.process(1003, "ml/late", host)
        self.wait_for(lambda: len(self.told()) == 2, "the other event")
        self.assertEqual(self.told(), ["ml/host", "ml/late"])


if __name__ == "__main__":
    del sys.argv[1:3]
    tap.main(sys.argv[1:])
