#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Files of an allocation on the node, on the recorded node with eight rails.

usage: test-delivery.py RDMAD MODULE-DIR [TEST...]
"""

import json
import os
import shutil
import signal
import stat
import sys

sys.dont_write_bytecode = True

from plugin_case import HCA, PluginCase, tap  # noqa: E402

RAIL = "rdma/rail"
SLOTS = {HCA: 1000, RAIL: 8}
RAILS = """
modules = { device-plugin = { %s resources = (
  { name = "rdma/rail"; mode = "exclusive"; selectors = { names = ( "mlx5_?", "!mlx5_8", "!mlx5_9" ); }; %s }
); }; };
"""


class DeliveryTest(PluginCase):
    def allocate(self, pod="ml/train-0", resource=HCA, count=1):
        self.wait_ready(SLOTS[resource], resource)
        return self.kubelet.allocate(pod, resource, count)

    def allocations_dir(self):
        return os.path.join(self.dir, "run", "allocations")

    def directories(self):
        """Of allocations: hidden ones are spare."""
        return sorted(name for name in os.listdir(self.allocations_dir()) if not name.startswith("."))

    def spares(self):
        return {name for name in os.listdir(self.allocations_dir()) if name.startswith(".")}

    def files(self, allocation):
        path = os.path.join(self.allocations_dir(), allocation)
        return sorted(os.listdir(path)) if os.path.isdir(path) else []

    def replace(self, ids, pod="ml/train-0"):
        """The pod ends, and kubelet gives some of its slots to another."""
        self.ask("allocations", "--refresh")
        self.kubelet.release(pod)
        allocation = self.allocate_raw(ids).container_responses[0].envs["RDMAD_ALLOCATION"]
        self.ask("allocations", "--refresh")
        return allocation

    # ---- the directory ----

    def test_the_directory_is_there_when_kubelet_has_the_answer(self):
        self.both()
        reply = self.allocate().reply
        mount = reply.mounts[0]
        self.assertEqual((mount.container_path, mount.read_only), ("/run/rdmad", True))
        self.assertEqual(mount.host_path, os.path.join(self.allocations_dir(), reply.envs["RDMAD_ALLOCATION"]))
        conf = reply.envs["NCCL_CONF_FILE"].replace(mount.container_path, mount.host_path)
        self.assertEqual(stat.S_IMODE(os.stat(mount.host_path).st_mode), 0o755)
        self.assertEqual(stat.S_IMODE(os.stat(conf).st_mode), 0o644)

    def test_a_directory_that_was_lost_is_made_again_at_start_and_others_are_kept(self):
        self.both()
        allocation = self.allocate().reply.envs["RDMAD_ALLOCATION"]
        self.end_daemon()
        os.rename(os.path.join(self.allocations_dir(), allocation),
                  os.path.join(self.allocations_dir(), "fedcba9876543210"))
        self.start_daemon()
        self.wait_ready()
        self.wait_for(lambda: self.allocations()[allocation]["pod"], "name of the pod")
        self.wait_for(lambda: self.directories() == sorted([allocation, "fedcba9876543210"]),
                      "the directory of the allocation, beside what its pod may have mounted")
        self.wait_for(lambda: self.files(allocation) == ["allocation.json", "nccl.conf"], "its files")
        [text] = [f["text"] for f in self.findings()
                  if f["subject"] == "allocation directories"]
        self.assertIn("fedcba9876543210", text)
        shutil.rmtree(os.path.join(self.allocations_dir(), allocation))
        self.assertIn(("problem", f"allocations without a directory: {allocation}"),
                      [(f["level"], f["text"]) for f in self.findings()])

    def test_a_lost_database_takes_no_directory_from_a_container(self):
        self.both()
        grants = [self.allocate(pod, count=2) for pod in ("ml/train-0", "ml/train-1")]
        self.ask("allocations", "--refresh")
        before = {grant.reply.envs["RDMAD_ALLOCATION"]: grant.ids for grant in grants}
        places = {id: os.stat(os.path.join(self.allocations_dir(), id)).st_ino for id in before}
        self.end_daemon(signal.SIGKILL)
        shutil.rmtree(os.path.join(self.dir, "state"))
        self.wait_lost()
        self.start_daemon()
        self.wait_ready()
        self.wait_for(lambda: {id: c["slots"] for id, c in self.allocations().items()} == before,
                      "allocations under their ids")
        self.assertEqual(places, {id: os.stat(os.path.join(self.allocations_dir(), id)).st_ino
                                  for id in self.directories()})

    def test_a_directory_names_its_pod(self):
        self.both()
        allocation = self.allocate().reply.envs["RDMAD_ALLOCATION"]
        path = os.path.join(self.allocations_dir(), allocation, "allocation.json")

        def pod():
            with open(path) as file:
                return json.load(file)["pod_name"]
        self.wait_for(lambda: pod() == "train-0", "name of the pod")

    def test_an_end_of_the_daemon_leaves_the_directory_for_the_container(self):
        self.both()
        allocation = self.allocate().reply.envs["RDMAD_ALLOCATION"]
        self.end_daemon()
        self.assertEqual(self.directories(), [allocation])

    def test_spare_directories_of_a_killed_daemon_go_and_an_ended_one_leaves_none(self):
        self.both()
        self.allocate()
        self.wait_for(self.spares, "spare directories")
        self.end_daemon(signal.SIGKILL)
        left = self.spares()
        self.start_daemon()
        self.wait_for(lambda: self.spares() and not self.spares() & left, "spare directories of the next one")
        self.end_daemon()
        self.assertEqual(self.spares(), set())

    def test_the_directory_goes_with_the_allocation(self):
        self.both()
        grant = self.allocate(count=2)
        now = self.replace(grant.ids[:1])
        self.assertNotEqual(now, grant.reply.envs["RDMAD_ALLOCATION"])
        self.wait_for(lambda: self.directories() == [now], "only the directory of the new allocation")

    # ---- device information ----

    def info_config(self):
        self.info_dir = os.path.join(self.dir, "devinfo", "dp")
        return 'modules = { device-plugin = { device_info_dir = "%s"; }; };' % self.info_dir

    def info_files(self):
        return sorted(os.listdir(self.info_dir))

    @staticmethod
    def info_names(ids):
        return sorted(f"rdma-hca-{id}-device.json" for id in ids)

    def test_multus_finds_the_address_behind_each_id(self):
        self.both(self.info_config())
        grant = self.allocate(count=2)
        self.assertEqual(self.info_files(), self.info_names(grant.ids))
        for id in grant.ids:
            path = os.path.join(self.info_dir, f"rdma-hca-{id}-device.json")
            with open(path) as file:
                info = json.load(file)
            self.assertEqual((info["type"], info["version"]), ("pci", "1.1.0"))
            self.assertEqual(info["pci"]["pci-address"], id.partition("::")[0])
            self.assertRegex(info["pci"]["rdma-device"], r"^mlx5_\d+$")

    def test_device_information_follows_the_allocations_over_a_crash(self):
        self.both(self.info_config())
        grant = self.allocate(count=2)
        self.end_daemon(signal.SIGKILL)
        os.unlink(os.path.join(self.info_dir, self.info_names(grant.ids)[0]))
        self.start_daemon(self.info_config())
        self.wait_for(lambda: self.info_files() == self.info_names(grant.ids), "both files")
        self.wait_ready()
        self.replace(grant.ids[1:])
        self.wait_for(lambda: self.info_files() == self.info_names(grant.ids[1:]), "one file")

    # ---- names for the runtime ----

    def cdi_config(self, use="on", more=""):
        self.cdi_dir = os.path.join(self.dir, "cdi")
        return RAILS % (f'cdi_dir = "{self.cdi_dir}";', f'cdi = "{use}"; {more}')

    def cdi_spec(self):
        with open(os.path.join(self.cdi_dir, "rdmad-rdma.json")) as file:
            return json.load(file)

    def cdi_names(self):
        return {f'rdmad.dev/rdma={device["name"]}' for device in self.cdi_spec()["devices"]}

    def test_the_specification_is_there_before_kubelet_hears_of_a_device(self):
        self.both(self.cdi_config())
        self.wait_ready(8, RAIL)
        spec = self.cdi_spec()
        self.assertEqual((spec["cdiVersion"], spec["kind"]), ("0.5.0", "rdmad.dev/rdma"))
        self.assertEqual({device["name"] for device in spec["devices"]},
                         set(self.kubelet.devices(RAIL)))

    def test_a_container_gets_names_and_no_node_twice(self):
        self.both(self.cdi_config(more="umad = true;"))
        grant = self.allocate(resource=RAIL, count=2)
        names = [device.name for device in grant.reply.cdi_devices]
        self.assertEqual(names, [f"rdmad.dev/rdma={id}{kind}" for id in sorted(grant.ids)
                                 for kind in ("", ".umad")])
        self.assertLessEqual(set(names), self.cdi_names())
        self.assertEqual(list(grant.reply.devices), [])

    def test_without_a_specification_a_container_gets_the_nodes(self):
        self.both(self.cdi_config().replace(self.dir, "/proc/nothing"))
        grant = self.allocate(resource=RAIL)
        self.assertEqual(list(grant.reply.cdi_devices), [])
        self.assertEqual(len(grant.reply.devices), 2)
        self.assertIn("cdi-failed", json.dumps(self.ask("events")))

    def test_names_of_a_living_allocation_stay_when_the_resource_no_longer_uses_them(self):
        self.both(self.cdi_config())
        grant = self.allocate(resource=RAIL)
        self.end_daemon()
        self.assertEqual(len(self.cdi_names()), 8, "an end of the daemon leaves them")
        self.start_daemon(self.cdi_config("off"))
        self.wait_for(lambda: self.cdi_names() == {f"rdmad.dev/rdma={grant.ids[0]}"},
                      "only the name of the allocation")

    # ---- the environment ----

    def test_the_devices_are_told_as_the_sriov_plugin_tells_them(self):
        self.both(RAILS % ("", ""))
        grant = self.allocate(resource=RAIL, count=2)
        envs = grant.reply.envs
        self.assertEqual(envs["PCIDEVICE_RDMA_RAIL"], ",".join(sorted(grant.ids)))
        info = json.loads(envs["PCIDEVICE_RDMA_RAIL_INFO"])
        self.assertEqual(sorted(info), sorted(grant.ids))
        given = {d.container_path for d in grant.reply.devices}
        for id, one in info.items():
            self.assertEqual(one["generic"], {"deviceID": id})
            self.assertIn(one["rdma"]["uverbs"], given)
            self.assertEqual(one["rdma"]["rdma_cm"], "/dev/infiniband/rdma_cm")
            self.assertRegex(one["rdma"]["rdma_dev"], r"^mlx5_\d$")

    def test_a_shared_device_is_told_by_its_address(self):
        self.both()
        grant = self.allocate(count=2)
        self.assertEqual(grant.reply.envs["PCIDEVICE_RDMA_HCA"],
                         ",".join(sorted(id.partition("::")[0] for id in grant.ids)))


if __name__ == "__main__":
    tap.main(sys.argv[3:])
