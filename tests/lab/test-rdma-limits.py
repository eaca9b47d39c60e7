#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""RDMA limits of a pod against the kernel's own controller: objects beyond them are refused."""

import os
import subprocess
import sys

sys.dont_write_bytecode = True
LAB, BUILD, TMP = (os.environ[name] for name in ("LAB_DIR", "LAB_BUILD", "LAB_TMP"))
sys.path.insert(0, os.path.join(LAB, "..", "kubelet"))

from fake import Kubelet, Runtime  # noqa: E402

UID = "1c8b5f0e-8a5e-4a3c-9a57-0e7d3c1f2b11"
POD = "/sys/fs/cgroup/kubepods.slice/kubepods-pod" + UID.replace("-", "_") + ".slice"
CONFIG = """modules = { device-plugin = { cri_socket = "%s"; resources = (
  { name = "rdma/nic"; selectors = { names = "rxe0"; };
    rdma_limits = { hca_handle = 4; hca_object = 1; }; } ); }; };"""


def run(command, **options):
    return subprocess.run(command, shell=True, check=True, **options)


def in_pod(command):
    return subprocess.run(["sh", "-c", f"echo $$ >{POD}/cgroup.procs; exec {command}"],
                          capture_output=True, text=True, timeout=60, check=False)


def start_daemon():
    config = os.path.join(TMP, "rdmad.conf")
    with open(config, "w", encoding="utf-8") as file:
        file.write(CONFIG % os.path.join(TMP, "cri.sock"))
    with open(os.path.join(TMP, "rdmad.log"), "w", encoding="utf-8") as log:
        return subprocess.Popen(
            [f"{BUILD}/core/rdmad", "--config", config, "--module-dir", f"{BUILD}/modules",
             "--run-dir", f"{TMP}/run", "--state-dir", f"{TMP}/state",
             "--kubelet-dir", f"{TMP}/kubelet"], stdout=log, stderr=log)


def check_limits():
    with open(f"{POD}/rdma.max", encoding="ascii") as file:
        assert "rxe0 hca_handle=4 hca_object=1" in file.read()
    opened = in_pod("ibv_devinfo -d rxe0")
    assert opened.returncode == 0, opened.stderr
    refused = in_pod("ibv_rc_pingpong -d rxe0 -g 0 -n 1")
    assert refused.returncode != 0 and "Couldn't" in refused.stderr, refused.stderr
    print("over the limit:", refused.stderr.strip())


def main():
    run("ip link add eth0 type veth peer name eth1; ip link set eth0 up; ip link set eth1 up;"
        "rdma link add rxe0 type rxe netdev eth0")
    os.makedirs(POD)
    assert not os.path.exists(f"{POD}/rdma.max"), "the controller is handed down already"
    with open("/sys/fs/cgroup/cgroup.controllers", encoding="ascii") as file:
        if "rdma" not in file.read().split():
            print("the kernel has no rdma controller")
            return 77
    runtime = Runtime(os.path.join(TMP, "cri.sock"))
    runtime.run("default/trainer", UID)
    daemon = start_daemon()
    with Kubelet(os.path.join(TMP, "kubelet")) as kubelet:
        kubelet.wait("rdma/nic", 1000, 60)
        kubelet.allocate("default/trainer", "rdma/nic", 1)
        check_limits()
    daemon.terminate()
    assert daemon.wait(30) == 0
    runtime.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
