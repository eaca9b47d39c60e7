#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The client commands against the daemon on a recorded machine: test-cli.py RDMAD EXPAND MODULE-DIR"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import unittest

import yaml

from machine_daemon import EXPAND, MODULES, PATIENCE, RDMAD, Daemon

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import tap  # noqa: E402


class EightRails(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon("gpu-8rail")

    @classmethod
    def tearDownClass(cls):
        cls.daemon.close()

    def lines(self, *args):
        done = self.daemon.run(*args)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.splitlines()

    def test_devices_are_in_the_order_of_their_names(self):
        lines = self.lines("devices")
        self.assertEqual([line.split()[0] for line in lines],
                         ["NAME"] + [f"mlx5_{i}" for i in range(11)])
        self.assertEqual(len(self.lines("devices", "--no-headers")), 11)

    def test_rails_are_told_apart_by_the_gpu_next_to_them(self):
        rows = self.lines("devices", "--no-headers")
        for i, row in enumerate(rows):
            if i < 8:
                self.assertIn(f" 400G  {i // 4}     GPU{i} PIX ", row)
            else:
                self.assertNotIn("GPU", row)

    def test_one_device_by_name_and_by_id(self):
        by_name = self.lines("devices", "mlx5_3")
        device = self.daemon.json("devices", "mlx5_3")
        self.assertEqual(self.lines("devices", device["device_id"]), by_name)
        self.assertEqual(by_name[0], "mlx5_3")
        self.assertTrue(any("RoCE v2" in line for line in by_name))
        missing = self.daemon.run("devices", "mlx5_99")
        self.assertEqual(missing.returncode, 1)
        self.assertIn('no RDMA device "mlx5_99"; there are mlx5_0, mlx5_1', missing.stderr)

    def test_every_key_is_there_and_lists_are_lists(self):
        device = self.daemon.json("devices")["devices"][0]
        for key in ("ports", "netdevs", "chardevs", "problems", "pci_path"):
            self.assertIsInstance(device[key], list, key)
        for key in ("device_id", "device_name", "index", "node_type", "transport", "node_guid",
                    "sys_image_guid", "driver", "firmware", "board_id", "hca_type",
                    "pci_address", "vendor", "pci_device_id", "subsystem_vendor", "subsystem_device",
                    "numa_node", "pci_role", "pf_address", "vf_index", "num_vfs", "aux_name",
                    "nearest_gpu", "fatal", "verbs_problem", "limits"):
            self.assertIn(key, device)
        self.assertIsNone(device["pf_address"])
        self.assertEqual(device["vendor"], "0x15b3")
        self.assertEqual(device["ports"][0]["rate_mbps"], 400000)

    def test_topology_has_a_line_for_each_device_and_wide_is_a_square_of_nineteen(self):
        lines = self.lines("topology")
        self.assertEqual(lines[0].split(), ["NAME", *(f"GPU{i}" for i in range(8)), "NUMA"])
        self.assertEqual(lines[1].split(), ["mlx5_0", "PIX", *["NODE"] * 3, *["SYS"] * 4, "0"])
        self.assertEqual(lines[11].split()[0], "mlx5_10")
        lines = self.lines("topology", "-o", "wide")
        names = [f"GPU{i}" for i in range(8)] + [f"NIC{i}" for i in range(11)]
        self.assertEqual(lines[0].split()[:19], names)
        for i in range(8):
            row = lines[9 + i].split()
            self.assertEqual(row[0], f"NIC{i}")
            self.assertEqual(row[1 + i], "PIX")
            self.assertEqual(row[9 + i], "X")
        text = "\n".join(lines)
        self.assertIn("NIC0:   mlx5_0   GPU0 behind the same switch (PIX)", text)
        self.assertIn("NIC10:  mlx5_10  no GPU behind the same switch", text)

    def test_status_tells_what_runs(self):
        text = "\n".join(self.lines("status"))
        self.assertIn(f"pid {self.daemon.process.pid}, up ", text)
        self.assertIn("devices        11 (11 active, 0 unhealthy), 8 GPUs", text)
        self.assertIn("module good: running", text)
        self.assertFalse(self.daemon.json("status")["machine"]["live"])

    def test_events_tell_of_devices_and_can_be_followed(self):
        self.assertEqual(sum("device-added" in line for line in self.lines("events", "-o", "wide")), 11)
        follow = subprocess.Popen([RDMAD, "events", "-f", "--json", "-s", self.daemon.socket],
                                  stdout=subprocess.PIPE, text=True)
        try:
            events = [json.loads(follow.stdout.readline()) for _ in range(11)]
        finally:
            follow.kill()
            follow.wait()
            follow.stdout.close()
        self.assertEqual([event["sequence"] for event in events], list(range(1, 12)))
        self.daemon.run("status")

    def test_lines_limit_only_what_was_there_before_it_was_followed(self):
        follow = subprocess.Popen([RDMAD, "events", "-f", "-n", "1", "--json", "-s", self.daemon.socket],
                                  stdout=subprocess.PIPE, text=True)
        try:
            first = json.loads(follow.stdout.readline())["sequence"]
            follow.send_signal(signal.SIGSTOP)      # all that is new comes in two answers
            for last in range(first + 1, first + 4):
                self.daemon.process.send_signal(signal.SIGHUP)
                while self.daemon.json("events")["last"] < last:
                    time.sleep(0.02)
            follow.send_signal(signal.SIGCONT)
            for sequence in range(first + 1, first + 4):
                self.assertEqual(json.loads(follow.stdout.readline())["sequence"], sequence)
        finally:
            follow.kill()
            follow.wait()
            follow.stdout.close()

    def test_tables_fit_80_columns_and_wide_ones_have_the_rest(self):
        for command in ("devices", "topology"):
            with self.subTest(command):
                self.assertLessEqual(max(map(len, self.lines(command))), 80)
        self.assertIn("FIRMWARE", self.lines("devices", "-o", "wide")[0])
        self.assertNotIn("FIRMWARE", self.lines("devices")[0])

    def test_every_output_has_the_same_values(self):
        plain = self.daemon.json("devices")
        self.assertEqual(yaml.safe_load("\n".join(self.lines("devices", "-o", "yaml"))), plain)
        self.assertEqual(json.loads("\n".join(self.lines("devices", "-o", "json"))), plain)

    def test_events_are_chosen(self):
        for options, count in ((("-n", "100"), 11), (("--since", "1h"), 11),
                               (("--since", "0s", "--device", "mlx5_99"), 0), (("--device", "mlx5_3"), 1),
                               (("--device", "mlx5_1", "--lines", "9"), 1), (("--pod", "a/b"), 0)):
            with self.subTest(options):
                events = self.daemon.json("events", *options)["events"]
                self.assertEqual(sum(e["kind"] == "device-added" for e in events), count)

        self.assertEqual(len(self.daemon.json("events", "--lines", "3")["events"]), 3)

    def test_help_and_version_need_no_daemon(self):
        for args, words in ((("version",), "("), (("help",), "import-config"), (("help", "events"), "--since")):
            with self.subTest(args):
                done = subprocess.run([RDMAD, *args], capture_output=True, text=True, check=True)
                self.assertIn(words, done.stdout)

    def test_no_allocations_is_an_empty_list(self):
        self.assertEqual(self.daemon.json("allocations"), {"allocations": []})

    def test_a_table_without_rows_is_a_line_on_stderr(self):
        for args, line in ((("allocations",), "rdmad: no allocations\n"),
                           (("commands",), "rdmad: no commands\n"),
                           (("events", "--since", "0s", "--device", "mlx5_99"), "rdmad: no events\n")):
            with self.subTest(args):
                done = self.daemon.run(*args)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", line))

    def test_doctor_finds_no_fault_with_a_good_machine_but_kubelet_missing(self):
        findings = self.daemon.json("doctor")["findings"]
        problems = [f for f in findings if f["level"] == "problem"]
        self.assertEqual(problems, [])
        notes = [f["subject"] for f in findings if f["level"] == "note"]
        self.assertIn("kubelet", notes)
        self.assertIn("machine", notes)
        self.assertEqual(self.daemon.run("doctor").returncode, 0)

    def test_attributes_are_set_and_unset(self):
        mode = {"name": "node:netns-mode", "value": "shared"}   # of the machine
        self.assertEqual(self.daemon.run("attributes", "set", "label:a/b", "x & y=1%").returncode, 0)
        self.assertEqual(self.daemon.json("attributes")["attributes"],
                         [{"name": "label:a/b", "value": "x & y=1%"}, mode])
        self.assertIn("x & y=1%", self.daemon.run("attributes").stdout)
        self.assertEqual(self.daemon.run("attributes", "unset", "label:a/b").returncode, 0)
        self.assertEqual(self.daemon.json("attributes")["attributes"], [mode])
        refused = self.daemon.run("attributes", "set", "x" * 254, "y")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("253", refused.stderr)
        for words in (("set", "a"), ("unset",), ("set", "a", "b", "c"), ("get", "a")):
            self.assertEqual(self.daemon.run("attributes", *words).returncode, 2)

    def test_output_may_be_cut(self):
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([RDMAD, "devices", "-s", self.daemon.socket], stdout=writer,
                              stderr=subprocess.PIPE, timeout=PATIENCE)
        os.close(writer)
        self.assertEqual((done.returncode, done.stderr), (1, b""))

    def test_a_watch_ends_with_its_reader(self):
        for command in (("status",), ("devices", "mlx5_0")):
            with self.subTest(command), subprocess.Popen(
                    [RDMAD, *command, "-w", "-s", self.daemon.socket], stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE) as watch:
                try:
                    self.assertTrue(watch.stdout.readline())
                    watch.stdout.close()
                    self.assertEqual((watch.wait(20), watch.stderr.read()), (1, b""))
                finally:
                    watch.kill()


class OtherMachines(unittest.TestCase):
    def test_where_a_kubelet_is_doctor_says_what_it_cannot_know_of_it(self):
        daemon = Daemon("ipv6")
        self.addCleanup(daemon.close)
        directory = os.path.join(daemon.directory.name, "kubelet", "device-plugins")
        os.makedirs(directory)
        path = os.path.join(directory, "kubelet.sock")

        def findings():
            return [f["text"] for f in daemon.json("doctor")["findings"]
                    if f["subject"] == "kubelet"]

        self.assertIn(f"there is no socket at {path}: the device plugin cannot register",
                      findings())
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            self.assertIn(f"the program of kubelet, process {os.getpid()}, has no version",
                          findings())
        self.assertIn(f"no server listens at {path}: the device plugin cannot register", findings())

    def test_without_a_device_doctor_says_what_to_load(self):
        daemon = Daemon(None)
        self.addCleanup(daemon.close)
        done = daemon.run("doctor")
        self.assertEqual(done.returncode, 1)
        self.assertIn("PROBLEM devices: no RDMA driver is loaded", done.stdout)
        self.assertIn("-> load the driver", done.stdout)
        self.assertIn("see `rdmad doctor`", daemon.run("devices").stderr)
        self.assertIn("Legend:", daemon.run("topology").stdout)


class Usage(unittest.TestCase):
    def run_rdmad(self, *args, **environment):
        return subprocess.run([RDMAD, *args], capture_output=True, text=True, timeout=PATIENCE,
                              env=os.environ | environment)

    def test_without_a_daemon_the_socket_is_named(self):
        for command in ("status", "devices", "allocations", "topology", "events", "doctor", "attributes",
                        "commands"):
            done = self.run_rdmad(command, "--socket", "/nonexistent/rdmad.sock")
            self.assertEqual(done.returncode, 1)
            self.assertEqual(
                done.stderr, "rdmad: rdmad is not running: no socket at /nonexistent/rdmad.sock; "
                "start it, or name its socket with --socket\n")

    def test_wrong_usage_is_exit_status_2(self):
        for args in (("status", "--bogus"), ("status", "-f"), ("devices", "a", "b"),
                     ("events", "x"), ("doctor", "--socket"), ("status", "--refresh")):
            with self.subTest(args=args):
                done = self.run_rdmad(*args)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(f"see `rdmad help {args[0]}`", done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_an_age_that_is_none_or_too_long_is_refused(self):
        for age in ("200000000d", "106751992d", "18446744073709551616s", "-1s", "1", "1x"):
            with self.subTest(age):
                done = self.run_rdmad("events", "--since", age, "--socket", "/nonexistent/rdmad.sock")
                self.assertEqual((done.returncode, done.stderr),
                                 (2, f'rdmad: invalid age "{age}"; write 30s, 10m, 2h or 3d\n'))
        done = self.run_rdmad("events", "--since", "106751991d", "--socket", "/nonexistent/rdmad.sock")
        self.assertEqual(done.returncode, 1, done.stderr)

    def test_output_that_cannot_be_written_is_a_failure(self):
        for args in (("version",), ("help",), ("help", "events"), ("status", "--help")):
            with self.subTest(args), open("/dev/full", "w") as full:
                done = subprocess.run([RDMAD, *args], stdout=full, stderr=subprocess.PIPE, text=True,
                                      timeout=PATIENCE)
                self.assertEqual((done.returncode, done.stderr),
                                 (1, "rdmad: cannot write: No space left on device\n"))

    # [words, part of the one line on stderr]
    MISSPELT = [
        (("devcies",), 'unknown command "devcies"; did you mean `devices`?'),
        (("alocations", "--json"), 'unknown command "alocations"; did you mean `allocations`?'),
        (("help", "topologie"), 'unknown command "topologie"; did you mean `topology`?'),
        (("improt-config", "x"), "did you mean `import-config`?"),
        *((words, 'unknown command "nccl-env"; those of modules need the daemon, and are in rdmad-cli(8): '
           "rdmad is not running")
          for words in (("nccl-env",), ("nccl-env", "--help"), ("help", "nccl-env"))),
        (("status", "--jsno"), "status: unknown option --jsno; did you mean `--json`?"),
        (("status", "--folow"), "status: unknown option --folow; see `rdmad help status`"),
        (("events", "--folow"), "events: unknown option --folow; did you mean `--follow`?"),
        (("devices", "--ouput=wide"), "devices: unknown option --ouput=wide; did you mean `--output`?"),
        (("--chek",), "unknown option '--chek'; did you mean `--check`?"),
        (("--take-ovre",), "did you mean `--take-over`?"),
        (("--module=goood", "--check", "--module-dir", MODULES), "did you mean `good`?"),
    ]

    def test_a_misspelt_word_is_one_line_with_the_nearest(self):
        for args, words in self.MISSPELT:
            with self.subTest(args=args):
                done = self.run_rdmad(*args, RDMAD_SOCKET="/nonexistent/rdmad.sock")
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(words, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertTrue(done.stderr.startswith("rdmad: "))

    def test_each_command_explains_itself(self):
        for command in ("status", "devices", "allocations", "topology", "events", "doctor", "attributes"):
            done = self.run_rdmad(command, "--help")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertTrue(done.stdout.startswith(f"usage: rdmad {command}"))
            self.assertIn(f"  {command}", self.run_rdmad("--help").stdout)


if __name__ == "__main__":
    tap.main()
