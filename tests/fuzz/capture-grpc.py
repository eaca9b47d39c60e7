#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of the gRPC fuzz targets: the bytes between grpcio's client and server.

usage: capture-grpc.py SEEDS-DIRECTORY
"""

import concurrent.futures
import os
import socket
import sys
import tempfile
import threading
import time

import grpc


class Handler(grpc.GenericRpcHandler):
    def service(self, details):
        name = details.method.rsplit("/", 1)[-1]
        if name == "Watch":
            return grpc.unary_stream_rpc_method_handler(self.watch)
        if name == "Fail":
            return grpc.unary_unary_rpc_method_handler(
                lambda request, context: context.abort(grpc.StatusCode.ABORTED, "ä\n%"))
        if name == "Echo":
            return grpc.unary_unary_rpc_method_handler(lambda request, context: request)
        return None

    @staticmethod
    def watch(request, _):
        yield request
        yield b""
        yield b"x" * 300


def pump(source, sink, record):
    while data := source.recv(65536):
        record.append(data)
        sink.sendall(data)
    sink.shutdown(socket.SHUT_WR)


def proxy(path, target, records):
    """Serves one connection at `path` from `target` and keeps both directions."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()

    def run():
        client = listener.accept()[0]
        server = socket.socket(socket.AF_UNIX)
        server.connect(target)
        threads = [threading.Thread(target=pump, args=a, daemon=True) for a in
                   ((client, server, records[0]), (server, client, records[1]))]
        for thread in threads:
            thread.start()

    threading.Thread(target=run, daemon=True).start()


def conversation(name, directory, target, seeds, talk):
    path = os.path.join(directory, name)
    records = [], []
    proxy(path, target, records)
    with grpc.insecure_channel("unix:" + path) as channel:
        try:
            talk(channel)
        except grpc.RpcError:
            pass
        time.sleep(0.1)
    for side, record in zip(("grpc-server", "grpc-client"), records):
        with open(os.path.join(seeds, side, name), "wb") as seed:
            seed.write(b"".join(record)[:8192])


def unary(name, request, **kwargs):
    return lambda channel: channel.unary_unary("/test.Echo/" + name)(request, **kwargs)


def main():
    seeds = sys.argv[1]
    for side in ("grpc-server", "grpc-client"):
        os.makedirs(os.path.join(seeds, side), exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        target = os.path.join(directory, "server")
        server = grpc.server(concurrent.futures.ThreadPoolExecutor(4), [Handler()])
        server.add_insecure_port("unix:" + target)
        server.start()
        talks = {
            "echo": unary("Echo", b"hello"),
            "empty": unary("Echo", b""),
            "deadline": unary("Echo", b"x", timeout=5),
            "metadata": unary("Echo", b"x", metadata=[("key", "value"), ("k-bin", b"\0\1")]),
            "gzip": unary("Echo", b"x" * 3000, compression=grpc.Compression.Gzip),
            "fail": unary("Fail", b"x"),
            "unknown": unary("Nope", b"x"),
            "watch": lambda c: list(c.unary_stream("/test.Echo/Watch")(b"first")),
            "cancel": lambda c: c.unary_stream("/test.Echo/Watch")(b"first").cancel(),
            "three": lambda c: [unary("Echo", b"x")(c) for _ in range(3)],
            "large": unary("Echo", b"x" * 5000),
        }
        for name, talk in talks.items():
            conversation(name, directory, target, seeds, talk)
        server.stop(None).wait()


if __name__ == "__main__":
    main()
