#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Health of devices, from the recorded machine's files to kubelet's list and the event log.

usage: test-health.py RDMAD MODULE-DIR [TEST...]
"""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile

import grpc

sys.dont_write_bytecode = True

from machine_changes import Machine, post  # noqa: E402
from plugin_case import HCA, PATIENCE, RDMAD, AdmissionError, PluginCase, tap  # noqa: E402

QUICK = "modules = { device-plugin = { health_delay = 0; forget_delay = 1; %s }; };"


class HealthCase(PluginCase):
    def setUp(self):
        super().setUp()
        self.hardware = Machine(self.machine)
        self.addCleanup(self.hardware.mend)

    def rescan(self):
        post(self.socket, "/api/v1/rescan")

    def change(self, attribute, value):
        """The former state."""
        before = self.hardware.read(attribute)
        self.hardware.write(attribute, value)
        if self.daemon is not None:
            self.rescan()
        return before

    def unplug(self, device):
        self.hardware.unplug(device)
        self.rescan()

    def plug(self, device):
        self.hardware.plug(device)
        self.rescan()

    def unhealthy(self, name=HCA):
        """Device ids with an unhealthy slot."""
        devices = self.kubelet.devices(name).items()
        return {id.partition("::")[0] for id, (healthy, _) in devices if not healthy}

    def wait_unhealthy(self, ids, name=HCA):
        self.wait_for(lambda: self.unhealthy(name) == ids, f"list with {ids} unhealthy")

    def events(self, kind):
        return [e for e in self.ask("events")["events"] if e["kind"] == kind]

    def id_of(self, device):
        return next(d["device_id"] for d in self.ask("devices")["devices"] if d["device_name"] == device)

    def rdmad(self, *words):
        return subprocess.run([RDMAD, *words, "--socket", self.socket], check=True, timeout=PATIENCE,
                              capture_output=True, text=True)

    def device(self, name):
        return next(d for d in self.ask("devices")["devices"] if d["device_name"] == name)

    def reasons(self, device):
        return {r["name"]: r["reason"] for r in self.ask("explain", device)["resources"]}

    def told(self, device):
        """Health by every answer: kubelet's list, devices, the verdict of doctor."""
        found = self.device(device)
        doctor = {f["subject"] for f in self.findings() if f["level"] == "problem"}
        unhealthy = set().union(*(self.unhealthy(name) for name in self.kubelet.resources()))
        return {found["device_id"] not in unhealthy, found["health"] == "healthy",
                found["health_reason"] is None, device not in doctor}


class HealthTest(HealthCase):
    def test_a_scan_of_one_device_reads_no_other(self):
        self.both(QUICK % "")
        self.wait_ready()
        down = {self.id_of(name) for name in ("mlx5_0", "mlx5_1")}
        for name in ("mlx5_0", "mlx5_1"):
            state = f"infiniband/{name}/ports/1/state"
            self.addCleanup(self.hardware.write, state, self.hardware.read(state))
            self.hardware.write(state, "1: DOWN")
        post(self.socket, "/api/v1/rescan?device=mlx5_1")
        self.wait_unhealthy({self.id_of("mlx5_1")})
        self.rescan()
        self.wait_unhealthy(down)

    def test_what_a_port_says_reaches_kubelet_in_both_directions(self):
        self.both(QUICK % "")
        self.wait_ready()
        id = self.id_of("mlx5_0")
        for attribute, bad in (("infiniband/mlx5_0/ports/1/state", "1: DOWN"),
                               ("infiniband/mlx5_0/ports/1/phys_state", "3: Disabled"),
                               ("net/%s/carrier" % self.hardware.netdev("mlx5_0"), "0")):
            with self.subTest(attribute):
                good = self.change(attribute, bad)
                self.wait_unhealthy({id})
                self.change(attribute, good)
                self.wait_unhealthy(set())

    def test_health_is_what_kubelet_is_told_in_every_answer(self):
        cases = (("", "infiniband/mlx5_0/ports/1/state", "1: DOWN", False),
                 ("", "infiniband/mlx5_0/ports/1/phys_state", "3: Disabled", False),
                 ("", "net/%s/carrier" % self.hardware.netdev("mlx5_0"), "0", False),
                 ("", "infiniband/mlx5_0/fw_ver", "", True),    # unread, and healthy all the same
                 ("defaults = { ignore_health = true; };", "infiniband/mlx5_0/ports/1/state",
                  "1: DOWN", True))
        for settings, attribute, bad, healthy in cases:
            with self.subTest(attribute, settings=settings):
                self.both(QUICK % settings)
                self.wait_ready()
                good = self.change(attribute, bad)
                self.wait_for(lambda: self.told("mlx5_0") == {healthy}, f"health {healthy} everywhere")
                self.assertEqual(self.ask("status")["devices"]["unhealthy"], int(not healthy))
                self.change(attribute, good)
                self.end_daemon()
                self.kubelet.stop()

    def test_a_driver_that_is_unbound_takes_its_device_and_brings_it_back(self):
        self.both(QUICK % "")
        self.wait_ready()
        id = self.id_of("mlx5_1")
        grant = self.kubelet.allocate("ml/a", HCA, 11)
        held = [t for t in grant.ids if t.startswith(id)]
        self.assertEqual(len(held), 1)
        self.unplug("mlx5_1")
        self.wait_unhealthy({id})
        self.wait_for(lambda: len([t for t in self.kubelet.devices(HCA) if t.startswith(id)]) == 1,
                      "list with no more than the held slot")
        with self.assertRaises(grpc.RpcError) as caught:
            self.allocate_raw(held)
        self.assertIn("it is gone", caught.exception.details())
        self.plug("mlx5_1")
        self.wait_ready()
        self.assertIn(held[0], self.kubelet.devices(HCA))

    def test_a_held_device_that_is_deselected_is_not_gone(self):
        config = QUICK % 'resources = ( { name = "rdma/x"; mode = "exclusive"; selectors = { names = "mlx5_1"; }; } );'
        self.both(config)
        self.wait_ready(1, "rdma/x")
        self.kubelet.allocate("ml/a", "rdma/x", 1)
        self.write_config(config.replace("mlx5_1", "mlx5_2"))
        self.daemon.send_signal(signal.SIGHUP)
        self.wait_for(lambda: self.events("allocation-device-unhealthy"), "event")
        for kind in ("device-unhealthy", "allocation-device-unhealthy"):
            self.assertRegex(self.events(kind)[-1]["message"], ": it is no longer selected$")

    def test_a_running_pods_device_that_fails_is_told_with_pod_and_container(self):
        self.both(QUICK % "")
        self.wait_ready()
        allocation = self.kubelet.allocate("ml/train-0", HCA, 11, "worker").reply.envs["RDMAD_ALLOCATION"]
        self.wait_for(lambda: self.allocations()[allocation]["container"] == "worker", "name of the pod")
        good = self.change("infiniband/mlx5_2/ports/1/state", "1: DOWN")
        self.wait_for(lambda: self.events("allocation-device-unhealthy"), "event")
        self.change("infiniband/mlx5_2/ports/1/state", good)
        self.wait_for(lambda: self.events("allocation-device-healthy"), "event of the recovery")
        for kind in ("allocation-device-unhealthy", "allocation-device-healthy"):
            [event] = self.events(kind)
            self.assertEqual((event["namespace"], event["pod"], event["allocation"]), ("ml", "train-0", allocation))
            for word in ("ml/train-0", "container worker", "mlx5_2", HCA):
                self.assertIn(word, event["message"])

    def test_the_failing_device_of_an_init_container_is_told_as_that(self):
        self.both(QUICK % 'resources = ( { name = "rdma/x"; mode = "exclusive"; '
                  'selectors = { names = "mlx5_0"; }; } );')
        self.wait_ready(1, "rdma/x")
        init = self.kubelet.allocate("ml/a", "rdma/x", 1, "setup", init=True).reply.envs["RDMAD_ALLOCATION"]
        self.kubelet.allocate("ml/a", "rdma/x", 1, "main")
        self.wait_for(lambda: self.allocations()[init]["pod"] == "a", "name of the pod")
        good = self.change("infiniband/mlx5_0/ports/1/state", "1: DOWN")
        self.addCleanup(self.change, "infiniband/mlx5_0/ports/1/state", good)
        self.wait_for(lambda: len(self.events("allocation-device-unhealthy")) == 2, "events")
        told = [event["message"].split(" has ")[0] for event in self.events("allocation-device-unhealthy")]
        self.assertEqual(sorted(told), ["ml/a, an init container", "ml/a, container main"])

    def test_a_device_held_by_many_is_told_in_few_lines(self):
        self.both(QUICK % 'resources = ( { name = "rdma/hca"; count = 40; '
                  'selectors = { names = "mlx5_0"; }; } );')
        self.wait_ready(40)
        for i in range(20):
            self.kubelet.allocate(f"ml/p{i}", HCA, 1)
        good = self.change("infiniband/mlx5_0/ports/1/state", "1: DOWN")
        self.wait_for(lambda: self.events("allocation-device-more"), "event of the rest")
        self.change("infiniband/mlx5_0/ports/1/state", good)
        self.assertEqual(len(self.events("allocation-device-unhealthy")), 16)
        self.assertIn("4 more", self.events("allocation-device-more")[0]["message"])

    def test_an_unhealthy_device_is_given_to_nobody(self):
        self.both(QUICK % 'resources = ( { name = "rdma/x"; mode = "exclusive"; '
                  'selectors = { names = ( "mlx5_0", "mlx5_1" ); }; } );')
        self.wait_ready(2, "rdma/x")
        id = self.id_of("mlx5_0")
        good = self.change("infiniband/mlx5_0/ports/1/state", "1: DOWN")
        self.addCleanup(self.change, "infiniband/mlx5_0/ports/1/state", good)
        self.wait_unhealthy({id}, "rdma/x")
        with self.assertRaises(grpc.RpcError) as caught:
            self.allocate_raw([id], name="rdma/x")
        self.assertEqual(caught.exception.code().name, "FAILED_PRECONDITION")
        for word in (id, "no port of it is active"):
            self.assertIn(word, caught.exception.details())
        with self.assertRaises(AdmissionError):
            self.kubelet.allocate("ml/a", "rdma/x", 2)

    def test_ignore_health_heeds_only_that_a_device_is_there(self):
        self.both(QUICK % 'resources = ( { name = "rdma/x"; count = 11; ignore_health = true; }, '
                  '{ name = "rdma/y"; count = 11; shared_with = "rdma/x"; } );')
        self.wait_ready(11, "rdma/x")
        self.wait_ready(11, "rdma/y")
        good = self.change("infiniband/mlx5_3/ports/1/state", "1: DOWN")
        self.wait_ready(10, "rdma/y")
        self.assertEqual(self.unhealthy("rdma/x"), set())
        self.change("infiniband/mlx5_3/ports/1/state", good)
        self.unplug("mlx5_3")
        self.wait_for(lambda: self.kubelet.resources()["rdma/y"]["allocatable"] == 10, "loss")
        self.plug("mlx5_3")
        self.wait_ready(11, "rdma/x")


# SR-IOV network device plugin's
VFS = """{"resourceList":[{"resourceName":"rdma-vf","resourcePrefix":"nvidia.com",
"selectors":{"vendors":["15b3"],"devices":["101e"],"pfNames":["ens1f0np0"],"isRdma":true}}]}"""
VF = "nvidia.com/rdma-vf"
REST = "its interface is not set up"


class PlaceTest(HealthCase):
    """A device, or its interface, in the pod of its holder."""
    MACHINE = "sriov"
    CONFIG = QUICK.replace("health_delay = 0", "health_delay = 600") % (
        'resources = ( { name = "%s"; mode = "exclusive"; selectors = { netdevs = "ens1f0v*"; }; } );' % VF)

    def setUp(self):
        super().setUp()
        self.addCleanup(os.remove, self.hardware.separate_namespaces())

    def take(self, path):
        """Out of this namespace; returns how to give it back."""
        os.rename(path, path + ".taken")
        self.addCleanup(lambda: os.path.lexists(path) or os.rename(path + ".taken", path))
        return lambda: os.rename(path + ".taken", path)

    def allocate(self):
        """Name and id of the device that a pod got."""
        self.both(self.CONFIG)
        self.wait_ready(3, VF)
        self.kubelet.allocate("jobs/a", VF, 1)
        [allocation] = self.allocations().values()
        self.wait_for(lambda: all(a["pod"] for a in self.allocations().values()), "name of the pod")
        return allocation["device_names"][0], allocation["device_ids"][0]

    def end_pod(self, device_id):
        self.kubelet.release("jobs/a")

        def ended():
            post(self.socket, "/api/v1/allocations/refresh")
            return not self.is_allocatable(device_id)
        self.wait_for(ended, "the end of the pod")

    def is_allocatable(self, device_id):
        return self.kubelet.devices(VF)[device_id][0]

    def no_trouble(self, device_id):
        self.assertTrue(self.is_allocatable(device_id))
        self.assertEqual(self.events("device-unhealthy") + self.events("device-removed"), [])
        self.assertEqual([f for f in self.findings() if f["level"] == "problem"], [])

    def test_the_interface_is_in_the_pod(self):
        name, id = self.allocate()
        netdev = self.hardware.netdev(name)
        back = [self.take(self.hardware.path("net", netdev)),
                self.take(self.hardware.path("infiniband", name, "ports/1/gid_attrs/ndevs"))]
        self.rescan()
        self.wait_for(lambda: not self.device(name)["netdevs"], "loss of the interface")
        self.no_trouble(id)
        self.assertEqual(self.reasons(name), {VF: f"held by jobs/a; its interface {netdev} is in the pod"})
        self.end_pod(id)
        self.assertEqual(self.reasons(name), {VF: "its interface has not returned from the pod of its last holder"})
        for give in back:
            give()
        self.rescan()
        self.wait_ready(3, VF)      # at once: it was no fault
        self.no_trouble(id)

    def test_the_device_is_in_the_pod(self):
        """As with exclusive RDMA namespaces."""
        name, id = self.allocate()
        self.unplug(name)
        self.wait_for(lambda: self.events("device-in-pod"), "its move")
        self.no_trouble(id)
        self.assertEqual(self.device(name)["place"], "pod")
        self.assertRegex(self.rdmad("devices").stdout, fr"(?m)^{name} .* in pod .* healthy$")
        self.assertRegex(self.rdmad("devices", name).stdout, "(?m)^ *place +in the pod of allocation ")
        self.assertIn("in the pod jobs/a", {f["text"] for f in self.findings() if f["subject"] == name})
        self.assertEqual(self.reasons(name), {VF: "held by jobs/a; it is in the pod"})
        self.assertEqual([a["device_names"] for a in self.allocations().values()], [[name]])
        self.end_pod(id)
        self.assertEqual(self.reasons(name), {VF: "it has not returned from the pod of its last holder"})
        self.assertIn(("problem", "it has not returned from the pod of its last holder"),
                      {(f["level"], f["text"]) for f in self.findings() if f["subject"] == name})
        with self.assertRaises(grpc.RpcError) as refusal:
            self.allocate_raw([id], name=VF)
        self.assertIn("has not returned from the pod", refusal.exception.details())
        self.plug(name)
        self.wait_ready(3, VF)
        self.no_trouble(id)

    def test_a_restart_forgets_neither(self):
        self.both(self.CONFIG)
        self.wait_ready(3, VF)
        self.kubelet.allocate("jobs/a", VF, 2)
        [allocation] = self.allocations().values()
        device, other = allocation["device_names"]
        netdev = self.hardware.netdev(other)
        self.unplug(device)
        self.take(self.hardware.path("net", netdev))
        self.take(self.hardware.path("infiniband", other, "ports/1/gid_attrs/ndevs"))
        self.rescan()
        self.wait_for(lambda: not self.device(other)["netdevs"], "loss of the interface")
        self.end_daemon()
        self.start_daemon(self.CONFIG)
        self.wait_ready(3, VF)
        self.wait_for(lambda: all(a["pod"] for a in self.allocations().values()), "name of the pod")
        self.assertEqual(self.reasons(device), {VF: "held by jobs/a; it is in the pod"})
        self.assertEqual(self.reasons(other), {VF: f"held by jobs/a; its interface {netdev} is in the pod"})
        self.assertEqual([a["device_names"] for a in self.allocations().values()], [[device, other]])
        self.no_trouble(allocation["device_ids"][0])
        self.no_trouble(allocation["device_ids"][1])

    def test_one_that_leaves_the_bus_is_gone(self):
        name, id = self.allocate()
        self.unplug(name)
        self.wait_for(lambda: self.events("device-in-pod"), "its move")
        self.addCleanup(self.take(os.path.join(self.machine, "sys/bus/pci/devices", id)))
        self.rescan()
        self.wait_for(lambda: self.events("device-unhealthy"), "its end")
        self.assertFalse(self.is_allocatable(id))


class RestTest(HealthCase):
    """Virtual functions that nobody has set up."""
    MACHINE = "sriov"

    def rest(self, device, netdev):
        """As the kernel shows a RoCE device whose interface is down."""
        port = f"infiniband/{device}/ports/1"
        for attribute, value in ((f"{port}/state", "1: DOWN"), (f"{port}/phys_state", "3: Disabled"),
                                 (f"net/{netdev}/flags", "0x1002"), (f"net/{netdev}/operstate", "down")):
            self.addCleanup(self.hardware.write, attribute, self.hardware.read(attribute))
            self.hardware.write(attribute, value)
        carrier = self.hardware.path(f"net/{netdev}/carrier")
        os.unlink(carrier)
        os.mkdir(carrier)   # a read fails, as with the kernel's EINVAL
        self.addCleanup(self.hardware.write, f"net/{netdev}/carrier", "1")
        self.addCleanup(os.rmdir, carrier)

    def imported(self):
        path = os.path.join(self.dir, "sriov.json")
        with open(path, "w") as file:
            file.write(VFS)
        return subprocess.run([RDMAD, "import-config", path], check=True, timeout=PATIENCE,
                              capture_output=True, text=True).stdout

    def test_virtual_functions_at_rest_are_allocatable(self):
        for device, netdev in (("mlx5_2", "ens1f0v0"), ("mlx5_3", "ens1f0v1")):
            self.rest(device, netdev)
        self.both(self.imported())
        self.wait_ready(4, VF)
        for name, rest, carrier in (("mlx5_2", REST, None), ("mlx5_4", None, True)):
            self.assertEqual(self.told(name), {True})
            device = self.device(name)
            self.assertEqual(device["rest_reason"], rest)
            self.assertEqual(device["netdevs"][0]["carrier"], carrier)
            self.assertEqual(device["problems"], [])
        self.assertEqual(self.events("device-unhealthy"), [])
        [note] = [f for f in self.findings() if f["subject"] == "mlx5_2" and f["level"] == "note"]
        self.assertIn("nobody has set it up", note["text"])
        self.assertIn("idle", self.rdmad("devices").stdout.split("mlx5_2", 1)[1].split("\n", 1)[0])
        self.assertEqual(len(self.kubelet.allocate("ml/a", VF, 4).ids), 4)

    def test_its_way_into_a_pod_is_no_fault(self):
        self.rest("mlx5_2", "ens1f0v0")
        config = QUICK % ('resources = ( { name = "nvidia.com/rdma-vf"; mode = "exclusive"; '
                          'selectors = { names = ( "mlx5_2", "mlx5_3" ); }; } );')
        self.both(config)
        self.wait_ready(2, VF)
        self.kubelet.allocate("ml/a", VF, 2)
        self.wait_for(lambda: all(a["pod"] for a in self.allocations().values()), "name of the pod")
        link = self.hardware.path("net/ens1f0v0")
        target = os.readlink(link)
        self.addCleanup(os.symlink, target, link)
        os.unlink(link)     # moved, and not set up yet
        self.rescan()
        self.wait_for(lambda: not self.device("mlx5_2")["netdevs"], "loss of the interface")
        self.assertEqual(self.told("mlx5_2"), {True})
        self.assertEqual(self.events("device-unhealthy"), [])
        [note] = [f for f in self.findings() if f["subject"] == "mlx5_2" and "port 1" in f["text"]]
        self.assertEqual(note["level"], "note")
        self.assertIn("in another network namespace", note["advice"])
        for mode in ("exclusive", "shared"):    # under another name it is held, and no more
            self.write_config(config.replace("rdma-vf", mode).replace('"exclusive";', f'"{mode}";'))
            self.daemon.send_signal(signal.SIGHUP)
            self.wait_for(lambda: f"nvidia.com/{mode}" in self.reasons("mlx5_2"), "reload")
            self.assertEqual(self.reasons("mlx5_2")[f"nvidia.com/{mode}"], f"held by ml/a as {VF}")
            self.assertEqual(self.device("mlx5_2")["health_reason"], f"held by ml/a as {VF}")
            self.assertEqual(self.events("device-unhealthy"), [])
            levels = {f["text"]: f["level"] for f in self.findings() if f["subject"] == "mlx5_2"}
            self.assertEqual(levels, {"port 1 is down": "note", f"unhealthy: held by ml/a as {VF}": "problem"})

    def test_one_that_is_set_up_and_down_is_unhealthy(self):
        self.rest("mlx5_2", "ens1f0v0")
        self.hardware.write("net/ens1f0v0/flags", "0x1003")
        self.both(self.imported())
        self.wait_ready(3, VF)
        self.assertEqual(self.told("mlx5_2"), {False})
        self.hardware.write("net/ens1f0v0/flags", "0x1002")
        self.rescan()
        self.wait_ready(4, VF)

    def test_one_whose_physical_function_has_no_link_is_unhealthy(self):
        self.rest("mlx5_2", "ens1f0v0")
        self.both(QUICK % 'resources = ( { name = "nvidia.com/rdma-vf"; mode = "exclusive"; '
                  'selectors = { pf_names = "ens1f0np0"; devices = "101e"; }; } );')
        self.wait_ready(4, VF)
        self.addCleanup(self.hardware.write, "net/ens1f0np0/carrier", "1")
        self.hardware.write("net/ens1f0np0/carrier", "0")
        # A change of the physical function alone is one of its virtual functions too.
        post(self.socket, "/api/v1/rescan?device=mlx5_0")
        self.wait_ready(3, VF)
        self.assertEqual(self.device("mlx5_2")["health_reason"], "the link of its physical function is down")
        self.hardware.write("net/ens1f0np0/carrier", "1")
        post(self.socket, "/api/v1/rescan?device=mlx5_0")
        self.wait_ready(4, VF)

    def test_pods_that_share_a_device_cannot_set_it_up(self):
        self.rest("mlx5_2", "ens1f0v0")
        self.both(QUICK % 'resources = ( { name = "rdma/x"; count = 1; selectors = { names = "mlx5_2"; }; } );')
        self.wait_for_socket()
        self.wait_for(lambda: self.unhealthy("rdma/x") == {self.id_of("mlx5_2")}, "list")
        self.assertEqual(self.told("mlx5_2"), {False})
        self.assertEqual(self.device("mlx5_2")["health_reason"], REST)

    def test_a_whole_nic_that_nobody_set_up_is_for_one_pod_alone(self):
        self.rest("mlx5_1", "ens1f1np1")
        self.both(QUICK % 'resources = ( { name = "rdma/x"; mode = "exclusive"; '
                  'selectors = { names = "mlx5_1"; }; } );')
        self.wait_ready(1, "rdma/x")
        self.assertEqual(self.told("mlx5_1"), {True})

    def test_a_node_guid_of_zero_is_noted(self):
        before = self.hardware.read("infiniband/mlx5_3/node_guid")
        self.addCleanup(self.hardware.write, "infiniband/mlx5_3/node_guid", before)
        self.hardware.write("infiniband/mlx5_3/node_guid", "0000:0000:0000:0000")
        self.both(self.imported())
        self.wait_ready(4, VF)
        [note] = [f for f in self.findings() if f["subject"] == "mlx5_3" and f["level"] == "note"]
        self.assertIn("rdma", note["text"])
        self.assertIn("node_guid", note["advice"])


FABRIC = 'name = "rdma/ib"; mode = "exclusive"; selectors = { vendors = "15b3"; link_layers = "infiniband"; };'


class RoleTest(HealthCase):
    """A switch's management function, and a management sub-device."""
    MACHINE = "infiniband"

    def put_vpd(self):
        self.addCleanup(os.unlink, self.hardware.manage_switches("mlx5_0"))

    def put_sub_device(self):
        function = os.path.realpath(self.hardware.path("infiniband/mlx5_0/device"))
        made = [os.path.join(function, "infiniband/smi1"), self.hardware.path("infiniband/smi1")]
        shutil.copytree(os.path.join(function, "infiniband/mlx5_0"), made[0], symlinks=True)
        os.symlink(os.path.relpath(made[0], self.hardware.path("infiniband")), made[1])
        for n in range(1, 5):
            umad = os.path.join(function, f"infiniband_mad/umad9{n}")
            os.makedirs(umad)
            for attribute, value in (("ibdev", "smi1"), ("port", n), ("dev", f"231:9{n}")):
                with open(os.path.join(umad, attribute), "w") as file:
                    file.write(f"{value}\n")
            link = self.hardware.path(f"infiniband_mad/umad9{n}")
            os.symlink(os.path.relpath(umad, os.path.dirname(link)), link)
            made += [umad, link]
        self.addCleanup(lambda: [os.unlink(p) if os.path.islink(p) else shutil.rmtree(p) for p in made])

    def hcas(self):
        """NCCL's devices on this machine."""
        found = self.rdmad("nccl-env").stdout
        return next(line for line in found.splitlines() if "NCCL_IB_HCA" in line).split("=", 1)[1]

    def both_with_nccl(self, settings):
        self.start_kubelet()
        self.daemon = self.spawn_daemon(QUICK % settings,
                                        modules=("--module=device-plugin", "--module=nccl"))
        self.wait_for_socket()

    def test_a_switchs_management_function_is_in_no_resource(self):
        self.put_vpd()
        self.both_with_nccl("resources = ( { %s } );" % FABRIC)
        self.wait_for(lambda: len(self.kubelet.devices("rdma/ib")) == 3, "three of four")
        self.assertIn("NVSwitches", self.reasons("mlx5_0")["rdma/ib"])
        self.assertEqual(self.hcas(), "'=mlx5_1:1,mlx5_2:1'")
        self.assertEqual(self.device("mlx5_0")["role"], "switch-management")
        self.assertNotIn("mlx5_0", {f["subject"] for f in self.findings() if f["level"] != "ok"})
        self.assertIn("switch-management", self.rdmad("devices", "-o", "wide").stdout)
        self.assertNotIn("mlx5_0", [n["device_name"] for n in self.ask("topology")["nics"]])

    def test_it_is_in_one_that_names_it(self):
        self.put_vpd()
        self.both(QUICK % 'resources = ( { name = "rdma/x"; mode = "exclusive"; '
                  'selectors = { pci_addresses = "0000:18:00.0"; }; }, { name = "rdma/y"; '
                  'mode = "exclusive"; selectors = { names = "mlx5_*"; }; } );')
        self.wait_ready(1, "rdma/x")
        self.assertEqual(len(self.kubelet.devices("rdma/y")), 3)
        self.assertEqual(self.told("mlx5_0"), {True})

    def test_a_sub_device_without_verbs_changes_nothing(self):
        self.both_with_nccl("")
        self.wait_for(lambda: len(self.kubelet.devices(HCA)) == 1000, "list")
        before = self.kubelet.devices(HCA), self.hcas()
        self.end_daemon()
        self.kubelet.stop()
        self.put_sub_device()
        self.both_with_nccl("defaults = { umad = true; expose = \"pool\"; };")
        self.wait_for(lambda: len(self.kubelet.devices(HCA)) == 1000, "list")
        self.assertEqual((self.kubelet.devices(HCA), self.hcas()), before)
        self.assertEqual(self.device("smi1")["parent"], "mlx5_0")
        self.assertEqual(self.device("mlx5_0")["device_id"], "0000:18:00.0")
        self.assertIn("management sub-device of mlx5_0", self.reasons("smi1")[HCA])
        self.assertNotIn("smi1", {f["subject"] for f in self.findings() if f["level"] != "ok"})
        files = {spec.host_path for spec in self.kubelet.allocate("ml/a", HCA, 1).reply.devices}
        self.assertIn("/dev/infiniband/umad0", files)
        self.assertEqual({path for path in files if "umad9" in path}, set())


class PortTest(HealthCase):
    """A selector that names an interface selects its port."""
    MACHINE = "mixed"

    def test_the_second_port_is_judged_by_itself(self):
        port = "infiniband/mlx4_0/ports/2/state"
        self.addCleanup(self.hardware.write, port, self.hardware.read(port))
        phys = port.replace("state", "phys_state")
        self.addCleanup(self.hardware.write, phys, self.hardware.read(phys))
        self.both(QUICK % 'resources = ( { name = "rdma/x"; count = 1; nccl_hca = true; '
                  'selectors = { netdevs = "ens60d1"; }; } );')
        self.wait_for_socket()
        self.wait_unhealthy({self.id_of("mlx4_0")}, "rdma/x")
        self.assertEqual(self.told("mlx4_0"), {False})
        reason = "none of its selected ports is active"     # the first one is
        self.assertEqual(self.device("mlx4_0")["health_reason"], reason)
        self.assertEqual(self.reasons("mlx4_0")["rdma/x"], reason)
        self.hardware.write(port, "4: ACTIVE")
        self.hardware.write(phys, "5: LinkUp")
        self.rescan()
        self.wait_ready(1, "rdma/x")
        envs = self.kubelet.allocate("ml/a", "rdma/x", 1).reply.envs
        self.assertEqual(envs["NCCL_IB_HCA"], "=mlx4_0:2")

    def test_the_plan_for_nccl_has_that_port_alone(self):
        self.start_kubelet()
        self.daemon = self.spawn_daemon(QUICK % 'resources = ( { name = "rdma/x"; count = 1; '
                                        'ignore_health = true; selectors = { netdevs = "ens60d1"; }; } );',
                                        modules=("--module=device-plugin", "--module=nccl"))
        self.wait_for_socket()
        self.wait_ready(1, "rdma/x")
        id = self.kubelet.allocate("ml/a", "rdma/x", 1).reply.envs["RDMAD_ALLOCATION"]

        def reasons():
            text = subprocess.run([RDMAD, "nccl-env", "--allocation", id, "--format", "json",
                                   "--socket", self.socket], capture_output=True, text=True,
                                  timeout=PATIENCE).stdout
            ports = json.loads(text)["rails"] if text else []
            return {port["port"]: port["reason"] for port in ports}
        self.wait_for(lambda: reasons() == {1: "other-port", 2: "port-down"}, "plan")


RAIL = "rdma/rail"
VERBS, MAD = "infiniband_verbs", "infiniband_mad"


class FilesTest(HealthCase):
    """Device files that are another device's while a container has them."""

    def setUp(self):
        copy = tempfile.TemporaryDirectory(prefix="rdmad-machine-")
        self.addCleanup(copy.cleanup)
        self.machine = shutil.copytree(self.machine, os.path.join(copy.name, "machine"), symlinks=True)
        super().setUp()

    def config(self, more="", where=""):
        return ("modules = { device-plugin = { health_delay = 0; %s resources = ({ name = \"rdma/rail\"; "
                "mode = \"exclusive\"; selectors = { names = ( \"mlx5_?\", \"!mlx5_8\", \"!mlx5_9\" ); }; %s }"
                "); }; };" % (where, more))

    def begin(self, more="", where=""):
        """Pods with a device each; {device: pod}."""
        self.both(self.config(more, where))
        self.wait_ready(8, RAIL)
        for number in range(8):
            self.kubelet.allocate(f"jobs/{number}", RAIL)
        self.ask("allocations", "--refresh")
        return {a["device_names"][0]: f'{a["namespace"]}/{a["pod"]}' for a in self.allocations().values()}

    def renumber(self, group, names):
        self.hardware.renumber(group, names)
        self.rescan()

    def name_of(self, file):
        return self.hardware.read(f"{VERBS if file.startswith('uverbs') else MAD}/{file}/ibdev")

    def wrong(self):
        """{pod: [path]}"""
        return {f'{a["namespace"]}/{a["pod"]}': [file["path"] for file in a["wrong_files"]]
                for a in self.allocations().values() if a["wrong_files"]}

    def problems(self):
        return [f["text"] for f in self.findings() if f["level"] == "problem" and f["subject"] == "device files"
                and "allocation" in f["text"]]

    def wait_wrong(self, expected):
        self.wait_for(lambda: self.wrong() == expected, f"wrong files {expected}")

    def told_of(self, kind, count):
        """The messages, when there are that many."""
        self.wait_for(lambda: len(self.events(kind)) >= count, f"{count} {kind}")
        found = self.events(kind)
        self.assertEqual(len(found), count, found)
        return {e["namespace"] + "/" + e["pod"]: e for e in found}

    def test_files_that_change_places_are_told_until_they_are_right_again(self):
        holders = self.begin()
        swap = {"uverbs0": "uverbs1", "uverbs1": "uverbs0"}
        first, second = self.name_of("uverbs0"), self.name_of("uverbs1")
        expected = {holders[first]: ["/dev/infiniband/uverbs0"], holders[second]: ["/dev/infiniband/uverbs1"]}
        self.renumber(VERBS, swap)
        self.wait_wrong(expected)
        told = self.told_of("allocation-files-wrong", 2)
        self.assertEqual({e["level"] for e in told.values()}, {"warning"})
        for word in (holders[first], first, second, "/dev/infiniband/uverbs0", "/dev/infiniband/uverbs1"):
            self.assertIn(word, told[holders[first]]["message"])
        self.assertEqual(told[holders[first]]["device_id"], self.id_of(first))
        self.assertEqual(len(self.problems()), 2)
        self.assertIn(holders[first], "".join(self.problems()))
        wide = self.rdmad("allocations", "-o", "wide").stdout.splitlines()
        self.assertIn("WRONG FILES", wide[0])
        self.assertEqual(sum(line.endswith("/dev/infiniband/uverbs0") for line in wide), 1)
        self.assertNotIn("WRONG", self.rdmad("allocations").stdout)
        for _ in range(2):
            self.rescan()
        self.assertEqual(self.unhealthy(RAIL), set())
        self.assertEqual(len(self.allocations()), 8)
        self.told_of("allocation-files-wrong", 2)
        self.end_daemon(signal.SIGKILL)
        self.start_daemon(self.config())
        self.wait_for_socket()
        self.wait_wrong(expected)
        self.told_of("allocation-files-wrong", 2)
        self.renumber(VERBS, swap)
        self.wait_wrong({})
        told = self.told_of("allocation-files-right", 2)
        self.assertEqual(set(told), set(expected))
        self.assertEqual({e["level"] for e in told.values()}, {"notice"})
        self.assertEqual(self.problems(), [])

    def test_any_file_with_another_name_or_number_is_told(self):
        holders = self.begin("umad = true;")
        verbs, mad = holders[self.name_of("uverbs0")], holders[self.name_of("umad1")]
        cases = ((VERBS, {"uverbs0": "uverbs77"}, verbs, "uverbs0"), (MAD, {"umad1": "umad88"}, mad, "umad1"))
        for group, names, pod, file in cases:
            with self.subTest(names):
                self.renumber(group, names)
                self.wait_wrong({pod: [f"/dev/infiniband/{file}"]})
                self.assertIn(names[file], self.problems()[0])
                self.renumber(group, {new: old for old, new in names.items()})
                self.wait_wrong({})
        with self.subTest("number"):
            number = self.change(f"{VERBS}/uverbs0/dev", "231:250")
            self.wait_wrong({verbs: ["/dev/infiniband/uverbs0"]})
            self.assertIn(f"231:250 now, not {number}", self.problems()[0])
            self.change(f"{VERBS}/uverbs0/dev", "garbage")
            self.wait_for(lambda: self.device(self.name_of("uverbs0"))["chardevs"][0]["minor"] == 0, "scan")
            self.assertEqual(self.wrong(), {verbs: ["/dev/infiniband/uverbs0"]}, "an unread number says nothing")
            self.change(f"{VERBS}/uverbs0/dev", number)
            self.wait_wrong({})

    def test_a_device_that_is_away_says_nothing(self):
        holders = self.begin()
        name = self.name_of("uverbs2")
        self.unplug(name)
        self.wait_for(lambda: self.events("device-removed"), "removal")
        self.assertEqual(self.wrong(), {})
        self.plug(name)
        self.wait_for(lambda: len(self.ask("devices")["devices"]) > 8, "device")
        self.assertEqual(self.wrong(), {})
        wrong = {holders[name]: ["/dev/infiniband/uverbs2"]}
        self.renumber(VERBS, {"uverbs2": "uverbs99"})
        self.wait_wrong(wrong)
        self.unplug(name)
        self.wait_for(lambda: len(self.events("device-removed")) == 2, "second removal")
        self.assertEqual(self.wrong(), wrong, "it has not become right")
        self.plug(name)
        self.renumber(VERBS, {"uverbs99": "uverbs2"})
        self.wait_wrong({})
        self.told_of("allocation-files-right", 1)

    def test_each_holder_of_a_shared_device_is_told_once(self):
        self.both(QUICK % "")
        self.wait_ready()
        name = self.name_of("uverbs3")
        slots = [slot for slot in self.kubelet.devices(HCA) if slot.startswith(self.id_of(name))][:5]
        for slot in slots:
            self.allocate_raw([slot])
        self.renumber(VERBS, {"uverbs3": "uverbs66"})
        self.wait_for(lambda: len(self.events("allocation-files-wrong")) == 5, "events")
        self.rescan()
        self.assertEqual(len(self.problems()), 5)
        self.assertEqual(len(self.events("allocation-files-wrong")), 5)

    def test_names_for_the_runtime_meant_files_when_the_container_started(self):
        holders = self.begin('cdi = "on";', f'cdi_dir = "{self.dir}/cdi";')
        name = self.name_of("uverbs0")
        self.assertEqual(self.query_state("SELECT DISTINCT cdi FROM allocations"), [(1,)])
        self.renumber(VERBS, {"uverbs0": "uverbs77"})
        self.wait_wrong({holders[name]: ["/dev/infiniband/uverbs0"]})

    def test_allocations_of_an_older_rdmad_are_not_judged(self):
        self.begin()
        self.end_daemon()
        with contextlib.closing(sqlite3.connect(os.path.join(self.dir, "state", "rdmad.db"))) as database:
            for column in ("files", "cdi"):
                database.execute(f"ALTER TABLE allocations DROP COLUMN {column}")
            database.execute("PRAGMA user_version = 7")
        self.start_daemon(self.config())
        self.wait_for_socket()
        self.renumber(VERBS, {"uverbs0": "uverbs1", "uverbs1": "uverbs0"})
        self.wait_for(lambda: [c["path"] for c in self.device(self.name_of("uverbs0"))["chardevs"]][0]
                      == "/dev/infiniband/uverbs0", "scan")
        self.assertEqual((len(self.allocations()), self.wrong()), (8, {}))


if __name__ == "__main__":
    tap.main(sys.argv[3:])
