# SPDX-License-Identifier: Apache-2.0
"""Kubelet's connection to one device plugin: one socket, one ListAndWatch stream."""

import contextlib
import threading

import grpc

from . import rpc
from .messages import plugin

SERVICE = "/v1beta1.DevicePlugin/"


class Endpoint:
    """The stream is asked for once and never again: kubelet does not retry it."""

    def __init__(self, resource, path, manager, options=None):
        """`options`: as Register had them; None: the plugin is asked."""
        self.resource, self.path, self.manager = resource, path, manager
        self.stopped = False        # by the end of a stream; Allocate is refused from then on
        self.messages = 0           # lists that were processed
        self.started = []           # calls of PreStartContainer
        self.channel = rpc.dial(path)
        try:
            self.options = options or self._call("GetDevicePluginOptions", plugin.Empty(),
                                                 plugin.DevicePluginOptions)
        except BaseException:
            self.channel.close()
            raise

    def _call(self, method, request, reply_class, timeout=None):
        return rpc.unary(self.channel, SERVICE + method, request, reply_class, timeout)

    def run(self):
        self.stream = rpc.stream(self.channel, SERVICE + "ListAndWatch", plugin.Empty(),
                                 plugin.ListAndWatchResponse)
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self):
        reason = "the stream ended"
        try:
            for message in self.stream:
                self.manager.devices_reported(self, message.devices)
                self.messages += 1
        except grpc.RpcError as error:
            reason = rpc.describe(error)
        except ValueError as error:     # the channel was closed under the iterator
            reason = str(error)
        self._take_answers()
        self.manager.released.wait(self.manager.end_delay)
        self.manager.disconnected(self, reason)
        self.close()

    def _take_answers(self):
        """A call that was answered before the stream ended is answered, as in grpc-go."""
        for call in self.started:
            with contextlib.suppress(grpc.RpcError, grpc.FutureTimeoutError, grpc.FutureCancelledError):
                call.result(0.5)

    def close(self):
        self.channel.close()

    def preferred(self, available, must_include, size):
        request = plugin.PreferredAllocationRequest()
        request.container_requests.add(available_deviceIDs=available,
                                       must_include_deviceIDs=must_include, allocation_size=size)
        reply = self._call("GetPreferredAllocation", request, plugin.PreferredAllocationResponse)
        if len(reply.container_responses) != 1:
            return []
        return list(reply.container_responses[0].deviceIDs)

    def allocate(self, ids):
        request = plugin.AllocateRequest()
        request.container_requests.add(devices_ids=ids)
        reply = self._call("Allocate", request, plugin.AllocateResponse)
        if len(reply.container_responses) != 1:
            raise ValueError(f"{self.resource}: Allocate answered "
                             f"{len(reply.container_responses)} containers for one")
        return reply.container_responses[0]

    def start_call(self, ids):
        """PreStartContainer under way: a future."""
        method = self.channel.unary_unary(
            "/v1beta1.DevicePlugin/PreStartContainer",
            request_serializer=lambda m: m.SerializeToString(),
            response_deserializer=plugin.PreStartContainerResponse.FromString)
        self.started.append(method.future(plugin.PreStartContainerRequest(devices_ids=ids), timeout=30))
        return self.started[-1]

    def pre_start(self, ids):
        self._call("PreStartContainer", plugin.PreStartContainerRequest(devices_ids=ids),
                   plugin.PreStartContainerResponse, timeout=30)
