#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The directory of an allocation, as module nccl wrote it, read by NVIDIA's own library in a network namespace
with that directory at /run/rdmad: nccl.conf, and since NCCL 2.28 the environment plugin.

usage: libnccl.py BUILD-DIR [VERSION...]

The wheels nvidia-nccl-cu12 of PyPI need neither a GPU nor a driver for ncclGetUniqueId(), which reads
nccl.conf and loads the plugin.  They are hundreds of megabytes each, kept in ~/.cache/rdmad-nccl.  Exit
status 77, with the reason, where they cannot be had or where this is not root, which mounts and namespaces need.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
import zipfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "kubelet"))
sys.dont_write_bytecode = True

from fake import Kubelet  # noqa: E402

PACKAGE = "nvidia-nccl-cu12"
VERSIONS = ["2.18.3", "2.21.5", "2.28.9", "2.32.3"]   # the oldest, before NCCL_CONF_FILE, plugin 1, 2
CACHE = os.path.expanduser("~/.cache/rdmad-nccl")
MACHINE = "gpu-8rail"

# In a process of its own: the library keeps what it read.
CHILD = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
libc = ctypes.CDLL(None)
status = library.ncclGetUniqueId(ctypes.create_string_buffer(128))
libc.getenv.restype = ctypes.c_char_p
print(status, *((libc.getenv(name.encode()) or b"unset").decode() for name in sys.argv[2:]))
"""
NAMES = ["NCCL_IB_HCA", "NCCL_IB_GID_INDEX"]
PLUGIN_SINCE = 28
PATIENCE = 120

CONFIG = """
modules = {
  device-plugin = { resources = ( { name = "rdma/rail"; mode = "exclusive"; selectors = { names = ( "mlx5_0", "mlx5_1" ); }; } ); };
  nccl = { network = "host"; socket_ifname = "=lo"; env_plugin = "%s"; };
};
"""

# A pod's view: a network namespace with lo alone, $0 as the user's directory and $1 at /run/rdmad.
POD = """set -e
ip link set lo up
mount -t tmpfs tmpfs /run
mkdir /run/rdmad
mount --bind "$1" /run/rdmad
mount --bind "$0" /root
shift
exec "$@"
"""


def skip(reason):
    print(f"SKIP: {reason}")
    sys.exit(77)


def library_of(version):
    place = os.path.join(CACHE, version)
    library = os.path.join(place, "libnccl.so.2")
    if os.path.exists(library):
        return library
    os.makedirs(place, exist_ok=True)
    done = subprocess.run(["pip", "download", "--no-deps", "-q", "-d", place, f"{PACKAGE}=={version}"],
                          capture_output=True, text=True)
    if done.returncode != 0:
        skip(f"no wheel of {PACKAGE} {version}: {done.stderr.strip().splitlines()[-1:]}")
    for name in os.listdir(place):
        if name.endswith(".whl"):
            with zipfile.ZipFile(os.path.join(place, name)) as wheel:
                with wheel.open("nvidia/nccl/lib/libnccl.so.2") as source, open(library, "wb") as out:
                    out.write(source.read())
            os.remove(os.path.join(place, name))
    return library


def wait_for(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"no {what} within {PATIENCE} s")
        time.sleep(0.05)


@contextlib.contextmanager
def allocation_directory(build, directory):
    """That of a pod with two rails of a recorded machine."""
    machine, plugin = os.path.join(directory, "machine"), os.path.join(build, "contrib/nccl/libnccl-env.so")
    subprocess.run([os.path.join(HERE, "../machines/expand"), MACHINE, machine], check=True)
    os.chmod(plugin, 0o755)
    config = os.path.join(directory, "rdmad.conf")
    with open(config, "w") as file:
        file.write(CONFIG % plugin)
    root = os.path.join(directory, "k")
    os.mkdir(root)
    with Kubelet(root) as kubelet:
        daemon = subprocess.Popen([os.path.join(build, "core/rdmad"), "--config", config, "--sysroot", machine,
                                   "--module-dir", os.path.join(build, "modules"), "--kubelet-dir", root,
                                   "--run-dir", os.path.join(directory, "run"),
                                   "--state-dir", os.path.join(directory, "state")], stderr=subprocess.DEVNULL)
        try:
            kubelet.wait("rdma/rail", 2, PATIENCE)
            allocation = kubelet.allocate("ml/train-0", "rdma/rail", 2).reply.envs["RDMAD_ALLOCATION"]
            path = os.path.join(directory, "run/allocations", allocation)
            wait_for(lambda: "NCCL_ENV_PLUGIN" in read(path, "nccl.conf"), "plan")
            yield path
        finally:
            daemon.terminate()
            daemon.wait()


def read(*path):
    with open(os.path.join(*path)) as file:
        return file.read()


def ask(library, home, allocation, **env):
    """The lines of stdout, status and values after ncclGetUniqueId() among them, and all that was said."""
    with open(library, "rb") as file:
        done = subprocess.run(
            ["unshare", "--mount", "--net", "--", "sh", "-c", POD, home, allocation, sys.executable, "-c", CHILD,
             f"/proc/self/fd/{file.fileno()}", *NAMES],
            pass_fds=[file.fileno()], capture_output=True, text=True, timeout=PATIENCE,
            env={"PATH": os.environ["PATH"], "HOME": "/root", "NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "ALL", **env})
    return done.stdout.splitlines(), done.stdout + done.stderr


def check_conf(library, minor, allocation):
    """As the container has it: NCCL_CONF_FILE, and before 2.23 the user's file."""
    lines = read(allocation, "nccl.conf").splitlines()
    values = dict(line.split("=", 1) for line in lines if line[0] != "#")
    with tempfile.TemporaryDirectory() as home:
        if minor < 23:
            with open(os.path.join(home, ".nccl.conf"), "w") as file:
                file.write(read(allocation, "nccl.conf"))
        found, said = ask(library, home, allocation, NCCL_CONF_FILE="/run/rdmad/nccl.conf")
    return "0 " + " ".join(values[name] for name in NAMES) in found and \
        (minor < PLUGIN_SINCE or "Using rdmad" in said), said


def check_plugin(library, minor, allocation):
    """Alone: it answers in the place of getenv(), so that NCCL's own log is what shows it."""
    with tempfile.TemporaryDirectory() as home:
        found, said = ask(library, home, allocation, NCCL_ENV_PLUGIN="/run/rdmad/libnccl-env.so")
    return "0 unset unset" in found and "set by environment to =lo" in said and "Using rdmad" in said, said


def main(build, versions):
    if os.geteuid() != 0:
        skip("not root")
    failed = 0
    with tempfile.TemporaryDirectory() as directory, allocation_directory(build, directory) as allocation:
        for version in versions:
            library, minor = library_of(version), int(version.split(".")[1])
            checks = [("nccl.conf", check_conf)]
            if minor >= PLUGIN_SINCE:
                checks.append(("the plugin", check_plugin))
            for what, check in checks:
                good, said = check(library, minor, allocation)
                print(f"{'ok' if good else 'not ok'} - NCCL {version}: {what}", flush=True)
                if not good:
                    failed = 1
                    print("".join(f"# {line}\n" for line in said.splitlines()), end="")
    return failed


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(os.path.realpath(sys.argv[1]), sys.argv[2:] or VERSIONS))
