#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Many Allocates: no kill loses one that was acknowledged, and none of them leaves anything behind.

usage: test-endurance.py RDMAD MODULE-DIR GRPC-CALL [TEST...]

RDMAD_TEST_SLOW=1 makes it 100 000 instead of 10 000 that leave nothing behind.
"""

import collections
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time

import grpc

sys.dont_write_bytecode = True

from control_socket import Connection  # noqa: E402
from plugin_case import HCA, INSTRUMENTED, PATIENCE, SLOW, PluginCase, plugin, tap  # noqa: E402

GRPC_CALL = sys.argv[3]
MANY = "modules = { device-plugin = { resources = ( { name = \"rdma/hca\"; count = 4000; } ); }; };"
WORKERS = 4
ALLOCATIONS = 1000 if SLOW else 100 if INSTRUMENTED else 300    # a kill for fifty
SPARES = 9      # directories that rdmad has made for the next Allocates, at most; each has an open file


class KillTest(PluginCase):
    def allocate_until_it_dies(self, slots, acknowledged, lock):
        while True:
            with lock:
                slot = slots.pop()
            try:
                answer = self.allocate_raw([slot])
            except grpc.RpcError:
                return
            with lock:
                acknowledged[answer.container_responses[0].envs["RDMAD_ALLOCATION"]] = slot

    def kill_in_the_middle(self, slots, acknowledged):
        lock, goal = threading.Lock(), len(acknowledged) + random.randint(1, 100)
        threads = [threading.Thread(target=self.allocate_until_it_dies,
                                    args=(slots, acknowledged, lock)) for _ in range(WORKERS)]
        for thread in threads:
            thread.start()
        while len(acknowledged) < goal:
            time.sleep(0.001)
        time.sleep(random.random() / 500)
        self.end_daemon(signal.SIGKILL)
        for thread in threads:
            thread.join()

    def test_a_kill_at_any_moment_loses_no_acknowledged_allocation(self):
        self.both(MANY)
        self.wait_ready(4000)
        slots = sorted(self.kubelet.devices(HCA))
        random.shuffle(slots)
        acknowledged, kills = {}, 0
        while len(acknowledged) < ALLOCATIONS:
            self.kill_in_the_middle(slots, acknowledged)
            kills += 1
            written = {id: slots[0] for id, (_, slots) in self.in_database().items()}
            self.assertLessEqual(acknowledged.items(), written.items())
            self.wait_lost()
            self.start_daemon(MANY)
            self.wait_ready(4000)
            found = {id: allocation["slots"][0] for id, allocation in self.allocations().items()}
            self.assertLessEqual(acknowledged.items(), found.items())
        self.assertNotIn("set aside", self.log())
        print(f"# {len(acknowledged)} allocations, {kills} kills", flush=True)


class LeakTest(PluginCase):
    def descriptors(self):
        """How many of each kind and file."""
        directory, found = f"/proc/{self.daemon.pid}/fd", collections.Counter()
        for fd in os.listdir(directory):
            try:
                file = os.readlink(os.path.join(directory, fd)).split(":")[0]
                found["spare" if "/.spare-" in file else file] += 1
            except FileNotFoundError:
                pass    # closed meanwhile
        return found

    def resident_kib(self):
        with open(f"/proc/{self.daemon.pid}/smaps_rollup") as file:
            for line in file:
                if line.startswith("Pss_Anon:"):
                    return int(line.split()[1])
        raise AssertionError("no Pss_Anon")

    def allocate_again_and_again(self, count):
        """Eight sets of slots in turn, each many times: kubelet may repeat itself."""
        slots = sorted(self.kubelet.devices(HCA))
        for i in range(8):
            request = plugin.AllocateRequest()
            request.container_requests.add(devices_ids=slots[i * 4:i * 4 + 1 + i % 4])
            done = subprocess.run(
                [GRPC_CALL, self.endpoint().path, "/v1beta1.DevicePlugin/Allocate",
                 request.SerializeToString(), "bench", str(count // 8)],
                check=True, capture_output=True, text=True)
            self.assertRegex(done.stdout, rf"\A{count // 8} calls, ")

    def test_allocates_leave_descriptors_and_memory_where_they_were(self):
        self.start_kubelet()
        self.start_daemon(None, "--log-level", "warning")
        self.wait_ready()
        self.allocate_again_and_again(800 if INSTRUMENTED else 8000)
        descriptors, memory = self.descriptors(), self.resident_kib()
        descriptors["spare"] = SPARES
        count = 2000 if INSTRUMENTED else 100000 if SLOW else 10000
        self.allocate_again_and_again(count)
        grown = self.resident_kib() - memory
        print(f"# {count} Allocates: {memory} KiB and {grown} more", flush=True)
        # Directories of allocations that were replaced are removed, and the client's connection is closed,
        # after the last answer.
        self.wait_for(lambda: not self.descriptors() - descriptors,
                      f"end of what is open beside {descriptors}")
        # Each may be of another container of one pod, of which 32 may share a slot with the last; no
        # pod has them: on a slow machine kubelet's list ends some in the meantime.
        self.assertLessEqual(len(self.allocations()), 8 * 33)
        if not INSTRUMENTED:    # which keeps freed memory for a while
            self.assertLess(grown, 256)

    def test_events_that_are_followed_leave_memory_where_it_was(self):
        self.start_kubelet()
        self.start_daemon(None, "--log-level", "warning")
        self.wait_ready()
        connection = Connection(self.socket, PATIENCE)
        self.addCleanup(connection.close)
        last, sizes = 0, []
        for _ in range(20):
            self.allocate_again_and_again(400)
            connection.request("GET", f"/api/v1/events?after={last}")
            last = json.loads(connection.getresponse().read())["last"]
            sizes.append(self.resident_kib())
        grown = sizes[-1] - sizes[9]
        print(f"# {last} events: {sizes[9]} KiB and {grown} more", flush=True)
        if not INSTRUMENTED:
            self.assertLess(grown, 256)


if __name__ == "__main__":
    tap.main(sys.argv[4:])
