#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""rdmad's files, read by NVIDIA's own library: nccl.conf, and the environment plugin since NCCL 2.28.

usage: libnccl.py BUILD-DIR [VERSION...]

The wheels nvidia-nccl-cu12 of PyPI need neither a GPU nor a driver for ncclGetUniqueId(), which reads
nccl.conf and loads the plugin.  They are hundreds of megabytes each, kept in ~/.cache/rdmad-nccl.  Exit
status 77, with the reason, where they cannot be had or where this is not root (the old ones read only
~/.nccl.conf, which a private mount stands before).
"""

import os
import subprocess
import sys
import tempfile
import zipfile

PACKAGE = "nvidia-nccl-cu12"
VERSIONS = ["2.18.3", "2.21.5", "2.28.9", "2.32.3"]   # the oldest, before NCCL_CONF_FILE, plugin 1, 2
HERE = os.path.dirname(os.path.realpath(__file__))
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


def run(command, files=(), **env):
    return subprocess.run(command, capture_output=True, text=True, timeout=120, pass_fds=files,
                          env={"PATH": os.environ["PATH"], "HOME": "/root", **env})


def ask(library, home, **env):
    """Status and values after ncclGetUniqueId(), with `home` in the place of the user's directory, where the
    library may be."""
    with open(library, "rb") as file:
        done = run(["unshare", "--mount", "--", "sh", "-c", 'mount --bind "$0" /root && exec "$@"', home,
                    sys.executable, "-c", CHILD, f"/proc/self/fd/{file.fileno()}", *NAMES],
                   files=(file.fileno(),), **env)
    return done.stdout.splitlines()[-1:], done.stdout + done.stderr


def check_conf(library, version, wanted, text):
    with tempfile.TemporaryDirectory() as home:
        with open(os.path.join(home, ".nccl.conf"), "w") as file:
            file.write(text)
        found, everything = ask(library, home)
        return found == [f"0 {wanted}"], everything


def check_plugin(library, version, wanted, build, versions_file):
    """The plugin answers in the place of getenv(), so that NCCL's own log is what shows it."""
    with tempfile.TemporaryDirectory() as home:
        plan = os.path.join(home, "nccl-versions.conf")
        with open(plan, "w") as file:
            file.write(versions_file + "NCCL_SOCKET_IFNAME==lo\n")
        found, everything = ask(library, home, RDMAD_NCCL_PLAN=plan, NCCL_DEBUG="INFO",
                                NCCL_DEBUG_SUBSYS="ALL",
                                NCCL_ENV_PLUGIN=os.path.join(build, "contrib/nccl/libnccl-env.so"))
        return "set by environment to =lo" in everything and "Using rdmad" in everything, everything


def main(build, versions):
    if os.geteuid() != 0:
        skip("not root")
    tool = os.path.join(build, "contrib/nccl/rdmad-nccl-env")
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        machine = os.path.join(directory, "machine")
        subprocess.run([os.path.join(HERE, "../machines/expand"), MACHINE, machine], check=True)
        for version in versions:
            library = library_of(version)
            text = run([tool, "--sysroot", machine, "--format", "conf", "--nccl-version", version]).stdout
            lines = dict(line.split("=", 1) for line in text.splitlines() if line[0] != "#")
            wanted = " ".join(lines[name] for name in NAMES)
            checks = [("nccl.conf", check_conf(library, version, wanted, text))]
            if int(version.split(".")[1]) >= 28:
                sections = "[18-32]\n" + "".join(f"{k}={v}\n" for k, v in lines.items())
                checks.append(("plugin", check_plugin(library, version, wanted, build, sections)))
            for what, (good, said) in checks:
                print(f"{'ok' if good else 'not ok'} - NCCL {version}: {what}")
                if not good:
                    failed = 1
                    print("".join(f"# {line}\n" for line in said.splitlines()), end="")
    return failed


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(os.path.realpath(sys.argv[1]), sys.argv[2:] or VERSIONS))
