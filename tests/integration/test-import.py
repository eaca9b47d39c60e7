#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""rdmad import-config as people call it: RDMAD EXPAND MODULE-DIR IMPORT-DIR"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import tap  # noqa: E402
from machine_daemon import MODULES, RDMAD, Daemon  # noqa: E402

FILES = sys.argv[4]
IMPORTER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../contrib/import")


def run(*args, **kwargs):
    return subprocess.run([RDMAD, *args], capture_output=True, text=True, check=False, **kwargs)


def check(text):
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        file.write(text)
        file.flush()
        return run("--check", "--config", file.name, "--module-dir", MODULES)


def inputs():
    return sorted(name for name in os.listdir(FILES) if not name.endswith(".conf"))


class ImportConfig(unittest.TestCase):
    def test_every_file_becomes_a_configuration_that_rdmad_takes(self):
        for name in inputs():
            with self.subTest(name):
                done = run("import-config", os.path.join(FILES, name))
                self.assertEqual(done.returncode, 0)
                checked = check(done.stdout)
                self.assertEqual((checked.returncode, checked.stderr), (0, ""))

    def test_what_is_lost_is_on_stderr_and_in_the_file(self):
        done = run("import-config", os.path.join(FILES, "sriov-every-key.json"))
        self.assertEqual(done.returncode, 0)
        notes = done.stderr.splitlines()
        self.assertGreater(len(notes), 5)
        for note in notes:
            self.assertIn(note.replace("rdmad: ", "# ", 1) + "\n", done.stdout)

    def test_standard_input_will_do(self):
        done = run("import-config", "-", input='{"mode": "hca"}')
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("from standard input", done.stdout)
        self.assertIn('"rdma/hca"', done.stdout)

    def test_a_prefix_and_a_key_can_be_given(self):
        done = run("import-config", "-p", "openshift.io", "--key", "config.json",
                   os.path.join(FILES, "sriov-configmap.yaml"))
        self.assertEqual(done.returncode, 0)
        self.assertIn('"openshift.io/infiniband_rdma_netdevs"', done.stdout)
        self.assertIn('"mellanox.com/mlnx_sriov_rdma"', done.stdout)

    def test_a_bad_file_is_exit_status_1_and_prints_no_configuration(self):
        for args, text, message in (
                ((FILES + "/nothing",), "", f"rdmad: cannot open {FILES}/nothing: No such file"),
                ((FILES,), "", f"rdmad: cannot read {FILES}: Is a directory"),
                (("-",), "{", "rdmad: standard input:1:1: string or '}' expected"),
                (("-",), "", "rdmad: standard input: neither configList"),
                (("-",), " " * (1 << 20) + "{}", "rdmad: standard input: larger than 1 MiB"),
                (("-",), "\x1b[2J: [", "rdmad: standard input:1:1: control characters"),
                (("-",), "a: [\x1b[2J", "rdmad: standard input:1:5: control characters"),
                (("-",), '{"mode": "\\u001b[2J"}', 'mode: "\\x1b[2J" is neither')):
            with self.subTest(message):
                done = run("import-config", *args, input=text)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertIn(message, done.stderr)
                self.assertNotIn("\x1b", done.stderr)

    def test_an_output_that_cannot_be_written_is_exit_status_1(self):
        file = os.path.join(FILES, "mode-hca.yaml")
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([RDMAD, "import-config", file], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stderr), (1, "rdmad: cannot write: No space left on device\n"))
        done = subprocess.run(["bash", "-c", 'set -o pipefail; "$1" import-config "$2" | exec true', "-", RDMAD, file],
                              capture_output=True, text=True)
        self.assertEqual(done.stderr, "")

    def test_wrong_usage_is_exit_status_2(self):
        for args in ((), ("a", "b"), ("--json", "a"), ("--key",)):
            with self.subTest(args):
                done = run("import-config", *args)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn("see `rdmad help import-config`", done.stderr)

    def test_help_tells_its_options_and_not_those_of_others(self):
        done = run("import-config", "--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(done.stdout.startswith("usage: rdmad import-config FILE"))
        self.assertIn("--resource-prefix", done.stdout)
        self.assertNotIn("--socket", done.stdout)
        self.assertIn("import-config FILE", run("--help").stdout)


class Missing(unittest.TestCase):
    """Where the importer, Python or PyYAML is not there, the message says what to install."""

    def refused(self, *command):
        done = subprocess.run(command, capture_output=True, text=True, check=False, input='{"mode": "hca"}')
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        return done.stderr

    def test_without_the_importer(self):
        with tempfile.TemporaryDirectory() as directory:
            program = shutil.copy(RDMAD, directory)
            said = self.refused(program, "import-config", "-")
        self.assertIn("rdmad: the importer is not installed (", said)
        self.assertIn("python3 contrib/import FILE", said)

    def test_without_python(self):
        hidden = ["unshare", "-rm", "sh", "-c", 'mount --bind /dev/null /usr/bin/python3 && exec "$@"', "sh"]
        if subprocess.run([*hidden, "true"], capture_output=True).returncode:
            self.skipTest("no mount namespace can be made")
        self.assertIn("rdmad: import-config needs Python 3 and PyYAML, Debian's package python3-yaml: /usr/bin/python3: ",
                      self.refused(*hidden, RDMAD, "import-config", "-"))

    def test_without_pyyaml(self):
        self.assertEqual(self.refused("/usr/bin/python3", "-I", "-S", "-B", IMPORTER, "-"),
                         "rdmad: import-config needs PyYAML, which is not installed: Debian's package python3-yaml\n")


class Advertised(unittest.TestCase):
    """On a recorded machine: a PF with four VFs that have RDMA, another PF with a subfunction."""

    def slots(self, config):
        done = run("import-config", "-", input=json.dumps(config))
        self.assertEqual(done.returncode, 0, done.stderr)
        daemon = Daemon("sriov", done.stdout)
        self.addCleanup(daemon.close)
        modules = daemon.json("status")["modules"]
        return {resource["name"]: (resource["devices"], resource["slots"])
                for resource in modules[0]["status"]["resources"]}

    def test_pools_of_the_shared_plugin_have_rdma_hca_max_slots_or_none(self):
        slots = self.slots({"configList": [
            {"resourceName": "one", "rdmaHcaMax": 63, "devices": ["ens1f0np0"]},
            {"resourceName": "both", "resourcePrefix": "example.com", "rdmaHcaMax": 1000,
             "selectors": {"ifNames": ["ens1f0np0", "ens1f1np1"], "vendors": ["15b3"],
                           "drivers": ["mlx5_core"], "linkTypes": ["ether"]}},
            {"resourceName": "none", "rdmaHcaMax": 10, "selectors": {"linkTypes": ["infiniband"]}}]})
        self.assertEqual(slots, {"rdma/one": (1, 63), "example.com/both": (2, 1000),
                                  "rdma/none": (0, 0)})

    def test_pools_of_the_sriov_plugin_have_a_slot_for_each_function(self):
        def pool(name, selectors, **more):
            return {"resourceName": name, "resourcePrefix": "nvidia.com", "selectors": selectors,
                    **more}
        slots = self.slots({"resourceList": [
            pool("two", {"pfNames": ["ens1f0np0#0-1,7"], "isRdma": True}),
            pool("sf", {"auxTypes": ["sf"], "isRdma": True}, deviceType="auxNetDevice"),
            pool("both", [{"pciAddresses": ["0000:3b:00.4"], "isRdma": True},
                          {"rootDevices": ["0000:3b:00.0#0,3"], "isRdma": True}]),
            pool("none", {"drivers": ["vfio-pci"], "isRdma": True}),
            pool("other", {"drivers": ["mlx5_core"]})]})
        self.assertEqual(slots, {"nvidia.com/two": (2, 2), "nvidia.com/sf": (1, 1),
                                  "nvidia.com/both": (2, 2), "nvidia.com/none": (0, 0)})

    def test_resources_of_the_network_operator_have_the_chart_s_slots_or_their_own(self):
        slots = self.slots({
            "rdmaSharedDevicePlugin": {"deploy": True, "resources": [
                {"name": "rdma_shared_device_a", "vendors": ["15b3"], "ifNames": ["ens1f0np0"]},
                {"name": "rdma_shared_device_b", "rdmaHcaMax": 63, "ifNames": ["ens1f0np0", "ens1f1np1"]}]},
            "sriovDevicePlugin": {"deploy": True, "resources": [
                {"name": "vf", "vendors": ["15b3"], "devices": ["101e"], "pfNames": ["ens1f0np0#0-1"]}]}})
        self.assertEqual(slots, {"rdma/rdma_shared_device_a": (1, 1000), "rdma/rdma_shared_device_b": (2, 63),
                                 "nvidia.com/vf": (2, 2)})

    def test_a_policy_for_some_nodes_offers_what_that_of_the_cluster_does(self):
        config = {"configList": [{"resourceName": "one", "rdmaHcaMax": 63, "devices": ["ens1f0np0"]}]}
        for kind in ("NicClusterPolicy", "NicNodePolicy"):
            with self.subTest(kind):
                self.assertEqual(self.slots({"kind": kind, "spec": {
                    "rdmaSharedDevicePlugin": {"config": json.dumps(config)}}}), {"rdma/one": (1, 63)})

    def test_the_mode_hca_offers_a_thousand_of_all(self):
        slots = self.slots({"mode": "hca"})
        self.assertEqual(slots["rdma/hca"][1], 1000)


tap.main()
