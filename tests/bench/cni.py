#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""ADD and DEL from exec to exit, 1, 16 and 64 at once, with their ratios to the baseline, in one run:

baseline            one process that makes the same netlink calls and writes nothing down
rdmad               a shared NIC with an address of the runtime's, journal included
rdmad+host-local    the same with Debian's IPAM plugin
macvlan+host-local  Debian's macvlan and IPAM plugins
host-local          the IPAM plugin by itself
exclusive baseline  one process that moves a NIC with its address, and back; only 1 at once, as there is one
exclusive rdmad     the same with all that the NIC had, journal included

All sides come before other work of the machine (SCHED_RR); the state is on the disk, unless TMPDIR says otherwise.

usage: cni.py RDMAD MODULE-DIR RDMAD-CNI BASELINE-CNI BENCH-EXEC
"""

import json
import os
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "integration"))
from benchlib import Table, all_processor_us_of, memory_of, median, percentile  # noqa: E402
from cni_case import NICS, PLUGINS, CniCase, enter_private_host  # noqa: E402

BASELINE, EXEC = sys.argv[4:6]
ROUNDS = {1: 60, 16: 8, 64: 8}
PAUSE = 0.1     # seconds, for what the command before has left to the kernel
HOST_LOCAL = {"type": "host-local", "subnet": "192.0.2.0/24"}
NAMES = ("baseline", "rdmad", "rdmad+host-local", "macvlan+host-local", "host-local")
EXCLUSIVE = ("exclusive baseline", "exclusive rdmad")
GOALS = {("rdmad", "ADD", 1): 1.8, ("rdmad", "ADD", 64): 1.3, ("rdmad", "DEL", 1): 1.2, ("rdmad", "DEL", 64): 2.0,
         ("exclusive rdmad", "ADD", 1): 1.5, ("exclusive rdmad", "DEL", 1): 1.5}


class Round:
    """What one of the commands took, all started at once, in milliseconds: from its exec to its exit, and of a
    processor, with its share of what the daemon did."""

    def __init__(self, commands, servers):
        before = sum(all_processor_us_of(pid) for pid in servers)
        lines = self.run(commands)
        served = sum(all_processor_us_of(pid) for pid in servers) - before
        self.times = [int(took) / 1000 for _, took, _ in lines]
        self.processor = (served + sum(int(us) for _, _, us in lines)) / 1000 / len(lines)

    @staticmethod
    def run(commands):
        records = b""
        for argv, environment, text in commands:
            strings = [*map(str, argv), *(f"{key}={value}" for key, value in environment.items())]
            records += struct.pack("=3I", len(argv), len(environment), len(text))
            records += b"".join(string.encode() + b"\0" for string in strings) + text
        done = subprocess.run([EXEC], input=records, capture_output=True, check=True)
        lines = [line.split() for line in done.stdout.decode().splitlines()]
        failed = sum(status != "0" for status, *_ in lines)
        assert len(lines) == len(commands) and not failed, f"{failed} of {len(commands)} failed"
        return lines


class Series:
    """The rounds of one command under one name."""

    def __init__(self, rounds):
        self.all = [took for each in rounds for took in each.times]
        self.medians = [median(each.times) for each in rounds]
        self.processor = [each.processor for each in rounds]

    def ratios(self, other, what="medians"):
        return [mine / theirs for mine, theirs in zip(getattr(self, what), getattr(other, what))]


class Bench(CniCase):
    NETWORKS = f"""netdevs = "{NICS[0]}"; }}, {{ name = "exclusive"; netdevs = "{NICS[1]}"; mode = "exclusive";
                   wait_gid = false; prove = false; announce = false;"""

    def runTest(self):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        self.start_daemon()
        subprocess.run(["ip", "link", "set", NICS[0], "up"], check=True)
        for number in range(max(ROUNDS)):
            self.pod(f"p{number}")
        for at_once, rounds in ROUNDS.items():
            found = self.rounds(NAMES, at_once, rounds)
            # By themselves: a NIC that moves lets rdmad look at the whole machine.
            if at_once == 1:
                found.update(self.rounds(EXCLUSIVE, at_once, rounds))
            self.table(at_once, rounds, found)
        self.memory()

    def rounds(self, names, at_once, rounds):
        """The names take turns, so that what else the machine does meets all of them."""
        found = {(name, command): [] for name in names for command in ("ADD", "DEL")}
        for turn in range(rounds + 1):
            for name, command in found:
                # The first one warms up, and starts the executor.
                time.sleep(PAUSE)
                servers = [self.daemon.pid, self.executor()] if turn and "rdmad" in name else []
                done = Round([self.command(name, command, n) for n in range(at_once)], servers)
                if turn:
                    found[name, command].append(done)
        return {key: Series(value) for key, value in found.items()}

    def table(self, at_once, rounds, found):
        table = Table(f"ADD and DEL of a container, {at_once} at once: {rounds} rounds", "ms")
        for name, what in (("rdmad", "shared NIC"), ("exclusive rdmad", "exclusive NIC")):
            for command in ("ADD", "DEL"):
                if (name, command) in found:
                    self.against_floor(table, found, (name, command, at_once), f"{command}, {what}")
        for command in ("ADD", "DEL"):
            self.against_debian(table, found, command)
        table.note("the same calls: one static program of one process, which writes nothing down; the exclusive one "
                   "gives back name and address alone")
        table.print()

    @staticmethod
    def against_floor(table, found, key, what):
        name, command, _ = key
        mine, floor = found[name, command], found[name.replace("rdmad", "baseline"), command]
        table.at_most_times(f"{what}, p50", median(mine.all), "the same calls", median(floor.all), GOALS.get(key),
                            mine.ratios(floor))
        table.at_most_times(f"{what}, p99", percentile(mine.all, 99), "the same calls", percentile(floor.all, 99))
        table.at_most_times(f"{what}, CPU time", median(mine.processor), "the same calls",
                            median(floor.processor), None, mine.ratios(floor, "processor"))

    @staticmethod
    def against_debian(table, found, command):
        mine, theirs = found["rdmad+host-local", command], found["macvlan+host-local", command]
        table.times_better(f"{command} with host-local, p50", median(mine.all), "macvlan with host-local",
                           median(theirs.all), None, theirs.ratios(mine))
        # One after the other, where it cannot run beside anything.
        added = median(mine.all) - median(found["rdmad", command].all)
        table.at_most_times(f"{command}: what host-local adds", added, "host-local alone",
                            median(found["host-local", command].all))

    def memory(self):
        """After them all: about a thousand ADDs, some of 64 at once."""
        table = Table("Memory after these", "MiB")
        table.value("rdmad, the most that was resident", self.peak(self.daemon.pid), 16)
        for what, pid in (("rdmad", self.daemon.pid), ("executor", self.executor()),
                          ("keeper", self.children(self.daemon.pid)[0])):
            for field, title in (("Pss", "PSS"), ("Anonymous", "anonymous")):
                table.value(f"{what}, {title}", memory_of(pid)[field] / 1024)
        table.value("rdmad-cni, the file", os.path.getsize(sys.argv[3]) / (1 << 20), 1)
        table.print()

    @staticmethod
    def peak(pid):
        with open(f"/proc/{pid}/status") as file:
            line, = (line for line in file if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024

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
    # Not in memory, where /tmp may be.
    tempfile.tempdir = os.environ.get("TMPDIR", "/var/tmp")
    import unittest
    done = unittest.TextTestRunner(verbosity=0).run(unittest.TestSuite([Bench()]))
    sys.exit(not done.wasSuccessful())
