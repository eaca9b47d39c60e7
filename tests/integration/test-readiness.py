#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""/livez, /readyz and /healthz: test-readiness.py RDMAD MODULE-DIR [TEST...]"""

import contextlib
import fcntl
import http.client
import os
import resource
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True

from control_socket import Connection  # noqa: E402
from plugin_case import HCA, PATIENCE, AdmissionError, PluginCase, tap  # noqa: E402
from ports import free_port  # noqa: E402

LINES = ["[+]ping ok", "[+]instance ok", "[+]hardware ok", "[+]run-dir ok", "[+]state ok", "[+]config ok",
         "[+]device-plugin ok", "[+]shutdown ok", "readyz check passed"]


class ReadinessTest(PluginCase):
    def get(self, target):
        """Status and lines; over a connection of its own."""
        with contextlib.closing(Connection(self.socket, PATIENCE)) as connection:
            connection.request("GET", target)
            response = connection.getresponse()
            self.assertTrue(response.getheader("Content-Type").startswith("text/plain"))
            return response.status, response.read().decode().splitlines()

    def start_alone(self, config=None, *options):
        self.start_daemon(config, *options)
        self.wait_for(lambda: "is ready" in self.log(), "ready daemon")

    def line(self, check, target="/readyz?verbose"):
        lines = [line for line in self.get(target)[1] if line[3:].startswith(check + " ")]
        self.assertEqual(len(lines), 1)
        return lines[0]

    def test_it_lives_whatever_kubelet_does(self):
        self.start_alone()
        for path in ("livez", "healthz"):
            self.assertEqual(self.get("/" + path), (200, ["ok"]))
            self.assertEqual(self.get(f"/{path}?verbose"),
                             (200, ["[+]ping ok", path + " check passed"]))

    def test_probes_come_by_tcp(self):
        port = free_port()
        self.start_alone('modules = { metrics = { listen = "127.0.0.1:%d"; }; };' % port,
                         "--module=metrics")
        for path, expected in (("livez", 200), ("healthz", 200), ("readyz", 503)):
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
                connection.request("GET", "/" + path)
                self.assertEqual(connection.getresponse().status, expected)

    def test_it_is_ready_while_kubelet_watches(self):
        self.start_alone()
        self.wait_for(lambda: "not registered" in self.log(), "try to register")
        status, lines = self.get("/readyz")
        self.assertEqual((status, lines[-1]), (503, "readyz check failed"))
        self.assertIn("[-]device-plugin failed: rdma/hca: not registered at kubelet: "
                      "kubelet.sock is not there", lines)
        self.assertEqual(len(lines), len(LINES))
        self.start_kubelet(registry=False)
        self.wait_ready()
        self.wait_for(lambda: self.get("/readyz") == (200, ["ok"]), "readiness")
        self.assertEqual(self.get("/readyz?verbose"), (200, LINES))
        self.kubelet.stop()
        self.wait_for(lambda: self.get("/readyz")[0] == 503, "unreadiness")

    def test_each_resource_must_be_registered(self):
        self.start_alone('modules = { device-plugin = { resources = ('
                         '{ name = "a/one"; selectors = { names = "mlx5_0"; }; },'
                         '{ name = "a/two"; selectors = { names = "mlx5_1"; }; } ); }; };')
        line = self.line("device-plugin")
        self.assertRegex(line, r"^\[-\]device-plugin failed: a/one: not .*; a/two: not ")

    def test_checks_can_be_left_out(self):
        self.start_alone()
        self.assertEqual(self.get("/readyz?exclude=device-plugin"), (200, ["ok"]))
        self.assertEqual(self.line("device-plugin", "/readyz?verbose&exclude=state"
                                   "&exclude=device-plugin"), "[+]device-plugin excluded: ok")
        self.assertEqual(self.get("/readyz?exclude=nothing")[0], 503)

    def test_a_refused_configuration_is_said_and_no_harm(self):
        self.both("modules = { device-plugin = { }; };")
        self.wait_ready()
        self.write_config("modules = { device-plugin = { resources = 7; }; };")
        self.daemon.send_signal(signal.SIGHUP)
        self.wait_for(lambda: "config-refused" in self.log(), "refusal")
        self.assertEqual(self.get("/readyz"), (200, ["ok"]))
        self.assertRegex(self.line("config"), r"^\[\+\]config ok, but the old one stays: .*rdmad.conf:1")

    def test_it_is_not_ready_when_the_hardware_cannot_be_looked_at(self):
        self.both()
        self.wait_ready()
        sys_dir, away = os.path.join(self.machine, "sys"), os.path.join(self.machine, "away")
        os.rename(sys_dir, away)
        try:
            self.ask_rescan()
            self.wait_for(lambda: self.get("/readyz")[0] == 503, "unreadiness")
            self.assertTrue(self.line("hardware").startswith("[-]hardware failed: "))
        finally:
            os.rename(away, sys_dir)
        self.wait_for(lambda: self.get("/readyz")[0] == 200, "readiness")

    def ask_rescan(self):
        with contextlib.closing(Connection(self.socket, PATIENCE)) as connection:
            connection.request("POST", "/api/v1/rescan")
            self.assertEqual(connection.getresponse().status, 200)

    def wait_unready(self, words):
        self.wait_for(lambda: self.get("/readyz")[0] == 503, "unreadiness")
        self.assertRegex(self.line("state"), words)

    def refuse_one(self, words):
        self.refused = time.monotonic()
        with self.assertRaises(AdmissionError) as refused:
            self.kubelet.allocate("ml/a", HCA, 1)
        self.assertRegex(str(refused.exception), words)
        self.wait_unready(words)

    def well_again(self):
        # It is not tried again with each question, but after 10 s it is without another Allocate.
        status, took = self.get("/readyz")[0], time.monotonic() - self.refused
        self.assertTrue(status == 503 or took >= 9, (status, took))
        self.wait_for(lambda: self.get("/readyz")[0] == 200, "readiness")
        self.kubelet.allocate("ml/b", HCA, 1)

    def state(self, name=""):
        return os.path.join(self.dir, "state", name)

    def test_it_is_not_ready_while_nothing_can_be_written(self):
        """A process that may not make a file longer is sent SIGXFSZ, which kills."""
        self.both()
        self.wait_ready()
        unlimited = resource.prlimit(self.daemon.pid, resource.RLIMIT_FSIZE)
        size = os.stat(self.state("rdmad.db-wal")).st_size
        resource.prlimit(self.daemon.pid, resource.RLIMIT_FSIZE, (size, unlimited[1]))
        self.refuse_one("File too large")
        resource.prlimit(self.daemon.pid, resource.RLIMIT_FSIZE, unlimited)
        self.well_again()

    def test_a_full_disk_is_told_and_is_well_again_with_room(self):
        os.mkdir(self.state(), 0o700)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k,mode=700", "none", self.state()],
                          check=False).returncode:
            self.skipTest("may not mount a tmpfs")
        self.addCleanup(subprocess.run, ["umount", "-l", self.state()], check=True)
        self.both()
        self.wait_ready()
        with open(self.state("ballast"), "wb", buffering=0) as ballast:
            with contextlib.suppress(OSError):
                while ballast.write(bytes(4096)):
                    pass
        self.refuse_one("full")
        os.unlink(self.state("ballast"))
        self.well_again()

    def test_a_state_directory_that_is_removed_is_made_again(self):
        self.both()
        self.wait_ready()
        first = self.kubelet.allocate("ml/a", HCA, 1).reply.envs["RDMAD_ALLOCATION"]
        self.wait_for(lambda: self.allocations()[first]["pod"], "last write")
        shutil.rmtree(self.state())
        second = self.kubelet.allocate("ml/b", HCA, 1).reply.envs["RDMAD_ALLOCATION"]
        self.assertEqual(self.get("/readyz")[0], 200)
        self.assertEqual(set(os.listdir(self.state())), {"rdmad.db", "rdmad.db-wal", "state.lock"})
        self.end_daemon(signal.SIGKILL)
        self.start_daemon()
        self.wait_ready()
        self.assertEqual(set(self.allocations()), {first, second})

    def test_a_run_directory_that_is_removed_is_made_again(self):
        run = os.path.join(self.dir, "run")
        self.both()
        self.wait_ready()
        env = self.kubelet.allocate("ml/a", HCA, 1).reply.envs
        directory = os.path.join(run, "allocations", env["RDMAD_ALLOCATION"], "nccl.conf")
        self.assertTrue(os.path.exists(directory))
        # At once: a slower removal finds what was made again meanwhile.
        gone = run + ".gone"
        os.rename(run, gone)
        # rdmad may be making a directory ahead in there.
        self.wait_for(lambda: shutil.rmtree(gone, ignore_errors=True) or not os.path.exists(gone), "removal")
        self.wait_for_socket()
        self.wait_for(lambda: os.path.exists(directory), "directory of the allocation")
        self.wait_for(lambda: self.get("/readyz")[0] == 200, "readiness")
        self.assertEqual(list(self.allocations()), [env["RDMAD_ALLOCATION"]])
        os.unlink(self.socket)
        self.wait_for_socket()
        self.assertIn("run-dir", self.get("/readyz?verbose")[1][3])

    def test_a_run_directory_that_cannot_be_made_again_is_told(self):
        run = os.path.join(self.dir, "run")
        self.both()
        self.wait_ready()
        os.rename(run, run + ".away")
        os.symlink("/nowhere", run)
        self.wait_for(lambda: "the run directory is not whole" in self.log(), "report")
        os.unlink(run)
        self.wait_for_socket()
        self.wait_for(lambda: self.get("/readyz")[0] == 200, "readiness")

    def test_a_state_directory_of_another_rdmad_is_refused(self):
        self.both()
        self.wait_ready()
        os.rename(self.state(), self.state().rstrip("/") + ".away")
        os.mkdir(self.state(), 0o700)
        with open(self.state("state.lock"), "w", encoding="ascii") as other:
            other.write("4711\n0123456789abcdef\n")
            other.flush()
            fcntl.flock(other, fcntl.LOCK_EX)
            self.refuse_one("state.lock is held by another rdmad, process 4711")
        self.well_again()


if __name__ == "__main__":
    tap.main(sys.argv[3:])
