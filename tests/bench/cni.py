#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""ADD and DEL from exec to exit, 1, 16 and 64 at once: rdmad with its event log, one process that makes the
same netlink calls and writes nothing down, Debian's macvlan with host-local, and rdmad with host-local.

usage: cni.py RDMAD MODULE-DIR RDMAD-CNI BASELINE-CNI
"""

import json
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "integration"))
from cni_case import NICS, PLUGINS, CniCase, enter_private_host  # noqa: E402

BASELINE = sys.argv[4]
ROUNDS = {1: 40, 16: 5, 64: 2}
HOST_LOCAL = {"type": "host-local", "subnet": "192.0.2.0/24"}


def measure(commands):
    """Milliseconds from each one's exec to its exit."""
    times, running = [], {}
    for argv, environment, text in commands:
        began = time.monotonic()
        child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, env=environment)
        child.stdin.write(text)
        child.stdin.close()
        running[child.pid] = (began, child)
    failed = 0
    while running:
        pid, status = os.wait()
        if pid in running:
            times.append((time.monotonic() - running.pop(pid)[0]) * 1000)
            failed += status != 0
    assert not failed, f"{failed} failed"
    return times


class Bench(CniCase):
    def runTest(self):
        self.start_daemon()
        subprocess.run(["ip", "link", "set", NICS[0], "up"], check=True)
        for number in range(64):
            self.pod(f"p{number}")
        print(f"{'':24}{'at once':>8}{'ADD p50':>10}{'p99':>8}{'DEL p50':>10}{'p99':>8}   ms")
        for at_once, rounds in ROUNDS.items():
            for name in ("baseline", "rdmad", "rdmad+host-local", "macvlan+host-local"):
                times = {"ADD": [], "DEL": []}
                for _ in range(rounds):
                    for command in times:
                        times[command] += measure([self.command(name, command, n) for n in range(at_once)])
                cells = []
                for command in times:
                    times[command].sort()
                    values = times[command]
                    cells += [statistics.median(values), values[int(len(values) * 0.99)]]
                print(f"{name:24}{at_once:8}{cells[0]:10.1f}{cells[1]:8.1f}{cells[2]:10.1f}{cells[3]:8.1f}")
        self.memory()

    def memory(self):
        for what, pid in (("rdmad", self.daemon.pid), ("keeper", self.children(self.daemon.pid)[0]),
                          ("executor", self.executor())):
            with open(f"/proc/{pid}/smaps_rollup") as file:
                values = {line.split(":")[0]: line.split()[1] for line in file.readlines()[1:]}
            print(f"{what}: RSS {values['Rss']} kB, PSS {values['Pss']} kB, anonymous {values['Anonymous']} kB")

    def command(self, name, command, number):
        pod = f"/run/netns/p{number}"
        address = f"192.0.2.{number + 10}/24"
        if name == "baseline":
            return [BASELINE, command, pod, NICS[0], address], None, b""
        environment = self.environment(command, f"c{number}", pod, "net1")
        network = {"cniVersion": "1.0.0", "name": name.replace("+", "-")}
        if name == "macvlan+host-local":
            network.update(type="macvlan", master=NICS[0], ipam=HOST_LOCAL)
            return [f"{PLUGINS}/macvlan"], environment, json.dumps(network).encode()
        network.update(type="rdmad-cni", runtimeConfig={"deviceID": self.nics[NICS[0]], "ips": [address]})
        if name == "rdmad+host-local":
            network["ipam"] = HOST_LOCAL
        return [sys.argv[3]], environment, json.dumps(network).encode()


if __name__ == "__main__":
    enter_private_host()
    import unittest
    done = unittest.TextTestRunner(verbosity=0).run(unittest.TestSuite([Bench()]))
    sys.exit(not done.wasSuccessful())
