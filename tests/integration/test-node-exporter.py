#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""node_infiniband_* as node_exporter says it: test-node-exporter.py RDMAD MODULE-DIR

Both look at the same tree.  Differences are defects of node_exporter that rdmad-metrics(7) names.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
sys.dont_write_bytecode = True
import tap  # noqa: E402
from exposition import parse  # noqa: E402
from metrics_daemon import PATIENCE, MetricsDaemon, expand, machines  # noqa: E402
from ports import free_port  # noqa: E402
from prometheus_server import fetch  # noqa: E402

RDMAD, MODULES = sys.argv[1:3]
NODE_EXPORTER = "prometheus-node-exporter"


def series(text):
    """{(name, labels): value}"""
    return {(name, frozenset(labels)): value for (name, labels), value in parse(text).items()
            if name.startswith("node_infiniband_")}


def heads(text):
    """{family: type}"""
    return dict(re.findall(r"^# TYPE (node_infiniband_\w+) (\w+)$", text, re.M))


class NodeExporter:
    def __init__(self, root):
        self.address = f"127.0.0.1:{free_port()}"
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [NODE_EXPORTER, "--collector.disable-defaults", "--collector.infiniband",
             f"--path.sysfs={root}/sys", f"--web.listen-address={self.address}",
             "--web.disable-exporter-metrics"], stderr=self.log)

    def metrics(self):
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return fetch(f"http://{self.address}/metrics")[1].decode()
            except (urllib.error.URLError, OSError):
                assert self.process.poll() is None and time.monotonic() < end
                time.sleep(0.05)

    def close(self):
        self.process.terminate()
        self.process.wait(PATIENCE)
        self.log.close()


# A port without counters/ (ENOENT), or a file that is none: nothing about any device.
GIVES_UP = {"broken", "erdma", "erdma-compat", "g4dnmetal", "infiniband-ethernet", "mixed"}
NO_DEVICE = {"eas-tioga"}
# Not in releases before 1.9, which Debian 12 has; names in later ones for files of hw_counters.
LATER = {
    "duplicate_request": "duplicate_requests_packets", "implied_nak_seq_err": "implied_nak_seq_errors",
    "local_ack_timeout_err": "local_ack_timeout_errors", "np_cnp_sent": "np_cnp_packets_sent",
    "np_ecn_marked_roce_packets": "np_ecn_marked_roce_packets_received",
    "out_of_buffer": "out_of_buffer_drops", "out_of_sequence": "out_of_sequence_packets_received",
    "packet_seq_err": "packet_sequence_errors", "req_cqe_error": "req_cqes_errors",
    "req_cqe_flush_error": "req_cqes_flush_errors",
    "req_remote_access_errors": "req_remote_access_errors",
    "req_remote_invalid_request": "req_remote_invalid_request_errors",
    "resp_cqe_error": "resp_cqes_errors", "resp_cqe_flush_error": "resp_cqes_flush_errors",
    "resp_local_length_error": "resp_local_length_errors",
    "resp_remote_access_errors": "resp_remote_access_errors",
    "rnr_nak_retry_err": "rnr_nak_retry_packets_received", "roce_adp_retrans": "roce_adp_retransmits",
    "roce_adp_retrans_to": "roce_adp_retransmits_timeout",
    "roce_slow_restart": "roce_slow_restart_used", "roce_slow_restart_cnps": "roce_slow_restart_cnps",
    "roce_slow_restart_trans": "roce_slow_restart", "rp_cnp_handled": "rp_cnp_packets_handled",
    "rp_cnp_ignored": "rp_cnp_ignored_packets_received", "rx_atomic_requests": "rx_atomic_requests",
    "rx_dct_connect": "rx_dct_connect_requests", "rx_icrc_encapsulated": "rx_icrc_encapsulated_errors",
    "rx_read_requests": "rx_read_requests", "rx_write_requests": "rx_write_requests",
}
LIFESPAN = "node_infiniband_lifespan_seconds"


def later(file):
    return f"node_infiniband_{LATER[file]}_total"


class SideBySide(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="rdmad-machines-")
        cls.addClassCleanup(cls.directory.cleanup)
        for machine in machines():
            expand(machine, cls.root(machine))
        cls.said = {machine: cls.ask_both(machine) for machine in machines()}

    @classmethod
    def root(cls, machine):
        return os.path.join(cls.directory.name, machine)

    @classmethod
    def ask_both(cls, machine):
        other = NodeExporter(cls.root(machine))
        try:
            with MetricsDaemon(RDMAD, MODULES, cls.root(machine), 'names = "compat";') as daemon:
                return daemon.metrics(), other.metrics()
        finally:
            other.close()

    def compared(self):
        """(machine, rdmad's text, node_exporter's) where it has something to say."""
        return [(machine, *said) for machine, said in self.said.items() if series(said[1])]

    def test_it_gives_up_on_machines_of_which_rdmad_has_all_that_is_there(self):
        self.assertEqual(set(self.said) - {machine for machine, _, _ in self.compared()}, GIVES_UP | NO_DEVICE)
        for machine in GIVES_UP:
            ours, theirs = self.said[machine]
            self.assertIn('node_scrape_collector_success{collector="infiniband"} 0', theirs)
            self.assertTrue(series(ours), machine)

    def test_every_series_that_it_has_is_equal(self):
        for machine, ours, theirs in self.compared():
            ours = series(ours)
            for key, value in series(theirs).items():
                # A whole number of seconds there.
                wanted = 0.01 if key[0] == LIFESPAN else value
                self.assertEqual(ours.get(key), wanted, f"{machine}: {key}")

    def test_what_it_does_not_have_is_of_later_releases_and_as_the_files_say(self):
        names = {later(file): file for file in LATER}
        for machine, ours, theirs in self.compared():
            ours, theirs = series(ours), series(theirs)
            for name, labels in set(ours) - set(theirs):
                if name == LIFESPAN:
                    continue
                device, port = dict(labels)["device"], dict(labels)["port"]
                path = f"{self.root(machine)}/sys/class/infiniband/{device}/ports/{port}/hw_counters"
                with open(os.path.join(path, names[name]), encoding="ascii") as file:
                    self.assertEqual(ours[name, labels], int(file.read()), (machine, name))

    def test_types_are_equal(self):
        for machine, ours, theirs in self.compared():
            self.assertLessEqual(heads(theirs).items(), heads(ours).items(), machine)


if not shutil.which(NODE_EXPORTER):
    print(f"1..0 # SKIP {NODE_EXPORTER} is missing: apt-get install {NODE_EXPORTER}")
else:
    tap.main()
