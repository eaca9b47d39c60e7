#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Random sequences of what happens to a node; after each step allocations, kubelet's lists, the database
and the hardware must agree.

usage: test-sequences.py RDMAD MODULE-DIR [TEST...]

RDMAD_TEST_SEED=N repeats a run; RDMAD_TEST_SLOW=1 makes it longer and waits for the allocations of ended
pods to end; RDMAD_TEST_STEPS=N is for the one that counts its steps.
"""

import os
import random
import shutil
import signal
import sqlite3
import sys
import threading
import time

sys.dont_write_bytecode = True

from machine_changes import Machine, post  # noqa: E402
from plugin_case import HCA, SLOW, AdmissionError, PluginCase, tap  # noqa: E402
from fake.kubelet import ERAS  # noqa: E402

SEED = int(os.environ.get("RDMAD_TEST_SEED") or random.randrange(1 << 32))
SECONDS = 100 if SLOW else 40
RAIL = "rdma/rail"
RAILS = {"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"}
CONFIG = """modules = { device-plugin = { health_delay = 0; forget_delay = 1; resources = ( %s ); }; };"""
RAIL_GROUP = """{ name = "rdma/rail"; mode = "exclusive"; selectors = { names = ( %s ); }; }"""
HCA_GROUP = """{ name = "rdma/hca"; count = %d; selectors = { names = ( "*", %s ); }; }"""
PORT_STATE = "infiniband/%s/ports/1/state"


def quoted(names, mark=""):
    return ", ".join(f'"{mark}{name}"' for name in sorted(names))


class SequenceTest(PluginCase):
    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED)
        self.hardware = Machine(self.machine)
        self.pods = 0
        self.ids = {}           # device name -> stable id
        self.down, self.away = set(), set()
        self.with_rail, self.count = True, 200
        self.steps = []

    # ---- what may happen ----

    def pod(self):
        self.pods += 1
        return f"ml/p{self.pods}"

    def free(self, name):
        manager = self.kubelet.manager
        with manager.lock:
            resource = manager.resources.get(name)
            return len(resource.healthy - manager.in_use(name)) if resource else 0

    def act_allocate(self):
        """A settled node refuses nobody for whom there are devices, but for an exclusive device of a pod that
        kubelet had not named yet when it was restarted: that one is kept for about a minute."""
        name = self.random.choice([HCA, RAIL]) if self.with_rail else HCA
        count = self.random.randint(1, 3)
        free = self.free(name)
        try:
            self.kubelet.allocate(self.pod(), name, count)
        except AdmissionError as error:
            if self.settled and free >= count and "kubelet has not named" not in str(error):
                self.fail(f"{error} though {free} are free")

    def act_release(self):
        holders = [f"{namespace}/{pod}" for namespace, pod, _ in self.kubelet.pods()]
        if holders:
            self.kubelet.release(self.random.choice(holders))

    def act_flap(self):
        device = self.random.choice(sorted(set(self.ids) - self.away))
        self.down ^= {device}
        self.hardware.write(PORT_STATE % device,
                            "1: DOWN" if device in self.down else "4: ACTIVE")
        self.rescan()

    def act_plug(self):
        """At most two are away."""
        if len(self.away) == 2 or (self.away and self.random.random() < 0.5):
            device = self.random.choice(sorted(self.away))
            self.hardware.plug(device)
            self.away.remove(device)
        else:
            device = self.random.choice(sorted(set(self.ids) - self.away))
            self.hardware.unplug(device)
            self.away.add(device)
        self.rescan()

    def act_restart_kubelet(self):
        self.kubelet.restart(self.random.choice((0, 0.2)))

    def act_wipe_sockets(self):
        before = self.endpoint()
        for name in self.sockets("plugins_registry"):
            os.unlink(os.path.join(self.kubelet_dir, "plugins_registry", name))
        self.wait_for(lambda: self.endpoint() is not before, "other endpoint")

    def act_lose_stream(self):
        before = self.endpoint()
        if before is None or before.stopped:
            return      # it is lost already
        before.stream.cancel()
        self.wait_for(lambda: self.endpoint() is not before, "other endpoint")

    def act_reload(self):
        self.count = self.random.choice((100, 200, 300))
        self.with_rail = self.random.random() < 0.8
        self.write_config(self.config())
        before = self.log().count("config-reloaded")
        self.daemon.send_signal(signal.SIGHUP)
        self.wait_for(lambda: self.log().count("config-reloaded") > before, "reload")

    def act_restart(self):
        self.replace_daemon(self.random.choice((signal.SIGTERM, signal.SIGKILL)))

    def act_kill_while_pods_come(self):
        """Whether Allocate was answered is what counts."""
        def admit():
            for _ in range(50):
                try:
                    self.kubelet.allocate(self.pod(), HCA, 1)
                except AdmissionError:
                    return

        threads = [threading.Thread(target=admit) for _ in range(2)]
        for thread in threads:
            thread.start()
        time.sleep(self.random.random() / 20)
        self.replace_daemon(signal.SIGKILL)
        for thread in threads:
            thread.join()
        for number in range(max(0, self.pods - 100), self.pods + 1):    # room for others
            if self.random.random() < 0.9:
                self.kubelet.release(f"ml/p{number}")

    ACTIONS = {act_allocate: 12, act_release: 5, act_flap: 5, act_plug: 3, act_reload: 2,
               act_restart: 2, act_restart_kubelet: 2, act_kill_while_pods_come: 1,
               act_wipe_sockets: 1, act_lose_stream: 1}

    # ---- the daemon ----

    def config(self):
        groups = [HCA_GROUP % (self.count, quoted(RAILS, "!"))]
        if self.with_rail:
            groups.append(RAIL_GROUP % quoted(RAILS))
        return CONFIG % ", ".join(groups)

    def replace_daemon(self, how):
        before = self.endpoint()
        self.end_daemon(how)
        self.start_daemon(self.config())
        self.wait_for(self.answers, "control socket")
        self.wait_for(lambda: self.endpoint() is not before, "other endpoint")

    def answers(self):
        try:
            return self.rescan() < 300
        except OSError:
            return False

    def rescan(self):
        return post(self.socket, "/api/v1/rescan")

    # ---- what must be so ----

    def names(self):
        return [HCA, RAIL] if self.with_rail else [HCA]

    def members(self, name):
        return {device for device in self.ids if (device in RAILS) == (name == RAIL)}

    def list_is_right(self, name):
        """Each id says of its device what the hardware says; each good device is there."""
        resource = self.kubelet.resources().get(name)
        if resource is None or not resource["connected"]:
            return False
        good = {self.ids[device] for device in self.members(name) - self.away - self.down}
        seen = set()
        for id, (healthy, _) in self.kubelet.devices(name).items():
            stem = id.partition("::")[0]
            if healthy != (stem in good):
                return False
            seen.add(stem)
        return good <= seen and resource["capacity"] == self.slots(name)

    def slots(self, name):
        """As rdmad itself says."""
        for module in self.ask("status")["modules"]:
            for resource in module.get("status", {}).get("resources", []):
                if resource["name"] == name:
                    return resource["slots"]
        return None

    def gone(self):
        return not self.with_rail and self.kubelet.resources().get(RAIL, {}).get("connected")

    def settle(self):
        self.wait_for(lambda: all(map(self.list_is_right, self.names())) and not self.gone(),
                      f"agreement of kubelet and hardware; away {self.away}, down {self.down}, "
                      f"{self.describe()}")
        self.settled = True

    def describe(self):
        return f"RDMAD_TEST_SEED={SEED}, steps: {' '.join(self.steps[-20:])}"

    def check_allocations(self):
        """Each grant of kubelet's is an allocation with its slots and its id; no slot is held twice, but
        for allocations of pods that have just ended."""
        allocations = self.allocations()
        held = {grant.reply.envs["RDMAD_ALLOCATION"] for grant in self.kubelet.manager.grants.values()}
        slots = [(c["resource"], slot) for id, c in allocations.items() if id in held
                  for slot in c["slots"]]
        self.assertEqual(len(slots), len(set(slots)), self.describe())
        for (holder, name), grant in self.kubelet.manager.grants.items():
            allocation = allocations.get(grant.reply.envs["RDMAD_ALLOCATION"])
            self.assertIsNotNone(allocation, f"{holder} has lost its allocation; {self.describe()}")
            self.assertEqual((allocation["resource"], allocation["slots"]), (name, grant.ids),
                             self.describe())
            if name in self.names():
                self.assertLessEqual(set(grant.ids), set(self.kubelet.devices(name)),
                                     f"{holder}: not listed; {self.describe()}")
        self.wait_for(self.database_is_right, f"agreement of the database; {self.describe()}")

    def database_is_right(self):
        """Allocations of ended pods end meanwhile: it is looked at until both are of one moment."""
        slots = {(c["resource"], slot) for c in self.allocations().values() for slot in c["slots"]}
        try:
            return {(resource, slot) for resource, held in self.in_database().values() for slot in held} == slots
        except sqlite3.DatabaseError:
            return False

    def check_no_ghosts(self):
        """An allocation ends when its pod has been gone for a time that an admission may take."""
        held = {grant.reply.envs["RDMAD_ALLOCATION"] for grant in self.kubelet.manager.grants.values()}
        end = time.monotonic() + 100
        while set(self.allocations()) != held:
            self.assertLess(time.monotonic(), end, f"ghosts: {set(self.allocations()) - held}")
            self.ask("allocations", "--refresh")
            time.sleep(5)

    # ---- the test ----

    def step(self):
        action = self.random.choices(list(self.ACTIONS), list(self.ACTIONS.values()))[0]
        self.steps.append(action.__name__[4:])
        action(self)
        self.settled = False

    def test_all_views_agree_whatever_happens(self):
        era = self.random.choice(ERAS)
        print(f"# RDMAD_TEST_SEED={SEED}: a kubelet as {era}", flush=True)
        self.both(self.config(), era=era)
        self.wait_for(self.answers, "control socket")
        self.ids = {d["device_name"]: d["device_id"] for d in self.ask("devices")["devices"]}
        end, checks = time.monotonic() + SECONDS, 0
        self.settle()
        while time.monotonic() < end:
            for _ in range(self.random.choice((1, 1, 1, 2, 4))):
                self.step()
            self.settle()
            self.check_allocations()
            checks += 1
        print(f"# {len(self.steps)} steps, {checks} checks, {self.pods} pods", flush=True)
        if SLOW:
            self.check_no_ghosts()


class ExclusiveTest(PluginCase):
    """An exclusive device is never in two living pods, whatever is restarted in whatever order."""

    STEPS = int(os.environ.get("RDMAD_TEST_STEPS") or (10000 if SLOW else 250))
    CONFIG = CONFIG % (RAIL_GROUP % quoted(RAILS))

    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED)
        self.pods, self.boots = 0, 0
        self.steps, self.count = [], {}
        self.boot()

    def note(self, what):
        self.count[what] = self.count.get(what, 0) + 1

    def describe(self):
        return f"RDMAD_TEST_SEED={SEED}, steps: {' '.join(self.steps[-30:])}"

    # ---- pods ----

    WHY = {"not named": "refused: a pod without a name", "does not show": "refused: in doubt",
           "has forgotten": "refused: forgotten", "endpoint": "refused: no plugin",
           "unknown resource": "refused: no plugin"}

    def act_admit(self):
        """Some have an init container with another count."""
        self.pods += 1
        pod = f"ml/p{self.pods}"
        try:
            if self.random.random() < 0.25:
                self.kubelet.allocate(pod, RAIL, self.random.randint(1, 2), "setup", init=True)
            self.kubelet.allocate(pod, RAIL, self.random.randint(1, 2))
            self.note("admitted")
        except AdmissionError as error:
            self.note(next((why for word, why in self.WHY.items() if word in str(error)),
                           "refused: none free"))
            self.kubelet.release(pod)

    def any_pod(self, completed):
        names = [key for key, pod in self.kubelet.known.items() if pod.completed == completed]
        return "/".join(self.random.choice(names)) if names else None

    def act_end(self):
        pod = self.any_pod(False)
        if pod:
            self.kubelet.release(pod)

    def act_complete(self):
        pod = self.any_pod(False)
        if pod:
            self.kubelet.complete(pod)

    def act_delete(self):
        pod = self.any_pod(True)
        if pod:
            self.kubelet.release(pod)

    # ---- restarts ----

    def let_name(self):
        """Mostly: podresources is asked a quarter of a second after an Allocate."""
        if self.random.random() < 0.8:
            time.sleep(0.35)

    def act_restart_kubelet(self):
        self.let_name()
        self.kubelet.restart(self.random.choice((0, 0.02)))
        self.settle()

    def act_lose_checkpoint(self):
        self.let_name()
        self.kubelet.restart(lose_checkpoint=True)
        self.settle()

    def act_restart(self):
        self.let_name()
        self.end_daemon(self.random.choice((signal.SIGTERM, signal.SIGKILL)))
        if self.random.random() < 0.3:      # meanwhile
            self.kubelet.restart(lose_checkpoint=self.random.random() < 0.5)
        self.start_and_wait()
        self.settle()

    def start_and_wait(self):
        """Until it is there: a signal before that is not its own to handle."""
        before = self.log().count("is ready")
        self.start_daemon(self.CONFIG)
        self.wait_for(lambda: self.log().count("is ready") > before, "ready daemon")

    def boot(self):
        self.boots += 1
        path = os.path.join(self.machine, "proc", "sys", "kernel", "random")
        os.makedirs(path, exist_ok=True)
        with open(os.path.join(path, "boot_id"), "w") as file:
            file.write(f"boot-{self.boots}\n")

    def restart_node(self):
        """No process outlives it."""
        self.end_daemon(signal.SIGKILL)
        self.kubelet.stop()
        shutil.rmtree(os.path.join(self.dir, "run"), ignore_errors=True)
        self.boot()
        for pod in self.kubelet.known.values():
            pod.devices = {}
        self.kubelet.start()
        self.start_and_wait()
        self.wait_ready(len(RAILS), RAIL)

    def act_restart_node(self):
        """Half of the pods start again with what kubelet's checkpoint says, or by another admission
        where it says nothing; the others have failed."""
        self.restart_node()
        for namespace, name in list(self.kubelet.known):
            pod = self.kubelet.known[(namespace, name)]
            if pod.completed:
                continue
            if self.random.random() < 0.5:
                self.kubelet.complete(f"{namespace}/{name}")
                continue
            try:
                self.kubelet.allocate(f"{namespace}/{name}", RAIL)
            except AdmissionError:
                self.kubelet.release(f"{namespace}/{name}")

    def settle(self):
        """Mostly; else what comes next meets whatever there is."""
        if self.random.random() < 0.8:
            self.wait_ready(len(RAILS), RAIL)

    ACTIONS = {act_admit: 40, act_end: 25, act_complete: 8, act_delete: 8, act_restart_kubelet: 3,
               act_lose_checkpoint: 3, act_restart: 4, act_restart_node: 3}

    # ---- what must be so ----

    def story(self, id):
        """Of one device, and what its allocations became."""
        lines = self.log().splitlines()
        allocations = {line.rpartition("allocation=")[2] for line in lines if id in line and "allocation=" in line}
        wanted = [line for line in lines if any(allocation in line for allocation in allocations)
                  or "kubelet says" in line or "is ready" in line]
        return "\n".join(wanted[-60:])

    def check(self):
        holders = {}
        for pod, ids in self.kubelet.live().items():
            for id in ids:
                self.assertNotIn(id, holders, f"{id[1]} is in {pod} and in {holders.get(id)}; "
                                 f"{self.describe()}\n{self.story(id[1])}")
                holders[id] = pod

    def test_a_pod_that_the_checkpoint_started_after_the_node_keeps_its_devices(self):
        """Kubelet asked nothing for it, and loses the checkpoint before rdmad has seen a list."""
        self.both(self.CONFIG)
        self.wait_ready(len(RAILS), RAIL)
        self.kubelet.allocate("ml/before", RAIL, len(RAILS))
        self.restart_node()
        self.kubelet.allocate("ml/before", RAIL, len(RAILS))
        self.end_daemon(signal.SIGKILL)
        self.kubelet.restart(lose_checkpoint=True)
        self.start_and_wait()
        self.wait_ready(len(RAILS), RAIL)
        with self.assertRaises(AdmissionError):
            self.kubelet.allocate("ml/after", RAIL)
        self.check()

    def test_an_exclusive_device_is_in_one_living_pod(self):
        era = self.random.choice(ERAS)
        print(f"# RDMAD_TEST_SEED={SEED}: a kubelet as {era}", flush=True)
        self.both(self.CONFIG, era=era)
        self.wait_ready(len(RAILS), RAIL)
        for number in range(self.STEPS):
            action = self.random.choices(list(self.ACTIONS), list(self.ACTIONS.values()))[0]
            self.steps.append(action.__name__[4:])
            self.note(action.__name__[4:])
            action(self)
            self.check()
            if number % 1000 == 999:
                print(f"# {number + 1} steps", flush=True)
        print(f"# {self.STEPS} steps: {self.count}", flush=True)
        self.assertGreater(self.count.get("admitted", 0), 0)


if __name__ == "__main__":
    tap.main(sys.argv[3:])
