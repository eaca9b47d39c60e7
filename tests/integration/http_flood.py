# SPDX-License-Identifier: Apache-2.0
"""Clients that ask a TCP listener for large answers for ever: http_flood.py PORT CLIENTS PATH...

Run as a process of its own, at the lowest priority: clients of another machine would take no time of this
one's processors.  At the end of its standard input it prints how many answers it has read.
"""

import contextlib
import os
import selectors
import socket
import subprocess
import sys


class Flood:
    """For `with`: the flood is on inside, each client has had an answer at the beginning."""

    def __init__(self, port, paths, clients=16):
        self.command = [sys.executable, os.path.realpath(__file__), str(port), str(clients), *paths]
        self.answers = None

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.process.stdout.readline()
        return self

    def __exit__(self, *_):
        said, _ = self.process.communicate()
        self.answers = int(said or 0)


class Client:
    """One request after the other through one connection, which is opened again when it is closed."""

    def __init__(self, port, path, selector):
        self.port, self.selector, self.answers = port, selector, 0
        self.request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        self.connect()

    def connect(self):
        self.socket = socket.create_connection(("127.0.0.1", self.port))
        self.socket.setblocking(False)
        self.selector.register(self.socket, selectors.EVENT_READ, self)
        self.ask()

    def ask(self):
        self.head, self.left = b"", None
        with contextlib.suppress(ConnectionError):      # read() meets it again
            self.socket.send(self.request)

    def reconnect(self):
        self.selector.unregister(self.socket)
        self.socket.close()
        self.connect()

    def read(self, room):
        try:
            size = self.socket.recv_into(room)
        except BlockingIOError:
            return
        except ConnectionError:
            size = 0
        if size == 0:
            self.reconnect()
        elif self.left is None:
            self.read_head(bytes(room[:size]))
        else:
            self.took(size)

    def read_head(self, data):
        self.head += data
        head, end, body = self.head.partition(b"\r\n\r\n")
        if not end:
            return
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        self.left = int(fields.get(b"content-length", 0))
        self.took(len(body))

    def took(self, size):
        self.left -= size
        if self.left <= 0:
            self.answers += 1
            self.ask()


def main():
    port, count, *paths = sys.argv[1:]
    os.nice(19)
    selector = selectors.DefaultSelector()
    selector.register(sys.stdin, selectors.EVENT_READ, None)
    clients = [Client(int(port), paths[i % len(paths)], selector) for i in range(int(count))]
    room = memoryview(bytearray(1 << 20))
    said = False
    while True:
        for key, _ in selector.select():
            if key.data is None:
                print(sum(client.answers for client in clients))
                return
            key.data.read(room)
        if not said and all(client.answers for client in clients):
            print("flooding", flush=True)
            said = True


if __name__ == "__main__":
    main()
