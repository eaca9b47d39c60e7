# SPDX-License-Identifier: Apache-2.0
"""The plugins_registry directory: kubelet looks at every socket that appears in it."""

import os
import stat
import threading
import time
import urllib.parse

from . import rpc
from .messages import registration

SERVICE = "/pluginregistration.Registration/"
LOOK_EVERY = 0.05
RETRY_FIRST, RETRY_LAST = 0.5, 8.0


def sockets_below(directory):
    """{path: (inode, change time)} of the sockets whose names do not begin with a dot."""
    found = {}
    for parent, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(parent, name)
            try:
                info = os.lstat(path)
            except FileNotFoundError:
                continue
            if stat.S_ISSOCK(info.st_mode) and not name.startswith("."):
                found[path] = (info.st_ino, info.st_ctime_ns)
    return found


class PluginRegistry:
    def __init__(self, directory, manager, log, delay=0.0):
        """`delay`: seconds that pass before a socket is dialled, as on a busy node."""
        self.directory, self.manager, self.log, self.delay = directory, manager, log, delay
        os.makedirs(directory, exist_ok=True)
        self.known, self.retry = {}, {}     # path -> identity; path -> (when, delay)
        self.asking = {}                    # path -> thread
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        while not self.stopping.wait(LOOK_EVERY):
            self._look(sockets_below(self.directory))

    def _look(self, present):
        for path, identity in list(self.known.items()):
            if present.get(path) != identity:
                del self.known[path]
                self.manager.disconnect(path)
        for path, identity in present.items():
            due, delay = self.retry.get(path, (0, RETRY_FIRST))
            if path in self.known or path in self.asking or time.monotonic() < due:
                continue
            self.asking[path] = threading.Thread(target=self._ask, args=(path, identity, delay),
                                                 daemon=True)
            self.asking[path].start()

    def _ask(self, path, identity, delay):
        """All sockets at once: one that does not answer holds up no other."""
        if self.stopping.wait(self.delay):
            return
        if self._register(path):
            self.known[path] = identity
            self.retry.pop(path, None)
        else:
            self.retry[path] = (time.monotonic() + delay, min(delay * 2, RETRY_LAST))
        del self.asking[path]

    def _register(self, path):
        """Asks who it is, connects to the service, tells how it went."""
        channel = None
        try:
            # This one dial carries the escaped path as its :authority.
            channel = rpc.dial(path, authority=urllib.parse.quote(path, safe=""))
            info = rpc.unary(channel, SERVICE + "GetInfo", registration.InfoRequest(),
                             registration.PluginInfo, timeout=1)
            error = self._accept(info, path)
            status = registration.RegistrationStatus(plugin_registered=not error, error=error)
            rpc.unary(channel, SERVICE + "NotifyRegistrationStatus", status,
                      registration.RegistrationStatusResponse, timeout=5)
            return not error
        except Exception as error:
            self.log(f"{path}: not registered: {rpc.describe(error)}")
            return False
        finally:
            if channel is not None:
                channel.close()

    def _accept(self, info, path):
        if info.type != "DevicePlugin":
            return f"no handler for plugin type {info.type!r}"
        if "v1beta1" not in info.supported_versions:
            return f"no supported version among {list(info.supported_versions)}"
        try:
            self.manager.connect(info.name, info.endpoint or path)
        except Exception as error:
            return rpc.describe(error)
        return ""

    def close(self):
        self.stopping.set()
        self.thread.join()
