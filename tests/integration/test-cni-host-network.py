#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Pods on the network of the host that were allocated devices: no runtime sends an ADD for them.

usage: test-cni-host-network.py RDMAD MODULE-DIR [TEST...]
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from private_host import enter_private_host

from plugin_case import HCA, PluginCase, tap

PODS = {"ml/host": "0f3c2ab1-1d9c-4bfb-9c3c-5d1f0a3c77a1", "ml/own": "0f3c2ab1-1d9c-4bfb-9c3c-5d1f0a3c77a2",
        "ml/late": "0f3c2ab1-1d9c-4bfb-9c3c-5d1f0a3c77a3"}


class HostNetwork(PluginCase):
    """The kernel's own files of processes, under numbers of the recorded machine."""

    def setUp(self):
        super().setUp()
        for directory in ("var", "proc", "sys/fs/cgroup"):
            self.addCleanup(shutil.rmtree, os.path.join(self.machine, directory), ignore_errors=True)
        self.put("sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n")
        self.network("self", os.getpid())

    def put(self, path, text):
        path = Path(self.machine, path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def network(self, name, pid):
        directory = Path(self.machine, "proc", str(name), "net")
        directory.mkdir(parents=True)
        subprocess.run(["mount", "--bind", f"/proc/{pid}/net", directory], check=True)
        self.addCleanup(subprocess.run, ["umount", "--lazy", directory], check=True)

    def process(self, number, pod, *command):
        """That rdmad may not trace: of another user."""
        running = subprocess.Popen([*command, "sh", "-c", "echo; exec sleep 1000"], stdout=subprocess.PIPE)
        self.addCleanup(running.communicate)
        self.addCleanup(running.kill)
        running.stdout.readline()
        cgroup = f"kubepods/burstable/pod{PODS[pod]}/{'c' * 64}"
        self.put(f"proc/{number}/stat", f"{number} (sleep) S 1" + " 0" * 17 + " 100 0\n")
        self.put(f"proc/{number}/cgroup", f"0::/{cgroup}\n")
        self.network(number, running.pid)
        self.put(f"sys/fs/cgroup/{cgroup}/cgroup.procs", f"{number}\n")

    def logs(self, pod):
        os.makedirs(os.path.join(self.machine, "var/log/pods", f"{pod.replace('/', '_')}_{PODS[pod]}"))

    def told(self):
        return [f"{event['namespace']}/{event['pod']}" for event in self.ask("events")["events"] if event["kind"] == "cni-host-network"]

    def test_they_are_told_once_by_a_daemon_without_capabilities(self):
        for pod in PODS:
            self.logs(pod)
        self.process(1001, "ml/host", "setpriv", "--reuid=1000")
        self.process(1002, "ml/own", "unshare", "--net")
        self.start_kubelet()
        self.start_daemon(None, "--module=cni")
        self.wait_ready()
        self.assertIn("\nCapEff:\t" + "0" * 16 + "\n", Path(f"/proc/{self.daemon.pid}/status").read_text())
        for pod in PODS:
            self.kubelet.allocate(pod, HCA, 1)
        self.wait_for(lambda: all(a["pod"] for a in self.allocations().values()), "names of the pods")
        self.wait_for(self.told, "an event")
        self.assertEqual(self.told(), ["ml/host"])
        self.process(1003, "ml/late", "setpriv", "--reuid=1000")
        self.wait_for(lambda: len(self.told()) == 2, "the other event")
        self.assertEqual(self.told(), ["ml/host", "ml/late"])


if __name__ == "__main__":
    enter_private_host()
    del sys.argv[1:3]
    tap.main(sys.argv[1:])
