# SPDX-License-Identifier: Apache-2.0
"""HTTP on the control socket of a daemon."""

import http.client
import socket


class Connection(http.client.HTTPConnection):
    def __init__(self, path, timeout=30):
        super().__init__("rdmad", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)
