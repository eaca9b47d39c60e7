/* SPDX-License-Identifier: Apache-2.0 */
/* The peer of a connection: an IPv4 address, or an IPv6 /64 network, which one host can own */
#pragma once

#include <glib.h>
#include <sys/socket.h>

typedef struct {
	guint8 bytes[16]; /* IPv4 as ::ffff:a.b.c.d */
} HttpPeer;

void http_peer_set(HttpPeer *peer, const struct sockaddr_storage *address);
/* For hash tables as well. */
guint http_peer_hash(gconstpointer peer);
gboolean http_peer_equal(gconstpointer a, gconstpointer b);
/* Returns whether the socket's local address is a loopback address. */
gboolean http_socket_is_local(int fd);
