# SPDX-License-Identifier: Apache-2.0
"""The control socket <root>/fake.sock: one JSON line asked, JSON lines answered."""

import json
import os
import select
import socket
import socketserver
import threading

from .devices import AdmissionError

NAME = "fake.sock"


def reply_as_json(grant):
    reply = grant.reply
    return {"ids": grant.ids, "envs": dict(sorted(reply.envs.items())),
            "devices": [[d.host_path, d.container_path, d.permissions] for d in reply.devices],
            "mounts": [[m.host_path, m.container_path, "ro" if m.read_only else "rw"]
                       for m in reply.mounts],
            "cdi": [d.name for d in reply.cdi_devices],
            "annotations": dict(reply.annotations)}


class Commands:
    """One method a command; its result is the answer."""

    def __init__(self, kubelet):
        self.kubelet = kubelet

    def resources(self):
        return self.kubelet.resources()

    def devices(self, resource):
        return self.kubelet.devices(resource)

    def pods(self):
        return [{"namespace": namespace, "pod": pod, "container": container, "resources": held}
                for (namespace, pod, container), held in self.kubelet.pods().items()]

    def allocate(self, resource, count, pod, container="main", init=False):
        return reply_as_json(self.kubelet.allocate(pod, resource, count, container, init))

    def complete(self, pod):
        self.kubelet.complete(pod)
        return {}

    def release(self, pod):
        return {"released": self.kubelet.release(pod)}

    def wait(self, resource, count, timeout=30.0):
        self.kubelet.wait(resource, count, timeout)
        return self.kubelet.resources()[resource]

    def restart(self, pause=0.0, lose_checkpoint=False):
        self.kubelet.restart(pause, lose_checkpoint)
        return {}


class _Handler(socketserver.StreamRequestHandler):
    def handle(self):
        try:
            asked = json.loads(self.rfile.readline(1 << 20))
            command = asked.pop("command")
            if command == "watch":
                self._watch()
                return
            answer = {"ok": getattr(self.server.commands, command)(**asked)}
        except AdmissionError as error:
            answer = {"error": f"UnexpectedAdmissionError: {error}"}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        self._send(answer)

    def _send(self, answer):
        self.wfile.write(json.dumps(answer).encode() + b"\n")

    def _watch(self):
        """A line whenever the resources change, until the asker goes away."""
        kubelet, last = self.server.commands.kubelet, None
        while True:
            kubelet.wait_for(lambda: kubelet.resources() != last, timeout=1.0)
            if kubelet.resources() != last:
                last = kubelet.resources()
                self._send({"ok": last})
            if select.select([self.connection], [], [], 0)[0]:
                return      # nothing more is ever asked: this is the end of the connection


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass    # the asker went away


class ControlServer:
    def __init__(self, kubelet):
        self.path = kubelet.path(NAME)
        if os.path.lexists(self.path):
            os.unlink(self.path)
        self.server = _Server(self.path, _Handler)
        self.server.commands = Commands(kubelet)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        os.unlink(self.path)


class ControlClient:
    """Calls a fake kubelet in another process; RuntimeError is its error."""

    def __init__(self, root):
        self.path = os.path.join(root, NAME)

    def lines(self, command, **arguments):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self.path)
            connection.sendall(json.dumps({"command": command, **arguments}).encode() + b"\n")
            for line in connection.makefile():
                answer = json.loads(line)
                if "error" in answer:
                    raise RuntimeError(answer["error"])
                yield answer["ok"]

    def ask(self, command, **arguments):
        return next(self.lines(command, **arguments))
