# SPDX-License-Identifier: Apache-2.0
"""pod-resources/kubelet.sock: who holds which device ids."""

import os
import threading
import time

import grpc

from . import rpc
from .messages import pods

SERVICE = "/v1.PodResourcesLister/"
PER_SECOND, BURST = 100, 10


def lists_completed(era):
    """KubeletPodResourcesListUseActivePods is on from 1.34."""
    return tuple(map(int, era.split("."))) < (1, 34)


class RateLimit:
    def __init__(self):
        self.slots, self.at, self.lock = float(BURST), time.monotonic(), threading.Lock()

    def take(self):
        with self.lock:
            now = time.monotonic()
            self.slots = min(BURST, self.slots + (now - self.at) * PER_SECOND)
            self.at = now
            if self.slots < 1:
                return False
            self.slots -= 1
            return True


class PodResources:
    def __init__(self, root, manager):
        self.manager, self.limit = manager, RateLimit()
        self.lists = self.allocatable_asked = 0
        self.path = os.path.join(root, "pod-resources", "kubelet.sock")
        self.server = rpc.serve(self.path, {
            SERVICE + "List": (pods.ListPodResourcesRequest, self._list),
            SERVICE + "GetAllocatableResources": (pods.AllocatableResourcesRequest,
                                                  self._allocatable),
            SERVICE + "Get": (pods.GetPodResourcesRequest, self._get)})

    def _check_rate(self, context):
        self.manager.wait_while_hung()
        if not self.limit.take():
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "rejected by rate limit")

    def _pods(self):
        """{(namespace, name): PodResources}, one device entry for each id as kubelet has it.  Pods
        without devices are there, too, and before 1.34 those that have completed, until they are
        deleted; init containers never are.  Each list first takes the devices of completed pods back
        (UpdateAllocatedDevices)."""
        found = {}
        with self.manager.lock:
            self.manager.reallocation()
            for (namespace, name), pod in self.manager.pods.items():
                if pod.completed and not lists_completed(self.manager.era):
                    continue
                entry = pods.PodResources(name=name, namespace=namespace)
                for container in pod.containers:
                    entry.containers.add(name=container)
                found[(namespace, name)] = entry
            for ((namespace, name, container), resource), grant in self.manager.grants.items():
                pod = self.manager.pods.get((namespace, name))
                if pod and container in pod.init_containers:
                    continue
                entry = found.setdefault((namespace, name),
                                         pods.PodResources(name=name, namespace=namespace))
                self._add_devices(_container(entry, container), resource, grant)
        return found

    @staticmethod
    def _add_devices(entry, resource, grant):
        for id, node in sorted(grant.numa.items()):
            device = entry.devices.add(resource_name=resource, device_ids=[id])
            if node >= 0:
                device.topology.nodes.add(ID=node)

    def _list(self, request, context):
        self._check_rate(context)
        self.lists += 1
        return pods.ListPodResourcesResponse(pod_resources=self._pods().values())

    def _get(self, request, context):
        self._check_rate(context)
        pod = self._pods().get((request.pod_namespace, request.pod_name))
        if pod is None:
            context.abort(grpc.StatusCode.NOT_FOUND, "pod not found")
        return pods.GetPodResourcesResponse(pod_resources=pod)

    def _allocatable(self, request, context):
        self._check_rate(context)
        self.allocatable_asked += 1
        reply = pods.AllocatableResourcesResponse()
        with self.manager.lock:
            for name, resource in self.manager.resources.items():
                for id in sorted(resource.healthy):
                    reply.devices.add(resource_name=name, device_ids=[id])
        return reply

    def close(self):
        self.server.stop(None).wait()


def _container(pod, name):
    for entry in pod.containers:
        if entry.name == name:
            return entry
    return pod.containers.add(name=name)
