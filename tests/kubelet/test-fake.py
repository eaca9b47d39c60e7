#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The fake kubelet itself, against a device plugin of a few lines on grpcio."""

import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from concurrent import futures

import grpc

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import tap  # noqa: E402

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

from fake import AdmissionError, Kubelet, rpc  # noqa: E402
from fake.messages import plugin, registration  # noqa: E402


class TinyPlugin(grpc.GenericRpcHandler):
    """`count` devices "d0".. of "test/tiny"."""

    def __init__(self, path, count=3, preferred=False, pre_start=False):
        self.status = None
        self.path, self.count, self.calls = path, count, []
        self.options = plugin.DevicePluginOptions(get_preferred_allocation_available=preferred,
                                                  pre_start_required=pre_start)
        self.lists = queue.Queue()
        self.server = grpc.server(futures.ThreadPoolExecutor(8))
        self.server.add_generic_rpc_handlers((self,))
        self.server.add_insecure_port("unix:" + path)
        self.server.start()
        self.send({f"d{i}" for i in range(count)})

    def send(self, healthy):
        message = plugin.ListAndWatchResponse()
        for i in range(self.count):
            device = message.devices.add(ID=f"d{i}", health="Healthy" if f"d{i}" in healthy
                                         else "Unhealthy")
            device.topology.nodes.add(ID=i % 2)
        self.lists.put(message)

    def stop(self):
        self.lists.put(None)
        self.server.stop(None).wait()

    def service(self, details):
        service, name = details.method.strip("/").split("/")
        self.calls.append(name)
        if name == "ListAndWatch":
            return grpc.unary_stream_rpc_method_handler(
                lambda request, context: iter(self.lists.get, None),
                response_serializer=lambda m: m.SerializeToString())
        package = plugin if service == "v1beta1.DevicePlugin" else registration
        return grpc.unary_unary_rpc_method_handler(
            lambda request, context: getattr(self, name)(package, request),
            response_serializer=lambda m: m.SerializeToString())

    def GetDevicePluginOptions(self, package, request):
        return self.options

    def GetPreferredAllocation(self, package, request):
        asked = package.PreferredAllocationRequest.FromString(request).container_requests[0]
        reply = package.PreferredAllocationResponse()
        reply.container_responses.add(
            deviceIDs=sorted(asked.available_deviceIDs)[-asked.allocation_size:])
        return reply

    def Allocate(self, package, request):
        asked = package.AllocateRequest.FromString(request).container_requests[0]
        reply = package.AllocateResponse()
        answer = reply.container_responses.add()
        answer.envs["IDS"] = ",".join(asked.devices_ids)
        return reply

    def PreStartContainer(self, package, request):
        return package.PreStartContainerResponse()

    def GetInfo(self, package, request):
        return package.PluginInfo(type="DevicePlugin", name="test/tiny",
                                  supported_versions=["v1beta1"])

    def NotifyRegistrationStatus(self, package, request):
        self.status = package.RegistrationStatus.FromString(request)
        return package.RegistrationStatusResponse()


class FakeKubeletTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = directory.name

    def kubelet(self, **options):
        kubelet = Kubelet(self.root, **options)
        kubelet.start()
        self.addCleanup(kubelet.stop)
        return kubelet

    def plugin(self, directory, name="tiny.sock", **options):
        os.makedirs(os.path.join(self.root, directory), exist_ok=True)
        tiny = TinyPlugin(os.path.join(self.root, directory, name), **options)
        self.addCleanup(tiny.stop)
        return tiny

    def register(self, tiny):
        channel = rpc.dial(os.path.join(self.root, "device-plugins", "kubelet.sock"))
        request = plugin.RegisterRequest(version="v1beta1", resource_name="test/tiny",
                                         endpoint=os.path.basename(tiny.path))
        try:
            rpc.unary(channel, "/v1beta1.Registration/Register", request, plugin.Empty)
        finally:
            channel.close()

    def registered(self, **options):
        kubelet = self.kubelet()
        tiny = self.plugin("device-plugins", **options)
        self.register(tiny)
        kubelet.wait("test/tiny", 3)
        return kubelet, tiny

    def test_register_dials_back_before_it_answers(self):
        kubelet = self.kubelet()
        tiny = self.plugin("device-plugins")
        self.register(tiny)
        self.assertIn("GetDevicePluginOptions", tiny.calls)
        kubelet.wait("test/tiny", 3)
        self.assertEqual(kubelet.devices("test/tiny")["d1"], (True, 1))

    def test_a_socket_in_plugins_registry_is_found_and_its_removal_seen(self):
        kubelet = self.kubelet()
        tiny = self.plugin("plugins_registry")
        kubelet.wait("test/tiny", 3)
        self.assertTrue(kubelet.wait_for(lambda: tiny.status and tiny.status.plugin_registered))
        os.unlink(tiny.path)
        self.assertTrue(kubelet.wait_for(lambda: not kubelet.resources()["test/tiny"]["connected"]))

    def test_a_lost_stream_takes_the_devices_at_once_and_the_resource_after_the_grace(self):
        kubelet = self.kubelet(grace=0.5)
        tiny = self.plugin("device-plugins")
        self.register(tiny)
        kubelet.wait("test/tiny", 3)
        tiny.lists.put(None)
        self.assertTrue(kubelet.wait_for(
            lambda: kubelet.resources()["test/tiny"]["allocatable"] == 0))
        self.assertEqual(kubelet.resources()["test/tiny"]["capacity"], 3)
        with self.assertRaises(AdmissionError):
            kubelet.allocate("default/a", "test/tiny")
        self.assertTrue(kubelet.wait_for(lambda: not kubelet.resources()))
        self.assertEqual(tiny.calls.count("ListAndWatch"), 1)

    def test_answers_are_cached_and_outlive_a_restart(self):
        kubelet, tiny = self.registered()
        grant = kubelet.allocate("default/a", "test/tiny", 2)
        kubelet.restart()
        self.assertFalse(os.path.exists(tiny.path))
        again = kubelet.allocate("default/a", "test/tiny", 2)
        self.assertEqual(again.reply.envs["IDS"], grant.reply.envs["IDS"])
        self.assertEqual(tiny.calls.count("Allocate"), 1)

    def test_no_id_is_given_twice_until_its_pod_is_released(self):
        kubelet, _ = self.registered()
        ids = [kubelet.allocate(f"default/p{i}", "test/tiny").ids[0] for i in range(3)]
        self.assertEqual(sorted(ids), ["d0", "d1", "d2"])
        with self.assertRaises(AdmissionError):
            kubelet.allocate("default/p3", "test/tiny")
        self.assertEqual(kubelet.release("default/p1"), 1)
        self.assertEqual(kubelet.allocate("default/p3", "test/tiny").ids, [ids[1]])

    def test_init_containers_pass_their_devices_on_and_are_not_listed(self):
        kubelet, tiny = self.registered()
        for first, second, again in ((2, 1, 1), (1, 2, 1), (2, 2, 2)):
            init = kubelet.allocate("ml/a", "test/tiny", first, "setup", init=True).ids
            main = kubelet.allocate("ml/a", "test/tiny", second).ids
            self.assertEqual(len(set(init) & set(main)), again)
            with self.assertRaises(AdmissionError):
                kubelet.allocate("ml/b", "test/tiny", 4 - max(first, second))
            [pod] = kubelet.pod_resources._pods().values()
            self.assertEqual([c.name for c in pod.containers], ["main"])
            kubelet.release("ml/a")

    def listed(self, kubelet):
        """{pod: number of ids}"""
        return {name: sum(len(d.device_ids) for c in pod.containers for d in c.devices)
                for (_, name), pod in kubelet.pod_resources._pods().items()}

    def test_completed_pods_are_listed_without_devices_by_older_kubelets_until_they_are_deleted(self):
        for era, lists in (("1.30", True), ("1.36", False)):
            with self.subTest(era):
                kubelet = self.kubelet(era=era)
                tiny = self.plugin("device-plugins")
                self.register(tiny)
                kubelet.wait("test/tiny", 3)
                first = kubelet.allocate("ml/a", "test/tiny", 3).ids
                kubelet.complete("ml/a")
                self.assertEqual(self.listed(kubelet), {"a": 0} if lists else {})
                self.assertEqual(kubelet.allocate("ml/b", "test/tiny", 3).ids, first)
                self.assertEqual(self.listed(kubelet), {"a": 0, "b": 3} if lists else {"b": 3})
                kubelet.release("ml/a")
                self.assertEqual(self.listed(kubelet), {"b": 3})
                kubelet.release("ml/b")
                kubelet.stop()
                tiny.stop()

    def test_without_its_checkpoint_kubelet_lists_pods_without_devices(self):
        kubelet, tiny = self.registered()
        held = set(kubelet.allocate("ml/a", "test/tiny", 2).ids)
        kubelet.restart(lose_checkpoint=True)
        self.assertEqual(self.listed(kubelet), {"a": 0})
        self.assertEqual(kubelet.live(), {("ml", "a"): {("test/tiny", id) for id in held}})
        self.assertEqual(kubelet.resources(), {})

    def test_the_plugins_preference_is_followed_and_prestart_called_where_asked_for(self):
        kubelet, tiny = self.registered(preferred=True, pre_start=True)
        self.assertEqual(kubelet.allocate("default/a", "test/tiny", 1).ids, ["d2"])
        self.assertIn("PreStartContainer", tiny.calls)

    def test_the_end_of_an_older_stream_stops_the_newer_plugin(self):
        kubelet, tiny = self.registered()
        newer = self.plugin("device-plugins", name="newer.sock")
        self.register(newer)
        tiny.lists.put(None)
        self.assertTrue(kubelet.wait_for(lambda: not kubelet.resources()["test/tiny"]["connected"]))

    def test_a_slow_kubelet_dials_a_socket_of_the_registry_late(self):
        kubelet = self.kubelet(registry_delay=3)
        tiny = self.plugin("plugins_registry")
        self.assertFalse(kubelet.wait_for(lambda: tiny.calls, timeout=0.5))
        kubelet.wait("test/tiny", 3)

    def test_a_kubelet_that_hangs_answers_nothing_and_another_takes_its_paths(self):
        kubelet, tiny = self.registered()
        path = os.path.join(self.root, "device-plugins", "kubelet.sock")
        kept = rpc.dial(path)
        self.addCleanup(kept.close)
        kubelet.hang()
        request = plugin.RegisterRequest(version="v1beta1", resource_name="test/tiny",
                                         endpoint=os.path.basename(tiny.path))
        with self.assertRaises(grpc.RpcError) as caught:
            rpc.unary(kept, "/v1beta1.Registration/Register", request, plugin.Empty, timeout=0.5)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
        self.assertTrue(kubelet.resources()["test/tiny"]["connected"])
        other = self.kubelet()
        newer = self.plugin("device-plugins", name="newer.sock")
        self.register(newer)
        other.wait("test/tiny", 3)

    def test_the_programs_do_the_same_from_a_shell(self):
        tiny = self.plugin("plugins_registry")
        daemon = subprocess.Popen([os.path.join(HERE, "kubelet"), "--root", self.root],
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(daemon.stdout.close)
        self.addCleanup(daemon.wait)
        self.addCleanup(daemon.terminate)
        self.assertIn("fake kubelet", daemon.stdout.readline())

        def ctl(*words):
            return subprocess.run([os.path.join(HERE, "kubelet-ctl"), "--root", self.root, *words],
                                  capture_output=True, text=True)
        self.assertEqual(ctl("wait", "test/tiny", "3").returncode, 0)
        self.assertIn("IDS=", ctl("allocate", "test/tiny", "2", "--pod", "ml/a").stdout)
        self.assertIn("ml/a", ctl("pods").stdout)
        self.assertIn("test/tiny", ctl("resources").stdout)
        self.assertIn("UnexpectedAdmissionError",
                      ctl("allocate", "test/tiny", "2", "--pod", "ml/b").stderr)
        self.assertIn("1 grants released", ctl("release", "ml/a").stdout)


if __name__ == "__main__":
    tap.main()
