#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The driver manager on recorded machines, with a modprobe and an installer of theirs."""

import contextlib
import hashlib
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from erdma_driver_case import ERDMA, RELEASE, DriverCase  # noqa: E402
from machine_changes import request  # noqa: E402
from plugin_case import tap  # noqa: E402
from processes import has_ended  # noqa: E402


class DriverTest(DriverCase):
    def test_it_is_loaded_in_each_mode_with_what_is_beside_it(self):
        for prefer, calls, mode in (("auto", ["erdma", "smc"], "default"),
                                    ("default", ["erdma compat_mode=N", "smc"], "default"),
                                    ("compat", ["erdma compat_mode=Y", "smc", "nvidia_peermem"], "compat"),
                                    ("ofed", ["erdma compat_mode=Y", "nvidia_peermem"], "compat")):
            with self.subTest(prefer):
                self.begin_again()
                self.depmod("erdma", "smc", "nvidia_peermem")
                self.run_with(prefer)
                self.assertEqual(self.wait_state("ready")["mode"], mode)
                self.wait_for(lambda calls=calls: self.calls() == calls, f"{calls}")
                self.assertEqual(self.problems(), [])

    def test_a_driver_that_is_there_is_left_alone(self):
        self.loaded("erdma", "Y")
        self.loaded("smc")
        for prefer in ("auto", "compat", "ofed"):
            with self.subTest(prefer):
                if self.daemon:
                    self.reload(prefer)
                else:
                    self.run_with(prefer)
                self.assertEqual(self.wait_state("ready")["mode"], "compat")
        self.assertEqual(self.calls(), [])

    def test_a_gpu_is_a_reason_for_ofed(self):
        self.put("sys/bus/pci/devices/0000:00:0a.0/vendor", "0x10de")
        self.put("sys/bus/pci/devices/0000:00:0a.0/device", "0x2330")
        self.put("sys/bus/pci/devices/0000:00:0a.0/class", "0x030200")
        self.put("sys/module/mlx_compat/initstate", "live")
        self.run_with("auto")
        self.assertEqual(self.wait_state("ready")["mode"], "ofed")
        self.assertEqual(self.calls(), ["erdma compat_mode=Y"])

    def test_a_node_without_the_nic_is_left_alone(self):
        for path in os.listdir(os.path.join(self.machine, "sys/bus/pci/devices")):
            self.put(f"sys/bus/pci/devices/{path}/device", "0x1000")
        self.run_with()
        self.wait_state("absent", "no elastic RDMA NIC (PCI device 1ded:107f)")
        self.wait_for(lambda: request(self.socket, "GET", "/readyz")[0] == 200, "readiness")
        self.assertEqual(self.calls(), [])

    def test_a_change_is_seen_and_the_driver_loaded_again(self):
        self.run_with()
        self.wait_state("ready")
        self.put("calls", "")
        self.unload("erdma")
        self.rescan()
        self.wait_for(lambda: self.calls() == ["erdma compat_mode=N"], "second load")
        self.wait_state("ready")

    def test_a_mode_that_somebody_changed_is_changed_back(self):
        self.run_with("compat")
        self.wait_state("ready")
        self.put("calls", "")
        self.loaded("erdma", "N")
        self.rescan()
        self.wait_for(lambda: self.calls()[:2] == ["-r erdma", "erdma compat_mode=Y"], "two calls")
        self.assertEqual(self.wait_state("ready")["mode"], "compat")

    def test_none_leaves_the_driver_to_others(self):
        self.run_with("default", 'load_with = "none";')
        self.wait_state("failed", 'load_with = "none" leaves it to others')
        self.loaded("erdma", "N")
        self.rescan()
        self.wait_state("ready")
        self.assertEqual(self.calls(), [])

    def test_the_resource_stays_while_the_driver_has_trouble(self):
        self.put("quirks", "exit 1")
        self.run_with()
        self.wait_state("failed")
        self.wait_ready(400, ERDMA)
        self.kubelet.allocate("default/p", ERDMA, 1)
        self.assertEqual(request(self.socket, "GET", "/readyz")[0], 503)


class FailureTest(DriverCase):
    CASES = (
        ("it fails", "echo first; echo 'modprobe: ERROR: could not insert' >&2; exit 3", {},
         "/sbin/modprobe failed with exit status 3: modprobe: ERROR: could not insert"),
        ("it does nothing", "exit 0", {}, "reported success, but the kernel has not loaded erdma"),
        ("it is killed", "kill -9 $$", {}, "ended by signal 9"),
        ("it hangs", "sleep 1000", {"more": 'load_timeout = "1s";'},
         "did not end within 1 s and was killed"),
        ("it prints megabytes", "yes 'x\x1b[2Jy' | head -n 1500000; exit 1", {}, "exit status 1: x [2Jy"),
    )

    def test_modprobe(self):
        for name, quirk, options, reason in self.CASES:
            with self.subTest(name):
                self.begin_again()
                self.put("quirks", quirk)
                self.run_with(**options)
                driver = self.wait_state("failed", reason)
                self.assertLessEqual(len(driver["output"] or ""), 4100)
                self.assertEqual(driver["retry_seconds"], 3600)
                self.assertTrue(any(reason in text for text, _ in self.problems()), self.problems())

    def test_no_modprobe_on_a_recorded_machine_runs_none_of_this_one(self):
        os.remove(os.path.join(self.machine, "sbin/modprobe"))
        self.run_with()
        self.wait_state("failed", "sbin/modprobe")

    def test_a_failure_is_tried_again_and_more_rarely(self):
        self.put("quirks", "exit 1")
        self.run_with(retry="100ms")
        self.wait_for(lambda: self.driver()["failures"] >= 3, "third failure")
        # 0 while a try is under way.
        self.wait_for(lambda: self.driver()["retry_seconds"] > 0.3, "a longer delay")
        self.put("quirks", "")
        self.wait_state("ready")
        self.assertEqual(self.driver()["failures"], 0)

    def assertTriedAfter(self, change, companions):
        """A change that comes during a try is not a reason for another: the try is over before."""
        self.wait_state("failed")
        before = len(self.calls())
        change()
        self.rescan()
        self.wait_for(lambda: self.driver()["companions"] == companions, "scan")
        self.wait_for(lambda: len(self.calls()) > before, "another try")

    def test_only_a_change_is_a_reason_to_try_again_at_once(self):
        self.put("quirks", "exit 1")
        self.run_with()
        for _ in range(3):
            self.assertTriedAfter(lambda: self.put("sys/module/smc/initstate", "live"), {"smc": "loaded"})
            self.assertTriedAfter(lambda: self.unload("smc"), {})
        self.wait_state("failed")
        tried = len(self.calls())
        for _ in range(3):
            self.rescan()
        self.assertEqual(len(self.calls()), tried)

    def test_smc_that_cannot_be_loaded_is_no_failure_of_the_driver(self):
        self.put("quirks", '[ "$1" != smc ] || { echo "disagrees about version" >&2; exit 1; }')
        self.run_with()
        driver = self.wait_state("ready")
        self.wait_for(lambda: self.problems(), "problem")
        driver = self.driver()
        self.assertIn("disagrees about version", driver["companions"]["smc"])
        self.assertIn(("smc cannot be loaded: /sbin/modprobe failed with exit status 1: disagrees "
                       "about version", "SMC-R is not available on this node; TCP works"), self.problems())
        self.loaded("smc")
        self.rescan()
        self.wait_for(lambda: self.driver()["companions"] == {"smc": "loaded"}, "smc")
        self.assertEqual(self.problems(), [])

    def test_a_kernel_without_smc_is_worth_a_note(self):
        self.depmod("erdma")
        self.run_with()
        self.wait_state("ready")
        self.assertEqual(self.problems(), [])
        self.assertIn("this kernel has no module smc", [finding["text"] for finding in self.findings()])
        self.assertEqual(self.calls(), ["erdma compat_mode=N"])

    def test_the_kernels_own_driver_has_no_other_mode(self):
        self.loaded("erdma")
        self.run_with("compat")
        self.wait_state("failed", "has no mode compat: it is the kernel's own driver")
        self.reload("default")
        self.wait_state("ready")


class SwitchTest(DriverCase):
    def test_a_mode_is_not_changed_under_a_pod(self):
        self.loaded("erdma", "N")
        self.run_with("default")
        self.wait_ready(400, ERDMA)
        self.kubelet.allocate("default/train-0", ERDMA, 1)
        self.wait_for(lambda: any(a["pod"] for a in self.allocations().values()), "pod")
        self.reload("compat")
        self.wait_state("failed", "cannot be changed to compat while it is in use: pod "
                                  "default/train-0 (holds aliyun/erdma)")
        self.assertNotIn("-r erdma", self.calls())
        self.kubelet.release("default/train-0")
        self.ask("allocations", "--refresh")
        self.assertEqual(self.wait_state("ready")["mode"], "compat")
        self.assertIn("-r erdma", self.calls())

    def test_an_unload_that_is_refused_is_a_failure(self):
        self.loaded("erdma", "N")
        self.put("quirks", '[ "$1" != -r ] || { echo "Module erdma is in use" >&2; exit 1; }')
        self.run_with("compat")
        self.wait_state("failed", "Module erdma is in use")

    def test_somebody_who_changes_it_all_the_time_does_not_keep_rdmad_busy(self):
        self.put("quirks", '[ "$1" = -r ] || set -- "$1" "${2%=*}=N"')
        self.run_with("compat")
        self.wait_state("failed", "does not stay as it is loaded")
        self.assertLess(len(self.calls()), 10)


INSTALLER = r"""#!/bin/sh
root=${0%/opt/install}
echo "installer $* $MODE" >>"$root/calls"
"""
GOOD = f'echo "kernel/erdma.ko: " >"$root/lib/modules/{RELEASE}/modules.dep"'


class InstallTest(DriverCase):
    def setUp(self):
        super().setUp()
        self.depmod("smc")

    def install_with(self, script, more="", **options):
        self.put("opt/install", INSTALLER + script, 0o755)
        self.run_with("default", 'install = { command = ( "/opt/install", "--batch" ); '
                      f'environment = "MODE=x"; {more} }};', **options)

    def test_without_an_installer_nothing_is_fetched(self):
        self.run_with()
        self.wait_state("failed", "this kernel has no module erdma, and no installer is configured")
        self.assertEqual(self.calls(), [])
        self.depmod("erdma")
        self.rescan()
        self.wait_state("ready")

    def test_it_installs_then_the_driver_is_loaded(self):
        self.install_with(GOOD)
        self.wait_state("ready")
        self.assertEqual(self.calls()[:2], ["installer --batch x", "erdma compat_mode=N"])

    def test_the_state_is_installing_while_it_runs(self):
        self.install_with(f'until [ -e "$root/go" ]; do sleep 0.05; done; {GOOD}')
        self.wait_state("installing", "/opt/install runs")
        self.assertEqual(request(self.socket, "GET", "/readyz")[0], 503)
        self.put("go", "")
        self.wait_state("ready")

    def test_the_kernels_own_driver_makes_way(self):
        self.loaded("erdma")
        self.put("opt/install", INSTALLER + GOOD, 0o755)
        self.run_with("compat", 'install = { command = "/opt/install"; };')
        self.assertEqual(self.wait_state("ready")["mode"], "compat")
        self.assertEqual(self.calls()[1:3], ["-r erdma", "erdma compat_mode=Y"])

    def test_installers_that_go_wrong(self):
        cases = (
            ("it fails", "echo no headers >&2; exit 7", "",
             "the installer: /opt/install failed with exit status 7: no headers"),
            ("it does nothing", "exit 0", "", "the installer succeeded, but this kernel has no module erdma"),
            ("it hangs", "trap '' TERM; sleep 1000 & wait; sleep 1000", 'timeout = "5s";',
             "the installer: /opt/install did not end within 5 s and was killed"),
            ("it prints megabytes", "yes | head -c 20000000; echo end; exit 1", "", "exit status 1: end"),
            ("it forks away", "setsid sleep 3 & exit 0", "", "the installer succeeded, but"),
        )
        for name, script, more, reason in cases:
            with self.subTest(name):
                self.begin_again()
                self.install_with(script, more)
                driver = self.wait_state("failed", reason)
                self.assertLessEqual(len(driver["output"] or ""), 4100)
                self.assertEqual(len(self.calls()), 1)

    def test_a_package_goes_to_the_command_if_it_is_the_right_one(self):
        package = self.put("opt/package", f'echo script; {GOOD}')
        with open(package, "rb") as file:
            good = hashlib.sha256(file.read()).hexdigest()
        script = 'cat >"$root/got"; . "$root/got"'
        more = 'package = "/opt/package"; sha256 = "%s";'
        self.install_with(script, more % ("0" * 64))
        self.wait_state("failed", f"/opt/package: its sha256 is {good}, not the configured one")
        self.assertEqual(self.calls(), [])
        self.end_daemon()
        self.install_with(script, more % good.upper())
        self.wait_state("ready")

    def test_a_reload_brings_no_other_program(self):
        """Whoever has taken over the daemon could have it run."""
        self.install_with("exit 1")
        self.wait_state("failed", "the installer: /opt/install failed")
        self.put("opt/other", INSTALLER + GOOD, 0o755)
        for what in ('install = { command = "/opt/other"; };', 'modprobe = "/opt/other";', 'module = "other";'):
            with self.subTest(what):
                self.reload("default", what)
                self.wait_for(lambda: "is settled when rdmad starts: restart it" in
                              (self.ask("status")["config"]["error"] or ""), "refusal")
                self.reload("compat", 'install = { command = ( "/opt/install", "--batch" ); environment = "MODE=x"; };')
                self.wait_for(lambda: not self.ask("status")["config"]["error"], "reload")
        self.assertNotIn("/opt/other", "".join(self.calls()))

    def test_packages_that_are_none(self):
        for name, make, reason in (
                ("absent", lambda path: None, "/opt/package: "),
                ("directory", os.mkdir, "/opt/package: not a file of at most 64 MiB"),
                ("fifo", os.mkfifo, "/opt/package: not a file"),
                ("huge", lambda path: open(path, "w").truncate(65 << 20), "not a file of at most 64 MiB")):
            with self.subTest(name):
                self.begin_again()
                os.makedirs(os.path.join(self.machine, "opt"))
                make(os.path.join(self.machine, "opt/package"))
                self.install_with(GOOD, f'package = "/opt/package"; sha256 = "{"0" * 64}";')
                self.wait_state("failed", reason)
                self.assertEqual(self.calls(), [])

    def test_the_end_of_rdmad_ends_the_installer(self):
        self.install_with('echo $$ >"$root/pid"; exec sleep 1000')
        path = os.path.join(self.machine, "pid")
        self.wait_for(lambda: os.path.exists(path) and os.path.getsize(path), "installer")
        with open(path, encoding="utf-8") as file:
            pid = int(file.read())
        self.end_daemon()
        self.wait_for(lambda: has_ended(pid), "end of the installer")

    def test_so_does_kill_9(self):
        self.install_with('sleep 1000 & echo $$ $! >"$root/pid.new"; mv "$root/pid.new" "$root/pid"; wait')
        path = os.path.join(self.machine, "pid")
        self.wait_for(lambda: os.path.exists(path), "installer")
        with open(path, encoding="utf-8") as file:
            pids = [int(pid) for pid in file.read().split()]
        self.daemon.kill()
        self.daemon.wait()
        self.daemon = None
        for pid in pids:
            self.wait_for(lambda pid=pid: has_ended(pid), "end of the installer and of its child")

    def host_processes(self):
        """Those that run programs of the host for this daemon."""
        def children(pid):
            with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
                return [int(child) for child in file.read().split()]

        def name(pid):
            with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                return file.read().strip()

        keepers = [pid for pid in children(self.daemon.pid) if name(pid) == "rdmad-keeper"]
        return [pid for keeper in keepers for pid in children(keeper) if name(pid) == "rdmad-host"]

    def test_an_installer_begins_when_that_of_the_daemon_before_has_ended(self):
        """A machine on which the end of the first comes late: its process stands still."""
        script = 'exec 9>>"$root/lock"; flock -n 9 || echo "two at once" >>"$root/calls"\n'
        self.install_with(script + 'echo $$ >"$root/pid"; exec sleep 1000')
        path = os.path.join(self.machine, "pid")
        self.wait_for(lambda: os.path.exists(path) and os.path.getsize(path), "installer")
        first, = self.host_processes()

        def resume():
            with contextlib.suppress(ProcessLookupError):
                os.kill(first, signal.SIGCONT)

        os.kill(first, signal.SIGSTOP)
        self.addCleanup(resume)
        self.end_daemon(signal.SIGKILL)
        self.install_with(script + GOOD)

        def waits():
            with open("/proc/locks", encoding="utf-8") as file:
                lines = file.read().splitlines()
            return any("-> FLOCK" in line and int(line.split()[5]) in self.host_processes() for line in lines)

        self.wait_for(lambda: waits() or len(self.calls()) > 1, "second installer")
        self.assertEqual(self.calls(), ["installer --batch x"])
        self.assertEqual(self.driver()["state"], "installing")
        resume()
        self.wait_state("ready")
        self.assertNotIn("two at once", self.calls())


if __name__ == "__main__":
    tap.main(sys.argv[3:])
