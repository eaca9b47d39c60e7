#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The importer's rules: RDMAD EXPAND MODULE-DIR IMPORT-DIR, as test-import.py"""

import base64
import importlib.util
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest

import yaml

ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../..")
sys.path[:0] = [os.path.join(ROOT, "tests"), os.path.join(ROOT, "contrib/import")]
sys.dont_write_bytecode = True
import tap  # noqa: E402
from resources import Options  # noqa: E402
from documents import Refused  # noqa: E402

RDMAD, _, MODULES, FILES = sys.argv[1:5]
SPEC = importlib.util.spec_from_file_location("importer", os.path.join(ROOT, "contrib/import/__main__.py"))
importer = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(importer)


def convert(text, **options):
    """The configuration and the notes."""
    notes = []
    if isinstance(text, str):
        text = text.encode()
    return importer.convert(text, Options("x", **options), notes), notes


def quoted(text):
    return text.replace("'", '"')


def shared(pools):
    return quoted("{'configList': [" + pools + "]}")


def sriov(pools):
    return quoted("{'resourceList': [" + pools + "]}")


def assert_checked(case, config):
    with tempfile.NamedTemporaryFile("w", suffix=".conf", encoding="utf-8") as file:
        file.write(config)
        file.flush()
        done = subprocess.run([RDMAD, "--check", "--config", file.name, "--module-dir", MODULES], capture_output=True,
                              text=True, check=False)
    case.assertEqual((done.returncode, done.stderr), (0, ""), config)


class Case(unittest.TestCase):
    def assert_refused(self, text, message, **options):
        with self.subTest(message), self.assertRaises(Refused) as caught:
            convert(text, **options)
        with self.subTest(message):
            self.assertIn(message, str(caught.exception))

    def assert_note(self, notes, text):
        self.assertTrue(any(text in note for note in notes), f"{text!r} in {notes}")


class Files(Case):
    def test_a_file_becomes_the_configuration_beside_it(self):
        for name in sorted(os.listdir(FILES)):
            if name.endswith(".conf"):
                continue
            with self.subTest(name):
                with open(os.path.join(FILES, name), "rb") as file:
                    text = file.read()
                with open(os.path.join(FILES, name.partition(".")[0] + ".conf"), encoding="utf-8") as file:
                    expected = file.read()
                notes = []
                self.assertEqual(importer.convert(text, Options(name), notes), expected)
                for note in notes:
                    self.assertIn(f"# {note}\n", expected)


class Errors(Case):
    def test_broken_json_has_line_and_column(self):
        for text, message in (
                ("{'configList': [\n {,}\n]}", "x:2:3: string or '}' expected near ','"),
                ("{'mode': 'hca'", "x:1:14: '}' expected near end of file"),
                ("{'mode': 'hca', 'mode': 'hca'}", "x:1:22: duplicate object key near '\"mode\"'"),
                ("{'mode': 'hca'} x", "x:1:17: end of file expected near 'x'"),
                ("{'mode': 'h\\u0000'}", "x:1:18: \\u0000 is not allowed"),
                ("{'a': 'x\ny'}", "x:1:8: unexpected newline near '\"x'"),
                ("{'a': '\t'}", "x:1:7: control character 0x9"),
                ("{'a': '\\q'}", "x:1:9: invalid escape near '\"\\q'"),
                ("{'a': '\\ud800x'}", "x:1:15: invalid Unicode '\\uD800'"),
                ("{'a': 01}", "x:1:7: invalid token near '0'"),
                ("{'a': 1e400}", "x:1:11: real number overflow"),
                ("{'a': 99999999999999999999}", "x:1:26: too big integer"),
                ("{'a': [1,", "x:1:9: ']' expected near end of file"),
                ("{'a': [1,]}", "x:1:10: unexpected token near ']'"),
                ("{'a': ", "x:1:6: unexpected token near end of file"),
                ("{'a': " + "[" * 2000, "maximum parsing depth reached")):
            self.assert_refused(quoted(text), message)
        self.assert_refused(b'{"a": "\xff"}', "x:1:7: unable to decode byte 0xff")

    def test_broken_yaml_has_line_and_column(self):
        for text, message in (
                ("a: [1, 2\nb: 3\n", "x:2:2: did not find expected ',' or ']'"),
                ("a: &x 1\nb: *x\n", "x:2:4: aliases are not supported"),
                ("a: &x [1]\nb: &y [*x,*x]\nc: [*y,*y]\n", "x:2:8: aliases are not supported"),
                ("a: 1\na: 2\n", "x:2:1: this key is here twice"),
                ("a: {b: 1, b: 2}\n", "x:1:11: this key is here twice"),
                ("? [a]\n: 1\n", "x:1:3: a key that is not a string"),
                ('a: "x\\0y"\n', "x:1:4: a text with a NUL"),
                ("{{ .Values.config }}\n", "x:"),
                ("\tx", "x:1:1: found character that cannot start any token"),
                ("a:\n\tb: 1\n", "x:2:1: found character that cannot start any token"),
                ("a: 1\nb: \x07\n", "x:2:4: control characters are not allowed"),
                ("[" * 100, "nested too deeply"),
                ("---\n1\n" * 257, "too many documents"),
                ("[" + "1," * (1 << 18) + "]", "too many values")):
            self.assert_refused(text, message)
        self.assert_refused(b"a: 1\nbb: \xff\n", "x:2:5: invalid leading UTF-8 octet")

    def test_broken_json_in_a_config_map_has_the_place_in_it(self):
        self.assert_refused("kind: ConfigMap\nmetadata: { name: m }\ndata:\n  c.json: |\n    {\n      nope\n",
                            "x: m/c.json:2:6: string or '}' expected")
        self.assert_refused("kind: ConfigMap\ndata:\n  c: |\n    {\"mode\": \"HCA!\"}\n",
                            'x: ConfigMap/c: mode: "HCA!" is neither')
        self.assert_refused("kind: ConfigMap\nbinaryData: { c.json: '!' }\n", "x: ConfigMap/c.json: this is not base64")

    def test_other_files_are_said_to_be_no_configuration(self):
        for text, message in (
                ("", "x: neither configList, resourceList or mode"),
                ("just words", "x: neither configList"), ("{'a': 1}", "x: neither configList"),
                ("[1]", "x: neither configList"), ("kind: Pod\n", "x: neither configList"),
                ("kind: 7\n", "x: neither configList"), ("kind: List\nitems: 7\n", "x: neither configList"),
                ("kind: DaemonSet\nspec: { template: { spec: { containers: [7, { command: x }] } } }\n",
                 "x: neither configList"),
                ("kind: DaemonSet\nspec: { template: { spec: { containers: [{ image: 7, command: [], args: [7],"
                 " volumeMounts: [7] }], volumes: [7, { name: [] }] } } }\n", "x: neither configList"),
                ("kind: ConfigMap\ndata: 7\n", "x: neither configList"),
                ("kind: ConfigMap\nmetadata: []\ndata: { a: 7 }\n", "x: neither configList"),
                ("kind: ConfigMap\ndata:\n  a: '{}'\n", "x: neither configList"),
                ("kind: ConfigMap\ndata:\n  config.conf: |\n    kind: KubeProxyConfiguration\n    mode: iptables\n",
                 "x: neither configList"),
                ("{'configList': []}", "x: no resource in it that rdmad could offer"),
                ("{'kind': 'ConfigMap', 'data': {'n1': '{\\'mode\\': \\'hca\\'}', 'n2': '{\\'mode\\': \\'hca\\'}'}}",
                 "several keys, choose with --key: n1 n2")):
            self.assert_refused(quoted(text) if text.startswith("{") else text, message)

    def test_a_key_that_no_config_map_has_is_told_with_those_it_has(self):
        self.assert_refused("kind: ConfigMap\ndata: { a: '{}', b: 'x' }\n",
                            'x: no ConfigMap with the key "c"; there are: a b', key="c")

    def test_bad_pools_of_the_shared_plugin_have_their_path(self):
        for text, message in (
                ("{'configList': 7}", "x: configList: this is a whole number, and should be a list"),
                ("{'configList': [7]}", "configList[0]: this is a whole number, and should be an object"),
                ("{'periodicUpdateInterval': -1, 'configList': []}", "periodicUpdateInterval: -1 is negative"),
                ("{'configList': [{'rdmaHcaMax': 1, 'devices': ['a']}]}", "configList[0]: resourceName is missing"),
                ("{'configList': [{'resourceName': 'a'}]}", "configList[0]: neither selectors nor devices"),
                ("{'configList': [{'resourceName': 'a', 'devices': ['a'], 'selectors': {'ifNames': ['b']}}]}",
                 "configList[0]: only one of devices and selectors"),
                ("{'configList': [{'resourceName': 'a', 'rdmaHcaMax': '1'}]}",
                 "configList[0].rdmaHcaMax: this is a string, and should be a whole number"),
                ("{'configList': [{'resourceName': 'a', 'rdmaHcaMax': 1.5}]}",
                 "configList[0].rdmaHcaMax: this is a number with a fraction"),
                ("{'configList': [{'resourceName': 'a', 'rdmaHcaMax': -1}]}",
                 "configList[0].rdmaHcaMax: -1 is negative"),
                ("{'configList': [{'resourceName': ['a']}]}",
                 "configList[0].resourceName: this is a list, and should be a string"),
                ("{'configList': [{'resourceName': 'a', 'rdmaHcaMax': 1, 'devices': ['x']},"
                 " {'resourceName': 'a', 'rdmaHcaMax': 1, 'devices': ['y']}]}",
                 "configList[1]: 'rdma/a' is the name of configList[0] already")):
            self.assert_refused(quoted(text), quoted(message))

    def test_bad_selectors_have_their_path(self):
        for text, message in (
                ("'vendors': '15b3'", ".vendors: this is a string, and should be a list"),
                ("'vendors': [1]", ".vendors[0]: this is a whole number"),
                ("'vendors': [null]", ".vendors[0]: this is null"),
                ("'vendors': ['15b3', '']", ".vendors[1]: '' is not a PCI id"),
                ("'deviceIDs': ['10177']", ".deviceIDs[0]: '10177' is not a PCI id"),
                ("'deviceIDs': ['xyzw']", ".deviceIDs[0]: 'xyzw' is not a PCI id"),
                ("'ifNames': ['']", ".ifNames[0]: '' should have 1 to 128"),
                ("'ifNames': ['" + "a" * 129 + "']", "should have 1 to 128"),
                ("'ifNames': ['a b']", ".ifNames[0]: 'a b' has a blank"),
                ("'ifNames': ['!']", ".ifNames[0]: '!' should have"),
                ("'ifNames': ['ib0,ib1']", ".ifNames[0]: 'ib0,ib1' is not a name; each is a text of its own"),
                ("'drivers': ['mlx[45]_core']", ".drivers[0]: 'mlx[45]_core' is not a name"),
                ("'linkTypes': ['ethernet']", ".linkTypes[0]: 'ethernet' is not a link")):
            self.assert_refused(shared("{'resourceName': 'b', 'rdmaHcaMax': 1, 'selectors': {" + text + "}}"),
                                quoted(message))

    def test_bad_pools_of_the_sriov_plugin_have_their_path(self):
        for text, message in (
                ("'selectors': 'x'", "resourceList[0].selectors: this is a string, and should be an object"),
                ("'selectors': [[]]", "resourceList[0].selectors[0]: this is a list, and should be an object"),
                ("'selectors': [" + "{}," * 32 + "{}]", "resourceList[0].selectors: more than 32 groups"),
                ("'excludeTopology': 'yes'", "excludeTopology: this is a string, and should be true or false"),
                ("'deviceType': 'disk', 'selectors': {}", "deviceType 'disk' is neither"),
                ("'x': 1", "resourceList[0]: selectors are missing"),
                ("'selectors': {'isRdma': 1}", ".isRdma: this is a whole number"),
                ("'selectors': {'pciAddresses': ['3b:00.0']}", "[0]: '3b:00.0' is not a PCI address"),
                ("'selectors': {'pciAddresses': ['0000:3b:00.8']}", "is not a PCI address"),
                ("'selectors': {'pfNames': ['#1']}", "[0]: '#1' is not an interface"),
                ("'selectors': {'pfNames': ['p#']}", "'p#' is not an interface"),
                ("'selectors': {'pfNames': ['p#3-1']}", "'p#3-1' is not an interface"),
                ("'selectors': {'pfNames': ['p#1-2-3']}", "'p#1-2-3' is not an interface"),
                ("'selectors': {'pfNames': ['p#1,,2']}", "'p#1,,2' is not an interface"),
                ("'selectors': {'pfNames': ['p#99999999999']}", "is not an interface"),
                ("'selectors': {'pfNames': ['p#65536']}", "is not an interface"),
                ("'selectors': {'pKeys': ['0x1']}", "[0]: '0x1' is not a P_Key"),
                ("'selectors': {'acpiIndexes': ['x']}", "[0]: 'x' is not a number"),
                ("'selectors': {'acpiIndexes': ['4294967296']}", "is not a number"),
                ("'selectors': {'acpiIndexes': ['00000000077']}", "is not a number"),
                ("'selectors': {'vendors': ['15b3'], 'Vendors': ['15b3']}", "Vendors: this key is here twice"),
                ("'selectors': {'rootDevices': ['ens1f0#1']}", "is not a PCI address with functions"),
                ("'resourcePrefix': 'UPPER', 'selectors': {'isRdma': true}", "'UPPER/a' is not a resource name"),
                ("'resourcePrefix': 'kubernetes.io', 'selectors': {'isRdma': true}",
                 "'kubernetes.io/a' is not a resource name"),
                ("'resourcePrefix': 'a/b', 'selectors': {'isRdma': true}", "'a/b/a' is not a resource name")):
            self.assert_refused(sriov("{'resourceName': 'a', " + text + "}"), quoted(message))

    def test_bad_modes_are_refused(self):
        for text, message in (
                ("{'mode': 'x'}", "x: mode: 'x' is neither 'hca' nor 'sriov'"),
                ("{'mode': 1}", "x: mode: this is a whole number"),
                ("{'mode': 'sriov'}", "x: pfNetdevices: mode 'sriov' needs"),
                ("{'mode': 'sriov', 'pfNetdevices': 'ib0'}", "x: pfNetdevices: this is a string")):
            self.assert_refused(quoted(text), quoted(message))

    def test_sizes_are_bounded(self):
        self.assert_refused(" " * ((1 << 20) + 1), "larger than 1 MiB")
        self.assert_refused(quoted("{'mode': 'sriov', 'pfNetdevices': ['a'" + ",'a'" * 8192 + "]}"),
                            "pfNetdevices: more values than rdmad.conf allows")
        self.assert_refused(shared(",".join("{'resourceName': 'a%u', 'rdmaHcaMax': 1, 'devices': ['ib0']}" % i
                                            for i in range(65))), "configList[64]: more than 64 resources")
        self.assert_refused(dumped(application({"parameters": [{"name": "a." * 200, "value": "x"}]})),
                            "x: Application/a: a parameter without a name, or with one of more than 256 characters")
        self.assert_refused(dumped(application({"parameters": [{"name": "a." * 128, "value": "x"},
                                                               {"name": "b[999]", "value": "x"}, {"name": "[", "value": "y"}]})),
                            "x: Application/a: no device plugin is configured in its values")
        self.assert_refused("kind: ConfigMap\ndata:\n  config.json: '" + '{"mode": ' + '[' * 200 + "'\n",
                            "maximum parsing depth reached")


class Rules(Case):
    def test_the_resource_prefix_of_the_command_line_is_a_default(self):
        config, notes = convert(sriov("{'resourceName': 'a', 'selectors': {'isRdma': true, 'pfNames': ['p']}},"
                                      "{'resourceName': 'b', 'resourcePrefix': 'nvidia.com',"
                                      " 'selectors': {'isRdma': true, 'pfNames': ['q']}}"), prefix="openshift.io")
        self.assertIn('"openshift.io/a"', config)
        self.assertIn('"nvidia.com/b"', config)
        self.assertEqual(notes, [])

    def test_a_pool_without_slots_is_left_out(self):
        config, notes = convert(shared("{'resourceName': 'none', 'devices': ['ib0']},"
                                       "{'resourceName': 'some', 'rdmaHcaMax': 1, 'devices': ['ib0']}"))
        self.assertNotIn("rdma/none", config)
        self.assertIn("rdma/some", config)
        self.assert_note(notes, "configList[0]: rdmaHcaMax is 0 or absent")

    def test_more_slots_than_rdmad_has_are_its_most(self):
        config, notes = convert(shared("{'resourceName': 'a', 'rdmaHcaMax': 100000, 'devices': ['ib0']}"))
        self.assertIn("count = 32768;", config)
        self.assert_note(notes, "configList[0].rdmaHcaMax: 32768 is the most")

    def test_pools_that_cannot_meet_are_not_shared(self):
        for a, b, together in (
                ("'ifNames': ['ib0']", "'ifNames': ['ib1']", False),
                ("'ifNames': ['ib0', 'ib1']", "'ifNames': ['ib1']", True),
                ("'vendors': ['15b3']", "'drivers': ['mlx5_core']", True),
                ("'vendors': ['15b3'], 'linkTypes': ['ether']", "'vendors': ['15b3'], 'linkTypes': ['infiniband']",
                 False),
                ("'deviceIDs': ['1017']", "'vendors': ['15b3']", True)):
            with self.subTest(a + b):
                config, _ = convert(shared("{'resourceName': 'a', 'rdmaHcaMax': 1, 'selectors': {" + a + "}},"
                                           "{'resourceName': 'b', 'rdmaHcaMax': 1, 'selectors': {" + b + "}}"))
                self.assertEqual('shared_with = "rdma/a"' in config, together)
                self.assertEqual('shared_with = "rdma/b"' in config, together)

    def test_null_and_empty_lists_are_absent_and_case_is_no_matter(self):
        config, notes = convert(quoted(
            "{'ConfigList': [{'resourcename': 'a', 'RDMAHCAMAX': 7, 'devices': null,"
            " 'selectors': {'ifNames': ['ib0'], 'vendors': [], 'drivers': null}}]}"))
        self.assertIn("count = 7;", config)
        self.assertNotIn("vendors", config)
        self.assertEqual(notes, [])

    def test_wildcards_mean_more_to_rdmad(self):
        config, notes = convert(shared("{'resourceName': 'a', 'rdmaHcaMax': 1, 'devices': ['ib*']}"))
        self.assertIn('"ib*"', config)
        self.assert_note(notes, "mind: configList[0].devices[0]: a pattern for rdmad")

    def test_a_driver_of_the_rdma_subsystem_is_that_of_its_function(self):
        for theirs, ours in (("mlx5_ib", "mlx5_core"), ("mlx4_ib", "mlx4_core"), ("bnxt_re", "bnxt_en")):
            config, notes = convert(shared("{'resourceName': 'a', 'rdmaHcaMax': 1, 'selectors': {'drivers': ['" + theirs
                                           + "']}}"))
            self.assertIn(f'drivers = "{ours}"', config)
            self.assert_note(notes, f"{theirs} is not a PCI driver: {ours} in its place")
            assert_checked(self, config)

    def test_what_older_versions_had_beside_the_selectors_counts(self):
        config, _ = convert(sriov("{'resourceName': 'a', 'isRdma': true, 'selectors': {'linkTypes': ['infiniband']}}"))
        self.assertIn('"intel.com/a"', config)
        self.assertIn('link_layers = "infiniband"', config)

    def test_selectors_of_the_other_device_type_are_not_looked_at(self):
        config, notes = convert(sriov(
            "{'resourceName': 'a', 'selectors': {'isRdma': true, 'auxTypes': ['sf']}},"
            "{'resourceName': 'b', 'deviceType': 'auxNetDevice', 'selectors':"
            " {'isRdma': true, 'pciAddresses': ['0000:3b:00.0'], 'pKeys': ['0x8001']}}"))
        for absent in ('"sf"', "pci_addresses = ", "pkeys = "):
            self.assertNotIn(absent, config)
        self.assert_note(notes, "resourceList[0].selectors: auxTypes is for deviceType auxNetDevice")
        self.assert_note(notes, "resourceList[1].selectors: pciAddresses is not for deviceType")
        self.assert_note(notes, "resourceList[1].selectors: pKeys is not for deviceType")

    def test_a_second_pool_of_the_same_devices_is_left_out(self):
        config, notes = convert(sriov("{'resourceName': 'a', 'selectors': {'isRdma': true}},"
                                      "{'resourceName': 'b', 'selectors': {'isRdma': true}}"))
        self.assertIn('"intel.com/a"', config)
        self.assertNotIn('"intel.com/b"', config)
        self.assert_note(notes, "resourceList[1]: resourceList[0] takes the same devices before it")

    def test_a_user_s_text_stays_text(self):
        config, _ = convert(shared("{'resourceName': 'a', 'rdmaHcaMax': 1, 'devices': ['i\\'b\\\\0;#@'],"
                                   " 'x\\nmodules = { bad = { }; };': 1}"))
        self.assertIn('netdevs = "i\\"b\\\\0;#@";', config)
        self.assertNotIn("\nmodules = { bad", config)

    def test_notes_are_bounded(self):
        keys = ",".join(f"'k{i}': 1" for i in range(1200))
        _, notes = convert(shared("{'resourceName': 'a', 'rdmaHcaMax': 1, 'devices': ['ib0'], " + keys + "}"))
        self.assertEqual((len(notes), notes[-1]), (1001, "and more that is not listed here"))

    def test_the_parameters_of_the_erdma_add_on_need_no_group(self):
        config, notes = convert(quoted("{'preferDriver': 'ofed', 'allocateAllDevices': true, 'enableWebhook': true}"))
        self.assertIn('prefer_driver = "ofed"', config)
        self.assertIn('expose = "pool"', config)
        self.assertEqual(len(notes), 2)
        self.assert_note(notes, "a missing driver is not downloaded")
        self.assert_note(notes, "not carried over: enableWebhook: rdmad needs no init container")

    def test_arguments_of_the_erdma_agent(self):
        for container, driver, expose in (
                ("'command': ['/a', '--prefer-driver', 'ofed']", "ofed", "device"),
                ("'args': ['--prefer-driver=compat', '--allocate-all-devices=true']", "compat", "pool"),
                ("'args': ['-prefer-driver', 'ofed', '-allocate-all-devices']", "ofed", "pool"),
                ("'args': ['--allocate-all-devices=false', '--prefer-driver=ofed']", "ofed", "device"),
                ("'command': ['/a', '--prefer-driver'], 'args': ['default']", "default", "device"),
                ("'command': ['/usr/local/bin/agent'], 'args': [7]", "auto", "device"),
                ("'command': ['/a', '--prefer-driver']", "auto", "device")):
            with self.subTest(container):
                config, _ = convert(quoted("{'kind': 'DaemonSet', 'metadata': {'name': 'erdma-agent'},"
                                           " 'spec': {'template': {'spec': {'containers': [{" + container + "}]}}}}"))
                self.assertIn(f'prefer_driver = "{driver}"', config)
                self.assertIn(f'expose = "{expose}"', config)

    def test_one_key_of_a_config_map_is_chosen(self):
        text = quoted("{'kind': 'ConfigMap', 'metadata': {'name': 'm'}, 'data': {"
                      "'node-a': '{\\'mode\\': \\'hca\\'}', 'node-b': '{\\'mode\\': \\'hca\\'}'}}")
        config, _ = convert(text, key="node-b")
        self.assertIn("# m/node-b: mode", config)
        self.assertNotIn("node-a", config)

    def test_config_maps_of_two_plugins_become_one_file(self):
        config, _ = convert("""\
kind: ConfigMap
metadata: { name: one }
data:
  config.json: '{"mode": "hca"}'
  notes.txt: not JSON
---
kind: ConfigMapList
items:
- kind: ConfigMap
  metadata: { name: two }
  data:
    config.json: '{"configList": [{"resourceName": "b",
      "rdmaHcaMax": 2, "devices": ["ib0"]}]}'
""")
        self.assertIn('# one/config.json: mode\n\t\t\t\tname = "rdma/hca"', config)
        self.assertIn('# two/config.json: configList[0]\n\t\t\t\tname = "rdma/b"', config)


class Scalars(Case):
    """What YAML makes a number or a boolean is the text that somebody wrote, where a text is wanted."""

    def test_an_id_is_text_however_it_looks(self):
        for written, expected in (
                ("1017", "1017"), ("0x1017", "1017"), ("101e", "101e"), ("10e3", "10e3"), ("1e21", "1e21"),
                ("0101", "0101"), ('"1021"', "1021"), ("'0x101D'", "101d"), ("15b3", "15b3"), ("!!str 1017", "1017")):
            with self.subTest(written):
                config, _ = convert("configList:\n- resourceName: a\n  rdmaHcaMax: 7\n  selectors:\n"
                                    f"    deviceIDs: [{written}]\n")
                self.assertIn(f'devices = "{expected}"', config)
        for written in ("101e3", "10:17", "1_017", "1017.0", "yes", "-101", "2001-10-17"):
            self.assert_refused("configList:\n- resourceName: a\n  rdmaHcaMax: 7\n  selectors:\n"
                                f"    deviceIDs: [{written}]\n",
                                f'x: configList[0].selectors.deviceIDs[0]: "{written}" is not a PCI id')
        config, _ = convert("configList:\n- resourceName: on\n  rdmaHcaMax: 7\n  devices: [no, 1e3, 0x10, 12:30]\n")
        self.assertIn('name = "rdma/on"', config)
        self.assertIn('netdevs = ( "no", "1e3", "0x10", "12:30" );', config)

    def test_a_number_is_decimal(self):
        for written in ("0x3f", "077", "0o77", "1_000", "1:3", '"63"', "1e3", "+5", ".inf", "9" * 30, "63.0", "yes"):
            self.assert_refused(f"configList:\n- resourceName: a\n  rdmaHcaMax: {written}\n  devices: [a]\n",
                                "x: configList[0].rdmaHcaMax: this is ")

    def test_a_flag_is_what_helm_takes_as_one(self):
        for written, is_rdma in (("yes", True), ("On", True), ("TRUE", True), ("true", True), ("no", False),
                                 ("off", False), ("False", False)):
            with self.subTest(written):
                text = f"resourceList:\n- resourceName: a\n  selectors: {{isRdma: {written}}}\n"
                if is_rdma:
                    self.assertIn('"intel.com/a"', convert(text)[0])
                else:
                    self.assert_refused(text, "no resource in it")
        for written in ('"true"', "yEs", "1", "maybe"):
            self.assert_refused(f"resourceList:\n- resourceName: a\n  selectors: {{isRdma: {written}}}\n",
                                ".isRdma: this is ")

    def test_marks_of_bytes_and_ends_of_lines_are_no_matter(self):
        text = "configList:\r\n- resourceName: a\r\n  rdmaHcaMax: 7\r\n  devices: [ib0]\r\n"
        expected, _ = convert(text.replace("\r", ""))
        self.assertEqual(convert(text)[0], expected)
        self.assertEqual(convert("\ufeff" + text)[0], expected)
        self.assertEqual(convert(text.encode("utf-16"))[0], expected)
        json = shared("{'resourceName': 'a',\r\n 'rdmaHcaMax': 7, 'devices': ['ib0']}")
        self.assertEqual(convert(json)[0], expected)
        self.assertEqual(convert("\ufeff" + json)[0], expected)
        self.assertEqual(convert("---\n" + json + "\n...\n")[0], expected)


# ---- wrappers ----

# The same configurations as each plugin reads them, and as the chart of NVIDIA's network operator has them.
SHARED = {"configList": [
    {"resourceName": "rdma_shared_device_a", "rdmaHcaMax": 1000,
     "selectors": {"vendors": ["15b3"], "deviceIDs": ["1017", "1021"]}},
    {"resourceName": "rdma_shared_device_b", "rdmaHcaMax": 63, "selectors": {"ifNames": ["ib1"]}}]}
SRIOV = {"resourceList": [
    {"resourceName": "hostdev", "resourcePrefix": "nvidia.com",
     "selectors": {"vendors": ["15b3"], "devices": ["101e"], "pfNames": ["ens1f0#0-3"], "isRdma": True}}]}
ERDMA = {"agent": {"preferDriver": "compat", "allocateAllDevices": True}, "config": {"enableDevicePlugin": True}}
HCA = {"mode": "hca"}
PLUGINS = [SHARED, SRIOV, ERDMA, HCA]
OF_OPERATOR = {
    id(SHARED): {"rdmaSharedDevicePlugin": {"deploy": True, "image": "k8s-rdma-shared-dev-plugin", "resources": [
        {"name": "rdma_shared_device_a", "vendors": ["15b3"], "deviceIDs": [1017, "1021"]},
        {"name": "rdma_shared_device_b", "rdmaHcaMax": 63, "ifNames": ["ib1"]}]}},
    id(SRIOV): {"deployCR": True, "sriovDevicePlugin": {"resources": [
        {"name": "hostdev", "vendors": ["15b3"], "devices": ["101e"], "pfNames": ["ens1f0#0-3"]}]}},
}
VALUES = [SHARED, SRIOV, ERDMA]


def values_of(config):
    return OF_OPERATOR.get(id(config), config)


def dumped(value):
    return yaml.safe_dump(value, sort_keys=False)


def config_map(config, key="config.json", **more):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "managedFields": [
        {"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:data": {".": {}, f"f:{key}": {}}}}]},
            "data": {key: json.dumps(config, indent=2)}, **more}


def policy(kind, config, **more):
    plugin = "rdmaSharedDevicePlugin" if config is SHARED else "sriovDevicePlugin"
    return {"apiVersion": "mellanox.com/v1alpha1", "kind": kind, "metadata": {"name": "gpu-nodes"}, "spec": {
        **more, "ofedDriver": {"image": "doca-driver"}, plugin: {"image": "x", "config": json.dumps(config)}}}


def release(config):
    return {"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": {"name": "r"},
            "spec": {"chart": {"spec": {"chart": "c"}}, "values": values_of(config)}}


def application(helm, several=False, of_set=False):
    source = {"repoURL": "https://example.com", "chart": "c", "helm": helm}
    spec = {"project": "p", **({"sources": [{"ref": "values"}, source]} if several else {"source": source})}
    return {"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet" if of_set else "Application",
            "metadata": {"name": "a"},
            "spec": {"generators": [], "template": {"metadata": {"name": "{{name}}"}, "spec": spec}} if of_set else spec}


def parameters(value, path=""):
    """The values as parameters of Argo CD, each a text."""
    if isinstance(value, dict):
        return [parameter for key, inner in value.items() for parameter in parameters(inner, f"{path}.{key}")]
    if isinstance(value, list):
        return [parameter for i, inner in enumerate(value) for parameter in parameters(inner, f"{path}[{i}]")]
    return [{"name": path[1:], "value": str(value).lower() if isinstance(value, bool) else str(value)}]


# What it is, the text of a configuration in it, and the configurations that it can have.
WRAPPERS = [
    ("JSON", json.dumps, PLUGINS),
    ("YAML", dumped, PLUGINS),
    ("YAML in one line", lambda config: f"---\n{json.dumps(config)}\n", PLUGINS),
    ("ConfigMap as JSON", lambda config: json.dumps(config_map(config)), PLUGINS),
    ("ConfigMap as YAML", lambda config: dumped(config_map(config)), PLUGINS),
    ("ConfigMap with another key", lambda config: dumped(config_map(config, "node-a.conf")), PLUGINS),
    ("ConfigMap with YAML", lambda config: dumped(config_map(config, data={"config.yaml": dumped(config)})), PLUGINS),
    ("ConfigMap with binaryData", lambda config: dumped(config_map(config, data=None, binaryData={
        "config.json": base64.encodebytes(json.dumps(config).encode()).decode()})), PLUGINS),
    ("ConfigMap beside other files", lambda config: dumped(config_map(config, data={
        "README": "words: [", "a.json": json.dumps({"a": 1}), "config.json": json.dumps(config), "none": ""})), PLUGINS),
    ("Secret", lambda config: dumped({"kind": "Secret", "metadata": {"name": "m"}, "stringData": {
        "config.json": json.dumps(config)}}), PLUGINS),
    ("List", lambda config: dumped({"kind": "List", "items": [{"kind": "Pod"}, config_map(config)]}), PLUGINS),
    ("ConfigMapList", lambda config: json.dumps({"kind": "ConfigMapList", "items": [config_map(config)]}), PLUGINS),
    ("items alone", lambda config: json.dumps([{"kind": "Pod"}, config_map(config)]), PLUGINS),
    ("documents", lambda config: f"---\nkind: Pod\n---\n{dumped(config_map(config))}---\n---\nkind: X\n", PLUGINS),
    ("NicClusterPolicy", lambda config: dumped(policy("NicClusterPolicy", config)), [SHARED, SRIOV]),
    ("NicNodePolicy", lambda config: dumped(policy("NicNodePolicy", config)), [SHARED, SRIOV]),
    ("NicNodePolicyList", lambda config: json.dumps({"kind": "List", "items": [policy("NicNodePolicy", config)]}),
     [SHARED, SRIOV]),
    ("values", lambda config: dumped(values_of(config)), VALUES),
    ("values as JSON", lambda config: json.dumps(values_of(config)), VALUES),
    ("helm get values", lambda config: "USER-SUPPLIED VALUES:\n" + dumped(values_of(config)), VALUES),
    ("values of a chart around it", lambda config: dumped({"global": {"a": 1}, "inner": values_of(config)}), VALUES),
    ("values with the plugin's text", lambda config: dumped(
        {"plugin": {"config": json.dumps(config)}}), [SHARED, SRIOV]),
    ("values in a ConfigMap", lambda config: dumped(config_map(config, data={
        "values.yaml": dumped(values_of(config))})), VALUES),
    ("HelmRelease", lambda config: dumped(release(config)), VALUES),
    ("HelmChart", lambda config: dumped({"apiVersion": "helm.cattle.io/v1", "kind": "HelmChart", "metadata": {"name": "h"},
                                         "spec": {"valuesContent": dumped(values_of(config))}}), VALUES),
    ("HelmChart with set", lambda config: dumped({"kind": "HelmChart", "metadata": {"name": "h"}, "spec": {"set": {
        parameter["name"]: parameter["value"] for parameter in parameters(values_of(config))}}}), VALUES),
    ("Application with values", lambda config: dumped(application({"values": dumped(values_of(config))})), VALUES),
    ("Application with valuesObject", lambda config: json.dumps(
        application({"valuesObject": values_of(config)})), VALUES),
    ("Application with parameters", lambda config: dumped(application({"parameters": parameters(values_of(config))})),
     VALUES),
    ("Application with sources", lambda config: dumped(application({"valuesObject": values_of(config)}, several=True)),
     VALUES),
    ("ApplicationSet", lambda config: dumped(application({"values": dumped(values_of(config))}, of_set=True)), VALUES),
    ("Kustomization with literals", lambda config: dumped({"configMapGenerator": [
        {"name": "m", "literals": ["config.json=" + json.dumps(config)]}]}), PLUGINS),
    ("Kustomization with a chart", lambda config: dumped({"kind": "Kustomization", "helmCharts": [
        {"name": "c", "valuesInline": values_of(config)}]}), VALUES),
]


def daemon_set(image, arguments, **pod):
    return {"kind": "DaemonSet", "metadata": {"name": "ds"}, "spec": {"template": {"spec": {
        "containers": [{"name": "c", "image": image, "args": arguments, **pod.pop("container", {})}], **pod}}}}


SHARED_IMAGE = "ghcr.io/mellanox/k8s-rdma-shared-dev-plugin:v1.5"
SRIOV_IMAGE = "ghcr.io/k8snetworkplumbingwg/sriov-network-device-plugin:v3.6"


class Wrappers(Case):
    def settings(self, text, **options):
        """The settings, without comments."""
        return re.sub(r"\s*#.*", "", convert(text, **options)[0])

    def test_the_same_configuration_in_each_wrapper_is_the_same(self):
        for name, wrap, configs in WRAPPERS:
            for config in configs:
                with self.subTest(f"{name}: {next(iter(config))}"):
                    self.assertEqual(self.settings(wrap(config)), self.settings(json.dumps(config)))

    def test_each_configuration_is_one_that_rdmad_takes(self):
        for config in PLUGINS:
            assert_checked(self, convert(json.dumps(config))[0])

    def test_values_of_the_network_operator(self):
        config, notes = convert("""\
rdmaSharedDevicePlugin:
  deploy: true
  resources: [ {name: rdma_shared_device_a, vendors: [15b3], deviceIDs: ["1017", "1021"]}, {name: rdma_shared_device_b, rdmaHcaMax: 63, ifNames: [ib1]} ]
""")
        self.assertEqual(self.settings(json.dumps(SHARED)), re.sub(r"\s*#.*", "", config))
        self.assertEqual(notes, ["mind: rdmaSharedDevicePlugin.resources[0].rdmaHcaMax: absent or 0, so 1000 as the chart "
                                 "has it; its later versions have 63"])
        path = "rdmaSharedDevicePlugin"
        for values, message in (
                ({"resources": [{"vendors": ["15b3"]}]}, f"x: {path}.resources[0]: name is missing"),
                ({"resources": [{"name": "a"}]}, f"x: {path}.resources[0]: neither selectors nor devices are given"),
                ({"resources": [7]}, f"x: {path}.resources[0]: this is a whole number, and should be an object"),
                ({"resources": {}}, f"x: {path}.resources: this is an object, and should be a list"),
                ({"resources": [{"name": "a", "vendors": "15b3"}]}, ".vendors: this is a string, and should be a list"),
                ({"resources": [{"name": "a", "deviceIDs": [17]}]}, '.deviceIDs[0]: "17" is not a PCI id'),
                ({"resources": [{"name": "a", "rdmaHcaMax": "many"}]}, "rdmaHcaMax: this is a string"),
                ({"deploy": False, "resources": [{"name": "a", "vendors": ["15b3"]}]}, "no resource in it"),
                ({"deploy": True}, "no resource in it")):
            self.assert_refused(dumped({path: values}), message)
        config, notes = convert(dumped({path: {"useCdi": True, "resources": [
            {"name": "a", "rdmaHcaMax": "7", "vendors": ["15b3"], "selectors": {}}]}, "deployCR": False}))
        self.assertIn("count = 7;", config)
        self.assertIn('cdi = "on";', config)
        self.assert_note(notes, f"not carried over: {path}.resources[0].selectors: the chart has no such key")
        self.assert_note(notes, "mind: deployCR: false")
        assert_checked(self, config)

    def test_values_of_spiderpool(self):
        config, notes = convert(dumped({"rdma": {"rdmaSharedDevicePlugin": {"install": True, "deviceConfig": {
            "resourcePrefix": "spidernet.io", "resourceName": "shared", "rdmaHcaMax": 500, "vendors": "15b3",
            "deviceIDs": 1017, "periodicUpdateInterval": 300}}}}))
        for text in ('name = "spidernet.io/shared"', "count = 500;", 'vendors = "15b3"', 'devices = "1017"'):
            self.assertIn(text, config)
        self.assertEqual(notes, ["not carried over: rdma.rdmaSharedDevicePlugin.deviceConfig.periodicUpdateInterval: the "
                                 "kernel notifies rdmad of devices; no interval is needed"])
        assert_checked(self, config)
        config, notes = convert(dumped({"rdma": {"rdmaSharedDevicePlugin": {"install": True}}}))
        self.assertIn('name = "spidernet.io/hca_shared_devices"', config)
        self.assertEqual(len(notes), 5)
        for values, message in (({"install": False}, "no resource in it"),
                                ({"deviceConfig": {"vendors": "15b3,1dd8"}},
                                 '.vendors[0]: "15b3,1dd8" is not a PCI id'),
                                ({"deviceConfig": {"vendors": ["15b3"]}},
                                 ".vendors: this is a list, and should be a string"),
                                ({"deviceConfig": 7}, ".deviceConfig: this is a whole number, and should be an object")):
            self.assert_refused(dumped({"rdma": {"rdmaSharedDevicePlugin": values}}), message)

    def test_what_belongs_to_some_nodes_says_so(self):
        _, notes = convert(dumped(policy("NicNodePolicy", SHARED, nodeSelector={"gpu": ""})))
        self.assertEqual(notes, ["not carried over: NicNodePolicy/nodeSelector: only those nodes get this configuration: "
                                 "give the DaemonSet of rdmad the same"])
        both = [policy("NicNodePolicy", config, nodeSelector={"a": "b"}) for config in (SHARED, SRIOV)]
        self.assert_refused(yaml.safe_dump_all(both), "x: several NicNodePolicies, each for other nodes; import them one "
                                                      "by one: gpu-nodes gpu-nodes")

    def test_what_is_not_in_the_file_is_named(self):
        other = release({"ofedDriver": {"deploy": True}})
        beside = release(SHARED)
        beside["spec"]["valuesFrom"] = [{"kind": "ConfigMap", "name": "v"}]
        _, notes = convert(dumped(beside))
        self.assert_note(notes, "not carried over: HelmRelease/r: valuesFrom[0] (ConfigMap v) is not in this file")
        del beside["spec"]["values"]
        for document, message in (
                (beside,
     "x: HelmRelease/r: valuesFrom[0] (ConfigMap v) is not in this file: give what `helm get values"),
                (other, "x: HelmRelease/r: no device plugin is configured in its values"),
                (application({"valueFiles": ["values-prod.yaml"]}),
     "x: Application/a: values-prod.yaml is not in this file"),
                (application({"values": "a: [", "releaseName": "r"}), "x: Application/a: no device plugin is configured"),
                ({"configMapGenerator": [{"name": "m", "files": ["config.json"]}]},
                 "x: configMapGenerator[0]: its files are beside this one: give what `kubectl kustomize` prints"),
                ({"kind": "Secret", "metadata": {"name": "s"}, "type": "helm.sh/release.v1", "data": {"release": "SDRz"}},
                 "x: Secret/s: a release of Helm, which `helm get values --all` prints"),
                (daemon_set(SHARED_IMAGE, []), "x: DaemonSet/ds: the plugin's configuration is in the ConfigMap that it "
                                               "mounts: give that too"),
                ({"kind": "NicClusterPolicy", "spec": {"rdmaSharedDevicePlugin": {"resources": [{"name": "a"}]}}},
                 "x: NicClusterPolicy/rdmaSharedDevicePlugin: its config is absent or not JSON")):
            self.assert_refused(dumped(document), message)

    def test_a_broken_text_is_an_error_if_it_was_meant_to_be_a_configuration(self):
        broken = {"values": "rdmaSharedDevicePlugin: {{ .Values.a }}"}
        self.assert_refused(dumped(application(broken)), "x: Application/a:1:26: ")
        self.assert_refused(dumped(config_map(SHARED, data={"c.yaml": "configList:\n\t- a\n"})), "x: m/c.yaml:2:1: found")
        for other in (application({"values": "a: {{ .Values.a }}"}), config_map(SHARED, data={"c.yaml": "a:\n\t- a\n"})):
            self.assertIn('"rdma/hca"', convert(yaml.safe_dump_all([other, config_map(HCA)]))[0])

    def test_kinds_that_hold_no_configuration_say_what_to_do_instead(self):
        for kind, message in (
                ("SriovNetworkNodePolicy", "import its ConfigMap device-plugin-config with --key NODE"),
                ("SriovNetworkNodeState", "rdmad reads the node itself"),
                ("SriovNetworkPoolConfig", "the operator's own settings stay"),
                ("SriovOperatorConfig", "the operator's own settings stay"),
                ("NetworkAttachmentDefinition", "rdmad-cni(7)"), ("SriovNetwork", "rdmad-cni(7)"),
                ("SriovIBNetwork", "rdmad-cni(7)"), ("HostDeviceNetwork", "rdmad-cni(7)"),
                ("MacvlanNetwork", "rdmad-cni(7)"), ("IPoIBNetwork", "rdmad-cni(7)"),
                ("SpiderMultusConfig", "rdmad-cni(7)"), ("IPPool", "stay with their IPAM plugin"),
                ("NicConfigurationTemplate", "stay with their operator"), ("ERdmaDevice", "the controller stays")):
            document = {"kind": kind, "metadata": {"name": "one"}, "spec": {}}
            self.assert_refused(dumped(document), f"x: {kind}/one: ")
            self.assert_refused(dumped(document), message)
            _, notes = convert(dumped({"kind": "List", "items": [document, config_map(HCA)]}))
            self.assertEqual(len(notes), 1)
            self.assert_note(notes, f"not carried over: {kind}/one: ")

    def test_arguments_of_a_plugin_beside_its_config_map(self):
        pool = {"resourceList": [{"resourceName": "a", "selectors": {"isRdma": True, "pfNames": ["p"]}}]}

        def both(*arguments, image=SRIOV_IMAGE, config=pool):
            return yaml.safe_dump_all([daemon_set(image, list(arguments)), config_map(config)])
        for arguments, name, cdi in (
                ((), "intel.com/a", False), (("--resource-prefix=openshift.io",), "openshift.io/a", False),
                (("-resource-prefix", "x.io", "--use-cdi"), "x.io/a", True),
                (("--log-level=10", "-use-cdi=false"), "intel.com/a", False), (("-use-cdi=true",), "intel.com/a", True)):
            with self.subTest(arguments):
                config, _ = convert(both(*arguments))
                self.assertIn(f'name = "{name}";', config)
                self.assertEqual('cdi = "on";' in config, cdi)
                assert_checked(self, config)
        self.assertIn('"y.io/a"', convert(both("--resource-prefix=x.io"), prefix="y.io")[0])
        self.assertIn('cdi = "on";', convert(both("--use-cdi", image=SHARED_IMAGE, config=SHARED))[0])
        self.assertNotIn('cdi = "on";', convert(both("--use-cdi", image=SHARED_IMAGE))[0])

    def test_a_plugin_chooses_the_key_of_its_config_map(self):
        maps = config_map(SHARED, data={"a.json": json.dumps(SHARED), "b.json": json.dumps(HCA),
                                        "c.json": json.dumps({**SHARED, "periodicUpdateInterval": 1})})
        self.assert_refused(dumped(maps), "several keys, choose with --key: a.json b.json c.json")
        volumes = [{"name": "config", "configMap": {"name": "m", "items": [{"key": "c.json", "path": "config.json"}]}}]
        mounts = {"volumeMounts": [{"name": "config", "mountPath": "/k8s-rdma-shared-dev-plugin"}]}
        for document, label in (
                (daemon_set(SHARED_IMAGE, ["--config-file", "/etc/a.json"]), "m/a.json"),
                (daemon_set(SHARED_IMAGE, [], volumes=volumes, container=mounts), "m/c.json")):
            with self.subTest(label):
                config, _ = convert(yaml.safe_dump_all([maps, document]))
                self.assertIn(f"# {label}: configList[0]", config)
                self.assertEqual(config.count("{\t# "), 2)


class Random(Case):
    """Any text is rejected with a reason, or becomes a configuration that rdmad takes."""

    PIECES = [b"null", b"true", b"7", b"-1", b"1.5", b'"x"', b"[]", b"{}", b'"\\u0000"', b'"a b"', b'"*"', b"\xff",
              b"\x01", b"\t", b"\n", b"}", b"{", b",", b":", b'"', b"9" * 30, b"&a", b"*a", b"---\n", b"- ", b"kind: ",
              b"!!binary ", b"deploy: no\n", b"[0x1, 1e3]", b"\\u0041", b"valuesObject", b"configMapGenerator: [7]\n"]

    def mutate(self, chance, text):
        text = bytearray(text)
        for _ in range(chance.randrange(1, 4)):
            at = chance.randrange(len(text) + 1)
            what = chance.random()
            if what < .5:
                text[at:at] = chance.choice(self.PIECES)
            elif what < .8:
                del text[at:at + chance.randrange(1, 30)]
            else:
                text[at:at + 1] = bytes([chance.randrange(256)])
        return bytes(text)

    def test_any_text_is_rejected_or_becomes_a_configuration(self):
        chance = random.Random(1)
        seeds = [wrap(config).encode() for _, wrap, configs in WRAPPERS for config in configs]
        for name in sorted(os.listdir(FILES)):
            with open(os.path.join(FILES, name), "rb") as file:
                seeds.append(file.read())
        taken = set()
        for _ in range(1500):
            text = self.mutate(chance, chance.choice(seeds))
            try:
                taken.add(convert(text)[0])
            except Refused as error:
                self.assertTrue(str(error))
            except Exception:
                print(f"# {text!r}")
                raise
        self.assertGreater(len(taken), 50)
        for config in chance.sample(sorted(taken), 25):
            assert_checked(self, config)


tap.main()
