#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The fake kubelet behaves as tests/kubelet/behaviour.trace says, with rdmad on the simulator's machine.

usage: test-kubelet-behaviour.py RDMAD MODULE-DIR TRACE MACHINE
"""

import contextlib
import os
import re
import signal
import subprocess
import sys

sys.dont_write_bytecode = True

from machine_changes import Machine, post  # noqa: E402
from plugin_case import TESTS, AdmissionError, PluginCase, tap  # noqa: E402

TRACE, MACHINE = sys.argv[3:5]
PODRESOURCES = os.path.join(TESTS, "kubelet", "podresources")
RESOURCE, DEVICES = "rdma/whole", ("erdma_0", "erdma_1")
CALL = re.compile(RESOURCE + r": kubelet calls (\w+)(?: for (\d+) slots)?")
CONFIG = """modules = { device-plugin = { health_delay = 0; forget_delay = 0; %%s resources = (
  { name = "%s"; mode = "exclusive"; selectors = { names = ( "%s", "%s" ); }; } ); }; };
""" % (RESOURCE, *DEVICES)


def steps():
    """(number of the line, step, [what is then so])"""
    found = []
    with open(TRACE, encoding="ascii") as file:
        for number, line in enumerate(file, 1):
            if line.startswith("\t"):
                found[-1][2].append(line.split())
            elif line.strip() and not line.startswith("#"):
                found.append((number, line.strip(), []))
    return found


class KubeletBehaviourTest(PluginCase):
    MACHINE = MACHINE

    def setUp(self):
        super().setUp()
        self.start_kubelet().stop()
        self.hardware = Machine(self.machine)
        self.addCleanup(self.hardware.mend)
        self.seen = 0       # calls that were expected
        self.podresources = subprocess.Popen([PODRESOURCES, self.kubelet_dir, RESOURCE], text=True,
                                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.podresources.communicate)

    # ---- steps ----

    def kubelet_starts(self):
        self.kubelet.start()

    def kubelet_restarts(self):
        self.kubelet.restart()

    def kubelet_restarts_without_its_checkpoint(self):
        self.kubelet.restart(lose_checkpoint=True)

    def rdmad_starts(self, config="prestart = true;"):
        self.start_daemon(CONFIG % config)
        self.wait_for_socket()

    def rdmad_starts_by_register(self):
        self.rdmad_starts('prestart = true; registration = "legacy";')

    def rdmad_starts_without_prestart(self):
        self.rdmad_starts("")

    def rdmad_stops(self):
        self.end_daemon()

    def rdmad_is_killed(self):
        self.end_daemon(signal.SIGKILL)

    def sockets_are_removed(self):
        for directory in ("device-plugins", "plugins_registry"):
            for name in self.sockets(directory):
                os.unlink(os.path.join(self.kubelet_dir, directory, name))

    def pod_wants(self, name, count, init="0"):
        with contextlib.suppress(AdmissionError):
            self.kubelet.run(name, RESOURCE, int(count), int(init))

    def pod_is_deleted(self, name):
        self.kubelet.release(name)

    def container_of_exits(self, name):
        self.kubelet.start_again(name)

    def change_port(self, device, state, physical):
        port = f"infiniband/{DEVICES[int(device)]}/ports/1"
        self.hardware.write(f"{port}/state", state)
        self.hardware.write(f"{port}/phys_state", physical)
        post(self.socket, "/api/v1/rescan")

    def device_goes_down(self, device):
        self.change_port(device, "1: DOWN", "3: Disabled")

    def device_comes_up(self, device):
        self.change_port(device, "4: ACTIVE", "5: LinkUp")

    def device_is_unplugged(self, device):
        self.hardware.unplug(DEVICES[int(device)])
        post(self.socket, "/api/v1/rescan")

    def device_is_plugged_in(self, device):
        self.hardware.plug(DEVICES[int(device)])
        post(self.socket, "/api/v1/rescan")

    STEPS = {
        r"kubelet starts": kubelet_starts,
        r"kubelet restarts": kubelet_restarts,
        r"kubelet restarts without its checkpoint": kubelet_restarts_without_its_checkpoint,
        r"rdmad starts": rdmad_starts,
        r"rdmad starts by Register": rdmad_starts_by_register,
        r"rdmad starts without prestart": rdmad_starts_without_prestart,
        r"rdmad stops": rdmad_stops,
        r"rdmad is killed": rdmad_is_killed,
        r"sockets are removed": sockets_are_removed,
        r"pod (\w+) wants (\d+)(?: after (\d+))?": pod_wants,
        r"pod (\w+) is deleted": pod_is_deleted,
        r"container of (\w+) exits": container_of_exits,
        r"device (\d) goes down": device_goes_down,
        r"device (\d) comes up": device_comes_up,
        r"device (\d) is unplugged": device_is_unplugged,
        r"device (\d) is plugged in": device_is_plugged_in,
    }

    def perform(self, step):
        for pattern, function in self.STEPS.items():
            match = re.fullmatch(pattern, step)
            if match:
                function(self, *(word for word in match.groups() if word is not None))
                return
        self.fail(f"no such step: {step}")

    # ---- what is then so ----

    def calls(self):
        """Those that rdmad has got."""
        if not os.path.exists(os.path.join(self.dir, "log")):
            return []
        return [f"{method}:{count}" if count else method for method, count in CALL.findall(self.log())]

    def check_calls(self, groups):
        """All calls of a step; no other ones came meanwhile or since the step before."""
        expected = [sorted(group) for group in groups]
        total = sum(map(len, expected))
        self.wait_for(lambda: len(self.calls()) - self.seen >= total, f"calls {expected}")
        came = self.calls()[self.seen:]
        self.seen += len(came)
        found, rest = [], came
        for group in expected:
            found.append(sorted(rest[:len(group)]))
            rest = rest[len(group):]
        self.assertEqual((found, rest), (expected, []), f"rdmad got {came}")

    def ask_podresources(self):
        """{"allocatable": number, pod: number of devices}"""
        self.podresources.stdin.write("\n")
        self.podresources.stdin.flush()
        lines = iter(self.podresources.stdout.readline, ".\n")
        return {name: int(count) for name, count in map(str.split, lines)}

    def allocations_of(self, name):
        return sum(a["pod"] == name for a in self.ask("allocations", "--refresh")["allocations"])

    def holds(self, words):
        found = self.ask_podresources()
        match words:
            case ["allocatable", count]:
                return found.get("allocatable") == int(count)
            case ["rdmad", "names", name, count]:
                return self.allocations_of(name) == int(count)
            case [name, "runs"]:
                return ("default", name) in self.kubelet.known
            case [name, "is", "refused"]:
                return ("default", name) not in self.kubelet.known and name not in found
            case [name, "lists", count]:
                return found.get(name) == int(count)
            case [name, "is", "unlisted"]:
                return name not in found
            case [name, "has", "ended"]:
                return ("default", name) not in self.kubelet.known
        self.fail(f"no such state: {' '.join(words)}")

    def follow(self, step, expected):
        self.perform(step)
        self.check_calls([words[1:] for words in expected if words[0] == "calls"])
        for words in expected:
            if words[0] != "calls":
                self.wait_for(lambda: self.holds(words), " ".join(words))

    def test_it_is_that_of_the_trace(self):
        for number, step, expected in steps():
            try:
                self.follow(step, expected)
            except AssertionError as error:
                raise AssertionError(f"line {number}, {step}: {error}") from error
        self.check_calls([])


if __name__ == "__main__":
    tap.main(sys.argv[5:])
