#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""NCCL's files in the directory of an allocation, on the recorded node with eight rails.

usage: test-nccl.py RDMAD MODULE-DIR [TEST...]
"""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
import tempfile

sys.dont_write_bytecode = True

from control_socket import Connection  # noqa: E402
from machine_changes import Machine, post  # noqa: E402
from plugin_case import INSTRUMENTED, PATIENCE, RDMAD, TESTS, PluginCase, tap  # noqa: E402

RAIL = "rdma/rail"
OTHER = "rdma/other"
CONFIG = """
modules = {
  device-plugin = { resources = (
    { name = "rdma/rail"; mode = "exclusive"; selectors = { names = ( "mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3" ); }; },
    { name = "rdma/other"; mode = "exclusive"; selectors = { names = ( "mlx5_4", "mlx5_5" ); }; }
  ); };
  nccl = { network = "host"; %s };
};
"""


AUTO = CONFIG.replace('network = "host";', "")
# Four slots of one device.
SHARED = AUTO.replace('mode = "exclusive"; selectors = { names = ( "mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3" )',
                      'mode = "shared"; count = 4; selectors = { names = "mlx5_0"')

POOL = """
modules = {
  device-plugin = { resources = ( { name = "rdma/hca"; expose = "pool"; } ); };
  nccl = { network = "host"; };
};
"""

LOCAL = "  |-- %s\n     /32 host LOCAL\n"    # of fib_trie


class NcclTest(PluginCase):
    def start(self, config=CONFIG, first=True):
        if first:
            self.start_kubelet()
        self.start_daemon(config % "", "--module=nccl")
        self.wait_ready(4, RAIL)
        self.wait_ready(2, OTHER)

    def allocate(self, resource=RAIL, count=1, pod="ml/train-0"):
        return self.kubelet.allocate(pod, resource, count).reply.envs["RDMAD_ALLOCATION"]

    def path(self, allocation, name):
        return os.path.join(self.dir, "run", "allocations", allocation, name)

    def conf(self, allocation):
        """Generation, and the variables."""
        with open(self.path(allocation, "nccl.conf")) as file:
            lines = file.read().splitlines()
        generation = [line.split("generation ")[1].rstrip(".") for line in lines if "generation " in line]
        return (int(generation[0]) if generation else 0,
                dict(line.split("=", 1) for line in lines if line and line[0] != "#"))

    def wait_conf(self, allocation, **variables):
        self.wait_for(lambda: self.conf(allocation)[1] == variables, f"{variables} in nccl.conf")

    def reload(self, extra):
        self.write_config(CONFIG % extra)
        self.daemon.send_signal(signal.SIGHUP)

    def allocations_now(self):
        """As kubelet has them at this moment."""
        connection = Connection(self.socket, PATIENCE)
        connection.request("POST", "/api/v1/allocations/refresh")
        self.assertEqual(connection.getresponse().status, 200)
        return self.allocations()

    def kinds(self):
        return [event["kind"] for event in self.ask("events")["events"]]

    def get(self, query):
        connection = Connection(self.socket, PATIENCE)
        connection.request("GET", "/api/v1/nccl" + query)
        reply = connection.getresponse()
        return reply.status, reply.read().decode()

    # ---- pods of the recorded machine ----

    UID = "0e7f1ca3-5b4e-4a3c-9a57-0e7d3c1f2b%02d"

    def add_pod(self, pod, number, *addresses, default=None, also=()):
        """A pod whose sandbox is the process 4000 + number, in a network with these addresses; `also`: processes
        that are younger, with their address."""
        self.own_machine()
        uid = self.UID % number
        slice_ = f"sys/fs/cgroup/kubepods.slice/kubepods-pod{uid.replace('-', '_')}.slice"
        sandbox, main = (f"cri-containerd-{digit * 64}.scope" for digit in "ab")
        self.put("sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n")
        for at, (pid, mine) in enumerate([(4000 + number, addresses), *also]):
            scope = f"{slice_}/{main if at else sandbox}"
            self.put(f"proc/{pid}/stat", f"{pid} (a ) b) S 1" + " 0" * 17 + f" {100 + at} 0\n")
            self.put(f"proc/{pid}/cgroup", f"0::/{scope[len('sys/fs/cgroup/'):]}\n")
            self.put(f"proc/{pid}/net/fib_trie", "".join(LOCAL % address for address in mine))
            if default:
                self.put(f"proc/{pid}/net/route", f"Iface\tDestination\n{default}\t00000000\t0100000A\t3\t0\t0\t0\t00000000\n")
            self.put(f"{scope}/cgroup.procs", f"{pid}\n")
        self.put(f"{slice_}/cgroup.events", "populated 1\n")
        self.put(f"var/log/pods/{pod.replace('/', '_')}_{uid}/x", "")

    def put_gid(self, device, index, address):
        port = f"sys/class/infiniband/{device}/ports/1"
        parts = [int(part) for part in address.split(".")]
        self.put(f"{port}/gids/{index}", "0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x\n" % tuple(parts))
        self.put(f"{port}/gid_attrs/types/{index}", "RoCE v2\n")
        self.put(f"{port}/gid_attrs/ndevs/{index}", "eth0\n")

    def test_a_bundle_has_the_answers_of_modules(self):
        self.start()
        bundle = os.path.join(self.dir, "bundle.tar.gz")
        subprocess.run([RDMAD, "doctor", "--bundle", bundle, "--sysroot", self.machine, "--socket", self.socket],
                       check=True, timeout=PATIENCE)
        with tarfile.open(bundle) as tar:
            names = tar.getnames()
            answer = json.load(tar.extractfile("rdmad-bundle/api/nccl.json"))
        self.assertEqual(answer, self.ask("nccl-env"))
        self.assertNotIn("rdmad-bundle/api/explain.json", names)    # of one device

    def test_pods_of_one_device_each_have_the_network_of_their_own_processes(self):
        """One on the host's network, and one with an interface of its own upon the same device."""
        host, own = self.address("mlx5_0"), "203.0.113.7"
        self.add_pod("ml/host", 1, host, "127.0.0.1", default="eth9")
        self.add_pod("ml/own", 2, own)
        self.put_gid("mlx5_0", 7, own)
        self.start(config=SHARED)
        first, second = self.allocate(pod="ml/host"), self.allocate(pod="ml/own")
        self.assertEqual(self.conf(first)[1], {"NCCL_IB_HCA": "=mlx5_0:1", "NCCL_IB_GID_INDEX": "3",
                                               "NCCL_SOCKET_IFNAME": "=eth9"})
        self.assertEqual(self.conf(second)[1], {"NCCL_IB_HCA": "=mlx5_0:1", "NCCL_IB_GID_INDEX": "7"})

    def test_a_pod_that_adds_addresses_without_end_takes_little_memory(self):
        """CAP_NET_ADMIN suffices for 100000 in a second.  The chart gives rdmad 48 MiB."""
        many = [f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}" for n in range(190000)]
        self.add_pod("ml/train-0", 1, *many, *many)
        self.start(config=AUTO)
        allocation = self.allocate()
        self.wait_for(lambda: "more than 16384 addresses" in self.log(), "a look")
        self.wait_conf(allocation, NCCL_IB_HCA=f'={self.allocations()[allocation]["device_names"][0]}:1')
        self.assertTrue([f for f in self.findings() if "network is not known" in f["text"] and
                         "more than 16384 addresses" in f["text"]])
        with open(f"/proc/{self.daemon.pid}/status") as status:
            peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
        if not INSTRUMENTED:
            self.assertLess(peak >> 10, 48)

    def test_a_process_with_a_network_of_its_own_is_not_the_sandbox(self):
        self.add_pod("ml/train-0", 1, self.address("mlx5_0"), also=[(3001, ["203.0.113.9"])])
        self.add_pod("ml/train-1", 2, "203.0.113.9")
        self.start(config=SHARED)
        self.assertEqual(self.conf(self.allocate())[1]["NCCL_IB_GID_INDEX"], "3")

    def test_the_files_are_there_before_the_first_process(self):
        """The pod's network comes long after Allocate, and moments before PreStartContainer."""
        self.own_machine()
        self.start(config=AUTO)
        grant = self.kubelet.manager.allocate(("ml", "train-0", "main"), RAIL, 1)
        allocation = grant.reply.envs["RDMAD_ALLOCATION"]
        self.wait_for(lambda: "network of ml/train-0" in self.log(), "a look that found nothing")
        self.wait_for(lambda: self.conf(allocation)[0], "a plan")
        self.assertNotIn("NCCL_IB_GID_INDEX", self.conf(allocation)[1])
        device = self.allocations()[allocation]["device_names"][0]
        self.add_pod("ml/train-0", 1, self.address(device))
        self.endpoint(RAIL).start_call(grant.ids).result(PATIENCE)
        self.assertEqual(self.conf(allocation)[1], {"NCCL_IB_HCA": f"={device}:1", "NCCL_IB_GID_INDEX": "3"})
        with open(self.path(allocation, "plan.json")) as file:
            self.assertFalse(json.load(file)["refused"])
        self.assertNotIn("nccl-plan-changed", self.kinds())

    def test_files_that_cannot_be_written_hold_nobody_for_ever(self):
        """A directory in the place of plan.json, as a full disk would: the container starts, and it is told."""
        self.own_machine()
        self.start(config=AUTO)
        grant = self.kubelet.manager.allocate(("ml", "train-0", "main"), RAIL, 1)
        allocation = grant.reply.envs["RDMAD_ALLOCATION"]
        self.wait_for(lambda: "network of ml/train-0" in self.log(), "a look that found nothing")
        self.wait_for(lambda: self.conf(allocation)[0], "a plan")
        os.remove(self.path(allocation, "plan.json"))
        os.mkdir(self.path(allocation, "plan.json"))
        self.add_pod("ml/train-0", 1, self.address(self.allocations()[allocation]["device_names"][0]))
        self.endpoint(RAIL).start_call(grant.ids).result(PATIENCE)
        events = [e["message"] for e in self.ask("events")["events"] if e["kind"] == "start-unchecked"]
        self.assertEqual(len(events), 1)
        self.assertIn("its files are not written yet", events[0])
        os.rmdir(self.path(allocation, "plan.json"))
        self.wait_for(lambda: self.conf(allocation)[1].get("NCCL_IB_GID_INDEX") == "3", "the plan, on another try")

    def test_files_that_cannot_be_written_are_one_line_for_all_containers(self):
        self.start()
        for allocation in (self.allocate(), self.allocate(pod="ml/train-1")):
            os.remove(self.path(allocation, "plan.json"))
            os.mkdir(self.path(allocation, "plan.json"))
        self.end_daemon()
        self.start(first=False)
        line = "files of 2 containers cannot be written, the first: allocation"
        self.wait_for(lambda: line in self.log(), "a line")
        another = self.path(self.allocate(pod="ml/train-2"), "nccl.conf")
        self.wait_for(lambda: os.path.exists(another), "another update")
        self.assertEqual(self.log().count(line), 1)

    def test_a_pod_without_a_network_starts_all_the_same(self):
        self.start(config=AUTO)
        allocation = self.allocate()
        self.assertNotIn("NCCL_IB_GID_INDEX", self.conf(allocation)[1])
        self.assertTrue([f for f in self.findings() if "network is not known" in f["text"]])

    def test_an_error_that_may_pass_is_no_answer(self):
        """Two pods of one name have processes while the first one ends: the plan on the disk stays."""
        addresses = [self.address(f"mlx5_{i}") for i in range(4)]
        self.add_pod("ml/train-0", 1, *addresses)
        self.start(config=AUTO)
        allocation = self.allocate()
        before = os.stat(self.path(allocation, "nccl.conf")).st_ino
        self.end_daemon()
        self.add_pod("ml/train-0", 2, *addresses)
        os.truncate(os.path.join(self.dir, "log"), 0)
        self.start(config=AUTO, first=False)
        self.wait_for(lambda: self.log().count("two pods of that name have processes") > 2, "looks")
        self.assertEqual(os.stat(self.path(allocation, "nccl.conf")).st_ino, before)
        shutil.rmtree(os.path.join(self.machine, "var/log/pods", "ml_train-0_" + self.UID % 2))
        self.wait_for(lambda: self.get(f"?allocation={allocation}")[0] == 200, "plan")
        self.assertEqual(os.stat(self.path(allocation, "nccl.conf")).st_ino, before)

    def test_a_restart_of_rdmad_leaves_what_was_read(self):
        """The network is read again, and until then the plan on the disk is the best there is."""
        self.add_pod("ml/train-0", 1, *(self.address(f"mlx5_{i}") for i in range(4)))
        self.start(config=AUTO)
        allocation = self.allocate()
        before = os.stat(self.path(allocation, "nccl.conf")).st_ino
        self.end_daemon()
        self.start(config=AUTO, first=False)
        self.wait_for(lambda: self.get(f"?allocation={allocation}")[0] == 200, "plan after the restart")
        self.assertEqual(os.stat(self.path(allocation, "nccl.conf")).st_ino, before)

    def test_a_container_that_starts_again_reads_the_present_plan(self):
        self.add_pod("ml/train-0", 1, *(self.address(f"mlx5_{i}") for i in range(4)))
        self.start(config=AUTO)
        grant = self.kubelet.allocate("ml/train-0", RAIL, 1)
        allocation = grant.reply.envs["RDMAD_ALLOCATION"]
        for value, events in ((1, 1), (2, 2)):
            self.write_config(AUTO % f"traffic_class = {value};")
            self.daemon.send_signal(signal.SIGHUP)
            self.wait_for(lambda: self.conf(allocation)[1].get("NCCL_IB_TC") == str(value), "traffic class")
            changed = [e["message"] for e in self.ask("events")["events"] if e["kind"] == "nccl-plan-changed"]
            self.assertEqual(len(changed), events)
            # The difference to what the job has, which is that of its last start.
            self.assertIn(f"NCCL_IB_TC {value}, was {'unset' if value == 1 else 1}", changed[-1])
            self.endpoint(RAIL).start_call(grant.ids).result(PATIENCE)

    def test_a_module_that_comes_or_goes_with_a_reload(self):
        """Kubelet calls PreStartContainer while there is something to wait for."""
        without = CONFIG.replace("nccl = {", "# ") % ""
        self.start_kubelet()
        self.daemon = self.spawn_daemon(without, modules=())
        self.wait_ready(4, RAIL)
        for config, wanted in ((CONFIG % "", True), (without, False)):
            self.assertEqual(self.endpoint(RAIL).options.pre_start_required, not wanted)
            self.write_config(config)
            self.daemon.send_signal(signal.SIGHUP)
            self.wait_for(lambda: self.endpoint(RAIL).options.pre_start_required == wanted, "new options")
            self.wait_ready(4, RAIL)

    def test_the_host_is_seen_by_its_own_network(self):
        """Its default route leaves a NIC out, and its addresses decide."""
        self.own_machine()
        self.put("proc/self/net/fib_trie", "".join(LOCAL % self.address(f"mlx5_{i}") for i in range(8)))
        with open(os.path.join(self.machine, "sys/class/infiniband/mlx5_1/ports/1/gid_attrs/ndevs/3")) as file:
            netdev = file.read().strip()
        self.put("proc/self/net/route", f"Iface\n{netdev}\t00000000\t0100000A\t3\t0\t0\t0\t00000000\n")
        self.start()
        text = self.command("--explain").stdout
        self.assertIn("\nmlx5_1:1  its interface has the default route\n", text)
        self.assertIn("8 addresses in the namespace", text)

    def test_a_device_that_left_for_a_pod_is_known_over_a_restart(self):
        """As module cni moves it: it leaves the inventory, and has an attachment without the index of a GID."""
        self.own_machine()
        os.remove(os.path.join(self.machine, "sys/class/infiniband/mlx5_0/ports/1/link_layer"))
        self.put("sys/class/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand\n")
        Machine(self.machine).separate_namespaces()
        self.start()
        allocation = self.allocate()
        self.assertEqual(self.allocations()[allocation]["device_names"], ["mlx5_0"])
        Machine(self.machine).unplug("mlx5_0")
        post(self.socket, "/api/v1/rescan")
        self.wait_for(lambda: "pod" in {device["place"] for device in self.ask("devices")["devices"]}, "its move")
        self.assertEqual(self.allocations()[allocation]["device_names"], ["mlx5_0"])
        self.end_daemon()
        with contextlib.closing(sqlite3.connect(os.path.join(self.dir, "state/rdmad.db"))) as database, database:
            database.execute("INSERT INTO attachments SELECT seq, 0, '/run/netns/a', 'net1', 'mlx5_0', '192.0.2.7/24',"
                             " -1 FROM allocations WHERE id = ?", (allocation,))
        self.start_daemon(CONFIG % "", "--module=nccl")
        self.wait_conf(allocation, NCCL_IB_HCA="=mlx5_0:1")
        with open(self.path(allocation, "plan.json")) as file:
            plan = json.load(file)
        rail, = plan["rails"]
        self.assertEqual((plan["refused"], rail["link_layer"], rail["distance"] == "SYS"), (False, "infiniband", False))

    # ---- files ----

    def test_the_files_are_there_and_say_what_is_right(self):
        self.start()
        allocation = self.allocate(count=4)
        devices = self.allocations()[allocation]["device_names"]
        self.wait_conf(allocation, NCCL_IB_HCA="=" + ",".join(f"{name}:1" for name in sorted(devices)),
                       NCCL_IB_GID_INDEX="3")
        with open(self.path(allocation, "plan.json")) as file:
            plan = json.load(file)
        self.assertEqual((plan["refused"], plan["allocation"]), (False, allocation))
        self.assertEqual(len([rail for rail in plan["rails"] if rail["selected"]]), 4)
        shell = subprocess.run(["dash", "-euc", f'. {self.path(allocation, "nccl.env")}; echo $NCCL_IB_GID_INDEX'],
                               capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((shell.returncode, shell.stdout, shell.stderr), (0, "3\n", ""))

    def test_a_network_that_is_to_come_is_waited_for(self):
        self.start(config=AUTO)
        allocation = self.allocate()
        self.wait_conf(allocation, NCCL_IB_HCA=f'={self.allocations()[allocation]["device_names"][0]}:1')
        with open(self.path(allocation, "nccl.conf")) as file:
            self.assertIn("# Refused: the container's network is not known yet", file.read())

    def test_a_container_with_all_devices_has_the_rails_of_the_node(self):
        """With the slot of any of them, also after the loss of the database."""
        self.start_kubelet()
        self.start_daemon(POOL, "--module=nccl")
        self.wait_ready(1000, "rdma/hca")
        rails = {"NCCL_IB_HCA": "=" + ",".join(f"mlx5_{n}:1" for n in range(8)), "NCCL_IB_GID_INDEX": "3"}
        for name, value in rails.items():
            self.assertIn(f"{name}='{value}'", self.ask("nccl-env")["text"])
        allocations = [self.allocate("rdma/hca", pod=f"ml/train-{n}") for n in range(2)]
        self.wait_for(lambda: all(held["pod"] for held in self.allocations().values()), "the pods")
        for again in (False, True):
            for allocation in allocations:
                held = self.allocations()[allocation]
                self.assertEqual((len(held["slots"]), len(set(held["device_names"]))), (1, 11))
                self.wait_conf(allocation, **rails)
            if not again:
                self.end_daemon()
                shutil.rmtree(os.path.join(self.dir, "state"))
                self.start_daemon(POOL, "--module=nccl")
                self.wait_ready(1000, "rdma/hca")
                self.wait_for(lambda: set(self.allocations()) == set(allocations), "the allocations")

    def test_an_ethernet_port_that_nobody_set_up_is_no_rail_of_infiniband(self):
        """In each mode of exposure, with the host's network and with one that is to come, over a restart."""
        machine = os.path.join(self.dir, "machine")
        subprocess.run([os.path.join(TESTS, "machines/expand"), "infiniband-ethernet", machine], check=True)
        self.machine = machine
        for resource, healthy, slots in (('expose = "pool"', 800, 1), ('mode = "exclusive"', 4, 4)):
            for network in ("host", "auto"):
                with self.subTest(f"{resource}, {network}"):
                    self.setUp()
                    config = (f'modules = {{ device-plugin = {{ resources = ( {{ name = "{RAIL}"; {resource}; }} ); }};'
                              f' nccl = {{ network = "{network}"; }}; }};')
                    self.start_kubelet()
                    self.start_daemon(config, "--module=nccl")
                    self.wait_ready(healthy, RAIL)
                    self.assertIn("NCCL_IB_HCA='=mlx5_0:1,mlx5_1:1,mlx5_2:1'", self.ask("nccl-env")["text"])
                    allocation = self.allocate(RAIL, slots)
                    self.wait_conf(allocation, NCCL_IB_HCA="=mlx5_0:1,mlx5_1:1,mlx5_2:1")
                    self.end_daemon()
                    self.start_daemon(config, "--module=nccl")
                    self.wait_ready(healthy, RAIL)
                    self.wait_conf(allocation, NCCL_IB_HCA="=mlx5_0:1,mlx5_1:1,mlx5_2:1")
                    self.end_daemon()

    def test_two_resources_of_a_container_share_a_plan(self):
        self.start()
        first = self.allocate(RAIL, 1, "ml/two")
        second = self.allocate(OTHER, 1, "ml/two")
        names = [self.allocations()[allocation]["device_names"][0] for allocation in (first, second)]
        for allocation in (first, second):
            self.wait_conf(allocation, NCCL_IB_HCA="=" + ",".join(f"{name}:1" for name in sorted(names)),
                           NCCL_IB_GID_INDEX="3")

    def test_at_its_start_a_container_has_the_plan_of_all_its_allocations(self):
        """Kubelet lists the pod in time for PreStartContainer only, which leaves nccl.conf to module nccl."""
        self.start(config=CONFIG.replace("device-plugin = {", "device-plugin = { prestart = true;"))
        grants = [self.kubelet.manager.allocate(("ml", "two", "main"), name, 1) for name in (RAIL, OTHER)]
        both = [grant.reply.envs["RDMAD_ALLOCATION"] for grant in grants]
        for allocation in both:
            self.wait_for(lambda: self.conf(allocation)[1].get("NCCL_IB_GID_INDEX") == "3", "a plan of its own")
        names = [self.allocations()[allocation]["device_names"][0] for allocation in both]
        wanted = {"NCCL_IB_HCA": "=" + ",".join(f"{name}:1" for name in sorted(names)), "NCCL_IB_GID_INDEX": "3"}
        for name, grant in zip((RAIL, OTHER), grants):
            self.endpoint(name).start_call(grant.ids).result(PATIENCE)
            self.assertEqual([self.conf(allocation)[1] for allocation in both], [wanted] * 2)
        self.assertNotIn("nccl-plan-changed", self.kinds())

    def test_a_restart_leaves_the_plan(self):
        self.start()
        allocation = self.allocate()
        self.wait_for(lambda: self.conf(allocation)[0] == 1, "a plan")
        before = os.stat(self.path(allocation, "nccl.conf"))
        self.end_daemon()
        self.start(first=False)
        self.wait_for(lambda: self.get(f"?allocation={allocation}")[0] == 200, "plan after the restart")
        after = os.stat(self.path(allocation, "nccl.conf"))
        self.assertEqual((before.st_ino, before.st_mtime_ns), (after.st_ino, after.st_mtime_ns))

    def test_new_settings_change_the_plan_and_the_job_is_told(self):
        self.start()
        allocation = self.allocate()
        self.wait_for(lambda: self.conf(allocation)[0] == 1, "a plan")
        self.reload("traffic_class = 106;")
        self.wait_for(lambda: self.conf(allocation)[1].get("NCCL_IB_TC") == "106", "traffic class")
        self.assertEqual(self.conf(allocation)[0], 2)
        events = [e for e in self.ask("events")["events"] if e["kind"] == "nccl-plan-changed"]
        self.assertEqual(len(events), 1)
        self.assertIn("a running job has the old ones: NCCL_IB_TC 106, was unset", events[0]["message"])

    def test_the_first_settings_are_no_change(self):
        """Before them a job could not have read any."""
        self.start(config=AUTO)
        allocation = self.allocate()
        self.wait_for(lambda: self.conf(allocation)[0] == 1, "a plan")
        self.reload("")
        self.wait_for(lambda: self.conf(allocation)[1].get("NCCL_IB_GID_INDEX") == "3", "the index")
        self.assertNotIn("nccl-plan-changed", self.kinds())

    def test_a_new_holder_has_read_nothing(self):
        """Kubelet gives the same devices to another pod: its job begins with what is right then."""
        self.start()
        first = self.allocate(count=4)
        self.wait_for(lambda: self.conf(first)[0] == 1, "a plan")
        self.wait_for(lambda: self.allocations()[first]["pod"], "pod of the allocation")
        self.reload("traffic_class = 1;")
        self.wait_for(lambda: self.conf(first)[1].get("NCCL_IB_TC") == "1", "traffic class")
        self.kubelet.release("ml/train-0")
        second = self.allocate(count=4, pod="ml/train-1")
        self.assertNotEqual(second, first)
        self.wait_for(lambda: first not in self.allocations_now(), "end of the first allocation")
        self.wait_for(lambda: self.conf(second)[0] == 1, "a plan of its own")
        self.reload("traffic_class = 2;")
        self.wait_for(lambda: self.conf(second)[1].get("NCCL_IB_TC") == "2", "traffic class")
        events = [e["message"] for e in self.ask("events")["events"] if e["kind"] == "nccl-plan-changed"]
        self.assertEqual([message.split(": ", 1)[1] for message in events],
                         ["NCCL_IB_TC 1, was unset", "NCCL_IB_TC 2, was 1"])

    def test_a_directory_of_an_allocation_that_ended_stays_away(self):
        self.start()
        allocation = self.allocate()
        self.wait_for(lambda: self.conf(allocation)[0] == 1, "a plan")
        self.wait_for(lambda: self.allocations()[allocation]["pod"], "pod of the allocation")
        self.kubelet.release("ml/train-0")
        self.wait_for(lambda: allocation not in self.allocations_now(), "end of the allocation")
        self.reload("traffic_class = 106;")
        other = self.allocate(pod="ml/train-1")
        self.wait_for(lambda: self.conf(other)[1].get("NCCL_IB_TC") == "106", "traffic class")
        self.assertFalse(os.path.exists(os.path.dirname(self.path(allocation, ""))))

    def test_the_environment_plugin_is_put_there_when_configured(self):
        plugin = os.path.join(os.path.dirname(sys.argv[2]), "contrib", "nccl", "libnccl-env.so")
        os.chmod(plugin, 0o755)
        self.start()
        allocation = self.allocate()
        self.wait_for(lambda: self.conf(allocation)[0] == 1, "a plan")
        self.assertFalse(os.path.exists(self.path(allocation, "libnccl-env.so")))
        self.reload(f'env_plugin = "{plugin}";')
        self.wait_for(lambda: self.conf(allocation)[1].get("NCCL_ENV_PLUGIN") == "/run/rdmad/libnccl-env.so", "the plugin")
        with open(plugin, "rb") as ours, open(self.path(allocation, "libnccl-env.so"), "rb") as theirs:
            self.assertEqual(ours.read(), theirs.read())
        self.reload(f'env_plugin = "{self.dir}/nowhere.so";')
        self.wait_for(lambda: "nowhere.so" in self.log(), "an error")
        self.assertIn("env_plugin", self.log())

    # ---- metrics ----

    def test_metrics_tell_of_each_container(self):
        config = CONFIG.replace("nccl = {", "metrics = { listen = ( ); page = false; };\n  nccl = {")
        self.start_kubelet()
        self.start_daemon(config % "", "--module=nccl", "--module=metrics")
        self.wait_ready(4, RAIL)
        allocation = self.allocate()
        self.wait_for(lambda: self.allocations()[allocation]["pod"], "pod of the allocation")
        device = self.allocations()[allocation]["device_names"][0]
        labels = 'container="main",namespace="ml",pod="train-0"'
        for line in (f'env="NCCL_IB_HCA=={device}:1 NCCL_IB_GID_INDEX=3"', "rdma_nccl_env_consistent{",
                     'rdma_nccl_env_refused{reason="no-setting"} 0', "rdmad_nccl_plan_changes_total 0"):
            self.wait_for(lambda: line in self.metrics(), line)
        consistent = [line for line in self.metrics().splitlines()
                      if line.startswith("rdma_nccl_env_consistent{")]
        self.assertEqual(len(consistent), 1)
        self.assertTrue(consistent[0].endswith("} 1"), consistent)
        for label in labels.split(","):
            self.assertIn(label, consistent[0])

    def test_an_init_container_that_keeps_a_device_does_not_end_a_scrape(self):
        """podresources lists no init containers: an allocation can have a pod and no container."""
        config = CONFIG.replace("nccl = {", "metrics = { listen = ( ); page = false; };\n  nccl = {")
        self.start_kubelet()
        self.start_daemon(config % "", "--module=nccl", "--module=metrics")
        self.wait_ready(4, RAIL)
        self.kubelet.run("ml/train-0", RAIL, 1, init=2)
        self.wait_for(lambda: [(a["pod"], a["container"]) for a in self.allocations().values()].count(("train-0", None)),
                      "the pod of the init container")
        consistent = [line for line in self.metrics().splitlines() if line.startswith("rdma_nccl_env_consistent{")]
        self.assertEqual(len(consistent), 2, consistent)
        self.assertIn('rdma_nccl_env_consistent{namespace="ml",pod="train-0",container=""} 1', consistent)

    def metrics(self):
        connection = Connection(self.socket, PATIENCE)
        connection.request("GET", "/metrics")
        return connection.getresponse().read().decode()

    # ---- the API ----

    def test_the_api_has_each_form(self):
        self.start()
        allocation = self.allocate()
        self.wait_for(lambda: self.conf(allocation)[0] == 1, "a plan")
        status, text = self.get(f"?allocation={allocation}")
        answer = json.loads(text)
        self.assertEqual((status, answer["plan"]["env"]["NCCL_IB_GID_INDEX"]), (200, "3"))
        self.assertIn("export NCCL_IB_GID_INDEX='3'", answer["text"])
        self.assertEqual(self.get("?allocation=0011223344556677")[0], 404)
        self.assertEqual(self.get("?nccl-version=3")[0], 400)
        for version, nearest in (("2.99", "2.32"), ("2.4", "2.18")):
            answer = json.loads(self.get(f"?allocation={allocation}&nccl-version={version}")[1])
            warning = f"NCCL {version} is not known: treated as {nearest}"
            self.assertIn(warning, answer["plan"]["warnings"])
            self.assertIn(f"# Warning: {warning}\n", answer["text"])
        self.assertEqual(self.get("?format=xml")[0], 400)

    def command(self, *options):
        return subprocess.run([sys.argv[1], "nccl-env", *options, "--socket", self.socket],
                              capture_output=True, text=True, timeout=PATIENCE)

    def test_the_command_prints_each_form(self):
        self.start()
        allocation = self.allocate()
        self.wait_for(lambda: self.conf(allocation)[0] == 1, "a plan")
        for options, line in (([], "export NCCL_IB_GID_INDEX='3'\n"),
                              (["--format", "conf", "--nccl-version", "2.27"], "\nNCCL_IB_GID_INDEX=3\n"),
                              (["--format", "json"], '"NCCL_IB_GID_INDEX": "3"'),
                              (["--explain"], "1 of 1 port selected")):
            done = self.command("--allocation", allocation, *options)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn(line, done.stdout)
        self.assertIn("8 of 11 ports selected", self.command("--explain").stdout)
        done = self.command("--allocation", "0011223344556677")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("no allocation 0011223344556677", done.stderr)

    def own_machine(self):
        """One in which this test may write."""
        if self.machine is not type(self).machine:
            return
        directory = tempfile.TemporaryDirectory(prefix="rdmad-machine-")
        self.addCleanup(directory.cleanup)
        shared, self.machine = self.machine, os.path.join(directory.name, "m")
        shutil.copytree(shared, self.machine, symlinks=True, copy_function=os.link)

    def address(self, device, index=3):
        """The IPv4 address behind a GID."""
        with open(os.path.join(self.machine, f"sys/class/infiniband/{device}/ports/1/gids/{index}")) as file:
            raw = bytes.fromhex(file.read().strip().replace(":", ""))
        return ".".join(str(byte) for byte in raw[12:])

    def put(self, path, text):
        path = os.path.join(self.machine, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)

    def test_another_namespace_is_asked_by_its_process(self):
        """A process of the recorded machine that has rail 0's address, and one that has nobody's."""
        self.own_machine()
        self.put("proc/4711/net/fib_trie", LOCAL % self.address("mlx5_0"))
        self.put("proc/4712/net/fib_trie", LOCAL % "203.0.113.9")
        self.start()
        done = self.command("--pid", "4711", "--format", "conf")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertIn("\nNCCL_IB_HCA==mlx5_0:1\nNCCL_IB_GID_INDEX=3\n", done.stdout)
        # Such a path is not entered, which would need a capability.
        self.assertEqual(self.command("--netns", "/proc/4711/ns/net", "--format", "conf").stdout, done.stdout)
        self.assertEqual(self.command("--netns", "/proc/4711/ns/mnt").returncode, 1)
        done = self.command("--pid", "4712")
        self.assertEqual(done.returncode, 1)
        self.assertIn("unset NCCL_IB_GID_INDEX\n", done.stdout)
        self.assertIn("no routable GID", done.stderr)
        for options, words in ((("--pid", "4713"), "4713"), (("--pid", "x"), "is not a process"),
                               (("--pid", "1", "--netns", "/proc/1/ns/net"), "either a process"),
                               (("--netns", "a"), "network namespace a: No such file"),
                               (("--netns", "/dev/null"), "cannot enter the network namespace /dev/null")):
            done = self.command(*options)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(words, done.stderr)

    def test_a_refusal_is_an_error_of_the_command_but_explained(self):
        self.start(config=AUTO)
        allocation = self.allocate()
        self.wait_for(lambda: self.conf(allocation)[0] == 1, "a plan")
        done = self.command("--allocation", allocation)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the container's network is not known yet", done.stderr)
        self.assertIn("unset NCCL_IB_GID_INDEX\n", done.stdout)
        done = self.command("--allocation", allocation, "--explain")
        self.assertEqual(done.returncode, 0)
        self.assertIn("Refused: the container's network is not known yet", done.stdout)

    def test_bad_settings_are_refused_with_their_line(self):
        config = self.write_config(CONFIG % "traffic_class = 300;")
        checked = subprocess.run([sys.argv[1], "--check", "--config", config, "--module-dir", sys.argv[2]],
                                 capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(checked.returncode, 2)
        self.assertIn("traffic_class", checked.stderr)


if __name__ == "__main__":
    tap.main(sys.argv[3:])
