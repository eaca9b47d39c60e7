#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""ADD and DEL from exec to exit, 1, 16 and 64 at once, with their ratios to the baseline, in one run:

baseline            one process that makes the same netlink calls and writes nothing down
rdmad               a shared NIC with an address of the runtime's, event log and fsync included
rdmad+host-local    the same with Debian's IPAM plugin
macvlan+host-local  Debian's macvlan and IPAM plugins
host-local          the IPAM plugin by itself
exclusive baseline  one process that moves a NIC with its address, and back; only 1 at once, as there is one
exclusive rdmad     the same with all that the NIC had, event log and fsync included

usage: cni.py RDMAD MODULE-DIR RDMAD-CNI BASELINE-CNI BENCH-EXEC
"""

import json
import os
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "integration"))
from cni_case import NICS, PLUGINS, CniCase, enter_private_host  # noqa: E402
import benchlib  # noqa: E402

BASELINE, EXEC = sys.argv[4:6]
ROUNDS = {1: 40, 16: 6, 64: 3}
HOST_LOCAL = {"type": "host-local", "subnet": "192.0.2.0/24"}
NAMES = ("baseline", "rdmad", "rdmad+host-local", "macvlan+host-local", "host-local")
EXCLUSIVE = ("exclusive baseline", "exclusive rdmad")
GOALS = {("rdmad", "ADD", 1): 1.8, ("rdmad", "ADD", 64): 1.3, ("rdmad", "DEL", 1): 1.2, ("rdmad", "DEL", 64): 2.0,
         ("exclusive rdmad", "ADD", 1): 1.5, ("exclusive rdmad", "DEL", 1): 1.5}


def measure(commands):
    """Milliseconds from each one's exec to its exit, all started at once."""
    records = b""
    for argv, environment, text in commands:
        strings = [*map(str, argv), *(f"{key}={value}" for key, value in environment.items())]
        records += struct.pack("=3I", len(argv), len(environment), len(text))
        records += b"".join(string.encode() + b"\0" for string in strings) + text
    done = subprocess.run([EXEC], input=records, capture_output=True, check=True)
    lines = [line.split() for line in done.stdout.decode().splitlines()]
    failed = sum(status != "0" for status, _ in lines)
    assert len(lines) == len(commands) and not failed, f"{failed} of {len(commands)} failed"
    return [int(took) / 1000 for _, took in lines]


def percentile(values, share):
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


class Bench(CniCase):
    NETWORKS = f"""netdevs = "{NICS[0]}"; }}, {{ name = "exclusive"; netdevs = "{NICS[1]}"; mode = "exclusive";
                   wait_gid = false; prove = false; announce = false;"""

    def runTest(self):
        self.start_daemon()
        subprocess.run(["ip", "link", "set", NICS[0], "up"], check=True)
        for number in range(max(ROUNDS)):
            self.pod(f"p{number}")
        print(f"{'':20}{'at once':>8}" + "".join(f"{f'{c} p50':>10}{'p99':>8}{'ratio':>7}" for c in ("ADD", "DEL"))
              + "   ms; ratio of p50 to the baseline")
        for at_once, rounds in ROUNDS.items():
            self.table(at_once, self.rounds(at_once, rounds))
        self.memory()

    def rounds(self, at_once, rounds):
        """The names take turns, so that what else the machine does meets all of them."""
        names = NAMES + (EXCLUSIVE if at_once == 1 else ())
        times = {(name, command): [] for name in names for command in ("ADD", "DEL")}
        for turn in range(rounds + 1):
            for name, command in times:
                took = measure([self.command(name, command, n) for n in range(at_once)])
                if turn:        # the first one warms up
                    times[name, command] += took
        return times

    def table(self, at_once, times):
        table = benchlib.Table(f"ADD and DEL from exec to exit, {at_once} at once, p50", "ms")
        for name in dict.fromkeys(name for name, _ in times):
            baseline = "exclusive baseline" if name in EXCLUSIVE else "baseline"
            cells, missed = "", []
            for command in ("ADD", "DEL"):
                p50, p99 = (percentile(times[name, command], share) for share in (0.5, 0.99))
                ratio = p50 / percentile(times[baseline, command], 0.5)
                goal = GOALS.get((name, command, at_once))
                missed += [f"{command} goal {goal}"] if goal and ratio > goal else []
                cells += f"{p50:10.1f}{p99:8.1f}{ratio:7.2f}"
                if name != baseline:
                    table.at_most_times(f"{command}, {name}", p50, baseline,
                                        percentile(times[baseline, command], 0.5), goal)
            print(f"{name:20}{at_once:8}{cells}   {', '.join(missed)}".rstrip(), flush=True)
        table.save()

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
            return [BASELINE, command, pod, NICS[0], address], {}, b""
        if name == "exclusive baseline":
            return [BASELINE, command, pod, NICS[1], "198.51.1.7/24", "exclusive"], {}, b""
        environment = self.environment(command, f"c{number}", pod, "net1")
        network = {"cniVersion": "1.0.0", "name": name.replace("+", "-")}
        if name == "host-local":
            network.update(type="macvlan", ipam=HOST_LOCAL)
            return [f"{PLUGINS}/host-local"], environment, json.dumps(network).encode()
        if name == "macvlan+host-local":
            network.update(type="macvlan", master=NICS[0], ipam=HOST_LOCAL)
            return [f"{PLUGINS}/macvlan"], environment, json.dumps(network).encode()
        if name == "exclusive rdmad":
            network.update(name="exclusive", type="rdmad-cni", runtimeConfig={"deviceID": self.nics[NICS[1]]})
            return [sys.argv[3]], environment, json.dumps(network).encode()
        network.update(type="rdmad-cni", runtimeConfig={"deviceID": self.nics[NICS[0]], "ips": [address]})
        if name == "rdmad+host-local":
            network["ipam"] = HOST_LOCAL
        return [sys.argv[3]], environment, json.dumps(network).encode()


if __name__ == "__main__":
    enter_private_host()
    import unittest
    done = unittest.TextTestRunner(verbosity=0).run(unittest.TestSuite([Bench()]))
    sys.exit(not done.wasSuccessful())
