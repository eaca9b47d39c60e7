#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The metrics module on recorded machines, as scrapers and hostile clients meet it.

usage: test-metrics.py RDMAD EXPAND MODULE-DIR SLOW-FILES [TEST...]

RDMAD_TEST_SLOW=1 makes it 20 000 scrapes instead of 2000 that leave nothing behind, RDMAD_TEST_SCRAPES=N as many.
"""

import atexit
import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))

import tap  # noqa: E402
from exposition import OPENMETRICS, Scraper, parse, values  # noqa: E402
from machine_changes import Machine, post  # noqa: E402
from machine_daemon import EXPAND, Daemon  # noqa: E402
from ports import free_port  # noqa: E402
from slow_files import SlowFiles  # noqa: E402

SLOW_FILES = sys.argv[4]
MACHINES = sorted(os.path.basename(path).removesuffix(".machine")
                  for path in glob.glob(os.path.join(HERE, "../machines/*.machine")))
FRESH_S = 1.0
SLACK_S = 1.0    # for machines with other things to do
PATIENCE = 60
SCRAPES = int(os.environ.get("RDMAD_TEST_SCRAPES", 20000 if os.environ.get("RDMAD_TEST_SLOW") else 2000))


def expand_braces(text):
    """a_{b,c}_d: "a_b_d a_c_d"."""
    while match := re.search(r"(\S*)\{([^{}]*)\}(\S*)", text):
        words = (match[1] + part + match[3] for part in match[2].split(","))
        text = text[:match.start()] + " ".join(words) + text[match.end():]
    return text


class MetricsCase(unittest.TestCase):
    expanded = {}   # machine -> its directory: it has thousands of files

    def expand(self, machine):
        if machine not in self.expanded:
            directory = tempfile.mkdtemp(prefix="rdmad-machine-")
            atexit.register(shutil.rmtree, directory)
            self.expanded[machine] = os.path.join(directory, "machine")
            subprocess.run([EXPAND, machine, self.expanded[machine]], check=True)
        return self.expanded[machine]

    def start(self, machine, options="", rules=()):
        """rdmad on that machine, some of whose files may be slow; `self.scraper` talks to it.

        All tests share the machine: a test that changes it changes it back."""
        self.port = free_port()
        self.slow = None
        root = self.expand(machine)
        self.hardware = Machine(root)
        self.addCleanup(self.hardware.mend)
        if rules:
            self.slow = SlowFiles(SLOW_FILES, root, *rules)
            self.slow.rules(False)
            root = self.slow.path
        self.daemon = Daemon(None, self.config(options), root=root)
        self.addCleanup(self.daemon.close)
        if self.slow:
            self.addCleanup(self.slow.close)
        self.wait_for(lambda: "is ready" in self.daemon.said(), "start")
        self.scraper = Scraper(self.port)
        self.addCleanup(self.scraper.close)

    def config(self, options="", port=None):
        listen = "" if "listen" in options else f'listen = "127.0.0.1:{port or self.port}";'
        return f"modules = {{ metrics = {{ {listen} {options} }}; }};"

    def reload(self, options="", port=None):
        with open(os.path.join(self.daemon.directory.name, "rdmad.conf"), "w") as file:
            file.write(self.config(options, port))
        loaded = self.daemon.json("status")["config"]
        self.daemon.process.send_signal(signal.SIGHUP)
        self.wait_for(lambda: self.daemon.json("status")["config"] != loaded, "a reload")

    def wait_for(self, condition, what):
        end = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), end, f"no {what} in {PATIENCE} s\n{self.daemon.said()}")
            time.sleep(0.02)

    def devices(self):
        return sorted(device["device_name"] for device in self.daemon.json("devices")["devices"])

    def success(self, series):
        return {labels["device"]: number
                for labels, number in values(series, "rdma_device_scrape_success")}

    def connections(self):
        """To its port."""
        [listener] = [one for one in self.daemon.json("status")["listeners"]
                      if one["address"] == f"127.0.0.1:{self.port}"]
        return listener["connections"]

    def jobs(self):
        """Readings of devices so far, and responses."""
        series = self.scraper.scrape()
        return [sum(number for _, number in values(series, "rdmad_work_jobs_total", job=job))
                for job in ("counters", "metrics")]

    def let_it_age(self):
        time.sleep(FRESH_S + 0.1)


class ContentTest(MetricsCase):
    def test_every_machine_is_read_under_all_names(self):
        for machine in MACHINES:
            self.start(machine)
            for names in ("native", "compat", "both"):
                with self.subTest(machine=machine, names=names):
                    self.reload(f'names = "{names}";')
                    self.check_machine(names)
            self.doCleanups()

    def check_machine(self, names):
        series = self.scraper.scrape()
        # The inventory's names are UTF-8; a device with another name cannot be found again.
        there = [name for name in self.devices() if os.path.exists(self.hardware.path("infiniband", name))]
        self.assertEqual(self.success(series), {device: 1 for device in there})
        native, compat = (values(series, name)
                          for name in ("rdma_port_state_id", "node_infiniband_state_id"))
        self.assertEqual((bool(native), bool(compat)),
                         (names != "compat" and bool(there), names != "native" and bool(there)))

    def test_both_formats_tell_the_same(self):
        self.start("gpu-8rail")
        plain = self.scraper.get()
        self.assertEqual(plain.getheader("Content-Type"),
                         "text/plain; version=0.0.4; charset=utf-8")
        open_metrics = self.scraper.get(Accept=OPENMETRICS)
        self.assertTrue(open_metrics.getheader("Content-Type").startswith(OPENMETRICS))
        self.assertTrue(open_metrics.text.endswith("\n# EOF\n"))
        counters = [{key: number for key, number in parse(answer.text).items()
                     if key[0].startswith("rdma_") and "seconds" not in key[0]}
                    for answer in (plain, open_metrics)]
        self.assertGreater(len(counters[0]), 500)
        self.assertEqual(counters[0], counters[1])

    def test_who_asks_for_gzip_gets_it(self):
        self.start("gpu-8rail")
        packed, plain = self.scraper.get(Accept_Encoding="gzip"), self.scraper.get()
        self.assertEqual(packed.getheader("Content-Encoding"), "gzip")
        self.assertIsNone(plain.getheader("Content-Encoding"))
        self.assertEqual(packed.getheader("Vary"), "Accept, Accept-Encoding")
        self.assertLess(int(packed.getheader("Content-Length")), len(plain.text) / 5)
        keys = [{key for key in parse(answer.text) if key[0].startswith("rdma_")}
                for answer in (packed, plain)]
        self.assertEqual(*keys)

    def test_head_tells_the_length_of_what_get_would_send(self):
        self.start("gpu-8rail")
        answer = self.scraper.get(method="HEAD")
        self.assertEqual((answer.status, answer.text), (200, ""))
        self.assertGreater(int(answer.getheader("Content-Length")), 10000)

    def test_what_cannot_be_read_is_named_and_has_no_series(self):
        self.start("broken")
        series = self.scraper.scrape()
        bad = values(series, "rdma_counters_unreadable")
        self.assertTrue(bad, "the broken machine has nothing that cannot be read")
        for labels, _ in bad:
            self.assertTrue(re.fullmatch("E[A-Z0-9]+", labels["error"]), labels)
            self.assertFalse(values(series, f"rdma_{labels['counter']}_total",
                                    device=labels["device"], port=labels["port"]))

    def test_devices_and_groups_are_left_out_by_the_settings(self):
        self.start("gpu-8rail", 'devices = ( "mlx5_*", "!mlx5_9" ); counters = false; gids = false;')
        series = self.scraper.scrape()
        self.assertNotIn("mlx5_9", self.success(series))
        self.assertEqual(len(self.success(series)), 10)
        self.assertFalse(values(series, "rdma_local_ack_timeout_err_total"))
        self.assertFalse(values(series, "rdma_gid_info"))
        self.assertTrue(values(series, "rdma_port_state_id"))

    def test_counters_move_and_go_round(self):
        counter = "infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence"
        self.start("gpu-8rail")
        self.addCleanup(self.hardware.write, counter, self.hardware.read(counter))
        seen = []
        for value in (4294967290, 10, 20):
            self.hardware.write(counter, str(value))
            ((_, number),) = values(self.scraper.scrape(), "rdma_out_of_sequence_total",
                                    device="mlx5_0", port="1")
            seen.append(number)
            self.let_it_age()
        self.assertEqual(seen, [4294967290, 4294967306, 4294967316])

    def test_the_manual_has_every_family_of_our_own(self):
        with open(os.path.join(HERE, "../../contrib/man/rdmad-metrics.7"), encoding="utf-8") as file:
            items = re.findall(r"^\.(?:It )?Li (.*)", file.read(), re.M)
        words = {word for item in items for word in expand_braces(item).replace(",", " ").split()}
        self.start("gpu-8rail")
        families = set(re.findall("^# TYPE (\\S+)", self.scraper.get().text, re.M))
        # Names of drivers' counters are theirs.
        ours = {name for name in families if re.match(
            "rdmad_|process_|rdma_(device|port|netdev|gid|pod|resource|counters|scrape|netns)_", name)}
        self.assertGreater(len(ours), 60)
        forms = {prefix + word + suffix for word in words for prefix in ("", "rdma_port_", "rdma_netdev_",
                 "rdma_device_") for suffix in ("", "_total")}
        forms |= {name.replace("_grpc_", "_grpc_client_") for name in forms}
        self.assertEqual(ours - forms, set())

    def test_status_tells_of_the_last_scrape(self):
        self.start("gpu-8rail")
        self.scraper.scrape()
        module = self.daemon.json("status")["modules"][0]["status"]
        self.assertEqual(module["last_scrape"]["devices"], 11)
        self.assertGreater(module["last_scrape"]["series"], 500)
        self.assertEqual(module["missing"], [])
        self.assertIn("last_scrape", self.daemon.run("status", "-v").stdout)


class NamesTest(MetricsCase):
    HOSTILE = ['quote"d', "back\\slash", "new\nline", b"not utf-8 \xff\xfe".decode(errors="surrogateescape"),
               "<script>", "tab\there", "\u202eright to left", "{brace}", "x" * 250]

    def hostile(self, directory):
        """A path for each of the names, which are gone with the test."""
        paths = [os.path.join(directory, name) for name in self.HOSTILE]
        for path in paths:
            self.addCleanup(lambda gone=path: os.path.lexists(gone) and os.unlink(gone))
        return paths

    def test_hostile_counters_are_told_apart(self):
        root = self.expand("infiniband")
        directory = os.path.join(root, "sys/class/infiniband/mlx5_0/ports/1/hw_counters")
        for path in self.hostile(directory):
            with open(path, "w") as file:
                file.write("7\n")
        self.start("infiniband")
        for accept in ("text/plain", OPENMETRICS):
            series = self.scraper.scrape(Accept=accept)
            sevens = [number for (_, labels), number in series.items()
                      if dict(labels).get("device") == "mlx5_0" and number == 7]
            self.assertGreaterEqual(len(sevens), len(self.HOSTILE))

    def test_hostile_devices_are_labels_like_others(self):
        directory = os.path.join(self.expand("infiniband"), "sys/class/infiniband")
        before = len(os.listdir(directory))
        for path in self.hostile(directory):
            os.symlink(os.readlink(os.path.join(directory, "mlx5_0")), path)
        self.start("infiniband")
        for accept in ("text/plain", OPENMETRICS):
            self.assertGreaterEqual(len(self.success(self.scraper.scrape(Accept=accept))), before)


class SlowTest(MetricsCase):
    SLOW = "*/infiniband/mlx5_0/ports/1/counters/symbol_error"

    def begin(self, *rules, machine="gpu-8rail"):
        self.start(machine, rules=rules)
        self.scraper.scrape()
        self.let_it_age()
        self.slow.rules(True)

    def timed(self, **kwargs):
        began = time.monotonic()
        return self.scraper.scrape(**kwargs), time.monotonic() - began

    def test_a_slow_device_is_left_out_and_the_others_are_complete(self):
        self.start("gpu-8rail", rules=[f"{self.SLOW}=delay:30000"])
        whole = self.scraper.scrape()
        self.let_it_age()
        self.slow.rules(True)
        series, seconds = self.timed(timeout=10)
        if seconds >= 10 + SLACK_S:     # a busy machine may be late once
            self.let_it_age()
            series, seconds = self.timed(timeout=10)
        self.assertLess(seconds, 10 + SLACK_S)
        self.assertEqual(self.success(series),
                         {device: int(device != "mlx5_0") for device in self.devices()})
        self.assertFalse(values(series, "rdma_port_receive_bytes_total", device="mlx5_0"))

        def of_others(all_series):
            return {key for key in all_series if dict(key[1]).get("device") not in (None, "mlx5_0")}

        self.assertEqual(of_others(series), of_others(whole))
        self.assertEqual([missing["device_name"] for missing in
                          self.daemon.json("status")["modules"][0]["status"]["missing"]], ["mlx5_0"])
        self.assertIn("mlx5_0", self.daemon.run("doctor").stdout)

    def test_a_device_that_takes_less_than_the_timeout_is_there(self):
        self.begin(f"{self.SLOW}=delay:1000")
        series, seconds = self.timed(timeout=10)
        self.assertEqual(self.success(series)["mlx5_0"], 1)
        self.assertGreaterEqual(seconds, 1)

    def test_a_device_that_answers_again_is_there_again(self):
        self.begin(f"{self.SLOW}=delay:3000")
        self.assertEqual(self.success(self.scraper.scrape(timeout=1))["mlx5_0"], 0)
        self.slow.rules(False)
        self.wait_for(lambda: self.success(self.scraper.scrape(timeout=1))["mlx5_0"] == 1,
                      "reading of mlx5_0")

    def others_are_there_in_time(self):
        series, seconds = self.timed(timeout=10)
        self.let_it_age()
        return seconds < 10 + SLACK_S and {device for device, there in self.success(series).items() if there} == {
            "mlx5_8", "mlx5_9", "mlx5_10"}

    def test_more_devices_that_hang_than_threads_hold_up_nobody(self):
        self.begin("*/infiniband/mlx5_[0-7]/ports/1/counters/symbol_error=block")
        for _ in range(3):
            # A busy machine may be late once.
            self.wait_for(self.others_are_there_in_time, "scrape of the others")

    def test_devices_that_hang_do_not_lock_out_one_that_is_slow(self):
        self.begin("*/infiniband/mlx5_[0-7]/ports/1/counters/symbol_error=block",
                   "*/infiniband/mlx5_8/ports/1/counters/symbol_error=delay:400")
        for _ in range(3):
            # A busy machine may be late once.
            self.wait_for(self.others_are_there_in_time, "scrape of the others")

    def test_a_device_that_goes_on_hanging_is_waited_for_once(self):
        self.begin(f"{self.SLOW}=block")
        series, _ = self.timed(timeout=10)
        self.assertEqual(self.success(series)["mlx5_0"], 0, self.daemon.said())
        time.sleep(5)   # by now its reading has lasted longer than the next scrape may
        series, seconds = self.timed(timeout=10)
        self.assertEqual(self.success(series)["mlx5_0"], 0)
        self.assertEqual(sum(self.success(series).values()), len(self.devices()) - 1)
        self.assertLess(seconds, 5)

    def test_many_who_ask_at_once_share_a_reading_and_a_response(self):
        self.begin(f"{self.SLOW}=delay:1")
        (readings, responses), others = self.jobs(), self.connections()
        self.let_it_age()
        results = []

        def ask(source):
            scraper = Scraper(self.port, source)
            results.append(self.success(scraper.scrape(timeout=PATIENCE)))
            scraper.close()

        # An address may have four responses at a time.
        threads = [threading.Thread(target=ask, args=(f"127.0.0.{2 + i % 4}",)) for i in range(12)]
        self.slow.process.send_signal(signal.SIGSTOP)   # no reading ends before all have asked
        try:
            for thread in threads:
                thread.start()
            self.wait_for(lambda: self.connections() == others + 12, "connections")
            self.connections()      # by now their requests were read
        finally:
            self.slow.process.send_signal(signal.SIGCONT)
        for thread in threads:
            thread.join()
        self.assertEqual(results, [{device: 1 for device in self.devices()}] * 12)
        # The two scrapes that ask for the numbers may have a reading each, and have a response each.
        readings_now, responses_now = self.jobs()
        self.assertLessEqual(readings_now - readings, 3 * 11)
        self.assertLessEqual(responses_now - responses, 2 + 6)

    def success_while_it_leaves(self):
        answer = []
        thread = threading.Thread(target=lambda: answer.append(self.scraper.scrape(timeout=20)))
        thread.start()
        time.sleep(0.4)
        self.hardware.unplug("mlx5_0")
        post(self.daemon.socket, "/api/v1/rescan")
        thread.join()
        return self.success(answer[0])

    def test_a_device_that_leaves_in_the_middle_is_left_out(self):
        self.begin("*/infiniband/mlx5_0/ports/1/counters/*=delay:100")
        success = self.success_while_it_leaves()
        for _ in range(4):
            if "mlx5_0" not in success:
                break
            # A busy machine may have read it before it left, or for longer than a scrape may take.
            self.hardware.plug("mlx5_0")
            post(self.daemon.socket, "/api/v1/rescan")
            self.wait_for(lambda: "mlx5_0" in self.devices(), "device")
            self.let_it_age()
            success = self.success_while_it_leaves()
        self.assertEqual(set(success), set(self.hardware.devices()))
        for line in self.daemon.said().splitlines():
            self.assertFalse(" warning " in line and "metrics" in line, line)

    def test_a_scraper_that_goes_away_is_forgotten(self):
        self.begin(f"{self.SLOW}=delay:1000")
        for _ in range(10):
            with socket.create_connection(("127.0.0.1", self.port)) as client:
                client.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.slow.rules(False)
        self.wait_for(lambda: all(self.success(self.scraper.scrape(timeout=1)).values()), "answer")

    def test_who_waits_for_a_device_that_hangs_is_told_when_it_ends(self):
        self.begin(f"{self.SLOW}=delay:6000")
        before = self.connections()
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE) as other:
            other.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.wait_for(lambda: self.connections() > before, "connection")
            self.connections()      # by now its request was read: strangers are served when nothing else is due
            began = time.monotonic()
            self.daemon.process.send_signal(signal.SIGTERM)
            self.assertIn(b"HTTP/1.1 503 ", other.recv(65536))
            self.assertLess(time.monotonic() - began, 5)
        self.daemon.process.wait(PATIENCE)  # another signal would end it at once


class ListenerTest(MetricsCase):
    def refuses(self, port, address="127.0.0.1"):
        with socket.socket() as client:
            return client.connect_ex((address, port)) != 0

    def test_listeners_follow_the_configuration(self):
        self.start("gpu-8rail")
        one, two = free_port(), free_port()
        self.scraper.scrape()
        self.reload(f'listen = ( "127.0.0.1:{self.port}", "127.0.0.1:{one}" );')
        Scraper(one).scrape()
        self.scraper.scrape()  # on the connection of before
        self.reload(f'listen = ( "127.0.0.1:{two}", "127.0.0.1:{one}" );')
        Scraper(two).scrape()
        Scraper(one).scrape()
        self.assertTrue(self.refuses(self.port))
        self.reload("listen = ( );")
        self.assertTrue(self.refuses(one) and self.refuses(two))

    def test_an_address_that_covers_the_old_one_takes_its_place(self):
        self.start("gpu-8rail")
        for listen, elsewhere in ((f":{self.port}", True), (f"127.0.0.1:{self.port}", False)):
            self.reload(f'listen = "{listen}";')
            self.assertEqual(len(self.success(Scraper(self.port).scrape())), len(self.devices()), listen)
            self.assertEqual(not self.refuses(self.port, "127.0.0.2"), elsewhere, listen)

    def test_an_address_that_somebody_else_has_keeps_all_as_it_was(self):
        self.start("gpu-8rail")
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            taken = other.getsockname()[1]
            fresh = free_port()
            self.reload(f'listen = ( "127.0.0.1:{fresh}", "127.0.0.1:{taken}" );')
            self.assertIn(f"127.0.0.1:{taken}", self.daemon.json("status")["config"]["error"])
            self.assertTrue(self.refuses(fresh))
            self.scraper.scrape()

    def test_names_follow_the_configuration(self):
        self.start("gpu-8rail")
        self.assertFalse(values(self.scraper.scrape(), "node_infiniband_state_id"))
        self.reload('names = "both"; devices = "mlx5_1";')
        series = self.scraper.scrape()
        self.assertEqual(len(values(series, "node_infiniband_state_id")), 1)
        self.assertEqual(list(self.success(series)), ["mlx5_1"])


class AbuseTest(MetricsCase):
    """The tests of test-http.py, at the module's listener."""

    def send(self, data, end=True):
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as client:
            try:
                client.sendall(data)
                if end:
                    client.shutdown(socket.SHUT_WR)
                return b"".join(iter(lambda: client.recv(65536), b""))
            except (ConnectionResetError, BrokenPipeError):
                return b""

    def test_bad_requests_are_refused_and_good_ones_served(self):
        self.start("gpu-8rail")
        for request, statuses in [
                (b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", [405]),
                (b"DELETE /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", [405, 501]),
                (b"GET /metrics/../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", [400, 404]),
                (b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n", [404]),
                (b"GET /metrics HTTP/3.0\r\nHost: localhost\r\n\r\n", [400, 505]),
                (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", [400, 0]),
                (b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * (1 << 20) + b"\r\n\r\n", [431, 0]),
                (b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                 [400, 411, 501]),
        ]:
            with self.subTest(request=request[:60]):
                answer = self.send(request)
                status = int(answer.split(b" ", 2)[1]) if answer else 0
                self.assertIn(status, statuses, answer[:200])
        self.scraper.scrape()

    def test_nonsense_in_headers_is_no_more_than_its_absence(self):
        self.start("gpu-8rail")
        for timeout in ("", "x", "-1", "nan", "inf", "1e999", "10s", "0", "0x10", "9" * 300):
            self.assertEqual(len(self.success(self.scraper.scrape(timeout=timeout))), 11, timeout)
        for accept in ("", "*/*", ";;;,,,", "application/openmetrics-text;version=9.9.9",
                       "text/plain;q=0", "a" * 4000):
            self.assertEqual(len(self.success(self.scraper.scrape(Accept=accept))), 11, accept)

    def test_pipelined_scrapes_are_answered_in_order(self):
        self.start("gpu-8rail")
        one = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
        last = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        self.assertEqual(self.send(one * 4 + last, end=False).count(b"HTTP/1.1 200 OK"), 5)

    def test_idle_connections_lock_nobody_out(self):
        self.start("gpu-8rail")
        idle = []
        try:
            for _ in range(500):
                client = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
                client.sendall(b"GET /metr")
                idle.append(client)
            fresh = Scraper(self.port)
            self.wait_for(lambda: self.try_scrape(), "scrape among 500 idle connections")
            fresh.close()
        finally:
            for client in idle:
                client.close()

    def try_scrape(self):
        scraper = Scraper(self.port)
        try:
            return bool(scraper.scrape())
        except (OSError, AssertionError):
            return False
        finally:
            scraper.close()


class GrowthTest(MetricsCase):
    def resident(self):
        with open(f"/proc/{self.daemon.process.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def scrape_often(self, times):
        forms = [{}, {"Accept_Encoding": "gzip"}, {"Accept": OPENMETRICS}]
        for i in range(times):
            answer = self.scraper.get(**forms[i % len(forms)])
            self.assertEqual(answer.status, 200)

    def test_scrapes_leave_nothing_behind(self):
        self.start("gpu-8rail", 'names = "both";')
        self.scrape_often(max(SCRAPES // 50, 1000))  # until what is kept for later is there
        before = self.resident()
        self.scrape_often(SCRAPES)
        self.assertLess(self.resident() - before, 4 << 20)


if __name__ == "__main__":
    # Freed memory that a sanitizer keeps is not growth of ours.
    os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"
    tap.main(sys.argv[5:])
