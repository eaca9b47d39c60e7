# SPDX-License-Identifier: Apache-2.0
"""A container runtime's CRI socket, as far as it tells the sandboxes of pods."""

import json
import threading

import grpc

from . import rpc
from .messages import cri

SERVICE = "/runtime.v1.RuntimeService/"
POD, NODE = 0, 2        # NamespaceMode


class Runtime:
    """`delay`: seconds before each answer.  `silent`: says nothing about namespaces."""

    def __init__(self, path):
        self.path, self.sandboxes, self.delay, self.silent = path, [], 0, False
        self.calls = 0
        self.stopped = threading.Event()
        self.server = rpc.serve(path, {
            SERVICE + "ListPodSandbox": (cri.ListPodSandboxRequest, self._list),
            SERVICE + "PodSandboxStatus": (cri.PodSandboxStatusRequest, self._status)})

    def run(self, pod, uid, host_network=False, ready=True, annotations=None, netns=None):
        """A sandbox of "namespace/pod"; a later one is newer.  `netns`: told in the verbose state alone."""
        namespace, _, name = pod.rpartition("/")
        self.sandboxes.append({
            "id": f"sandbox-{len(self.sandboxes)}", "host": host_network,
            "state": 0 if ready else 1, "namespace": namespace or "default", "name": name,
            "annotations": annotations or {}, "netns": netns,
            "uid": uid, "created": 1000 + len(self.sandboxes)})

    def _wait(self):
        self.calls += 1
        self.stopped.wait(self.delay)

    @staticmethod
    def _fill(message, sandbox):
        message.id, message.state = sandbox["id"], sandbox["state"]
        message.metadata.name, message.metadata.uid = sandbox["name"], sandbox["uid"]
        message.metadata.namespace = sandbox["namespace"]

    @staticmethod
    def _info(sandbox):
        """As containerd and CRI-O write it."""
        namespaces = [{"type": "pid"}, {"type": "network", "path": sandbox["netns"]}]
        return json.dumps({"pid": 1, "runtimeSpec": {"linux": {"namespaces": namespaces}}})

    def _list(self, request, context):
        self._wait()
        wanted = dict(request.filter.label_selector)
        reply = cri.ListPodSandboxResponse()
        for sandbox in self.sandboxes:
            labels = {"io.kubernetes.pod.name": sandbox["name"],
                      "io.kubernetes.pod.namespace": sandbox["namespace"],
                      "io.kubernetes.pod.uid": sandbox["uid"]}
            if all(labels.get(key) == value for key, value in wanted.items()):
                item = reply.items.add(created_at=sandbox["created"])
                self._fill(item, sandbox)
                item.labels.update(labels)
        return reply

    def _status(self, request, context):
        self._wait()
        for sandbox in self.sandboxes:
            if sandbox["id"] == request.pod_sandbox_id:
                reply = cri.PodSandboxStatusResponse()
                self._fill(reply.status, sandbox)
                reply.status.annotations["of"] = "no interest"
                reply.status.annotations.update(sandbox["annotations"])
                if request.verbose and sandbox["netns"]:
                    reply.info["info"] = self._info(sandbox)
                if not self.silent:
                    reply.status.linux.namespaces.options.network = NODE if sandbox["host"] else POD
                    reply.status.linux.namespaces.options.pid = 1
                return reply
        context.abort(grpc.StatusCode.NOT_FOUND, "no such sandbox")

    def close(self):
        self.stopped.set()
        self.server.stop(None).wait()
