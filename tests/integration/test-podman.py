#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A container of podman and crun that is given what kubelet was told to give to it.

usage: test-podman.py RDMAD MODULE-DIR [TEST...]
"""

import os
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True

from plugin_case import HERE, PATIENCE, PluginCase, tap  # noqa: E402
from podman_processes import wait_for_podman  # noqa: E402

RAIL = "rdma/rail"
CONFIG = """
modules = { device-plugin = { cdi_dir = "%s"; resources = (
  { name = "rdma/rail"; mode = "exclusive"; cdi = "on"; %s
    selectors = { names = ( "mlx5_?", "!mlx5_8", "!mlx5_9" ); }; }
); }; };
"""
TOOLS = ("podman", "crun", "busybox", "unshare")


class PodmanTest(PluginCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        missing = [tool for tool in TOOLS if shutil.which(tool) is None]
        if missing:
            raise unittest.SkipTest(f"{', '.join(missing)} missing")
        if os.geteuid() != 0:
            raise unittest.SkipTest("needs root")

    def setUp(self):
        super().setUp()
        self.cdi_dir = os.path.join(self.dir, "cdi")
        self.root = os.path.join(self.dir, "root")
        for name in ("bin", "dev", "proc", "sys", "etc", "run", "tmp"):
            os.makedirs(os.path.join(self.root, name))
        shutil.copy(shutil.which("busybox"), os.path.join(self.root, "bin", "busybox"))
        self.write_nodes()
        os.makedirs(self.cdi_dir)
        self.addCleanup(wait_for_podman, os.path.join(self.dir, "storage"))
        probe = self.podman([], "true")
        if probe.returncode:
            self.skipTest(f"podman cannot run here: {probe.stderr.strip().splitlines()[-1]}")

    def write_nodes(self):
        """Names of all nodes that the recorded machine would have."""
        names = ["rdma_cm"]
        for kind in ("verbs", "mad"):
            directory = os.path.join(self.machine, "sys", "class", f"infiniband_{kind}")
            names += [name for name in os.listdir(directory) if name != "abi_version"]
        with open(os.path.join(self.dir, "nodes"), "w") as file:
            file.writelines(f"{name}\n" for name in sorted(names))

    def podman(self, options, *command):
        return subprocess.run(
            ["unshare", "--mount", os.path.join(HERE, "in-private-node"), self.dir,
             "podman", "--root", os.path.join(self.dir, "storage"), "--runroot", "/run/podman",
             "--cgroup-manager", "cgroupfs", "--runtime", "crun", "run", "--rm",
             "--network", "none", "--cgroups", "disabled", "--log-driver", "none",
             "--security-opt", "seccomp=unconfined",
             "--ulimit", "nofile=64:64", "--ulimit", "nproc=64:64", *options,
             "--rootfs", self.root, "/bin/busybox", *command],
            capture_output=True, text=True, timeout=PATIENCE)

    def run_container(self, reply, *command):
        """As a container runtime starts one for kubelet."""
        self.assertEqual(list(reply.devices), [])
        options = [f"--device={device.name}" for device in reply.cdi_devices]
        options += [f"--env={name}={value}" for name, value in reply.envs.items()]
        options += [f"--volume={m.host_path}:{m.container_path}:ro" for m in reply.mounts]
        done = self.podman(options, *command)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def allocate(self, count, more=""):
        self.both(CONFIG % (self.cdi_dir, more))
        self.wait_ready(8, RAIL)
        return self.kubelet.allocate("ml/train-0", RAIL, count)

    def nodes_of(self, ids, *kinds):
        devices = {device["device_id"]: device for device in self.ask("devices")["devices"]}
        return sorted(os.path.basename(node["path"]) for id in ids
                      for node in devices[id]["chardevs"] if node["kind"] in kinds)

    def test_a_container_sees_exactly_its_devices(self):
        grant = self.allocate(2)
        seen = self.run_container(grant.reply, "ls", "/dev/infiniband").split()
        self.assertEqual(seen, ["rdma_cm", *self.nodes_of(grant.ids, "uverbs")])

    def test_management_nodes_can_be_opened_by_any_user(self):
        grant = self.allocate(1, "umad = true;")
        umad = self.nodes_of(grant.ids, "umad")[0]
        listing = self.run_container(grant.reply, "ls", "-l", f"/dev/infiniband/{umad}")
        self.assertRegex(listing, r"^crw-rw-rw-")

    def test_a_container_reads_its_allocation_and_cannot_change_it(self):
        reply = self.allocate(1).reply
        script = "cat $NCCL_CONF_FILE; echo $RDMAD_ALLOCATION; echo x >/run/rdmad/x || echo refused"
        lines = self.run_container(reply, "sh", "-c", script).splitlines()
        self.assertTrue(lines[0].startswith("#"))
        self.assertEqual(lines[1:], [reply.envs["RDMAD_ALLOCATION"], "refused"])

    def test_a_name_that_is_not_there_is_refused_by_the_runtime(self):
        self.allocate(1)
        done = self.podman(["--device=rdmad.dev/rdma=0000:ff:1f.7"], "true")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("unresolvable", done.stderr)


if __name__ == "__main__":
    tap.main(sys.argv[3:])
