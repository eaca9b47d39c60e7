#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every answer of the API is as contrib/api/v1.schema.json says, and the manual names all of it.

usage: test-api-schema.py RDMAD MODULE-DIR [TEST...]
"""

import json
import os
import re
import sys
import unittest
import urllib.parse

sys.dont_write_bytecode = True

import api_schema  # noqa: E402
from control_socket import Connection  # noqa: E402
from plugin_case import PATIENCE, TESTS, PluginCase, tap  # noqa: E402

RAIL = "rdma/rail"
MANUAL = os.path.join(TESTS, "../contrib/man/rdmad-api.7")
CONFIG = """modules = {
  device-plugin = { resources = ( { name = "rdma/rail"; mode = "exclusive"; } ); };
  metrics = { listen = ( ); };
  cni = { };
  nccl = { network = "host"; };
  erdma = { driver = { load_with = "none"; }; nics = { manage = false; }; };
  kube = { server = "https://127.0.0.1:9"; node = "n1"; token_file = "%s"; ca_file = "%s"; };
};"""
REFUSED = (
    ("GET", "nothing", None, 404), ("POST", "status", None, 405), ("GET", "devices/mlx5_99", None, 404),
    ("GET", "devices/", None, 404), ("GET", "attributes/none", None, 404), ("DELETE", "attributes/none", None, 404),
    ("PUT", "attributes/a", None, 400), ("PUT", "attributes/a", "{}", 400), ("PUT", "attributes/a", "[[[", 400),
    ("PUT", "attributes/a", '{"value": 3}', 400), ("PUT", "attributes/a", '{"value": "%s"}' % ("x" * 254), 400),
    ("PUT", "attributes/" + "x" * 254, '{"value": "y"}', 400), ("POST", "attributes", None, 405),
    ("GET", "events?after=x", None, 400), ("GET", "traffic?after=x", None, 400), ("GET", "explain", None, 400),
    ("GET", "explain?device=x", None, 404), ("GET", "nccl?allocation=x", None, 404), ("GET", "nccl?pid=x", None, 400),
    ("DELETE", "devices/mlx5_0", None, 405),
)


@unittest.skipUnless(api_schema.jsonschema, api_schema.WHY)
class AnswersTest(PluginCase):
    def setUp(self):
        super().setUp()
        self.asked = set()

    def call(self, method, path, body=None):
        connection = Connection(self.socket, PATIENCE)
        try:
            connection.request(method, "/api/v1" + path, body)
            reply = connection.getresponse()
            return reply.status, json.loads(reply.read()), reply.headers
        finally:
            connection.close()

    def ok(self, method, path, body=None, route=None, status=200):
        """The answer, which is what the schema says of the route; `path` may have a query."""
        route = f"{method} /api/v1{route or path.partition('?')[0]}"
        self.asked.add(route)
        code, answer, _ = self.call(method, path, body)
        self.assertEqual((code, api_schema.problems(route, code, answer)), (status, []), route)
        return answer

    def start(self):
        token = os.path.join(self.dir, "token")
        for path in (token, token + ".crt"):
            with open(path, "w") as file:
                file.write("x\n")
        self.start_kubelet()
        self.start_daemon(CONFIG.replace("%s", token), *(f"--module={name}" for name in ("metrics", "cni", "nccl", "erdma", "kube")))
        self.wait_for(lambda: RAIL in self.kubelet.resources(), "resource")

    def ask_all(self):
        for path in ("", "/status", "/devices", "/allocations", "/topology", "/events", "/doctor", "/attributes",
                     "/commands", "/traffic", "/nccl/containers"):
            self.ok("GET", path)
        self.ok("GET", "/nccl?explain=1")
        for device in self.ok("GET", "/devices")["devices"]:
            for name in ("device_id", "device_name"):
                path = urllib.parse.quote(device[name].encode(errors="surrogateescape"), safe="")
                found = self.ok("GET", "/devices/" + path, route="/devices/*")
                self.assertEqual(found, device)
            self.ok("GET", "/explain?device=" + path)

    def change_all(self):
        name = "label%3Aa%2Fb"
        for value in ("x", "y & z", ""):
            self.assertEqual(self.ok("PUT", "/attributes/" + name, json.dumps({"value": value}), "/attributes/*"),
                             {"name": "label:a/b", "value": value})
            self.assertEqual(self.ok("GET", "/attributes/" + name, route="/attributes/*")["value"], value)
        self.ok("GET", "/attributes")
        self.ok("DELETE", "/attributes/" + name, route="/attributes/*")
        self.assertNotIn("label:a/b", [one["name"] for one in self.ok("GET", "/attributes")["attributes"]])
        self.ok("POST", "/rescan")
        self.ok("POST", "/allocations/refresh")

    def test_every_answer_with_pods_that_hold_devices(self):
        self.start()
        self.wait_ready(11, RAIL)
        self.kubelet.allocate("ml/train-0", RAIL, 2)
        allocation = self.kubelet.allocate("ml/train-1", RAIL, 1).reply.envs["RDMAD_ALLOCATION"]
        self.change_all()
        self.wait_for(lambda: self.allocations()[allocation]["pod"] == "train-1", "name of the pod")
        self.wait_for(lambda: len(self.ok("GET", "/nccl/containers")["containers"]) == 2, "plans")
        self.ask_all()
        self.ok("GET", "/nccl?allocation=" + allocation)
        self.ok("GET", "/nccl?explain=1&format=json&allocation=" + allocation)
        self.wait_for(lambda: any(error["per_second"] is not None for port in self.ok("GET", "/traffic")["ports"]
                                  for error in port["errors"]), "rates of errors")
        # Of modules that do not start on a recorded machine: their own tests have their answers checked.
        elsewhere = {"GET /api/v1/attachments", "GET /api/v1/smc"}
        self.assertEqual(set(api_schema.SCHEMA["answers"]) - elsewhere, self.asked)

    def test_the_list_of_resources_is_that_of_the_schema(self):
        self.start()
        listed = {f"{one['method']} {one['path']}" for one in self.ok("GET", "")["resources"]}
        known = set(api_schema.SCHEMA["answers"]) - {"GET /api/v1"}
        self.assertEqual(listed - known, set())
        self.assertLessEqual(known - {"GET /api/v1/attachments", "GET /api/v1/smc"}, listed)

    def test_every_refusal_is_one_error(self):
        self.start()
        for method, path, body, status in REFUSED:
            with self.subTest(f"{method} {path[:40]} {(body or '')[:40]}"):
                code, answer, _ = self.call(method, "/" + path, body)
                self.assertEqual(code, status, answer)
                self.assertEqual(api_schema.problems(None, code, answer), [])

    def test_methods_of_a_path_with_a_name(self):
        self.start()
        _, _, headers = self.call("POST", "/attributes/a")
        self.assertEqual(headers["Allow"], "GET, HEAD, PUT, DELETE")


class OtherMachine(AnswersTest):
    """The answers of the other recorded machines, whose modules have other things to say."""
    test_every_answer_with_pods_that_hold_devices = None
    test_the_list_of_resources_is_that_of_the_schema = None
    test_every_refusal_is_one_error = None
    test_methods_of_a_path_with_a_name = None

    def test_every_answer(self):
        self.start()
        self.ask_all()


class SriovTest(OtherMachine):
    MACHINE = "sriov"


class InfinibandTest(OtherMachine):
    MACHINE = "infiniband"


class BrokenTest(OtherMachine):
    MACHINE = "broken"


class ErdmaTest(OtherMachine):
    MACHINE = "erdma"


del OtherMachine


class ManualTest(unittest.TestCase):
    def sections(self):
        """"GET /api/v1/devices" -> the words below it, of every heading that names it."""
        found, current = {}, []
        with open(MANUAL, encoding="utf-8") as file:
            for line in file:
                if line.startswith((".Ss ", ".Sh ")):
                    current = [re.sub(r"\?.*", "", route) for route in
                               re.findall(r"(?:GET|POST|PUT|DELETE) /api/v1[^\s,]*", line)]
                    current = [re.sub(r"/NAME$", "/*", route) for route in current]
                for route in current:
                    found.setdefault(route, []).append(line)
        return {route: set(re.findall(r"\w+", "".join(lines).replace(r"\(dq", " "))) for route, lines in found.items()}

    def test_each_resource_has_a_section(self):
        self.assertEqual(set(self.sections()), set(api_schema.SCHEMA["answers"]))

    def test_each_member_of_the_schema_is_named_where_its_resource_is(self):
        sections = self.sections()
        for route, part in api_schema.SCHEMA["answers"].items():
            with self.subTest(route):
                words = sections[route]
                for same in ("GET /api/v1/devices", "GET /api/v1/allocations"):     # "the same"
                    if part != api_schema.SCHEMA["answers"][same] and "devices/*" not in route:
                        continue
                    words = words | sections[same]
                self.assertEqual(api_schema.names(part) - words, set())


if __name__ == "__main__":
    tap.main(sys.argv[3:])
