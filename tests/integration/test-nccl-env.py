#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""rdmad-nccl-env on recorded machines, nccl_env.sh in several shells, and NCCL's environment plugin.

usage: test-nccl-env.py RDMAD-NCCL-ENV LIBNCCL-ENV EXPAND [TEST...]
"""

import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))

import tap  # noqa: E402

TOOL, PLUGIN, EXPAND = sys.argv[1:4]
SOURCES = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..")
SCRIPT = os.path.realpath(os.path.join(SOURCES, "contrib/nccl_env.sh"))
PATIENCE = 60

# Exports of nccl_env.sh of Volcengine's document on VKE on these machines, where they are right.
SCRIPT_ANSWERS = {
    "gpu-8rail": (",".join(f"mlx5_{i}:1" for i in range(8)), "3"),
    "bond": ("mlx5_bond_0:1", "3"),
    "erdma-compat": ("erdma_0:1", "3"),
    "sriov": (",".join(f"mlx5_{i}:1" for i in range(7)), "3"),
}

# NCCL_IB_HCA and NCCL_IB_GID_INDEX where the script finds nothing, or takes the highest rate alone.
OTHER_ANSWERS = {
    "ipv6": ("=mlx5_0:1,mlx5_1:1", "3"),
    "infiniband": ("=mlx5_0:1,mlx5_1:1,mlx5_2:1", None),
    "infiniband-ethernet": ("=mlx5_0:1,mlx5_1:1,mlx5_2:1", None),
    "mixed": ("=bnxt_re0:1,irdma0:1,hns_0:1,ionic_0:1,mlx4_0:1,mana_0:1,rxe0:1", "-1"),
}


class EnvCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.machines = {}
        directory = tempfile.TemporaryDirectory(prefix="rdmad-nccl-")
        cls.addClassCleanup(directory.cleanup)
        cls.dir = directory.name

    def machine(self, name):
        if name not in self.machines:
            path = os.path.join(self.dir, name)
            subprocess.run([EXPAND, name, path], check=True, stdout=subprocess.DEVNULL)
            self.machines[name] = path
        return self.machines[name]

    def run_tool(self, *options):
        return subprocess.run([TOOL, *options], capture_output=True, text=True, timeout=PATIENCE,
                              env={"PATH": os.environ["PATH"]})

    def conf(self, machine, *options):
        done = self.run_tool("--sysroot", self.machine(machine), "--format", "conf",
                             "--socket-ifname", "", *options)
        lines = [line for line in done.stdout.splitlines() if not line.startswith("#")]
        return done, dict(line.split("=", 1) for line in lines)


class MachineTest(EnvCase):
    def test_the_answers_of_the_script_but_for_the_equals_sign(self):
        for machine, (hca, index) in SCRIPT_ANSWERS.items():
            with self.subTest(machine):
                done, found = self.conf(machine)
                self.assertEqual(done.returncode, 0, done.stderr)
                # The script lists them as ls does, rdmad by their PCI addresses; to NCCL it is one set.
                self.assertEqual(found["NCCL_IB_HCA"][0], "=")
                self.assertEqual(set(found["NCCL_IB_HCA"][1:].split(",")), set(hca.split(",")))
                self.assertEqual(found["NCCL_IB_GID_INDEX"], index)

    def test_answers_where_the_script_has_none(self):
        for machine, (hca, index) in OTHER_ANSWERS.items():
            with self.subTest(machine):
                done, found = self.conf(machine)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual((found["NCCL_IB_HCA"], found.get("NCCL_IB_GID_INDEX")), (hca, index))

    def test_where_there_is_nothing_the_reason_is_on_stderr(self):
        for machine, reason in (("erdma", "iWARP"), ("broken", "no port can be used")):
            with self.subTest(machine):
                done, found = self.conf(machine)
                self.assertEqual((done.returncode, found), (1, {}))
                self.assertIn(reason, done.stderr)

    def test_a_machine_without_rdma_is_told_of_once(self):
        """16, too: there is no /sys/class/infiniband."""
        os.makedirs(os.path.join(self.dir, "plain/sys/class"), exist_ok=True)
        done = self.run_tool("--sysroot", os.path.join(self.dir, "plain"), "--format", "conf")
        self.assertEqual((done.returncode, done.stderr), (1, "rdmad-nccl-env: there is no RDMA device\n"))

    def test_addresses_of_the_namespace_decide(self):
        machine = os.path.join(self.dir, "own")
        shutil.copytree(self.machine("ipv6"), machine, symlinks=True)
        os.makedirs(os.path.join(machine, "proc/7/net"))
        for name, text in (("fib_trie", ""),
                           ("if_inet6", "20010db8000000000000000000000007 02 40 00 80 eth0\n")):
            with open(os.path.join(machine, "proc/7/net", name), "w") as file:
                file.write(text)
        done = self.run_tool("--sysroot", machine, "--pid", "7", "--format", "json")
        plan = json.loads(done.stdout)
        self.assertEqual(plan["env"]["NCCL_IB_HCA"], "=mlx5_0:1")
        foreign = [gid["address"] for rail in plan["rails"] for gid in rail["gids"]
                   if gid["reason"] == "address of another network namespace"]
        self.assertEqual(foreign, ["2001:db8:0:1::7", "2001:db8:0:64::7"])

    def test_explain_names_each_port_and_gid(self):
        for machine in ("gpu-8rail", "ipv6", "infiniband-ethernet", "bond", "sriov", "mixed", "erdma", "broken"):
            with self.subTest(machine):
                plan = self.run_tool("--sysroot", self.machine(machine), "--format", "json")
                text = self.run_tool("--sysroot", self.machine(machine), "--explain").stdout
                for rail in json.loads(plan.stdout)["rails"]:
                    name = "".join(c if c.isprintable() else "?" for c in rail["device_name"])
                    self.assertIn(f'\n{name}:{rail["port"]}  ', text)
                    for gid in rail["gids"]:
                        self.assertIn(f' {gid["address"]} ', text)
                self.assertTrue(all(line == line.rstrip() for line in text.splitlines()), text)

    def test_usage(self):
        for options in (["--format", "xml"], ["--nccl-version", "3"], ["--subnet", "10.0.0.0/40"],
                        ["--pid", "x"], ["--siblings", "mpi"], ["extra"], ["--nonsense"]):
            done = self.run_tool(*options)
            self.assertEqual((done.returncode, done.stdout), (2, ""), options)
            self.assertNotEqual(done.stderr, "")
        self.assertEqual(self.run_tool("--help").returncode, 0)

    def test_a_machine_that_cannot_be_read_unsets_what_is_stale(self):
        """16 of the script's defects: it says so, once."""
        done = self.run_tool("--sysroot", os.path.join(self.dir, "nowhere"))
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1))
        self.assertIn("unset NCCL_IB_HCA\n", done.stdout)
        self.assertNotIn("export", done.stdout)

    def test_versions_that_are_not_known_are_warned_of(self):
        done, found = self.conf("bond", "--nccl-version", "2.99")
        self.assertEqual((done.returncode, found["NCCL_IB_GID_INDEX"]), (0, "3"))
        self.assertIn("NCCL 2.99 is not known: treated as 2.32", done.stderr)
        self.assertIn("# Warning: NCCL 2.99 is not known: treated as 2.32\n", done.stdout)


SHELLS = [command for command in (["dash"], ["bash"], ["bash", "--posix"], ["busybox", "sh"])
          if shutil.which(command[0])]
SHOW = 'echo "$?,${NCCL_IB_HCA-unset},${NCCL_IB_GID_INDEX-unset},${NCCL_IB_ADDR_RANGE-unset}"'


class ScriptTest(EnvCase):
    """`. nccl_env.sh` as pods use it.  Numbers are those of the defects of the document's script; the others are
    in tests/unit/nccl/test-plan.c, and 18, its speed, in tests/bench/nccl-env.py."""

    def setUp(self):
        self.run_dir = tempfile.mkdtemp(dir=self.dir)
        self.bin = tempfile.mkdtemp(dir=self.dir)
        for name in ("grep", "cat", "dash", "bash", "busybox"):
            if shutil.which(name):
                os.symlink(shutil.which(name), os.path.join(self.bin, name))

    def source(self, shell, text="", path=None):
        """Output of a strict shell with stale variables that sources the script."""
        done = subprocess.run([*shell, "-euc", f"{text}\n. {path or SCRIPT} && {SHOW} || {SHOW}"],
                              capture_output=True, text=True, timeout=PATIENCE,
                              env={"PATH": self.bin, "RDMAD_DIR": self.run_dir, "NCCL_IB_HCA": "stale",
                                   "NCCL_IB_ADDR_RANGE": "stale"})
        self.assertEqual(done.returncode, 0, f"{shell}: {done.stderr}")
        return done.stdout.strip(), done.stderr

    def write(self, machine):
        text = subprocess.run([TOOL, "--sysroot", self.machine(machine), "--socket-ifname", ""],
                              capture_output=True, text=True, timeout=PATIENCE).stdout
        with open(os.path.join(self.run_dir, "nccl.env"), "w") as file:
            file.write(text)

    def add_tool(self, machine):
        path = os.path.join(self.bin, "rdmad-nccl-env")
        with open(path, "w") as file:
            file.write(f'#!/bin/sh\nexec {TOOL} --socket-ifname "" --sysroot {self.machine(machine)} "$@"\n')
        os.chmod(path, 0o755)

    def test_from_the_directory(self):
        """12: in any shell."""
        self.write("bond")
        for shell in SHELLS:
            self.assertEqual(self.source(shell), ("0,=mlx5_bond_0:1,3,unset", ""))

    def test_a_refusal_unsets_and_tells(self):
        self.write("erdma")
        for shell in SHELLS:
            out, err = self.source(shell)
            self.assertEqual(out, "1,unset,unset,unset")
            self.assertIn("rdmad: no NCCL settings: no port can be used", err)

    def test_without_the_directory_the_tool_looks(self):
        self.add_tool("bond")
        for shell in SHELLS:
            self.assertEqual(self.source(shell), ("0,=mlx5_bond_0:1,3,unset", ""))

    def test_a_refusal_in_the_directory_lets_the_tool_look(self):
        self.write("erdma")
        self.add_tool("bond")
        for shell in SHELLS:
            self.assertEqual(self.source(shell)[0], "0,=mlx5_bond_0:1,3,unset")

    def test_a_tool_that_refuses_unsets_and_tells(self):
        """15: errors on stderr, and nothing stale."""
        self.add_tool("erdma")
        for shell in SHELLS:
            out, err = self.source(shell)
            self.assertEqual(out, "1,unset,unset,unset")
            self.assertIn("no port can be used", err)

    def test_with_neither_it_says_so(self):
        for shell in SHELLS:
            out, err = self.source(shell)
            self.assertEqual(out, "1,unset,unset,unset")
            self.assertIn("neither", err)

    def test_a_strict_shell_starts_nothing_without_settings(self):
        for shell in SHELLS:
            with self.subTest(shell):
                done = subprocess.run([*shell, "-euc", f". {SCRIPT}\necho started"], capture_output=True, text=True,
                                      timeout=PATIENCE, env={"PATH": self.bin, "RDMAD_DIR": self.run_dir})
                self.assertEqual((done.returncode, done.stdout), (1, ""))

    def test_it_leaves_nothing_behind(self):
        """13, 14: no variable, no function, no IFS of its own; one of the caller's has no effect."""
        self.write("bond")
        before = subprocess.run(["bash", "-c", "compgen -v; compgen -A function"], capture_output=True,
                                text=True, env={"PATH": self.bin}).stdout.split()
        after = subprocess.run(["bash", "-c", f". {SCRIPT}; compgen -v; compgen -A function"],
                               capture_output=True, text=True,
                               env={"PATH": self.bin, "RDMAD_DIR": self.run_dir}).stdout.split()
        new = set(after) - set(before) - {"RDMAD_DIR", "_", "BASH_LINENO", "PIPESTATUS"}
        self.assertEqual(new, {"NCCL_IB_HCA", "NCCL_IB_GID_INDEX"})
        for shell in SHELLS:
            self.assertEqual(self.source(shell, "IFS=:=")[0].split(",")[2], "3")


class PluginV1(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p),
                ("init", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint8, ctypes.c_uint8, ctypes.c_uint8,
                                          ctypes.c_char_p)),
                ("finalize", ctypes.CFUNCTYPE(ctypes.c_int)),
                ("get", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_char_p))]


class PluginV2(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p),
                ("init", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint8, ctypes.c_uint8, ctypes.c_uint8,
                                          ctypes.c_char_p, ctypes.c_void_p)),
                ("finalize", ctypes.CFUNCTYPE(ctypes.c_int)),
                ("get", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_char_p))]


PLAN = """# By rdmad
[18-20]
NCCL_IB_HCA==old:1
[21-26]
NCCL_IB_HCA==middle:1
NCCL_IB_GID_INDEX=3
[27-32]
NCCL_IB_HCA==new:1
NCCL_IB_GID_INDEX=5
"""


class PluginTest(unittest.TestCase):
    """As NCCL calls it: ncclEnvPlugin_v1 and _v2."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="rdmad-plugin-")
        self.addCleanup(directory.cleanup)
        self.path = os.path.join(directory.name, "nccl-versions.conf")
        os.environ["RDMAD_NCCL_PLAN"] = self.path
        self.addCleanup(os.environ.pop, "RDMAD_NCCL_PLAN")
        library = ctypes.CDLL(PLUGIN)
        self.v1 = PluginV1.in_dll(library, "ncclEnvPlugin_v1")
        self.v2 = PluginV2.in_dll(library, "ncclEnvPlugin_v2")

    def write(self, text):
        with open(self.path, "wb") as file:
            file.write(text)

    def values(self, minor, major=2, version=2):
        plugin = self.v2 if version == 2 else self.v1
        extra = (None,) if version == 2 else ()
        self.assertEqual(plugin.init(major, minor, 1, b"", *extra), 0)
        values = plugin.get(b"NCCL_IB_HCA"), plugin.get(b"NCCL_IB_GID_INDEX"), plugin.get(b"NCCL_IB")
        self.assertEqual(plugin.finalize(), 0)
        return values

    def test_each_version_gets_its_own(self):
        self.write(PLAN.encode())
        for version in (1, 2):
            self.assertEqual(self.values(18, version=version), (b"=old:1", None, None))
            self.assertEqual(self.values(20, version=version), (b"=old:1", None, None))
            self.assertEqual(self.values(21, version=version), (b"=middle:1", b"3", None))
            self.assertEqual(self.values(27, version=version), (b"=new:1", b"5", None))
            # Older and newer ones than rdmad knows.
            self.assertEqual(self.values(4, version=version), (b"=old:1", None, None))
            self.assertEqual(self.values(99, version=version), (b"=new:1", b"5", None))

    def test_the_environment_wins(self):
        self.write(PLAN.encode())
        libc = ctypes.CDLL(None)
        libc.setenv(b"NCCL_IB_HCA", b"mine", 1)
        self.addCleanup(libc.unsetenv, b"NCCL_IB_HCA")
        self.assertEqual(self.values(27), (b"mine", b"5", None))

    def test_what_is_no_plan_is_none(self):
        none = (None, None, None)
        self.assertEqual(self.values(27), none)
        for text in (b"", b"[", b"[27-32", b"NCCL_IB_HCA==x:1\n", PLAN.encode()[:30] + b"\0" + b"x",
                     b"[27-32]\n" + b"x" * (256 * 1024), b"[x-y]\nNCCL_IB_HCA==x:1\n"):
            self.write(text)
            self.assertEqual(self.values(27), none, text[:40])
        self.write(PLAN.encode())
        self.assertEqual(self.values(27, major=3), none)
        os.remove(self.path)
        os.mkdir(self.path)
        self.assertEqual(self.values(27), none)

    def test_values_stay_until_the_end(self):
        self.write(PLAN.encode())
        self.v2.init(2, 27, 1, b"", None)
        get = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p)(ctypes.cast(self.v2.get, ctypes.c_void_p).value)
        first = get(b"NCCL_IB_HCA")
        os.remove(self.path)
        self.assertEqual(get(b"NCCL_IB_HCA"), first)
        self.assertEqual(ctypes.string_at(first), b"=new:1")
        self.v2.finalize()


if __name__ == "__main__":
    tap.main(sys.argv[4:])
