#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""grpcio-echo.py SOCKET REPLY-FILE: the same answer from Python's gRPC, for want of libgrpc++."""

import sys
from concurrent import futures

import grpc


class Echo(grpc.GenericRpcHandler):
    def __init__(self, reply):
        self.reply = reply

    def service(self, details):
        return grpc.unary_unary_rpc_method_handler(lambda request, context: self.reply)


path, reply_file = sys.argv[1:]
with open(reply_file, "rb") as file:
    echo = Echo(file.read())
server = grpc.server(futures.ThreadPoolExecutor(2))
server.add_generic_rpc_handlers((echo,))
server.add_insecure_port("unix:" + path)
server.start()
server.wait_for_termination()
