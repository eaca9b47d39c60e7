#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Random sequences of what happens to a node; after each step claims, kubelet's lists, the database
and the hardware must agree.

usage: test-sequences.py RDMAD MODULE-DIR [TEST...]

RDMAD_TEST_SEED=N repeats a run; RDMAD_TEST_SLOW=1 makes it longer and waits for the claims of ended
pods to end.
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
from standin.kubelet import ERAS  # noqa: E402

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
        self.ids = {}           # kernel name -> stable id
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
        """A settled node refuses nobody for whom there are devices."""
        name = self.random.choice([HCA, RAIL]) if self.with_rail else HCA
        count = self.random.randint(1, 3)
        free = self.free(name)
        try:
            self.kubelet.allocate(self.pod(), name, count)
        except AdmissionError as error:
            if self.settled and free >= count:
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
        return good <= seen and resource["capacity"] == self.tokens(name)

    def tokens(self, name):
        """As rdmad itself says."""
        for module in self.ask("status")["modules"]:
            for resource in module.get("status", {}).get("resources", []):
                if resource["name"] == name:
                    return resource["tokens"]
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

    def check_claims(self):
        """Each grant of kubelet's is a claim with its tokens and its id; no token is held twice."""
        claims = self.claims()
        tokens = [(c["resource"], token) for c in claims.values() for token in c["tokens"]]
        self.assertEqual(len(tokens), len(set(tokens)), self.describe())
        for (holder, name), grant in self.kubelet.manager.grants.items():
            claim = claims.get(grant.reply.envs["RDMAD_CLAIM"])
            self.assertIsNotNone(claim, f"{holder} has lost its claim; {self.describe()}")
            self.assertEqual((claim["resource"], claim["tokens"]), (name, grant.ids),
                             self.describe())
            if name in self.names():
                self.assertLessEqual(set(grant.ids), set(self.kubelet.devices(name)),
                                     f"{holder}: not listed; {self.describe()}")
        self.wait_for(self.database_is_right, f"agreement of the database; {self.describe()}")

    def database_is_right(self):
        """Claims of ended pods end meanwhile: it is looked at until both are of one moment."""
        tokens = {(c["resource"], token) for c in self.claims().values() for token in c["tokens"]}
        try:
            return self.tokens_in_database() == tokens
        except sqlite3.DatabaseError:
            return False

    def tokens_in_database(self):
        copy = os.path.join(self.dir, "copy")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(os.path.join(self.dir, "state"), copy)
        database = sqlite3.connect(os.path.join(copy, "rdmad.db"))
        try:
            return set(database.execute("SELECT resource, token FROM tokens").fetchall())
        finally:
            database.close()

    def check_no_ghosts(self):
        """A claim ends when its pod has been gone for a time that an admission may take."""
        held = {grant.reply.envs["RDMAD_CLAIM"] for grant in self.kubelet.manager.grants.values()}
        end = time.monotonic() + 100
        while set(self.claims()) != held:
            self.assertLess(time.monotonic(), end, f"ghosts: {set(self.claims()) - held}")
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
        self.ids = {d["name"]: d["id"] for d in self.ask("devices")["devices"]}
        end, checks = time.monotonic() + SECONDS, 0
        self.settle()
        while time.monotonic() < end:
            for _ in range(self.random.choice((1, 1, 1, 2, 4))):
                self.step()
            self.settle()
            self.check_claims()
            checks += 1
        print(f"# {len(self.steps)} steps, {checks} checks, {self.pods} pods", flush=True)
        if SLOW:
            self.check_no_ghosts()


if __name__ == "__main__":
    tap.main(sys.argv[3:])
