# SPDX-License-Identifier: Apache-2.0
"""gRPC without generated stubs: servers and calls by method path and message class."""

import os
from concurrent import futures

import grpc


def dial(path, authority="localhost", timeout=10):
    """A channel to a unix socket that is connected, as kubelet's blocking dial gives one.
    Without the local pool two channels to one path would share a connection."""
    channel = grpc.insecure_channel("unix:" + path, options=[
        ("grpc.default_authority", authority),
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.enable_retries", 0)])
    try:
        grpc.channel_ready_future(channel).result(timeout=timeout)
    except grpc.FutureTimeoutError:
        channel.close()
        raise ConnectionError(f"{path}: no gRPC server answers within {timeout} s") from None
    return channel


def unary(channel, path, request, reply_class, timeout=None):
    method = channel.unary_unary(path, request_serializer=lambda m: m.SerializeToString(),
                                 response_deserializer=reply_class.FromString)
    return method(request, timeout=timeout)


def stream(channel, path, request, reply_class):
    method = channel.unary_stream(path, request_serializer=lambda m: m.SerializeToString(),
                                  response_deserializer=reply_class.FromString)
    return method(request)


def describe(error):
    """Status and details of a failed call, "NOT_FOUND: no such slot"."""
    if isinstance(error, grpc.RpcError):
        return f"{error.code().name}: {error.details()}"
    return str(error)


class _Methods(grpc.GenericRpcHandler):
    def __init__(self, methods):
        self.methods = methods

    def service(self, details):
        if details.method not in self.methods:
            return None
        request_class, function = self.methods[details.method]
        return grpc.unary_unary_rpc_method_handler(
            function, request_deserializer=request_class.FromString,
            response_serializer=lambda m: m.SerializeToString())


def serve(path, methods, threads=8):
    """A running server.  `methods`: path -> (request class, function(request, context))."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.lexists(path):
        os.unlink(path)
    server = grpc.server(futures.ThreadPoolExecutor(threads))
    server.add_generic_rpc_handlers((_Methods(methods),))
    server.add_insecure_port("unix:" + path)
    server.start()
    return server
