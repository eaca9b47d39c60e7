/* SPDX-License-Identifier: Apache-2.0 */
/* Listening sockets by numeric address */
#include <errno.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "http/address.h"
#include "http/server.h"

#define RESERVED_FDS 256u /* for kubelet, the database, kernel events and files */

static int socket_listen(int family, const struct sockaddr *addr, socklen_t size, const char *name,
			 GError **error)
{
	rdmad_autofd int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int on = 1, off = 0;

	if (fd < 0) {
		rdmad_error_errno(error, errno, "cannot make a socket for %s", name);
		return -1;
	}
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (bind(fd, addr, size) < 0 || listen(fd, HTTP_BACKLOG) < 0) {
		rdmad_error_errno(error, errno, "cannot listen at %s", name);
		return -1;
	}
	return rdmad_steal_fd(&fd);
}

int http_socket_tcp(const char *address, GError **error)
{
	RdmadHttpAddress parsed;
	int fd;

	if (!rdmad_http_address_parse(address, &parsed, error))
		return -1;
	if (!parsed.any)
		return socket_listen(parsed.addr.ss_family, (struct sockaddr *)&parsed.addr,
				     parsed.size, address, error);
	/* One socket serves both families; without IPv6 in the kernel, an IPv4 socket. */
	fd = socket_listen(AF_INET6, (struct sockaddr *)&parsed.addr, parsed.size, address, NULL);
	if (fd < 0) {
		const struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = parsed.port };

		fd = socket_listen(AF_INET, (const struct sockaddr *)&v4, sizeof(v4), address,
				   error);
	}
	return fd;
}

guint http_socket_places(guint n_listeners, guint max_connections)
{
	struct rlimit limit;
	rlim_t spare;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return max_connections;
	spare = limit.rlim_cur - MIN(limit.rlim_cur / 2, RESERVED_FDS);
	return (guint)CLAMP(spare / n_listeners, 1, max_connections);
}
