/* SPDX-License-Identifier: Apache-2.0 */
#include "http/access/peer.h"

#include <netinet/in.h>
#include <string.h>

/* Dual-stack sockets report IPv4 addresses in ::ffff:0:0/96. */
static void map_v4(struct in6_addr *to, const struct in_addr *from)
{
	*to = (struct in6_addr){ 0 };
	to->s6_addr[10] = to->s6_addr[11] = 0xff;
	memcpy(&to->s6_addr[12], from, sizeof(*from));
}

/* Returns FALSE for other address families. */
static gboolean address_get(const struct sockaddr_storage *address, struct in6_addr *to)
{
	*to = (struct in6_addr){ 0 };
	if (address->ss_family == AF_INET)
		map_v4(to, &((const struct sockaddr_in *)address)->sin_addr);
	else if (address->ss_family == AF_INET6)
		*to = ((const struct sockaddr_in6 *)address)->sin6_addr;
	else
		return FALSE;
	return TRUE;
}

void http_peer_set(HttpPeer *peer, const struct sockaddr_storage *address)
{
	struct in6_addr in6;

	if (address_get(address, &in6) && !IN6_IS_ADDR_V4MAPPED(&in6))
		memset(&in6.s6_addr[8], 0, 8);
	memcpy(peer->bytes, &in6, sizeof(peer->bytes));
}

guint http_peer_hash(gconstpointer peer)
{
	const guint8 *bytes = ((const HttpPeer *)peer)->bytes;
	guint hash = 5381;

	for (guint i = 0; i < sizeof(HttpPeer); i++)
		hash = hash * 33 + bytes[i];
	return hash;
}

gboolean http_peer_equal(gconstpointer a, gconstpointer b)
{
	return memcmp(a, b, sizeof(HttpPeer)) == 0;
}

gboolean http_socket_is_local(int fd)
{
	struct sockaddr_storage own;
	socklen_t size = sizeof(own);
	struct in6_addr in6;

	if (getsockname(fd, (struct sockaddr *)&own, &size) < 0 || !address_get(&own, &in6))
		return FALSE;
	if (IN6_IS_ADDR_V4MAPPED(&in6))
		return in6.s6_addr[12] == 127;
	return IN6_IS_ADDR_LOOPBACK(&in6);
}
