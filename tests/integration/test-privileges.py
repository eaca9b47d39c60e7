#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the processes of rdmad may do, for sets of modules: as the kernel has it in /proc, and as --privileges says.

usage: test-privileges.py RDMAD MODULE-DIR RDMAD-CNI [TEST...]
"""

import os
import signal
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from cni_case import INSTRUMENTED, MODULES, NICS, RDMAD, CniCase, enter_private_host, tap  # noqa: E402

NUMBERS = {"CAP_DAC_READ_SEARCH": 2, "CAP_NET_BIND_SERVICE": 10, "CAP_NET_ADMIN": 12, "CAP_NET_RAW": 13,
           "CAP_SYS_MODULE": 16, "CAP_SYS_CHROOT": 18, "CAP_SYS_PTRACE": 19, "CAP_SYS_ADMIN": 21}
EXECUTOR = {"CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_SYS_ADMIN", "CAP_SYS_PTRACE"}


def mask(names):
    return sum(1 << NUMBERS[name] for name in names)


class Privileges(CniCase):
    def status(self, path):
        fields = dict(line.split(":", 1) for line in Path(path).read_text().splitlines())
        return {**{key: int(fields[key], 16) for key in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")},
                "NoNewPrivs": int(fields["NoNewPrivs"])}

    def assertMay(self, pid, names):
        """Every thread of it."""
        wanted = mask(names)
        for status in Path(f"/proc/{pid}/task").glob("*/status"):
            with self.subTest(status=str(status)):
                self.assertEqual(self.status(status),
                                 {"CapInh": 0, "CapPrm": wanted, "CapEff": wanted, "CapBnd": wanted, "CapAmb": 0,
                                  "NoNewPrivs": 1})

    def table(self, *modules):
        """{process: names}"""
        text = subprocess.run([RDMAD, "--privileges", "--module-dir", MODULES, *(f"--module={m}" for m in modules)],
                              capture_output=True, text=True, check=True).stdout
        told = {"daemon": set(), "executor": set()}
        for line in text.splitlines():
            module, process, name, why = line.split("\t")
            self.assertIn(module, modules)
            self.assertTrue(why)
            told[process].add(name)
        return told

    def run_with(self, modules, daemon):
        self.RUN = modules
        self.start_daemon()
        self.assertEqual(self.table(*modules)["daemon"], daemon)
        self.assertMay(self.daemon.pid, daemon)

    def test_the_device_plugin_needs_nothing(self):
        self.run_with(("device-plugin",), set())
        self.assertEqual(self.children(self.daemon.pid), [])

    def test_metrics_may_have_a_port_below_1024(self):
        self.run_with(("metrics",), {"CAP_NET_BIND_SERVICE"})
        self.assertEqual(self.children(self.daemon.pid), [])

    def test_what_the_daemon_of_cni_lacks_its_executor_has(self):
        self.run_with(("cni",), set())
        self.executor_may()

    def test_all_modules_together_have_what_each_declares(self):
        self.run_with(("device-plugin", "metrics", "nccl", "cni"), {"CAP_NET_BIND_SERVICE"})
        self.executor_may()

    def with_addresses(self):
        return self.network(NICS[0], ipam={"type": "host-local", "subnet": "192.0.2.0/24"})

    def executor_may(self):
        self.pod("a")
        # Its plugin is a child of the daemon, and needs nothing.
        network = self.with_addresses()
        self.add("c1", "a", network)
        keeper, = self.children(self.daemon.pid)
        self.assertEqual(self.table("cni")["executor"], EXECUTOR)
        self.assertMay(keeper, EXECUTOR)
        self.assertMay(self.executor(), EXECUTOR)
        self.delete("c1", "a", network)

    def test_what_loads_the_driver_is_not_the_daemon(self):
        self.run_with(("erdma",), set())
        keeper, = self.children(self.daemon.pid)
        self.assertMay(keeper, self.table("erdma")["executor"])
        self.assertIn("CAP_SYS_MODULE", self.table("erdma")["executor"])

    def test_what_rdmad_was_not_given_for_its_executor_is_a_problem(self):
        self.start_daemon()
        self.assertEqual([f for f in self.client("doctor")["findings"] if f["subject"] == "executor"], [])
        self.end_daemon()
        self.WRAPPER = ("setpriv", "--bounding-set=-sys_admin,-sys_ptrace")
        self.start_daemon()
        finding, = [f for f in self.client("doctor")["findings"] if f["subject"] == "executor"]
        self.assertEqual((finding["level"], finding["text"]),
                         ("problem", "rdmad was started without CAP_SYS_PTRACE, CAP_SYS_ADMIN"))
        self.wait_for_log("rdmad has no CAP_SYS_PTRACE, CAP_SYS_ADMIN, which its executor needs")

    # ---- system calls ----

    top = ""    # of the configuration

    def write_config(self, groups):
        super().write_config(groups)
        with open(self.dir / "rdmad.conf", "a", encoding="utf-8") as file:
            file.write(self.top)

    def filters(self, pid):
        """Of each thread: 2 is SECCOMP_MODE_FILTER."""
        return {int(dict(line.split(":", 1) for line in status.read_text().splitlines())["Seccomp"])
                for status in Path(f"/proc/{pid}/task").glob("*/status")}

    @unittest.skipIf(INSTRUMENTED, "sanitizers make calls of their own")
    def test_every_process_that_listens_has_its_filter(self):
        for mode, number in (("enforce", 2), ("log", 2), ("off", 0)):
            with self.subTest(mode):
                self.top = f'seccomp = "{mode}";'
                self.start_daemon()
                self.assertEqual(self.client("status")["seccomp"], mode)
                self.pod(mode)
                self.add("c1", mode, self.with_addresses())
                keeper, = self.children(self.daemon.pid)
                for pid in (self.daemon.pid, keeper, self.executor()):
                    self.assertEqual(self.filters(pid), {number})
                self.delete("c1", mode, self.with_addresses())
                self.end_daemon()

    def test_the_end_of_an_executor_by_seccomp_is_reported(self):
        self.start_daemon()
        self.pod("a")
        self.add("c1", "a", self.with_addresses())
        os.kill(self.executor(), signal.SIGSYS)
        self.wait_for_log("ended by SIGSYS: seccomp does not allow a system call")
        self.delete("c1", "a", self.with_addresses())

    def test_rdmad_ends_with_its_keeper(self):
        self.start_daemon()
        keeper, = self.children(self.daemon.pid)
        os.kill(keeper, 9)
        self.assertEqual(self.daemon.wait(20), 1)
        self.daemon = None

    def test_a_reload_brings_no_module_that_needs_more(self):
        self.RUN = ()
        self.GROUPS = "device-plugin = { };"
        self.start_daemon()
        self.write_config("device-plugin = { }; cni = { };")
        self.daemon.send_signal(1)
        self.wait_for_log("module cni needs capabilities or calls that rdmad has given up: restart it")


if __name__ == "__main__":
    enter_private_host()
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    del sys.argv[1:4]
    tap.main(sys.argv[1:])
