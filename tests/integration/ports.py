# SPDX-License-Identifier: Apache-2.0
"""TCP ports for the servers of a test."""

import socket

kept = []


def free_port():
    """A port of 127.0.0.1 that is kept for this process.

    A socket is bound to it and does not listen, so that the kernel gives the port to nobody else.  A server that sets
    SO_REUSEADDR can listen there."""
    keeper = socket.socket()
    keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    keeper.bind(("127.0.0.1", 0))
    kept.append(keeper)
    return keeper.getsockname()[1]
