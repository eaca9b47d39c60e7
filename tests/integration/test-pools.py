#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Which devices stand in which resource, in which mode: test-pools.py RDMAD MODULE-DIR [TEST...]"""

import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True

import grpc  # noqa: E402

from plugin_case import PATIENCE, RDMAD, TESTS, AdmissionError, PluginCase, tap  # noqa: E402

PROFILES = os.path.join(os.path.dirname(TESTS), "etc", "profiles")
VKE = "vke.volcengine.com/rdma"


class PoolsCase(PluginCase):
    def tell(self, *words):
        subprocess.run([RDMAD, "attributes", *words, "--socket", self.socket], check=True,
                       timeout=PATIENCE)

    def events(self, kind):
        return [event["message"] for event in self.ask("events")["events"]
                if event["kind"] == kind]

    def reload(self, config):
        self.write_config(config)
        self.daemon.send_signal(signal.SIGHUP)

    def profile(self, text, **kubelet):
        self.start_kubelet(**kubelet)
        self.start_daemon(text, "--profile-dir", PROFILES)


class PoolsTest(PoolsCase):
    # ---- profiles ----

    def test_one_of_rdma_hca_is_every_device(self):
        self.profile('profile = "ack";')
        self.wait_ready(1000, "rdma/hca")
        reply = self.kubelet.allocate("ml/a", "rdma/hca", 1).reply
        nodes = {spec.host_path for spec in reply.devices}
        self.assertEqual(len([node for node in nodes if "uverbs" in node]), 11)
        self.assertIn("/dev/infiniband/rdma_cm", nodes)

    def test_a_pod_gets_one_of_each_of_the_two_shared_resources(self):
        self.profile('profile = "mellanox-shared";')
        for name in ("rdma/rdma_shared_device_a", "rdma/rdma_shared_device_b"):
            self.wait_ready(1000, name)
            self.assertTrue(self.kubelet.allocate("ml/a", name, 1).reply.devices)
        self.assertEqual(self.events("resource-conflict"), [])

    def test_what_the_main_file_says_wins_over_its_profile(self):
        self.profile('profile = "ack"; modules = { device-plugin = { resources = '
                     '( { name = "rdma/mine"; count = 22; } ); }; };')
        self.wait_ready(22, "rdma/mine")
        self.assertNotIn("rdma/hca", self.kubelet.resources())

    # ---- the mode from a label ----

    def test_the_mode_follows_the_label_of_the_node(self):
        self.profile('profile = "vke"; '
                     'attributes = ( { name = "label:vke.node.rdma.mode"; value = "exclusive"; } );')
        self.wait_ready(11, VKE)
        self.assertNotIn("::", "".join(self.kubelet.devices(VKE)))
        held = self.kubelet.allocate("ml/a", VKE, 1)
        self.tell("set", "label:vke.node.rdma.mode", "shared-multi")
        self.wait_ready(10 * 16 + 1, VKE)   # the device of ml/a has no room for others
        self.assertTrue(set(held.ids) <= set(self.kubelet.devices(VKE)))
        self.assertTrue(self.kubelet.devices(VKE)[held.ids[0]][0])
        self.tell("set", "label:vke.node.rdma.mode", "shared")
        self.wait_ready(11, VKE)
        self.tell("set", "label:vke.node.rdma.mode", "both")
        self.wait_for(lambda: self.events("mode-unknown"), "word of the unknown mode")
        self.assertIn('"both"', self.events("mode-unknown")[0])
        self.tell("unset", "label:vke.node.rdma.mode")
        self.assertEqual(self.ask("status")["modules"][0]["status"]["resources"][0]["mode"],
                         "shared")

    def test_a_reload_keeps_the_last_good_mode(self):
        text = 'profile = "vke"; log = { level = "%s"; };'
        self.profile(text % "debug")
        self.wait_ready(11, VKE)
        self.tell("set", "label:vke.node.rdma.mode", "shared-multi")
        self.wait_ready(176, VKE)
        self.tell("unset", "label:vke.node.rdma.mode")
        self.reload(text % "info")
        self.wait_for(lambda: self.events("config-reloaded"), "reload")
        self.wait_ready(176, VKE)

    def test_ids_that_another_plugin_gave_away_are_understood(self):
        self.both('modules = { device-plugin = { resources = ( '
                  '{ name = "rdma/x"; mode = "shared-multi"; } ); }; };')
        self.wait_ready(11 * 16, "rdma/x")
        stem = sorted(self.kubelet.devices("rdma/x"))[0].split("::")[0]
        endpoint = self.endpoint("rdma/x")
        reply = endpoint.allocate([f"{stem}@7"])
        allocation = self.allocations()[reply.envs["RDMAD_ALLOCATION"]]
        self.assertEqual(allocation["slots"], [f"{stem}::07"])
        self.assertEqual(allocation["mode"], "shared-multi")
        self.end_daemon(signal.SIGKILL)
        self.start_daemon()
        self.wait_for_socket()
        self.wait_ready(1000)
        self.assertIn("shared-multi", [allocation["mode"] for allocation in self.allocations().values()])

    # ---- devices that several resources select ----

    def test_two_resources_of_one_device_are_told_and_the_first_has_it(self):
        self.both("""modules = { device-plugin = { resources = (
            { name = "rdma/a"; count = 9; selectors = { names = "mlx5_[!8]"; }; },
            { name = "rdma/b"; count = 9; selectors = { names = ( "mlx5_0", "mlx5_8" ); }; },
            { name = "rdma/c"; count = 9; selectors = { names = "mlx5_0*"; };
              shared_with = ( "rdma/a", "rdma/b" ); } ); }; };""".replace("[!8]", "0"))
        self.wait_ready(9, "rdma/a")
        self.wait_ready(9, "rdma/b")
        self.wait_ready(9, "rdma/c")
        ids = {name: {id.split(":")[0] + id.split(":")[1] for id in self.kubelet.devices(name)}
               for name in ("rdma/a", "rdma/b", "rdma/c")}
        self.assertEqual(ids["rdma/a"] & ids["rdma/b"], set())
        self.assertEqual(ids["rdma/a"], ids["rdma/c"])
        conflict, = self.events("resource-conflict")
        self.assertIn("rdma/a and rdma/b", conflict)

    # ---- live ----

    def test_a_resource_that_goes_leaves_its_allocations_and_the_others_alone(self):
        rail = '{ name = "rdma/rail"; count = 8; selectors = { names = "mlx5_0"; }; }'
        storage = '{ name = "rdma/storage"; count = %d; selectors = { names = "mlx5_8"; }; }'
        whole = "modules = { device-plugin = { resources = ( %s ); }; };"
        self.both(whole % f"{rail}, {storage % 10}")
        self.wait_ready(8, "rdma/rail")
        self.wait_ready(10, "rdma/storage")
        socket = self.endpoint("rdma/rail")
        allocation = self.kubelet.allocate("ml/a", "rdma/storage", 1).reply.envs["RDMAD_ALLOCATION"]
        self.reload(whole % f"{rail}, {storage % 20}")
        self.wait_ready(20, "rdma/storage")
        self.reload(whole % rail)
        self.wait_for(lambda: not self.kubelet.resources()["rdma/storage"]["connected"],
                      "end of the resource")
        self.assertIn(allocation, self.allocations())
        self.assertEqual(self.endpoint("rdma/rail"), socket)
        self.reload(whole % f"{storage % 20}, {rail}")
        self.wait_ready(20, "rdma/storage")
        self.assertIn(allocation, self.allocations())
        self.assertEqual(self.endpoint("rdma/rail"), socket)


RAILS = 'selectors = { names = ( "mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3" ); };'
RAIL = f'{{ name = "rdma/rail"; mode = "exclusive"; {RAILS} }}'
POOL_B = f'{{ name = "rdma/poolb"; mode = "exclusive"; {RAILS} }}'
SHARED = f'{{ name = "rdma/%s"; count = 40; {RAILS} }}'


class HoldersTest(PoolsCase):
    """training/owner holds devices, and an operator changes the configuration; other/victim asks."""

    # before, name and count of the owner's slots; after, the resource in question, its slots, those that are healthy
    # while the owner lives, and what withholds the others
    CHANGES = {
        "a renamed resource": (RAIL, "rdma/rail", 4, POOL_B, "rdma/poolb", 4, 0, "rdma/rail"),
        "exclusive, then shared by another name": (RAIL, "rdma/rail", 4, SHARED % "hca", "rdma/hca", 40, 0, "rdma/rail"),
        "one of four": (RAIL, "rdma/rail", 1, SHARED % "hca", "rdma/hca", 40, 30, "rdma/rail"),
        "shared, then exclusive by another name": (SHARED % "hca", "rdma/hca", 4, POOL_B, "rdma/poolb", 4, 0, "rdma/hca"),
        "shared, then shared by another name": (SHARED % "a", "rdma/a", 4, SHARED % "b", "rdma/b", 40, 40, None),
        "exclusive, then shared by the same name":
            (RAIL, "rdma/rail", 4, SHARED % "rail", "rdma/rail", 40, 4, "rdma/rail"),
        "a pool that is exposed, then exclusive by another name":
            ((SHARED % "hca")[:-1] + 'expose = "pool"; }', "rdma/hca", 1, POOL_B, "rdma/poolb", 4, 0, "rdma/hca"),
        "a pool that is exposed, then exclusive by the same name":
            ((SHARED % "rail")[:-1] + 'expose = "pool"; }', "rdma/rail", 1, RAIL, "rdma/rail", 4, 1, "rdma/rail"),
        "devices that move to another resource":
            (RAIL, "rdma/rail", 4,
             '{ name = "rdma/rail"; mode = "exclusive"; selectors = { names = "mlx5_0"; }; }, '
             '{ name = "rdma/storage"; mode = "exclusive"; selectors = { names = ( "mlx5_1", "mlx5_2", "mlx5_8" ); }; }',
             "rdma/storage", 3, 1, "rdma/rail"),
    }

    @staticmethod
    def config(resources):
        return f"modules = {{ device-plugin = {{ resources = ( {resources} ); }}; }};"

    def by_reload(self, resources):
        self.reload(self.config(resources))

    def by_restart(self, resources):
        self.end_daemon()
        self.start_daemon(self.config(resources))
        self.wait_for_socket()

    def by_hand_over(self, resources):
        first, self.daemon = self.daemon, None
        self.start_daemon(self.config(resources))
        self.wait_for(lambda: "waiting for rdmad pid" in self.log(), "second that waits")
        first.send_signal(signal.SIGTERM)
        self.assertEqual(first.wait(PATIENCE), 0, self.log())
        self.wait_for_socket()

    def status(self, name):
        [resource] = [resource for resource in self.ask("status")["modules"][0]["status"]["resources"]
                      if resource["name"] == name]
        return resource

    def wait_listed(self, name, capacity, healthy):
        def listed():
            found = self.kubelet.resources().get(name)
            return found and found["connected"] and (found["capacity"], found["allocatable"]) == (capacity, healthy)

        self.wait_for(listed, f"{healthy} of {capacity} {name}")

    def refused(self, name):
        """The texts of Allocates of the unhealthy slots, which kubelet does not make."""
        texts = []
        for slot, (healthy, _) in self.kubelet.devices(name).items():
            if not healthy:
                with self.assertRaises(grpc.RpcError) as caught:
                    self.allocate_raw([slot], name=name)
                texts.append(caught.exception.details())
        return texts

    def end_owner(self):
        self.kubelet.release("training/owner")

    def check_change(self, change, case):
        before, held, count, after, name, slots, healthy, holder = case
        self.both(self.config(before))
        self.wait_for(lambda: self.kubelet.resources().get(held, {}).get("allocatable"), "slots")
        self.kubelet.allocate("training/owner", held, count)
        self.ask("allocations", "--refresh")
        change(after)
        capacity = slots if (name, count) != ("rdma/rail", 1) else healthy + 3
        self.wait_listed(name, capacity, healthy)
        if holder:
            text = f"held by training/owner as {holder}"
            self.assertTrue([line for line in self.status(name)["unhealthy"] if text in line])
            self.assertTrue([message for message in self.events("device-withheld") if text in message])
            self.assertTrue([found for found in self.findings() if found["level"] == "problem" and text in found["text"]])
            device = next(d for d in self.ask("devices")["devices"] if d["health_reason"] == text)
            self.assertEqual(device["health"], "unhealthy")
            reasons = {r["name"]: (r["selected"], r["reason"])
                       for r in self.ask("explain", device["device_name"])["resources"]}
            self.assertEqual(reasons[name], (True, text))
            for refusal in self.refused(name):
                self.assertRegex(refusal, f"^{name}: .* is held by pod training/owner, container main, .* as {holder} ")
            if not healthy:
                with self.assertRaises(AdmissionError):
                    self.kubelet.allocate("other/victim", name, 1)
        self.assertEqual(len(self.ask("allocations", "--refresh")["allocations"]), 1)
        self.end_owner()
        self.ask("allocations", "--refresh")
        self.wait_for(lambda: self.ask("allocations", "--refresh")["allocations"] == [], "end of the allocation")
        self.wait_listed(name, slots, slots)
        self.assertEqual(self.status(name)["unhealthy"], [])
        self.assertEqual(len(self.events("device-released")), len(self.events("device-withheld")))
        self.kubelet.allocate("other/victim", name, 1)

    def test_a_device_that_is_held_is_not_given_under_another_name_or_mode(self):
        for name, case in self.CHANGES.items():
            with self.subTest(name):
                self.check_change(self.by_reload, case)
                self.start_over()

    def test_nor_after_a_restart_with_another_configuration(self):
        self.check_change(self.by_restart, self.CHANGES["a renamed resource"])

    def test_nor_by_a_second_rdmad_with_another_configuration(self):
        self.check_change(self.by_hand_over, self.CHANGES["exclusive, then shared by another name"])

    def test_nor_are_the_devices_of_a_pod_whose_node_changes_its_mode_by_a_label(self):
        self.profile('profile = "vke"; '
                     'attributes = ( { name = "label:vke.node.rdma.mode"; value = "exclusive"; } );')
        self.wait_ready(11, VKE)
        self.kubelet.allocate("training/owner", VKE, 11)
        self.tell("set", "label:vke.node.rdma.mode", "shared")
        self.wait_listed(VKE, 11, 11)
        self.assertEqual(self.events("device-withheld"), [])    # each slot that is listed is the owner's
        with self.assertRaises(AdmissionError):
            self.kubelet.allocate("other/victim", VKE, 1)
        self.tell("set", "label:vke.node.rdma.mode", "shared-multi")
        self.wait_listed(VKE, 11 * 16, 11)
        with self.assertRaises(AdmissionError):
            self.kubelet.allocate("other/victim", VKE, 1)

    def test_a_container_is_not_exposed_to_a_device_that_another_has_alone(self):
        self.both(self.config(RAIL))
        self.wait_ready(4, "rdma/rail")
        held = self.kubelet.allocate("training/owner", "rdma/rail", 1)
        self.by_reload((SHARED % "hca")[:-1] + 'expose = "pool"; }')
        self.wait_listed("rdma/hca", 40, 30)
        reply = self.kubelet.allocate("other/victim", "rdma/hca", 1).reply
        nodes = {spec.host_path for spec in reply.devices if "uverbs" in spec.host_path}
        self.assertEqual(len(nodes), 3)
        self.assertFalse(nodes & {spec.host_path for spec in held.reply.devices})

    def test_the_holder_is_named_once_kubelet_has_named_it(self):
        self.both(self.config(RAIL))
        self.wait_ready(4, "rdma/rail")
        self.allocate_raw(["0000:18:00.0"], name="rdma/rail")
        self.by_reload(POOL_B)
        self.wait_listed("rdma/poolb", 4, 3)
        self.assertIn("held by a pod that kubelet has not named, as rdma/rail", self.status("rdma/poolb")["unhealthy"][0])
        self.kubelet.hold("training/owner", "rdma/rail", ["0000:18:00.0"])
        self.ask("allocations", "--refresh")
        self.wait_for(lambda: "held by training/owner as rdma/rail" in self.status("rdma/poolb")["unhealthy"][0], "name")
        self.assertEqual(len(self.events("device-withheld")), 1)


class ErdmaTest(PoolsCase):
    MACHINE = "erdma"

    def test_two_hundred_a_device_by_the_name_of_the_device(self):
        self.profile('profile = "ack-erdma";')
        devices = self.ask_devices()
        self.wait_ready(200 * len(devices), "aliyun/erdma")
        self.assertEqual(set(self.kubelet.devices("aliyun/erdma")),
                         {f"{name}/{number}" for name in devices for number in range(200)})

    def ask_devices(self):
        self.wait_for_socket()
        self.wait_for(lambda: self.ask("devices")["devices"], "devices")
        return [device["device_name"] for device in self.ask("devices")["devices"]
                if device["driver"] == "erdma"]


class VirtualFunctionsTest(PoolsCase):
    MACHINE = "sriov"
    VFS = """modules = { device-plugin = { resources = (
        { name = "rdma/vf"; mode = "exclusive"; ignore_health = true;
          selectors = { pf_names = "ens1f0np0#%s"; }; },
        { name = "rdma/hca"; count = 30; ignore_health = true; %s
          selectors = { exclude = { pf_names = "ens1f0np0#0-7"; }; }; } ); }; };"""

    def explain(self, device):
        return {resource["name"]: resource["reason"]
                for resource in self.ask("explain", device)["resources"]}

    def test_a_range_of_virtual_functions_and_why_others_are_not_in_it(self):
        self.both(self.VFS % ("0-1", ""))
        self.wait_ready(2, "rdma/vf")
        self.assertEqual(set(self.kubelet.devices("rdma/vf")), {"0000:3b:00.2", "0000:3b:00.3"})
        self.assertIsNone(self.explain("mlx5_2")["rdma/vf"])
        self.assertIn("pf_names: ens1f0np0, which is not", self.explain("mlx5_4")["rdma/vf"])
        self.assertIn("exclude: pf_names", self.explain("0000:3b:00.2")["rdma/hca"])

    def test_a_physical_function_in_use_is_not_handed_out(self):
        self.both(self.VFS % ("0-1", ""))
        self.wait_ready(30, "rdma/hca")
        self.assertEqual({id.rsplit("::", 1)[0] for id in self.kubelet.devices("rdma/hca")},
                         {"0000:3b:00.1", "0000:3b:00.1-mlx5_core.sf.4"})
        self.assertIn("mlx5_2 is in rdma/vf", self.explain("mlx5_0")["rdma/hca"])

    def test_unless_the_resource_takes_it_all_the_same(self):
        self.both(self.VFS % ("0-1", "busy_pfs = true;"))
        self.wait_ready(30, "rdma/hca")
        self.assertIn("0000:3b:00.0::00", self.kubelet.devices("rdma/hca"))

    def test_an_interface_that_went_to_a_pod_is_use(self):
        self.both(self.VFS % ("7", ""))
        self.wait_ready(30, "rdma/hca")
        self.assertIn("interface of its virtual function mlx5_5 is in a pod",
                      self.explain("mlx5_0")["rdma/hca"])

    def rdmad(self, *words):
        return subprocess.run([RDMAD, *words, "--socket", self.socket], capture_output=True,
                              text=True, timeout=PATIENCE, check=False)

    def test_a_module_s_command_is_one_of_rdmad(self):
        self.both(self.VFS % ("0-1", ""))
        self.wait_ready(30, "rdma/hca")
        table = self.rdmad("explain", "mlx5_0").stdout.splitlines()
        self.assertEqual(table[0].split(), ["RESOURCE", "SELECTED", "REASON"])
        self.assertEqual({line.split()[0] for line in table[1:]}, {"rdma/vf", "rdma/hca"})
        self.assertEqual(self.rdmad("explain", "--no-headers", "mlx5_0").stdout.splitlines(), table[1:])
        usage = self.rdmad("explain", "--help")
        self.assertEqual((usage.returncode, usage.stdout.splitlines()[0]),
                         (0, "usage: rdmad explain DEVICE [OPTION]..."))
        self.assertIn("explain", self.rdmad("commands").stdout)
        for words, text in ((("explain", "a", "b"), 'unexpected argument "b"'),
                            (("explain", "--bogus"), "bogus"),
                            (("explain", "--jsno"), "did you mean `--json`?"),
                            (("explian", "a"), "did you mean `explain`?"),
                            (("nonsense",), 'unknown command "nonsense"; see `rdmad help`')):
            wrong = self.rdmad(*words)
            self.assertEqual((wrong.returncode, wrong.stdout), (2, ""), words)
            self.assertIn(text, wrong.stderr)
            self.assertEqual(len(wrong.stderr.splitlines()), 1, wrong.stderr)

    def test_a_module_s_command_finds_the_socket_in_each_form_of_the_option(self):
        self.both(self.VFS % ("0-1", ""))
        self.wait_ready(30, "rdma/hca")
        for words in (("-s", self.socket), (f"-s{self.socket}",), ("-js", self.socket), ("--sock", self.socket),
                      (f"--socket={self.socket}",), ("--socket", "/none", "--socket", self.socket)):
            with self.subTest(words):
                done = subprocess.run([RDMAD, "explain", *words, "mlx5_0"], capture_output=True, text=True,
                                      timeout=PATIENCE, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn("rdma/vf", done.stdout)

    def test_who_asks_for_no_device_is_told_so(self):
        self.both(self.VFS % ("0-1", ""))
        self.wait_ready(30, "rdma/hca")
        for words, status, text in ((("mlx5_99",), 1, "mlx5_99"), ((), 2, "needs DEVICE")):
            run = subprocess.run([RDMAD, "explain", *words, "--socket", self.socket],
                                 capture_output=True, text=True, timeout=PATIENCE, check=False)
            self.assertEqual(run.returncode, status)
            self.assertIn(text, run.stderr)


tap.main()
