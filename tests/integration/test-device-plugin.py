#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The device plugin against the fake kubelet, on the recorded node with eight rails.

usage: test-device-plugin.py RDMAD MODULE-DIR [TEST...]
"""

import json
import os
import re
import shutil
import signal
import sys
import threading
import time

import grpc

sys.dont_write_bytecode = True

from plugin_case import HCA, INSTRUMENTED, PATIENCE, AdmissionError, PluginCase, tap  # noqa: E402

RAILS = """
modules = { device-plugin = { resources = (
  { name = "rdma/rail"; mode = "exclusive"; selectors = { names = ( "mlx5_?", "!mlx5_8", "!mlx5_9" ); }; } %s
); }; };
"""


class DevicePluginTest(PluginCase):
    # ---- registration ----

    def test_by_plugins_registry_where_there_is_one(self):
        self.both()
        self.wait_ready()
        self.assertEqual(self.kubelet.legacy.requests, [])
        self.assertEqual(len(self.sockets("plugins_registry")), 1)
        self.assertEqual(self.sockets("device-plugins"), [])

    def test_by_register_where_there_is_no_registry(self):
        self.both(registry=False)
        self.wait_ready()
        self.assertEqual(self.kubelet.legacy.requests, [HCA])

    def test_by_register_when_the_configuration_says_so(self):
        self.both("modules = { device-plugin = { registration = \"legacy\"; }; };")
        self.wait_ready()
        self.assertEqual(self.kubelet.legacy.requests, [HCA])
        self.assertEqual(self.sockets("plugins_registry"), [])

    def test_slots_are_spread_over_eleven_devices_with_their_numa_nodes(self):
        self.both()
        self.wait_ready()
        devices = self.kubelet.devices(HCA)
        per_device = {}
        for id, (healthy, numa) in devices.items():
            self.assertRegex(id, r"^[0-9a-f]{4}:[0-9a-f]{2}:00\.0::\d{3}$")
            self.assertTrue(healthy)
            per_device.setdefault(id.partition("::")[0], set()).add(numa)
        self.assertEqual(len(per_device), 11)
        self.assertEqual({len(nodes) for nodes in per_device.values()}, {1})
        self.assertEqual(set.union(*per_device.values()), {0, 1})

    def test_kubelet_that_starts_later_is_noticed(self):
        self.start_daemon()
        self.wait_for(lambda: "is ready" in self.log(), "ready daemon")
        time.sleep(0.2)
        self.start_kubelet(registry=False)
        self.wait_ready()

    def check_restart(self, **options):
        self.both(**options)
        self.wait_ready()
        for pause in (0, 0.3, 0):
            self.kubelet.restart(pause)
            self.wait_ready()
        self.assertTrue(self.kubelet.allocate("ml/a", HCA, 1).ids)

    def test_a_restart_of_kubelet_with_register(self):
        self.check_restart(registry=False)

    def test_a_restart_of_kubelet_with_the_registry(self):
        self.check_restart(legacy=False)

    def test_registered_soon_after_kubelets_socket_appears(self):
        def attempt():
            self.kubelet.stop()
            time.sleep(0.5)
            begun = time.monotonic()
            self.kubelet.start()
            self.wait_ready()
            took = time.monotonic() - begun
            print(f"# {took * 1000:.0f} ms with kubelet's own start", flush=True)
            return took

        self.both(registry=False)
        self.wait_ready()
        self.check_soon(attempt, 1 if not INSTRUMENTED else PATIENCE)

    def test_a_socket_that_was_wiped_is_made_again(self):
        for options, directory in (({"registry": False}, "device-plugins"),
                                ({"legacy": False}, "plugins_registry")):
            with self.subTest(directory):
                self.both(**options)
                self.wait_ready()
                before = self.sockets(directory)
                os.unlink(os.path.join(self.kubelet_dir, directory, before[0]))
                self.wait_for(lambda: self.sockets(directory) not in ([], before), "new socket")
                self.wait_ready()
                self.end_daemon()
                self.kubelet.stop()

    def test_a_directory_that_was_removed_and_made_again(self):
        self.both(registry=False)
        self.wait_ready()
        self.kubelet.stop()
        shutil.rmtree(self.kubelet_dir)
        time.sleep(0.2)
        os.mkdir(self.kubelet_dir)
        self.kubelet.start()
        self.wait_ready()

    def test_a_lost_stream_is_registered_again(self):
        for options in ({"registry": False}, {"legacy": False}, {}):
            with self.subTest(options):
                self.both(**options)
                self.wait_ready()
                lost = self.endpoint()
                lost.stream.cancel()
                self.wait_for(lambda: self.endpoint() is not lost, "other endpoint")
                self.wait_ready()
                self.end_daemon()
                self.kubelet.stop()

    def wait_with_one_socket(self, *arguments):
        """Until kubelet is ready; returns the one socket that plugins_registry ever had."""
        names = set()

        def ready():
            names.update(self.sockets("plugins_registry"))
            found = self.kubelet.resources().get(HCA)
            return found is not None and found["connected"] and found["allocatable"] == 1000

        self.wait_for(ready, "registration")
        self.assertEqual(len(names), 1, names)
        return names.pop()

    def test_one_socket_waits_for_a_kubelet_that_comes_late_and_dials_slowly(self):
        os.mkdir(os.path.join(self.kubelet_dir, "plugins_registry"))
        self.start_daemon()
        self.wait_for(lambda: self.sockets("plugins_registry"), "socket")
        before = self.sockets("plugins_registry")
        time.sleep(2.5)
        self.start_kubelet(registry_delay=3)
        self.assertEqual([self.wait_with_one_socket()], before)

    def test_the_socket_outlives_restarts_of_kubelet(self):
        self.both()
        before = self.wait_with_one_socket()
        self.kubelet.stop()
        time.sleep(2.5)
        self.kubelet.start()
        self.assertEqual(self.wait_with_one_socket(), before)
        self.assertEqual(self.sockets("plugins_registry"), [before])

    def test_a_kubelet_that_hangs_is_left_for_the_one_that_serves(self):
        for options in ({"registry": False}, {}):
            with self.subTest(options):
                self.both(**options)
                self.wait_ready()
                self.ask("allocations", "--refresh")    # keeps its connection, too
                self.kubelet.hang()
                self.start_kubelet(**options)
                self.wait_ready()
                grant = self.kubelet.allocate("ml/a", HCA, 1)
                allocation = grant.reply.envs["RDMAD_ALLOCATION"]
                self.wait_for(lambda: self.allocations()[allocation]["pod"], "name of the pod")
                self.kubelet.release("ml/a")
                self.start_over()

    def test_an_end_takes_the_sockets_away(self):
        self.both()
        self.wait_ready()
        self.end_daemon()
        self.assertEqual(self.sockets("plugins_registry"), [])

    def test_sockets_of_a_killed_daemon_are_removed_by_the_next(self):
        self.both()
        self.wait_ready()
        stale = self.sockets("plugins_registry")
        self.end_daemon(signal.SIGKILL)
        self.assertEqual(self.sockets("plugins_registry"), stale)
        self.wait_lost()
        self.start_daemon()
        self.wait_ready()
        self.assertNotIn(stale[0], self.sockets("plugins_registry"))

    # ---- Allocate ----

    def test_a_container_gets_the_nodes_of_its_devices_and_no_others(self):
        self.both()
        self.wait_ready()
        grant = self.kubelet.allocate("ml/train-0", HCA, 2)
        devices = {id.partition("::")[0] for id in grant.ids}
        self.assertEqual(len(devices), 2, "two slots are two devices")
        paths = [d.host_path for d in grant.reply.devices]
        self.assertEqual(paths, sorted(paths))
        self.assertEqual(len([p for p in paths if re.search(r"/uverbs\d+$", p)]), 2)
        self.assertEqual([p for p in paths if "uverbs" not in p], ["/dev/infiniband/rdma_cm"])
        for spec in grant.reply.devices:
            self.assertEqual((spec.container_path, spec.permissions), (spec.host_path, "rw"))

    def test_allocations_are_named_after_their_pods(self):
        self.both()
        self.wait_ready()
        allocation = self.kubelet.allocate("ml/train-0", HCA, 1).reply.envs["RDMAD_ALLOCATION"]
        self.wait_for(lambda: "train-0" in json.dumps(self.allocations()[allocation]), "name of the pod")

    def test_what_cannot_be_granted_is_refused_by_name_and_grants_nothing(self):
        self.both()
        self.wait_ready()
        good = sorted(self.kubelet.devices(HCA))[:3]
        for containers, code, words in (
                ([["0000:ff:00.0::000"]], "NOT_FOUND", ["0000:ff:00.0::000", HCA]),
                ([[good[0], "x"]], "NOT_FOUND", ['"x"']),
                ([[good[0]], ["x"]], "NOT_FOUND", ['"x"']),
                ([[good[0], good[0]]], "INVALID_ARGUMENT", ["twice", good[0]]),
                ([[good[0]], [good[0]]], "INVALID_ARGUMENT", ["twice"]),
                ([], "INVALID_ARGUMENT", ["0 containers"]),
                ([[]], "INVALID_ARGUMENT", ["0 devices"])):
            with self.subTest(containers), self.assertRaises(grpc.RpcError) as caught:
                self.allocate_raw(*containers)
            self.assertEqual(caught.exception.code().name, code)
            for word in words:
                self.assertIn(word, caught.exception.details())
        self.assertEqual(self.allocations(), {})

    def test_events_of_a_device_are_found_by_its_name_and_by_its_id(self):
        self.both()
        self.wait_ready()
        id, name = next((d["device_id"], d["device_name"]) for d in self.ask("devices")["devices"])
        self.allocate_raw([f"{id}::000"])
        events = self.ask("events", "--device", id)["events"]
        self.assertEqual([event["kind"] for event in events if event["kind"] in ("device-added", "allocation-granted")],
                         ["device-added", "allocation-granted"])
        self.assertEqual(self.ask("events", "--device", name)["events"], events)

    def test_calls_at_once_have_their_own_answers(self):
        self.both()
        self.wait_ready()
        ids = sorted(self.kubelet.devices(HCA))[:30]
        asked = [("x" if number % 3 == 0 else id) for number, id in enumerate(ids)]
        answers = [None] * len(asked)

        def call(number):
            try:
                answers[number] = self.allocate_raw([asked[number]]).container_responses[0]
            except grpc.RpcError as error:
                answers[number] = error

        threads = [threading.Thread(target=call, args=(number,)) for number in range(len(asked))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        allocations, written = self.allocations(), self.in_database()
        for id, answer in zip(asked, answers):
            if id == "x":
                self.assertEqual(answer.code().name, "NOT_FOUND")
                continue
            allocation = answer.envs["RDMAD_ALLOCATION"]
            self.assertEqual(allocations[allocation]["slots"], [id])
            self.assertEqual(written[allocation], (HCA, [id]))
            self.assertTrue(os.path.exists(os.path.join(answer.mounts[0].host_path, "allocation.json")))

    def test_several_containers_in_one_request_and_the_same_again(self):
        self.both()
        self.wait_ready()
        ids = sorted(self.kubelet.devices(HCA))[:3]
        first = self.allocate_raw(ids[:1], ids[1:])
        again = self.allocate_raw(ids[:1], ids[1:])
        found = [c.envs["RDMAD_ALLOCATION"] for c in first.container_responses]
        again = [c.envs["RDMAD_ALLOCATION"] for c in again.container_responses]
        self.assertEqual(len(set(found + again)), 4, "they may be of an init container before it")
        self.assertEqual(set(self.allocations()), set(found + again))

    def test_exclusive_devices_are_given_once(self):
        self.both(RAILS % "")
        self.wait_ready(8, "rdma/rail")
        grants = [self.kubelet.allocate(f"ml/p{i}", "rdma/rail", 4) for i in range(2)]
        nodes = [{self.kubelet.devices("rdma/rail")[id][1] for id in g.ids} for g in grants]
        self.assertEqual([len(n) for n in nodes], [1, 1], "four rails are of one NUMA node")
        with self.assertRaises(AdmissionError):
            self.kubelet.allocate("ml/p2", "rdma/rail", 1)

    # ---- allocations and life ----

    def test_a_restart_keeps_allocations_and_pods_notice_nothing(self):
        self.both()
        self.wait_ready()
        allocation = self.kubelet.allocate("ml/train-0", HCA, 3).reply.envs["RDMAD_ALLOCATION"]
        before = self.allocations()[allocation]
        self.end_daemon()
        self.start_daemon()
        self.wait_ready()
        self.assertEqual(self.allocations()[allocation]["device_ids"], before["device_ids"])
        self.assertEqual(self.kubelet.resources()[HCA]["in_use"], 3)

    def test_no_acknowledged_allocation_is_lost_by_a_kill(self):
        self.both()
        self.wait_ready()
        acknowledged, lock = set(), threading.Lock()

        def worker(number):
            for i in range(1000):
                try:
                    grant = self.kubelet.allocate(f"ml/p{number}-{i}", HCA, 1)
                except AdmissionError:
                    return
                with lock:
                    acknowledged.add(grant.reply.envs["RDMAD_ALLOCATION"])

        threads = [threading.Thread(target=worker, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        self.wait_for(lambda: len(acknowledged) > 50, "50 allocations")
        self.end_daemon(signal.SIGKILL)
        for thread in threads:
            thread.join()
        self.wait_lost()
        self.start_daemon()
        self.wait_ready()
        self.assertEqual(acknowledged - set(self.allocations()), set())

    def test_a_lost_database_is_rebuilt_from_what_kubelet_knows(self):
        self.both()
        self.wait_ready()
        ids = self.kubelet.allocate("ml/train-0", HCA, 2).ids
        self.end_daemon()
        shutil.rmtree(os.path.join(self.dir, "state"))
        self.start_daemon()
        self.wait_ready()
        self.wait_for(lambda: [c for c in self.allocations().values() if sorted(c["slots"]) == ids],
                      "rebuilt allocation")

    def test_a_reload_changes_what_it_must_and_no_more(self):
        self.both(RAILS % "")
        self.wait_ready(8, "rdma/rail")
        untouched = self.endpoint("rdma/rail")
        more = ', { name = "rdma/storage"; count = 10; selectors = { names = "mlx5_8"; }; }'
        self.write_config(RAILS % more)
        self.daemon.send_signal(signal.SIGHUP)
        self.wait_ready(10, "rdma/storage")
        self.write_config(RAILS % more.replace("10", "20"))
        self.daemon.send_signal(signal.SIGHUP)
        self.wait_ready(20, "rdma/storage")
        self.write_config(RAILS % "")
        self.daemon.send_signal(signal.SIGHUP)
        self.wait_for(lambda: not self.kubelet.resources()["rdma/storage"]["connected"],
                      "end of the resource")
        self.assertIs(self.endpoint("rdma/rail"), untouched)
        self.assertFalse(untouched.stopped)
        self.assertEqual(untouched.messages, 1)

    def test_a_wrong_reload_keeps_what_there_was(self):
        self.both(RAILS % "")
        self.wait_ready(8, "rdma/rail")
        self.write_config(RAILS.replace("rdma/rail", "rail") % "")
        self.daemon.send_signal(signal.SIGHUP)
        self.wait_for(lambda: "is not a resource name" in self.log(), "error in the log")
        self.assertTrue(self.kubelet.allocate("ml/a", "rdma/rail", 1).ids)

    def test_a_device_in_an_exclusive_resource_and_another_is_told_and_stays_with_the_first(self):
        self.both(RAILS % ', { name = "rdma/all"; count = 99; }')
        self.wait_ready(8, "rdma/rail")
        self.wait_ready(99, "rdma/all")
        rails = set(self.kubelet.devices("rdma/rail"))
        others = {id.partition("::")[0] for id in self.kubelet.devices("rdma/all")}
        self.assertEqual(rails & others, set())
        self.assertIn("is selected by rdma/rail and rdma/all", self.log())

    def test_ids_of_two_shared_resources_over_one_device_differ(self):
        config = """modules = { device-plugin = { resources = (
            { name = "rdma/a"; count = 22; }, { name = "rdma/b"; count = 22; shared_with = "rdma/a"; } ); }; };"""
        self.both(config)
        self.wait_ready(22, "rdma/a")
        self.wait_ready(22, "rdma/b")
        a, b = (set(self.kubelet.devices(name)) for name in ("rdma/a", "rdma/b"))
        self.assertEqual(a & b, set())
        self.assertLessEqual(max(map(len, b)), 63)

    def test_a_allocation_ends_when_its_pod_is_gone(self):
        self.both()
        self.wait_ready()
        allocation = self.kubelet.allocate("ml/short", HCA, 1).reply.envs["RDMAD_ALLOCATION"]
        self.wait_for(lambda: self.allocations()[allocation]["pod"], "name of the pod")
        self.kubelet.release("ml/short")
        # Another device: rdmad lists its holder, and lists again.
        self.allocate_raw([sorted(self.kubelet.devices(HCA))[-1]])
        self.wait_for(lambda: allocation not in self.allocations(), "end of the allocation")
        self.assertEqual(len(self.allocations()), 1)

    def make_pod(self, uid):
        """What the node has of pod ml/short."""
        self.group = os.path.join(self.machine, "sys/fs/cgroup/kubepods/burstable/pod" + uid)
        os.makedirs(self.group)
        os.makedirs(os.path.join(self.machine, "var/log/pods/ml_short_" + uid))

    def begin_pod(self, **kubelet):
        """Pod ml/short with one slot, whose cgroup can be seen; the allocation's id."""
        self.make_pod("0f3c2ab1-1d9c-4bfb-9c3c-5d1f0a3c77aa")
        self.addCleanup(shutil.rmtree, os.path.join(self.machine, "sys/fs/cgroup"))
        self.addCleanup(shutil.rmtree, os.path.join(self.machine, "var"))
        with open(os.path.join(self.machine, "sys/fs/cgroup/cgroup.controllers"), "w") as file:
            file.write("cpu\n")
        self.populate(1)
        self.both(**kubelet)
        self.wait_ready()
        allocation = self.kubelet.allocate("ml/short", HCA, 1).reply.envs["RDMAD_ALLOCATION"]
        self.wait_for(lambda: self.allocations()[allocation]["pod_uid"], "cgroup of the pod")
        time.sleep(0.5)     # nothing is asked any more
        return allocation

    def populate(self, populated):
        with open(os.path.join(self.group, "cgroup.events"), "w") as file:
            file.write(f"populated {populated}\nfrozen 0\n")

    def test_a_allocation_ends_with_the_last_process_of_its_pod(self):
        def attempt():
            allocation = self.begin_pod()
            self.kubelet.release("ml/short")
            begun = time.monotonic()
            self.populate(0)
            self.wait_for(lambda: allocation not in self.allocations(), "end of the allocation")
            took = time.monotonic() - begun
            self.start_over()
            return took

        self.check_soon(attempt, 1 if not INSTRUMENTED else PATIENCE)

    def end_completed(self, **kubelet):
        allocation = self.begin_pod(**kubelet)
        self.kubelet.complete("ml/short")
        self.populate(0)
        self.wait_for(lambda: allocation not in self.allocations(), "end of the allocation")
        self.assertIn(("ml", "short"), self.kubelet.known)

    def test_a_completed_pod_is_not_waited_for_to_be_deleted(self):
        self.end_completed()

    def test_a_completed_pod_is_not_waited_for_where_kubelet_lists_it(self):
        self.end_completed(era="1.30")

    def test_a_completed_pod_is_not_waited_for_where_its_cgroup_cannot_be_seen(self):
        self.both(era="1.30")
        self.wait_ready()
        self.kubelet.allocate("ml/short", HCA, 1)
        self.wait_for(lambda: [a["pod"] for a in self.allocations().values()] == ["short"], "name of the pod")
        self.kubelet.complete("ml/short")
        self.wait_for(lambda: not self.ask("allocations", "--refresh")["allocations"], "end of the allocation")
        self.assertIn(("ml", "short"), self.kubelet.known)

    def test_a_pod_between_two_containers_keeps_its_allocation(self):
        """As while a container that crashed waits to be started again, in a pod without a process."""
        allocation = self.begin_pod()
        self.populate(0)
        for _ in range(3):
            self.ask("allocations", "--refresh")
            time.sleep(1)
        self.assertIn(allocation, self.allocations())
        self.populate(1)
        self.kubelet.complete("ml/short")
        self.populate(0)
        self.wait_for(lambda: allocation not in self.allocations(), "end of the allocation")

    def test_a_pod_that_starts_after_one_of_its_name_has_ended_has_its_directory(self):
        """As after a change of a static pod: kubelet admits the next one, ends the first one, then starts the next."""
        allocation = self.begin_pod()
        directory = os.path.join(self.dir, "run", "allocations", allocation)
        shutil.rmtree(self.group)
        self.wait_for(lambda: allocation not in self.allocations(), "end of the allocation")
        self.ask("allocations", "--refresh")
        self.assertEqual(self.allocations(), {})
        self.assertIn("allocation.json", os.listdir(directory))
        self.make_pod("7a5c2ab1-1d9c-4bfb-9c3c-5d1f0a3c77bb")
        self.populate(1)
        self.ask("allocations", "--refresh")
        self.assertEqual({id: a["pod"] for id, a in self.allocations().items()}, {allocation: "short"})
        self.kubelet.release("ml/short")
        self.populate(0)
        self.wait_for(lambda: not self.ask("allocations", "--refresh")["allocations"], "end of the allocation")
        self.wait_for(lambda: not os.path.exists(directory), "removal of the directory")

    def test_a_allocation_of_nobody_that_kubelet_knows_is_given_time(self):
        self.both()
        self.wait_ready()
        answer = self.allocate_raw([sorted(self.kubelet.devices(HCA))[0]])
        for _ in range(3):
            self.ask("allocations", "--refresh")
            time.sleep(1)
        self.assertEqual(set(self.allocations()), {answer.container_responses[0].envs["RDMAD_ALLOCATION"]})


if __name__ == "__main__":
    tap.main(sys.argv[3:])
