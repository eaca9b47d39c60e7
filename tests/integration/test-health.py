#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Health of devices, from the recorded machine's files to kubelet's list and the event log.

usage: test-health.py RDMAD MODULE-DIR [TEST...]
"""

import sys

import grpc

sys.dont_write_bytecode = True

from machine_changes import Machine, post  # noqa: E402
from plugin_case import HCA, AdmissionError, PluginCase, tap  # noqa: E402

QUICK = "modules = { device-plugin = { health_delay = 0; forget_delay = 1; %s }; };"


class HealthTest(PluginCase):
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

    def told(self, device):
        """Health by every answer: kubelet's list, devices, the verdict of doctor."""
        found = next(d for d in self.ask("devices")["devices"] if d["device_name"] == device)
        doctor = {f["subject"] for f in self.findings() if f["level"] == "problem"}
        return {found["device_id"] not in self.unhealthy(), found["health"] == "healthy",
                found["health_reason"] is None, device not in doctor}

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


if __name__ == "__main__":
    tap.main(sys.argv[3:])
