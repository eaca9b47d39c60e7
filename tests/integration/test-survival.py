#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Survival: kubelets of three eras, a rolling update, an older database, ended pods.

usage: test-survival.py RDMAD MODULE-DIR [TEST...]
"""

import os
import shutil
import signal
import sqlite3
import sys
import threading
import time

sys.dont_write_bytecode = True

from plugin_case import (  # noqa: E402
    HCA, HERE, INSTRUMENTED, PATIENCE, AdmissionError, PluginCase, tap)
from fake.kubelet import ERAS  # noqa: E402

WAYS = ({"registry": False}, {"legacy": False})


class KubeletTest(PluginCase):
    """Against each kind of kubelet, by each way of registering."""

    def each_kubelet(self):
        for era in ERAS:
            for way in WAYS:
                with self.subTest(era=era, **way):
                    self.both(era=era, **way)
                    self.wait_ready()
                    yield
                    self.check_that_pods_get_devices()
                    self.end_daemon()
                    self.kubelet.stop()
                    shutil.rmtree(self.kubelet_dir)
                    os.mkdir(self.kubelet_dir)

    def check_that_pods_get_devices(self):
        """Also a moment later: an old stream's end must not reach a new registration."""
        for number in range(3):
            self.wait_ready()
            self.assertEqual(len(self.kubelet.allocate(f"ml/after-{number}", HCA, 2).ids), 2)
            time.sleep(0.15)

    def test_a_restarted_kubelet_is_found(self):
        for _ in self.each_kubelet():
            for pause in (0, 0.2):
                self.kubelet.restart(pause)
                self.wait_ready()

    def test_a_lost_stream_is_made_good(self):
        for _ in self.each_kubelet():
            lost = self.endpoint()
            lost.stream.cancel()
            self.wait_for(lambda: self.endpoint() is not lost, "other endpoint")

    def test_wiped_sockets_are_made_good(self):
        for _ in self.each_kubelet():
            before = self.endpoint()
            for directory in ("device-plugins", "plugins_registry"):
                for name in self.sockets(directory) if os.path.isdir(
                        os.path.join(self.kubelet_dir, directory)) else []:
                    os.unlink(os.path.join(self.kubelet_dir, directory, name))
            self.wait_for(lambda: self.endpoint() is not before, "other endpoint")

    def test_a_killed_rdmad_comes_back(self):
        for _ in self.each_kubelet():
            allocation = self.kubelet.allocate("ml/before", HCA, 3).reply.envs["RDMAD_ALLOCATION"]
            before = self.endpoint()
            self.end_daemon(signal.SIGKILL)
            self.start_daemon()
            self.wait_for(lambda: self.endpoint() is not before
                          and self.kubelet.resources()[HCA]["connected"], "registration")
            self.assertIn(allocation, self.allocations())


class RollingUpdateTest(PluginCase):
    """A second rdmad starts after the first has ended.  One that gives over is in test-hand-over.py."""

    def admit_pods(self, refused):
        """One after the other until it is told to stop; `refused`: when each that was refused has begun."""
        number = 0
        while not self.enough.is_set():
            number += 1
            begun = time.monotonic()
            try:
                self.kubelet.allocate(f"ml/p{number}", HCA, 1)
                self.kubelet.release(f"ml/p{number}")
            except AdmissionError:
                refused.append(begun)
            time.sleep(0.002)

    def hand_over(self, how, wait_first):
        """Seconds without a plugin; fails when a pod is refused after it."""
        self.enough, refused = threading.Event(), []
        admission = threading.Thread(target=self.admit_pods, args=(refused,))
        old_endpoint, old = self.endpoint(), self.daemon
        admission.start()
        if wait_first:
            self.daemon = self.spawn_daemon()
            self.wait_for(lambda: "waiting for rdmad pid" in self.log(), "second that waits")
        time.sleep(0.2)
        self.assertEqual(refused, [], "the second disturbs nobody while it waits")
        begun = time.monotonic()
        old.send_signal(how)
        if not wait_first:
            old.wait(20)
            self.start_daemon()
        self.wait_for(lambda: self.endpoint() is not old_endpoint, "other endpoint")
        self.wait_ready()
        done = time.monotonic()
        time.sleep(0.5)
        self.enough.set()
        admission.join()
        self.assertEqual([round(t - done, 3) for t in refused if t > done], [])
        self.assertEqual(old.wait(20), 0 if how == signal.SIGTERM else -how)
        print(f"# {done - begun:.2f} s without a plugin, {len(refused)} pods refused", flush=True)
        return done - begun

    def check_hand_over(self, how, wait_first, **kubelet):
        def attempt():
            self.both(**kubelet)
            self.wait_ready()
            allocation = self.kubelet.allocate("ml/train-0", HCA, 3).reply.envs["RDMAD_ALLOCATION"]
            before = self.allocations()[allocation]["slots"]
            took = self.hand_over(how, wait_first)
            self.assertEqual(self.allocations()[allocation]["slots"], before)
            self.assertEqual(len(self.sockets("plugins_registry")), 1)
            self.start_over()
            return took

        self.check_soon(attempt, 2 if wait_first and not INSTRUMENTED else PATIENCE)

    def test_a_successor_that_waits_takes_over_from_a_killed_one(self):
        self.check_hand_over(signal.SIGKILL, True)

    def check_late_end(self, questions=0, **kubelet):
        """Kubelet notices the end of the killed one after it has begun the successor's stream, and has been
        asked this often for the devices that can be allocated."""
        self.both(**kubelet)
        self.wait_ready()
        before = self.endpoint()
        self.kubelet.manager.end_delay = 2 * PATIENCE
        self.end_daemon(signal.SIGKILL)
        asked_of = self.kubelet.pod_resources
        asked = asked_of.allocatable_asked
        self.start_daemon()
        self.wait_for(lambda: self.endpoint() is not before, "other endpoint")
        self.wait_ready()
        self.kubelet.manager.end_delay = 0
        second = self.endpoint()
        self.wait_for(lambda: second.messages and asked_of.allocatable_asked >= asked + questions,
                      "list of the second")
        self.kubelet.manager.disconnected(before, "noticed late")
        self.assertTrue(second.stopped)
        stopped = time.monotonic()
        self.wait_for(lambda: self.endpoint() is not second, "third endpoint")
        self.wait_ready()
        print(f"# {time.monotonic() - stopped:.1f} s without a plugin", flush=True)
        self.kubelet.allocate("ml/after", HCA)
        third = self.endpoint()
        time.sleep(3)       # that it is left alone
        self.assertIs(self.endpoint(), third)

    def test_kubelet_is_given_time_to_notice_the_end_of_a_killed_one(self):
        """Else it stops the new one, which nobody can see when its first list comes after that."""
        self.both(registry=False)
        self.wait_ready()
        before, manager = self.endpoint(), self.kubelet.manager
        manager.end_delay = 0.35
        self.end_daemon(signal.SIGKILL)
        self.start_daemon()
        self.wait_for(lambda: before.stopped and self.endpoint() is not before, "another endpoint")
        self.wait_ready()
        self.assertFalse(self.endpoint().stopped)
        self.kubelet.allocate("ml/after", HCA)

    def test_a_socket_is_not_replaced_before_kubelet_has_noticed_its_end(self):
        self.both(registry=False)
        self.wait_ready()
        before, manager = self.endpoint(), self.kubelet.manager
        manager.end_delay = 1
        for name in self.sockets("device-plugins"):
            os.unlink(os.path.join(self.kubelet_dir, "device-plugins", name))
        self.wait_for(lambda: self.endpoint() is not before, "another endpoint")
        second = self.endpoint()
        self.wait_for(lambda: before.stopped, "the end of the first")
        self.wait_ready()
        self.assertFalse(second.stopped)
        self.kubelet.allocate("ml/after", HCA)

    def test_a_stream_that_kubelet_has_stopped_is_noticed(self):
        self.check_late_end(registry=False)

    def test_a_stream_that_kubelet_stops_between_the_last_looks_is_noticed(self):
        self.check_late_end(4, registry=False)

    def test_a_stream_that_kubelet_has_stopped_is_noticed_in_the_registry_too(self):
        self.check_late_end(legacy=False)

    def test_a_successor_that_starts_afterwards_takes_over(self):
        self.check_hand_over(signal.SIGTERM, False)


class StateTest(PluginCase):
    def write_database(self):
        state = os.path.join(self.dir, "state")
        os.mkdir(state, 0o700)
        database = sqlite3.connect(os.path.join(state, "rdmad.db"))
        with open(os.path.join(HERE, "state-1.sql")) as file:
            database.executescript(file.read())
        database.close()

    def test_allocations_of_the_first_schema_are_read(self):
        self.write_database()
        self.both()
        self.wait_ready()
        self.assertNotIn("set aside", self.log())
        allocations = self.allocations()
        self.assertEqual(set(allocations), {"00112233445566aa", "00112233445566bb"})
        first = allocations["00112233445566aa"]
        self.assertEqual((first["namespace"], first["pod"], first["container"]),
                         ("ml", "train-0", "main"))
        self.assertEqual(first["slots"], ["0000:18:00.0::004", "0000:18:00.0::900"])
        self.assertEqual(first["attachments"],
                         [{"netns": "/run/netns/a", "interface": "net1", "device_name": "mlx5_0",
                           "addresses": ["192.0.2.7/24", "2001:db8::7/64"], "gid_index": 3}])
        self.assertIn("0000:18:00.0::900", self.kubelet.devices(HCA),
                      "what is held stays listed, whatever its number")

    def test_an_allocation_of_the_first_schema_can_be_granted_again(self):
        self.write_database()
        self.both()
        self.wait_ready()
        answer = self.allocate_raw(["0000:40:00.0::011"]).container_responses[0]
        self.assertIn(answer.envs["RDMAD_ALLOCATION"], self.allocations())
        self.assertNotEqual(answer.envs["RDMAD_ALLOCATION"], "00112233445566bb")


class MemoryTest(PluginCase):
    """Slots that kubelet gives again, passes on, and forgets."""

    RAILS = """modules = { device-plugin = { resources = ( { name = "rdma/rail"; mode = "exclusive";
        selectors = { names = ( "mlx5_0", "mlx5_1" ); }; }, { name = "rdma/hca"; count = 3;
        selectors = { names = "mlx5_2"; }; } ); }; };"""

    def admit(self, pod, count=1, container="main", init=False, name="rdma/rail"):
        return self.kubelet.allocate(pod, name, count, container, init).reply.envs["RDMAD_ALLOCATION"]

    def begin(self, **kubelet):
        self.both(self.RAILS, **kubelet)
        self.wait_ready(2, "rdma/rail")
        self.wait_ready(3)

    def refresh(self):
        found = self.ask("allocations", "--refresh")["allocations"]
        return {allocation["id"]: (allocation["pod"], allocation["container"]) for allocation in found}

    def directory_is_there(self, allocation):
        return os.path.isfile(os.path.join(self.dir, "run", "allocations", allocation, "nccl.conf"))

    def test_init_containers_with_another_count_keep_their_allocations_and_directories(self):
        self.begin()
        for first, second in ((2, 1), (1, 2), (2, 2)):
            init = self.admit("ml/a", first, "setup", init=True)
            main = self.admit("ml/a", second)
            self.assertEqual(self.refresh(), {init: ("a", None), main: ("a", "main")})
            self.assertTrue(self.directory_is_there(init))
            self.assertTrue(self.directory_is_there(main))
            self.kubelet.release("ml/a")
            self.assertEqual(self.refresh(), {})
            self.wait_for(lambda: not self.directory_is_there(init), "end of the directories")

    def events(self, allocation):
        return [event["kind"] for event in self.ask("events")["events"]
                if event["allocation"] == allocation]

    def test_a_slot_that_passes_to_the_next_pod_is_of_a_new_allocation(self):
        for era in ("1.30", "1.36"):
            with self.subTest(era):
                self.begin(era=era)
                first = self.admit("ml/a", 2)
                self.refresh()
                self.kubelet.complete("ml/a")
                second = self.admit("ml/b", 2)
                self.assertEqual(self.refresh(), {second: ("b", "main")})
                self.assertEqual(self.events(first),
                                 ["allocation-granted", "allocation-named", "allocation-ended"])
                self.assertEqual(self.events(second), ["allocation-granted", "allocation-named"])
                self.kubelet.release("ml/b")
                self.end_daemon()
                self.kubelet.stop()

    def lost_checkpoints(self):
        return [f["text"] for f in self.findings() if "checkpoint" in f["text"]]

    def forget(self):
        self.kubelet.restart(lose_checkpoint=True)
        self.wait_ready(2, "rdma/rail")
        self.wait_ready(3)

    def test_kubelet_without_its_checkpoint_gives_no_exclusive_device_of_a_living_pod(self):
        self.begin()
        allocation = self.admit("ml/a")
        self.refresh()
        self.forget()
        self.admit("ml/b")      # the other one: it has no allocation
        with self.assertRaises(AdmissionError) as caught:
            self.admit("ml/c")
        self.assertIn("is held by pod ml/a, container main, since 20", str(caught.exception))
        self.assertEqual(self.refresh()[allocation], ("a", "main"))
        # Two lists that lack the devices, some seconds apart, tell it from a kubelet that starts.
        self.wait_for(lambda: self.refresh() and self.lost_checkpoints(), "finding")
        [text] = self.lost_checkpoints()
        self.assertIn("ml/a", text)
        self.assertNotIn("ml/b", text)
        self.kubelet.release("ml/a")
        self.admit("ml/c")
        self.assertNotIn(allocation, self.refresh())
        self.assertEqual(self.lost_checkpoints(), [])

    def test_kubelet_without_its_checkpoint_gives_a_shared_slot_with_a_warning(self):
        self.begin()
        first = self.admit("ml/a", 3, name=HCA)
        self.refresh()
        self.forget()
        second = self.admit("ml/b", 1, name=HCA)
        self.assertEqual(self.refresh(), {first: ("a", "main"), second: ("b", "main")})
        self.assertIn("allocation-overlap", self.events(second))

    def test_a_restarted_kubelet_that_remembers_passes_slots_on(self):
        self.begin()
        first = self.admit("ml/a", 2)
        self.refresh()
        self.kubelet.restart()
        self.wait_ready(2, "rdma/rail")
        self.kubelet.release("ml/a")
        second = self.admit("ml/b", 2)
        self.assertEqual(self.refresh(), {second: ("b", "main")})
        self.wait_for(lambda: not self.directory_is_there(first), "end of the directory")


class RefreshTest(PluginCase):
    def test_a_refresh_tells_at_once_who_holds_what(self):
        self.both()
        self.wait_ready()
        allocation = self.kubelet.allocate("ml/train-0", HCA, 2, "worker").reply.envs["RDMAD_ALLOCATION"]
        [found] = self.ask("allocations", "--refresh")["allocations"]
        self.assertEqual((found["id"], found["pod"], found["container"]),
                         (allocation, "train-0", "worker"))

    def test_a_refresh_shows_no_allocation_of_a_pod_that_has_gone(self):
        self.both()
        self.wait_ready()
        allocations = [self.kubelet.allocate(f"ml/p{i}", HCA, 1).reply.envs["RDMAD_ALLOCATION"]
                  for i in range(2)]
        self.wait_for(lambda: all(c["pod"] for c in self.allocations().values()), "names")
        self.kubelet.release("ml/p0")
        found = self.ask("allocations", "--refresh")["allocations"]
        self.assertEqual([allocation["id"] for allocation in found], allocations[1:])


if __name__ == "__main__":
    tap.main(sys.argv[3:])
