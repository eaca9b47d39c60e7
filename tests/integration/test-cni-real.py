#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Module cni under real callers: containerd's ctr and podman, in chains of Debian's plugins, by the networks of
contrib/cni as they stand.

usage: test-cni-real.py RDMAD MODULE-DIR RDMAD-CNI [TEST...]
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from cni_case import NICS, PATIENCE, PLUGINS, SHIM, TESTS, CniCase, Failure, addresses, enter_private_host, ip, \
    link, run, tap, until

sys.path.insert(0, str(TESTS / "kubelet"))
from fake import Kubelet  # noqa: E402
from podman_processes import wait_for_podman  # noqa: E402

NETWORKS_DIR = Path("/etc/cni/net.d")
CONTRIB = TESTS.parent / "contrib/cni"
PTP = {"type": "ptp", "ipam": {"type": "host-local", "subnet": "10.88.0.0/16", "dataDir": "/run/main-leases"}}
TUNING = {"type": "tuning", "sysctl": {"net.core.somaxconn": "500"}}
PORTMAP = {"type": "portmap", "capabilities": {"portMappings": True}}
ONE, OTHER = NICS


def enter_private_runtime():
    """Directories of runtimes and of rdmad-cni that are this test's own."""
    os.makedirs("/var/lib/rdmad", exist_ok=True)
    for directory in ("/run", "/opt", "/dev/shm", "/var/lib/rdmad", str(NETWORKS_DIR)):
        if os.path.isdir(directory):
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", directory], check=True)
    for directory in ("/run/netns", "/run/lock", "/opt/cni/bin"):
        os.makedirs(directory)
    for plugin in os.listdir(PLUGINS):
        os.symlink(f"{PLUGINS}/{plugin}", f"/opt/cni/bin/{plugin}")
    run("ip", "link", "set", "lo", "up")


class RealCase(CniCase):
    """The devices of the machine's two NICs are handed out by the device plugin to pods of the fake kubelet."""

    RUN = ("cni", "device-plugin")
    RESOURCE, MODE = "rdma/rail", 'mode = "shared"; count = 1; count_per = "device";'
    NEEDS = ("busybox",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        missing = [tool for tool in cls.NEEDS if not shutil.which(tool)]
        if missing or not NETWORKS_DIR.is_dir():
            raise unittest.SkipTest(f"missing: {' '.join(missing) or NETWORKS_DIR}")
        cls.WITH_CONFIG = (f'device-plugin = {{ resources = ( {{ name = "{cls.RESOURCE}"; {cls.MODE} '
                           'selectors = { names = ( "mlx5_0", "mlx5_8" ); }; } ); }; ')

    def setUp(self):
        super().setUp()
        self.root = self.dir / "root"
        for name in ("bin", "dev", "proc", "sys", "etc", "run", "tmp"):
            (self.root / name).mkdir(parents=True)
        shutil.copy(shutil.which("busybox"), self.root / "bin/busybox")
        run(SHIM, "--install", "/opt/cni/bin")
        for file in NETWORKS_DIR.iterdir():
            file.unlink()
        self.ours = {"type": "rdmad-cni", "deviceID": self.nics[ONE],
                     "ipam": {"type": "host-local", "subnet": "192.0.2.0/24"}}
        # No environment: processes that podman leaves behind call the plugin too, without it.
        self.runtime = {"PATH": os.environ["PATH"]}
        for path, target in (("/run/rdmad", "run"), ("/var/lib/rdmad/cni-spool", "state/cni-spool")):
            os.symlink(self.dir / target, path)
            self.addCleanup(os.unlink, path)
        (self.dir / "k").mkdir()
        self.kubelet = Kubelet(str(self.dir / "k"))
        self.kubelet.start()
        self.addCleanup(self.kubelet.stop)
        self.start_daemon()
        until(lambda: self.kubelet.resources().get(self.RESOURCE, {}).get("allocatable") == 2, "the device plugin")
        self.before = self.snapshot()

    def snapshot(self):
        """Without what main networks leave of their own, which is bridge's."""
        state = super().snapshot()
        return {"links": [entry for entry in state["links"] if entry["ifname"] in self.nics],
                "addresses": [entry for entry in state["addresses"] if entry[0] in self.nics],
                "routes": [route for route in state["routes"] if json.loads(route).get("dev") in self.nics],
                "sysctls": state["sysctls"]}

    def contributed(self, name):
        shutil.copy(CONTRIB / name, NETWORKS_DIR / name)

    def network_file(self, *plugins, version="1.0.0", name="pods"):
        (NETWORKS_DIR / "10-pods.conflist").write_text(
            json.dumps({"cniVersion": version, "name": name, "plugins": plugins}))

    def leases(self, network):
        directory = Path("/var/lib/cni/networks") / network
        return sorted(f.name for f in directory.iterdir() if f.name[0].isdigit()) if directory.exists() else []

    def assertWhole(self):
        until(lambda: self.left() == 0, "the attachments to end")
        self.assertHostIs(self.before)


def interfaces(text):
    """Of `ip -o addr`: {interface: IPv4 addresses}."""
    found = {}
    for words in map(str.split, text.splitlines()):
        if len(words) > 3 and words[2] == "inet":
            found.setdefault(words[1], []).append(words[3])
    return found


class Containerd(RealCase):
    """ctr run --cni: libcni as containerd has it.  It tells no pod and no device: the network names one."""

    NEEDS = ("busybox", "containerd", "ctr", "runc")

    def setUp(self):
        super().setUp()
        config = self.dir / "containerd.toml"
        config.write_text(f"""version = 2
root = "{self.dir}/containerd"
state = "{self.dir}/state-containerd"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
  address = "{self.dir}/ct.sock"
""")
        with open(self.dir / "containerd.log", "w") as log:
            self.containerd = subprocess.Popen(["containerd", "--config", config], stdout=log, stderr=log,
                                               env=self.runtime)
        self.addCleanup(self.end_containerd)
        until(lambda: self.ctr("version").returncode == 0, "containerd", 3 * PATIENCE)

    def end_containerd(self):
        self.containerd.terminate()
        self.containerd.wait(PATIENCE)

    def ctr(self, *words):
        return subprocess.run(["ctr", "--address", self.dir / "ct.sock", *words], capture_output=True, text=True,
                              env=self.runtime)

    def container(self, name, *command):
        done = self.ctr("run", "--rm", "--rootfs", "--cni", self.root, f"rdmad-test-{os.getpid()}-{name}",
                        "/bin/busybox", *command)
        if "cgroup" in done.stderr:
            self.skipTest(f"runc cannot make cgroups here: {done.stderr.strip().splitlines()[-1]}")
        self.assertEqual(done.returncode, 0, done.stderr + (self.dir / "log").read_text()[-3000:])
        return done.stdout

    def test_a_device_of_the_configuration_behind_the_main_network(self):
        self.network_file(PTP, self.ours, TUNING, PORTMAP)
        seen = interfaces(self.container("a", "ip", "-o", "addr"))
        self.assertEqual((sorted(seen), seen["eth1"]), (["eth0", "eth1", "lo"], ["192.0.2.2/24"]))
        self.assertWhole()
        self.assertEqual(self.leases("pods"), [])
        self.assertIn("500", self.container("b", "cat", "/proc/sys/net/core/somaxconn"))

    def test_a_container_without_devices_passes_through_the_chain(self):
        self.contributed("10-chained.conflist")
        self.assertEqual(sorted(interfaces(self.container("a", "ip", "-o", "addr"))), ["eth0", "lo"])
        self.assertWhole()


class Podman(RealCase):
    """podman with CNI networks; it tells no pod either."""

    NEEDS = ("busybox", "podman", "runc")

    def setUp(self):
        super().setUp()
        config = self.dir / "containers.conf"
        config.write_text(f"""[network]
network_backend = "cni"
cni_plugin_dirs = ["/opt/cni/bin"]
network_config_dir = "{NETWORKS_DIR}"
[engine]
events_logger = "none"
tmp_dir = "{self.dir}/podman-tmp"
""")
        self.runtime |= {"CONTAINERS_CONF": str(config), "HOME": str(self.dir)}
        self.addCleanup(wait_for_podman, self.dir / "storage")
        self.addCleanup(lambda: self.podman("rm", "--all", "--force", "--time", "0"))

    def podman(self, *words):
        return subprocess.run(["podman", "--root", self.dir / "storage", "--runroot", self.dir / "podman-run",
                               "--cgroup-manager", "cgroupfs", "--runtime", "runc", *words],
                              capture_output=True, text=True, env=self.runtime)

    def succeed(self, *words):
        done = self.podman(*words)
        if "cgroup" in done.stderr and done.returncode:
            self.skipTest(f"podman cannot make cgroups here: {done.stderr.strip().splitlines()[-1]}")
        self.assertEqual(done.returncode, 0, done.stderr + (self.dir / "log").read_text()[-3000:])
        return done.stdout.strip()

    def start(self, name, network):
        return self.succeed("run", "--detach", "--name", name, "--network", network, "--log-driver", "none",
                            "--security-opt", "seccomp=unconfined", "--ulimit", "nofile=64:64", "--ulimit",
                            "nproc=64:64", "--rootfs", str(self.root), "/bin/busybox", "sleep", "3600")

    def interfaces(self, name):
        return interfaces(self.succeed("exec", name, "/bin/busybox", "ip", "-o", "addr"))

    def remove(self, name):
        self.succeed("rm", "--force", "--time", "0", name)

    def test_one_chain_with_bridge_tuning_and_portmap(self):
        bridge = {**PTP, "type": "bridge", "bridge": "cni0", "isGateway": True}
        self.network_file(bridge, self.ours, TUNING, PORTMAP, version="0.4.0")
        self.start("train", "pods")
        self.assertEqual(sorted(self.interfaces("train")), ["eth0", "eth1", "lo"])
        self.assertEqual(self.succeed("exec", "train", "/bin/busybox", "cat", "/proc/sys/net/core/somaxconn"), "500")
        self.remove("train")
        self.assertWhole()

    def test_after_a_reboot_without_a_delete(self):
        """The container has its id still and a namespace of its own again; the first one's NIC is undone."""
        self.network_file(PTP, self.ours)
        self.start("train", "pods")
        self.assertEqual(self.leases("pods"), ["192.0.2.2"])
        self.lose_power()
        self.assertEqual(self.left(), 1)
        self.succeed("start", "train")
        self.assertEqual(sorted(self.interfaces("train")), ["eth0", "eth1", "lo"])
        self.assertEqual((self.left(), len(self.leases("pods"))), (1, 1))
        self.remove("train")
        self.assertWhole()
        self.assertEqual(self.leases("pods"), [])

    def lose_power(self):
        """For podman: nothing runs, and /run and /dev/shm are empty."""
        for field in ("ConmonPid", "Pid"):
            os.kill(int(self.succeed("inspect", "train", "--format", f"{{{{.State.{field}}}}}")), signal.SIGKILL)
        for netns in Path("/run/netns").iterdir():
            run("umount", str(netns))
            netns.unlink()
        for directory in (self.dir / "podman-run", self.dir / "podman-tmp", Path("/run/main-leases"),
                          Path("/run/runc")):
            shutil.rmtree(directory, ignore_errors=True)
        for lock in Path("/dev/shm").glob("libpod*"):
            lock.unlink()


class Contributed(RealCase):
    """The networks of contrib/cni, run as containerd and Multus do: each plugin gets what the one before said, and
    of the runtime's values those that its capabilities name."""

    def setUp(self):
        super().setUp()
        self.pod("a")
        self.arguments = "IgnoreUnknown=1;K8S_POD_NAMESPACE=ml;K8S_POD_NAME=train"

    def run_plugins(self, command, network, values, ifname, previous=None):
        plugins = network["plugins"] if command != "DEL" else list(reversed(network["plugins"]))
        if command == "CHECK" and network.get("disableCheck"):
            # Debian's main plugins miss the addresses of others at their own interface; ours does not.
            plugins = [plugin for plugin in plugins if plugin["type"] == "rdmad-cni"]
        for plugin in plugins:
            wanted = {key: values[key] for key, on in plugin.get("capabilities", {}).items() if on and key in values}
            config = {"cniVersion": network["cniVersion"], "name": network["name"], **plugin,
                      **({"runtimeConfig": wanted} if wanted else {}),
                      **({"prevResult": previous} if previous else {})}
            child = self.start_plugin(command, "c1", "/run/netns/a", ifname, config, f"/opt/cni/bin/{plugin['type']}",
                                      self.arguments)
            answer = self.end_plugin(child)
            previous = answer if command == "ADD" else previous
        return previous

    def assertLife(self, network, expected, values=None, ifname="eth0"):
        """ADD, CHECK and DEL; `expected` are the pod's addresses by interface, but of the main network."""
        values = values or {}
        result = self.run_plugins("ADD", network, values, ifname)
        found = {name: addresses(name, "a") for name in expected}
        self.assertEqual(found, expected)
        self.run_plugins("CHECK", network, values, ifname, result)
        self.run_plugins("DEL", network, values, ifname, result)
        self.assertEqual([entry["ifname"] for entry in ip("link", netns="a")], ["lo"])
        self.assertWhole()
        self.assertEqual(self.leases(network["name"]), [])


class ContributedShared(Contributed):
    def test_chained(self):
        self.kubelet.allocate("ml/train", self.RESOURCE, 2)
        self.assertLife(json.loads((CONTRIB / "10-chained.conflist").read_text()),
                        {"eth1": ["192.0.2.100/24"], "eth2": ["192.0.2.101/24"]})

    def test_an_add_that_is_repeated_after_its_allocation_ended_is_refused(self):
        """An ADD that the end of rdmad interrupted is sent to the next one.  Kubelet, which has lost its checkpoint,
        may have given the pod's devices to another one by then."""
        network = json.loads((CONTRIB / "10-chained.conflist").read_text())
        main, ours = network["plugins"]
        self.kubelet.allocate("ml/train", self.RESOURCE, 1)
        before = self.run_plugins("ADD", {**network, "plugins": [main]}, {}, "eth0")
        self.run_plugins("ADD", {**network, "plugins": [ours]}, {}, "eth0", before)
        run("ip", "-n", "a", "link", "del", "eth1")
        self.kubelet.release("ml/train")
        self.kubelet.allocate("ml/other", self.RESOURCE, 2)
        self.client("allocations", "--refresh")
        with self.assertRaises(Failure) as refused:
            self.run_plugins("ADD", {**network, "plugins": [ours]}, {}, "eth0", before)
        self.assertEqual(refused.exception.code, 11)
        self.assertIn("devices for 0 of the 1 NICs", refused.exception.message)
        self.run_plugins("DEL", network, {}, "eth0", before)
        self.assertWhole()

    def test_a_pod_of_kubelet_that_it_does_not_list_is_refused(self):
        """A kubelet without its checkpoint has forgotten its devices; one without devices is listed too."""
        network = json.loads((CONTRIB / "10-chained.conflist").read_text())
        main, ours = network["plugins"]
        self.arguments += ";K8S_POD_UID=0e7f1ca3-5b4e-4a3c-9a57-0e7d3c1f2b01"
        before = self.run_plugins("ADD", {**network, "plugins": [main]}, {}, "eth0")
        with self.assertRaises(Failure) as refused:
            self.run_plugins("ADD", {**network, "plugins": [ours]}, {}, "eth0", before)
        self.assertEqual(refused.exception.code, 11)
        self.assertIn("kubelet has not listed them yet", refused.exception.message)
        self.kubelet.admit("ml/train")
        self.run_plugins("ADD", {**network, "plugins": [ours]}, {}, "eth0", before)
        self.assertEqual([entry["ifname"] for entry in ip("link", netns="a")], ["lo", "eth0"])
        self.run_plugins("DEL", network, {}, "eth0", before)
        self.assertWhole()

    def test_a_pod_of_kubelet_waits_while_pods_cannot_be_listed(self):
        """A kubelet that starts again without its checkpoint may have forgotten the pod's devices."""
        network = json.loads((CONTRIB / "10-chained.conflist").read_text())
        main, ours = network["plugins"]
        self.arguments += ";K8S_POD_UID=0e7f1ca3-5b4e-4a3c-9a57-0e7d3c1f2b01"
        self.kubelet.allocate("ml/other", self.RESOURCE, 1)
        self.client("allocations", "--refresh")
        before = self.run_plugins("ADD", {**network, "plugins": [main]}, {}, "eth0")
        self.kubelet.stop()
        with self.assertRaises(Failure) as refused:
            self.run_plugins("ADD", {**network, "plugins": [ours]}, {}, "eth0", before)
        self.assertEqual(refused.exception.code, 11)
        self.assertIn("which devices the pod was allocated: kubelet's podresources", refused.exception.message)
        self.kubelet.start()
        self.kubelet.admit("ml/train")
        self.run_plugins("ADD", {**network, "plugins": [ours]}, {}, "eth0", before)
        self.assertEqual([entry["ifname"] for entry in ip("link", netns="a")], ["lo", "eth0"])
        self.run_plugins("DEL", network, {}, "eth0", before)
        self.assertWhole()

    def test_alone(self):
        self.kubelet.allocate("ml/train", self.RESOURCE, 1)
        network = json.loads((CONTRIB / "20-alone.conflist").read_text())
        self.assertLife(network, {"rail1": ["192.0.2.100/24"]}, ifname="rail1")
        self.assertLife(network, {"net1": ["192.0.2.101/24"]}, {"deviceID": f"{self.allocated()}@0"}, "net1")

    def allocated(self):
        return self.client("allocations")["allocations"][0]["device_ids"][0]

    def test_a_definition_for_multus(self):
        """Multus puts the device into the configuration.  The host has an interface of the pod's name."""
        try:
            import yaml
        except ImportError:
            self.skipTest("python3-yaml is missing")
        run("ip", "link", "add", "net1", "type", "veth", "peer", "name", "wire9")
        self.addCleanup(run, "ip", "link", "del", "net1")
        config = json.loads(yaml.safe_load((CONTRIB / "multus.yaml").read_text())["spec"]["config"])
        version, name = config.pop("cniVersion"), config.pop("name")
        network = {"cniVersion": version, "name": name,
                   "plugins": [{**config, "deviceID": self.nics[ONE], "pciBusID": self.nics[ONE]}]}
        self.assertLife(network, {"net1": ["192.0.2.100/24"]}, ifname="net1")


class ContributedVke(Contributed):
    """As on Volcano Engine with the label exclusive: the NICs themselves, with the host's addresses."""

    RESOURCE, MODE = "vke.volcengine.com/rdma", 'mode = "exclusive";'

    def test_vke(self):
        self.kubelet.allocate("ml/train", self.RESOURCE, 2)
        entries = [{"cniConf": {"name": "rdma"}}, {"cniConf": {"name": "rdma"}, "deviceConf": {"ifName": "rail1"}}]
        self.assertLife(json.loads((CONTRIB / "30-vke.conflist").read_text()),
                        {"eth1": ["198.51.0.7/24"], "rail1": ["198.51.1.7/24"]},
                        {"io.kubernetes.cri.pod-annotations": {
                            "k8s.volcengine.com/pod-networks": json.dumps(entries)}})

    def assertNic(self, address):
        self.assertLife(json.loads((CONTRIB / "30-vke.conflist").read_text()), {"eth1": [address]},
                        {"io.kubernetes.cri.pod-annotations": {
                            "k8s.volcengine.com/pod-networks": json.dumps([{"cniConf": {"name": "rdma"}}])}})

    def test_a_pod_of_the_name_of_an_earlier_one_gets_its_own_nic(self):
        """As those of a StatefulSet: rdmad has not learnt yet that the first has ended, which had the other NIC."""
        for pod in ("ml/before", "ml/train"):
            self.kubelet.allocate(pod, self.RESOURCE, 1)
        self.client("allocations", "--refresh")
        for pod in ("ml/before", "ml/train"):
            self.kubelet.release(pod)
        self.kubelet.allocate("ml/train", self.RESOURCE, 1)
        self.assertNic("198.51.0.7/24")

    def test_a_pod_of_the_name_of_one_that_is_ending_gets_its_own_nic(self):
        """As after a deletion by force: kubelet lists both."""
        self.kubelet.allocate("ml/train", self.RESOURCE, 1)
        self.kubelet.supersede("ml/train")
        self.kubelet.allocate("ml/train", self.RESOURCE, 1)
        self.client("allocations", "--refresh")
        self.assertNic("198.51.1.7/24")


class ContributedVkeShared(Contributed):
    """The same with the label shared: that platform's manifest, which names no address.  Each NIC of each node has
    a subnet of its own there."""

    RESOURCE = "vke.volcengine.com/rdma"
    FIRST, SECOND = ["198.51.0.8/24"], ["198.51.1.8/24"]

    def assertNics(self, entries, expected):
        self.kubelet.allocate("ml/train", self.RESOURCE, 2)
        self.assertLife(json.loads((CONTRIB / "30-vke.conflist").read_text()), expected,
                        {"io.kubernetes.cri.pod-annotations": {"k8s.volcengine.com/pod-networks": json.dumps(entries)}})

    def test_addresses_are_of_the_subnet_of_each_nic(self):
        self.assertNics([{"cniConf": {"name": "rdma"}}] * 2, {"eth1": self.FIRST, "eth2": self.SECOND})

    def test_a_pod_that_names_an_address_gets_that(self):
        self.assertNics([{"cniConf": {"name": "rdma"}, "deviceConf": {"ips": ["198.51.0.99/24"]}},
                         {"cniConf": {"name": "rdma"}}], {"eth1": ["198.51.0.99/24"], "eth2": self.SECOND})

    def test_the_first_entry_may_be_the_main_interface(self):
        self.assertNics([{"cniConf": {"name": "trunk"}, "master": True, "deviceConf": {"options": {"vlanID": "7"}}},
                         {"cniConf": {"name": "rdma"}}], {"eth1": self.FIRST})

    def test_a_nic_without_a_subnet_is_refused_and_leaves_nothing(self):
        run("ip", "addr", "flush", "dev", OTHER)
        self.before = self.snapshot()
        with self.assertRaises(Failure) as refused:
            self.assertNics([{"cniConf": {"name": "rdma"}}] * 2, {})
        self.assertEqual(refused.exception.code, 104)
        self.assertIn(f"{OTHER} has no address", refused.exception.message)
        self.assertWhole()


if __name__ == "__main__":
    enter_private_host()
    enter_private_runtime()
    del sys.argv[1:4]
    tap.main(sys.argv[1:])
