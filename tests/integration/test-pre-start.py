#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The start of a container: the order of its NICs, host_network_only, RDMA limits.

usage: test-pre-start.py RDMAD MODULE-DIR [TEST...]
"""

import os
import shutil
import signal
import sys
import tempfile
import time

import grpc

sys.dont_write_bytecode = True

from plugin_case import HCA, PATIENCE, PluginCase, tap  # noqa: E402
from fake import Runtime  # noqa: E402

GPUS = [f"GPU-5ec0de00-0000-0000-0000-00000000000{i}" for i in range(8)]
UID = "1c8b5f0e-8a5e-4a3c-9a57-0e7d3c1f2b11"


class PreStartCase(PluginCase):
    def setUp(self):
        super().setUp()
        self.cri_socket = os.path.join(self.dir, "cri.sock")

    def config(self, plugin="", resource=""):
        return f"""modules = {{ device-plugin = {{ cri_socket = "{self.cri_socket}"; {plugin}
            resources = ( {{ name = "{HCA}"; {resource} }} ); }}; }};"""

    def start_runtime(self):
        runtime = Runtime(self.cri_socket)
        self.addCleanup(runtime.close)
        return runtime

    def events(self, kind):
        return [e["message"] for e in self.ask("events")["events"] if e["kind"] == kind]

    def check_event(self, kind, *words):
        found = self.events(kind)
        self.assertEqual(len(found), 1, self.log())
        for word in words:
            self.assertIn(word, found[0])

    def check_refused(self, pod):
        with self.assertRaises(grpc.RpcError) as caught:
            self.kubelet.allocate(pod, HCA, 1)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.FAILED_PRECONDITION)
        for word in ("host_network_only", "hostNetwork", HCA, pod):
            self.assertIn(word, caught.exception.details())


class OrderTest(PreStartCase):
    def nccl_conf(self, grant):
        directory = os.path.join(self.dir, "run", "allocations", grant.reply.envs["RDMAD_ALLOCATION"])
        with open(os.path.join(directory, "nccl.conf")) as file:
            return file.read()

    def names_of(self, ids):
        names = {d["device_id"]: d["device_name"] for d in self.ask("devices")["devices"]}
        return {names[id.partition("::")[0]] for id in ids}

    def hca_line(self, grant):
        lines = [line for line in self.nccl_conf(grant).splitlines() if not line.startswith("#")]
        self.assertEqual(len(lines), 1)
        key, _, value = lines[0].partition("=")
        self.assertEqual(key, "NCCL_IB_HCA")
        self.assertTrue(value.startswith("="), "names are matched whole")
        return value[1:].split(",")

    def test_without_the_option_kubelet_does_not_call(self):
        self.both(self.config())
        self.wait_ready()
        self.assertFalse(self.endpoint().options.pre_start_required)
        self.assertNotIn("NCCL_IB_HCA", self.nccl_conf(self.kubelet.allocate("ml/a", HCA, 2)))

    def test_nics_near_the_gpus_of_the_container_come_first(self):
        self.both(self.config("prestart = true;"))
        self.wait_ready()
        self.kubelet.hold("ml/a", "nvidia.com/gpu", [GPUS[6], GPUS[3] + "::1"])
        self.kubelet.hold("ml/b", "nvidia.com/gpu", [GPUS[0]])
        grant = self.kubelet.allocate("ml/a", HCA, 11)
        order = self.hca_line(grant)
        self.assertEqual(set(order), self.names_of(grant.ids))
        self.assertEqual(order[:2], ["mlx5_3", "mlx5_6"])
        self.assertIn("# mlx5_3: PIX to the GPU at 0000:61:00.0", self.nccl_conf(grant))

    def test_without_gpus_they_come_by_pci_address(self):
        self.both(self.config("prestart = true;"))
        self.wait_ready()
        grant = self.kubelet.allocate("ml/a", HCA, 11)
        devices = sorted(self.ask("devices")["devices"], key=lambda device: device["device_id"])
        self.assertEqual(self.hca_line(grant), [device["device_name"] for device in devices])

    def test_a_container_that_kubelet_does_not_list_starts_all_the_same(self):
        self.both(self.config("prestart = true;"))
        self.wait_ready()
        ids = sorted(self.kubelet.devices(HCA))[:2]
        self.allocate_raw(ids)
        self.endpoint().pre_start(ids)
        self.check_event("start-unchecked", "does not list")

    def test_without_podresources_it_starts_all_the_same(self):
        self.both(self.config("prestart = true;"))
        self.wait_ready()
        self.kubelet.pod_resources.close()
        begun = time.monotonic()
        self.kubelet.allocate("ml/a", HCA, 1)
        self.assertLess(time.monotonic() - begun, 15)
        self.check_event("start-unchecked", "podresources")

    def test_many_at_once(self):
        self.both(self.config("prestart = true;"))
        self.wait_ready()
        grants = [self.kubelet.manager.allocate(("ml", f"p{i}", "main"), HCA, 2) for i in range(40)]
        calls = [self.endpoint().start_call(grant.ids) for grant in grants]
        for call, grant in zip(calls, grants):
            call.result(60)
            self.assertEqual(set(self.hca_line(grant)), self.names_of(grant.ids))

    def test_a_reload_tells_kubelet_to_call(self):
        self.both(self.config())
        self.wait_ready()
        self.write_config(self.config("prestart = true;"))
        self.daemon.send_signal(signal.SIGHUP)
        self.wait_for(lambda: self.endpoint().options.pre_start_required, "new options")
        self.wait_ready()
        self.assertTrue(self.hca_line(self.kubelet.allocate("ml/a", HCA, 2)))


class HostNetworkTest(PreStartCase):
    def start(self):
        self.both(self.config(resource="host_network_only = true;"))
        self.wait_ready()
        self.assertTrue(self.endpoint().options.pre_start_required)

    def test_pods_of_the_hosts_network_start(self):
        self.start_runtime().run("ml/a", UID, host_network=True)
        self.start()
        self.kubelet.allocate("ml/a", HCA, 1)
        self.assertEqual(self.events("start-unchecked"), [])

    def test_doctor_tells_that_there_is_no_runtime(self):
        def told():
            return [f["text"] for f in self.findings() if f["subject"] == HCA and f["level"] == "problem"]

        self.start()
        [text] = told()
        self.assertRegex(text, "^the container runtime's socket .*: No such file or directory$")
        self.start_runtime()
        self.assertEqual(told(), [])

    def test_others_are_refused_by_name(self):
        self.start_runtime().run("ml/a", UID)
        self.start()
        self.check_refused("ml/a")
        self.check_event("start-refused", "ml/a", "host_network_only")

    def test_the_newest_sandbox_that_is_ready_counts(self):
        runtime = self.start_runtime()
        runtime.run("ml/a", UID, host_network=True)
        runtime.run("ml/a", UID)
        runtime.run("ml/a", UID, host_network=True, ready=False)
        self.start()
        self.check_refused("ml/a")

    def test_without_a_runtime_they_start_and_it_is_told(self):
        self.start()
        self.kubelet.allocate("ml/a", HCA, 1)
        self.check_event("start-unchecked", "ml/a", self.cri_socket)

    def test_a_runtime_that_knows_no_such_sandbox(self):
        self.start_runtime().run("ml/b", UID)
        self.start()
        self.kubelet.allocate("ml/a", HCA, 1)
        self.check_event("start-unchecked", "no sandbox")

    def test_a_runtime_that_does_not_say(self):
        runtime = self.start_runtime()
        runtime.run("ml/a", UID)
        runtime.silent = True
        self.start()
        self.kubelet.allocate("ml/a", HCA, 1)
        self.check_event("start-unchecked", "does not report")

    def test_a_runtime_that_hangs_holds_nobody_for_ten_seconds(self):
        runtime = self.start_runtime()
        runtime.run("ml/a", UID)
        runtime.delay = 60
        self.start()
        pods = (f"ml/{name}" for name in "abcde")

        def attempt():
            begun = time.monotonic()
            self.kubelet.allocate(next(pods), HCA, 1)
            return time.monotonic() - begun

        self.check_soon(attempt, 10)
        self.assertIn("ml/a", self.events("start-unchecked")[0])

    def test_a_stop_waits_for_the_calls_in_progress(self):
        """Kubelet closes its connection at the end of the stream, and with it the calls of other pods."""
        runtime = self.start_runtime()
        runtime.run("ml/a", UID, host_network=True)
        runtime.delay = 2
        self.start()
        ids = self.kubelet.manager.allocate(("ml", "a", "main"), HCA, 1).ids
        start = self.endpoint().start_call(ids)
        self.wait_for(lambda: runtime.calls, "question to the runtime")
        self.daemon.send_signal(signal.SIGTERM)
        start.result(PATIENCE)
        self.assertEqual(self.daemon.wait(PATIENCE), 0)
        self.daemon = None


class LimitsTest(PreStartCase):
    LIMITS = "rdma_limits = { hca_handle = 20; hca_object = 3000; };"
    SLICE = "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" \
        + UID.replace("-", "_") + ".slice"

    def setUp(self):
        super().setUp()
        # A machine of its own: files of cgroups are written here.
        directory = tempfile.TemporaryDirectory(prefix="rdmad-machine-")
        self.addCleanup(directory.cleanup)
        shared, self.machine = self.machine, os.path.join(directory.name, "m")
        shutil.copytree(shared, self.machine, symlinks=True, copy_function=os.link)

    def cgroup(self, *path):
        return os.path.join(self.machine, "sys/fs/cgroup", *path)

    def make_cgroups(self, pod, with_file=True, controllers="cpu memory rdma pids"):
        directory = self.cgroup()
        for name in ["", *pod.split("/")]:
            directory = os.path.join(directory, name)
            os.makedirs(directory, exist_ok=True)
            open(os.path.join(directory, "cgroup.subtree_control"), "w").close()
        with open(self.cgroup("cgroup.controllers"), "w") as file:
            file.write(controllers + "\n")
        if with_file:
            open(os.path.join(directory, "rdma.max"), "w").close()

    def read(self, *path):
        with open(self.cgroup(*path)) as file:
            return file.read()

    def start(self, limits=LIMITS):
        self.start_runtime().run("ml/a", UID)
        self.both(self.config(resource=limits))
        self.wait_ready()

    def check_limit(self, pod, limits, line):
        self.make_cgroups(pod)
        self.start(limits)
        grant = self.kubelet.allocate("ml/a", HCA, 1)
        names = {d["device_id"]: d["device_name"] for d in self.ask("devices")["devices"]}
        name = names[grant.ids[0].partition("::")[0]]
        self.assertEqual(self.read(pod, "rdma.max"), f"{name} {line}")
        self.assertEqual(self.events("rdma-limits"), [])

    def test_they_are_there_when_the_container_starts(self):
        self.check_limit(self.SLICE, self.LIMITS, "hca_handle=20 hca_object=3000")

    def test_one_of_them_alone_and_cgroupfs(self):
        self.check_limit(f"kubepods/pod{UID}", "rdma_limits = { hca_object = 5; };",
                         "hca_handle=max hca_object=5")

    def test_kind_has_them_below_kubelet(self):
        self.check_limit(f"kubelet/kubepods/besteffort/pod{UID}", self.LIMITS,
                         "hca_handle=20 hca_object=3000")

    def test_a_cgroup_root_of_kubelet(self):
        self.check_limit(f"nodes.slice/kubepods/burstable/pod{UID}", self.LIMITS, "hca_handle=20 hca_object=3000")

    def test_cgroup_v1_has_a_hierarchy_for_the_controller(self):
        for controller in ("systemd", "memory", "rdma"):
            os.makedirs(self.cgroup(controller, self.SLICE))
        open(self.cgroup("rdma", self.SLICE, "rdma.max"), "w").close()
        self.start()
        self.kubelet.allocate("ml/a", HCA, 1)
        self.assertIn("hca_handle=20 hca_object=3000", self.read("rdma", self.SLICE, "rdma.max"))
        self.assertEqual(self.limit_problems(), [])

    def limit_problems(self):
        return [finding["text"] for finding in self.findings()
                if finding["level"] == "problem" and "RDMA limits" in finding["text"]]

    def test_the_problem_of_a_pod_without_its_limits_ends_with_them(self):
        self.make_cgroups(self.SLICE, controllers="cpu memory")
        self.start()
        grant = self.kubelet.allocate("ml/a", HCA, 1)
        [text] = self.limit_problems()
        self.assertIn("ml/a", text)
        self.assertIn("no rdma controller", text)
        with open(self.cgroup("cgroup.controllers"), "w") as file:
            file.write("cpu memory rdma\n")
        self.endpoint().start_call(grant.ids).result(PATIENCE)      # the container starts again
        self.assertEqual(self.limit_problems(), [])

    def test_a_runtime_that_does_not_answer_is_a_problem_of_the_pod(self):
        self.make_cgroups(self.SLICE)
        self.both(self.config(resource=self.LIMITS))
        self.wait_ready()
        self.kubelet.allocate("ml/a", HCA, 1)
        [text] = self.limit_problems()
        self.assertIn("ml/a runs without", text)

    def test_the_controller_is_handed_down(self):
        self.make_cgroups(self.SLICE, with_file=False)
        self.start()
        self.kubelet.allocate("ml/a", HCA, 1)
        for above in ("", "kubepods.slice", "kubepods.slice/kubepods-burstable.slice"):
            self.assertEqual(self.read(above, "cgroup.subtree_control"), "+rdma")
        self.assertEqual(self.read(self.SLICE, "cgroup.subtree_control"), "")

    def test_without_the_controller_it_starts_and_it_is_told(self):
        self.make_cgroups(self.SLICE, controllers="cpu memory")
        self.start()
        self.kubelet.allocate("ml/a", HCA, 1)
        self.check_event("rdma-limits", "ml/a", "no rdma controller")

    def test_without_the_cgroup_it_starts_and_it_is_told(self):
        self.make_cgroups("kubepods.slice")
        self.start()
        self.kubelet.allocate("ml/a", HCA, 1)
        self.check_event("rdma-limits", UID)

    def test_they_go_together_with_host_network_only(self):
        self.make_cgroups(self.SLICE)
        self.start(self.LIMITS + "host_network_only = true;")
        self.check_refused("ml/a")
        self.assertEqual(self.read(self.SLICE, "rdma.max"), "")


if __name__ == "__main__":
    tap.main(sys.argv[3:])
