# SPDX-License-Identifier: Apache-2.0
"""kubelet.sock in the device-plugins directory: plugins call Register here."""

import os
import stat
import threading

import grpc

from . import rpc
from .messages import plugin


def wipe_sockets(directory):
    """Kubelet's start: every socket is removed, other files stay."""
    os.makedirs(directory, exist_ok=True)
    for name in os.listdir(directory):
        path = os.path.join(directory, name)
        if stat.S_ISSOCK(os.lstat(path).st_mode):
            os.unlink(path)


class LegacyRegistration:
    def __init__(self, directory, manager, log):
        self.directory, self.manager, self.log = directory, manager, log
        self.path = os.path.join(directory, "kubelet.sock")
        self.requests = []      # resource names, in the order of their Register calls
        self.server = rpc.serve(self.path, {
            "/v1beta1.Registration/Register": (plugin.RegisterRequest, self._register)})

    def _register(self, request, context):
        """Dials back before it answers: a plugin that waits here without serving waits 10 s."""
        self.requests.append(request.resource_name)
        self.manager.wait_while_hung()
        if request.version != "v1beta1":
            context.abort(grpc.StatusCode.UNKNOWN, f"unsupported API version {request.version!r}")
        if "/" not in request.resource_name:
            context.abort(grpc.StatusCode.UNKNOWN, f"invalid resource name {request.resource_name!r}")
        path = os.path.join(self.directory, request.endpoint)
        if self.manager.era == "1.24":
            threading.Thread(target=self._connect_later, args=(request, path), daemon=True).start()
            return plugin.Empty()
        try:
            self.manager.connect(request.resource_name, path)
        except Exception as error:
            self.log(f"{request.resource_name}: Register refused: {rpc.describe(error)}")
            context.abort(grpc.StatusCode.UNKNOWN, rpc.describe(error))
        return plugin.Empty()

    def _connect_later(self, request, path):
        try:
            self.manager.connect(request.resource_name, path, request.options)
        except Exception as error:
            self.log(f"{request.resource_name}: not connected: {rpc.describe(error)}")

    def close(self):
        self.server.stop(None).wait()
        if os.path.lexists(self.path):
            os.unlink(self.path)
