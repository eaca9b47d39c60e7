#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Requests of the platforms' documents: each manifest, and what a pod gets.

usage: test-seeds.py RDMAD MODULE-DIR [TEST...]

The table in README.md ("Migrate") leads here.  Each class also runs with the configuration that
the chart renders from the platform's values file, where there is helm.
"""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import grpc

sys.dont_write_bytecode = True

from plugin_case import RDMAD, TESTS, AdmissionError, PluginCase, tap  # noqa: E402
sys.path.insert(0, os.path.join(TESTS, "helm"))
import chart  # noqa: E402
from fake import Runtime  # noqa: E402

PROFILES = os.path.join(os.path.dirname(TESTS), "etc/profiles")
VKE = "vke.volcengine.com/rdma"
ERDMA = "aliyun/erdma"


class SeedCase(PluginCase):
    def start_profile(self, name, rest=""):
        self.start_kubelet()
        self.start_daemon(f'profile = "{name}";\n{rest}', "--profile-dir", PROFILES)
        self.config = Path(self.dir, "rdmad.conf")

    def nodes(self, grant, kind="uverbs"):
        """Numbers of the device files of a kind that a container was given."""
        found = [re.fullmatch(rf"/dev/infiniband/{kind}(\d+)", d.host_path)
                 for d in grant.reply.devices]
        return {int(match.group(1)) for match in found if match}

    def all_nodes(self):
        names = os.listdir(os.path.join(self.machine, "sys/class/infiniband_verbs"))
        return {int(name[6:]) for name in names if name.startswith("uverbs")}

    def check_usable(self, grant):
        """Devices that every program needs beside its own."""
        paths = [d.host_path for d in grant.reply.devices]
        self.assertIn("/dev/infiniband/rdma_cm", paths)
        self.assertTrue(self.nodes(grant))
        self.assertTrue(all("r" in d.permissions and "w" in d.permissions
                            for d in grant.reply.devices))


class RayOnVksTest(SeedCase):
    """A Ray cluster: head and workers with one of each shared resource beside eight GPUs."""

    def test_a_head_and_a_worker_get_one_of_each_and_all_devices(self):
        self.start_profile("mellanox-shared")
        names = ["rdma/rdma_shared_device_a", "rdma/rdma_shared_device_b"]
        for name in names:
            self.wait_ready(1000, name)
        for pod, container in (("ray/head", "ray-head"), ("ray/worker", "ray-worker")):
            grants = [self.kubelet.allocate(pod, name, 1, container) for name in names]
            for grant in grants:
                self.check_usable(grant)
                self.assertEqual(self.nodes(grant), self.all_nodes())
                self.assertEqual(self.nodes(grant, "umad"), self.all_nodes())
        self.assertEqual([self.kubelet.resources()[name]["in_use"] for name in names], [2, 2])


class LingjunTest(SeedCase):
    """ACK on Lingjun nodes: a job with hostNetwork, eight GPUs and rdma/hca: 1."""

    def test_a_node_has_1k_and_one_is_enough_for_all_devices(self):
        self.start_profile("ack")
        self.wait_ready(1000, "rdma/hca")
        self.assertEqual(self.kubelet.resources()["rdma/hca"]["capacity"], 1000)
        grant = self.kubelet.allocate("default/hps-benchmark", "rdma/hca", 1, "hps-benchmark")
        self.check_usable(grant)
        self.assertEqual(self.nodes(grant), self.all_nodes())
        held = self.allocations()[grant.reply.envs["RDMAD_ALLOCATION"]]
        self.assertEqual(len(set(held["device_names"])), len(self.all_nodes()))

    def test_with_the_switch_only_pods_of_the_hosts_network_start(self):
        runtime = Runtime(os.path.join(self.dir, "cri.sock"))
        self.addCleanup(runtime.close)
        runtime.run("default/hps-benchmark", "0d1f5c8e-0000-4000-8000-000000000001",
                    host_network=True)
        runtime.run("default/other", "0d1f5c8e-0000-4000-8000-000000000002")
        self.start_profile("ack", f"""modules = {{ device-plugin = {{
            cri_socket = "{self.dir}/cri.sock"; defaults = {{ host_network_only = true; }}; }}; }};""")
        self.wait_ready(1000, "rdma/hca")
        self.check_usable(self.kubelet.allocate("default/hps-benchmark", "rdma/hca", 1))
        with self.assertRaises(grpc.RpcError) as caught:
            self.kubelet.allocate("default/other", "rdma/hca", 1)
        self.assertIn("host_network_only", caught.exception.details())


class ContainerServiceTest(SeedCase):
    """Container Service with SCC instances: the plugin's ConfigMap, and two pods with rdma/hca: 1."""

    CONFIG_MAP = """apiVersion: v1
kind: ConfigMap
metadata:
  name: rdma-devices
  namespace: kube-system
data:
  config.json: |
    {
      "mode" : "hca"
    }
"""

    def test_its_config_map_is_imported_and_two_pods_get_all_devices(self):
        done = subprocess.run([RDMAD, "import-config", "-"], input=self.CONFIG_MAP, text=True,
                              capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.both(done.stdout)
        self.wait_ready(1000, "rdma/hca")
        for pod in ("default/rdma-test-pod", "default/rdma-test-pod-1"):
            grant = self.kubelet.allocate(pod, "rdma/hca", 1, "mofed-test-ctr")
            self.check_usable(grant)
            self.assertEqual(self.nodes(grant), self.all_nodes())


class VkeTest(SeedCase):
    """VKE: the node's label says the mode; pods ask for 1, better for 2 or 4."""

    MACHINE = ("rails", "RAILS=4", "LAST=31")

    LABEL = 'attributes = ( {{ name = "label:vke.node.rdma.mode"; value = "{}"; }} );'

    def start_with_label(self, value):
        self.start_profile("vke", self.LABEL.format(value))

    def check_devices(self, grant, count):
        self.check_usable(grant)
        self.assertEqual(len(self.nodes(grant)), count)

    def test_a_shared_node_of_four_has_four_and_gives_a_device_for_each(self):
        self.start_with_label("shared")
        self.wait_ready(4, VKE)
        self.check_devices(self.kubelet.allocate("default/two", VKE, 2), 2)
        self.check_devices(self.kubelet.allocate("default/one", VKE, 1), 1)
        with self.assertRaises(AdmissionError):
            self.kubelet.allocate("default/more", VKE, 2)

    def test_an_exclusive_node_gives_each_device_to_one_pod(self):
        self.start_with_label("exclusive")
        self.wait_ready(4, VKE)
        pods = [self.kubelet.allocate(f"default/p{i}", VKE, 2) for i in range(2)]
        self.assertEqual(self.nodes(pods[0]) & self.nodes(pods[1]), set())
        for grant in pods:
            self.check_devices(grant, 2)

    def test_a_shared_multi_node_has_more_than_its_devices(self):
        self.start_with_label("shared-multi")
        self.wait_for(lambda: self.kubelet.resources().get(VKE, {}).get("allocatable", 0) > 4,
                      "more than four")
        for i in range(8):
            self.check_devices(self.kubelet.allocate(f"default/p{i}", VKE, 1), 1)

    def test_a_changed_label_holds_for_pods_that_start_later(self):
        self.start_with_label("shared")
        self.wait_ready(4, VKE)
        before = self.kubelet.allocate("default/before", VKE, 1)
        self.change_label("shared", "exclusive")
        self.wait_for(lambda: self.mode() == "exclusive", "the mode")
        others = self.kubelet.allocate("default/others", VKE, 3)
        self.check_devices(others, 3)
        self.assertEqual(self.nodes(before) & self.nodes(others), set())
        with self.assertRaises(AdmissionError):
            self.kubelet.allocate("default/late", VKE, 1)
        # An allocation of nobody that kubelet has listed is given time.
        self.wait_for(lambda: all(a["pod"] for a in self.allocations().values()), "names of the pods")
        self.kubelet.complete("default/before")
        self.wait_for(lambda: self.ask("allocations", "--refresh") and len(self.allocations()) == 1, "the first's end")
        self.assertEqual(self.nodes(self.kubelet.allocate("default/late", VKE, 1)), self.nodes(before))

    def mode(self):
        module = next(m for m in self.ask("status")["modules"] if m["name"] == "device-plugin")
        return module["status"]["resources"][0]["mode"]

    def change_label(self, before, value):
        """In the configuration, where a test has it; module kube's is test-kube.py's."""
        for file in (self.config, *self.config.parent.glob("conf.d/*.conf")):
            file.write_text(file.read_text().replace(f'value = "{before}"', f'value = "{value}"'))
        self.daemon.send_signal(signal.SIGHUP)

    def test_kubelet_can_align_gpus_and_devices_by_numa_node(self):
        self.start_with_label("shared")
        self.wait_ready(4, VKE)
        self.assertNotIn(None, [numa for _, numa in self.kubelet.devices(VKE).values()])


class ErdmaTest(SeedCase):
    """ACK eRDMA: aliyun/erdma, all devices of the node or the one that is near."""

    MACHINE = "erdma"

    def test_a_pod_gets_the_device_that_its_slot_names(self):
        self.start_profile("ack-erdma")
        self.wait_ready(400, ERDMA)
        for id in self.kubelet.devices(ERDMA):
            self.assertRegex(id, r"\Aerdma_[01]/\d{1,3}\Z")
        grant = self.kubelet.allocate("default/nccl-test", ERDMA, 1)
        self.check_usable(grant)
        self.assertEqual(len(self.nodes(grant)), 1)
        self.assertIn(grant.reply.envs["SMCR_PNET"], ("00163E01020A", "00163E01020B"))

    def test_kubelet_learns_the_numa_node_of_each_device_that_has_one(self):
        def put(function, node):
            path = os.path.join(self.machine, f"sys/bus/pci/devices/0000:00:{function}.0/numa_node")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"{node}\n")

        put("09", 1)
        self.addCleanup(put, "09", -1)
        self.start_profile("ack-erdma")
        self.wait_ready(400, ERDMA)
        found = {(id.split("/")[0], numa) for id, (_, numa) in self.kubelet.devices(ERDMA).items()}
        self.assertEqual(found, {("erdma_0", None), ("erdma_1", 1)})

    def test_a_switch_gives_all_devices_of_the_node(self):
        self.start_profile("ack-erdma",
                           'modules = { device-plugin = { defaults = { expose = "pool"; }; }; };')
        self.wait_ready(400, ERDMA)
        grant = self.kubelet.allocate("default/nccl-test", ERDMA, 1)
        self.assertEqual(self.nodes(grant), self.all_nodes())
        self.assertEqual(grant.reply.envs["SMCR_PNET"], "00163E01020A")
        self.assertEqual(len(grant.reply.devices), len({d.host_path for d in grant.reply.devices}))


class FromChart:
    """The same, by the chart with the platform's values file."""

    def start_profile(self, _, rest=""):
        more = os.path.join(self.dir, "values.conf")
        with open(more, "w") as file:
            file.write(rest)
        path = chart.write_config(os.path.join(self.dir, "etc"), "--values", chart.values(self.VALUES),
                                  "--set-file", f"config={more}")
        self.start_kubelet()
        self.start_daemon(None, "--config", path, "--profile-dir", PROFILES)
        self.config = Path(path)

    def both(self, config):
        self.start_profile(None, config)


@chart.needs_helm
class RayOnVksChartTest(FromChart, RayOnVksTest):
    VALUES = "mellanox-shared"


@chart.needs_helm
class LingjunChartTest(FromChart, LingjunTest):
    VALUES = "ack-lingjun"


@chart.needs_helm
class ContainerServiceChartTest(FromChart, ContainerServiceTest):
    VALUES = "container-service"

    def test_its_values_file_is_enough(self):
        self.start_profile("ack")
        self.wait_ready(1000, "rdma/hca")
        grant = self.kubelet.allocate("default/rdma-test-pod", "rdma/hca", 1, "mofed-test-ctr")
        self.check_usable(grant)
        self.assertEqual(self.nodes(grant), self.all_nodes())


@chart.needs_helm
class VkeChartTest(FromChart, VkeTest):
    VALUES = "vke"


@chart.needs_helm
class ErdmaChartTest(FromChart, ErdmaTest):
    VALUES = "ack-erdma"


if __name__ == "__main__":
    tap.main(sys.argv[3:])
