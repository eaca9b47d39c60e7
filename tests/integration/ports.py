# SPDX-License-Identifier: Apache-2.0
"""TCP ports for the servers of a test."""

import socket

kept = []


def bound_socket(family, address):
    keeper = socket.socket(family)
    keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        keeper.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    keeper.bind((address, 0))
    return keeper


def free_port():
    """A port that is kept for this process.

    A socket is bound to it and does not listen, so that the kernel gives the port to nobody else, on any address: another
    one would be in the way of a server of all of them.  A server that sets SO_REUSEADDR can listen there."""
    try:
        kept.append(bound_socket(socket.AF_INET6, "::"))
    except OSError:     # a machine without IPv6
        kept.append(bound_socket(socket.AF_INET, "0.0.0.0"))
    return kept[-1].getsockname()[1]
