/* SPDX-License-Identifier: Apache-2.0 */
/* Listening sockets: TCP by numeric address, and the control socket. */
#include <errno.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "http/http-address.h"
#include "http/http-server.h"

#define BACKLOG 128

static int socket_listen(int family, const struct sockaddr *addr, socklen_t size, const char *name,
			 GError **error)
{
	rdmad_autofd int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int on = 1, off = 0;

	if (fd < 0) {
		rdmad_error_errno(error, errno, "cannot make a socket for %s", name);
		return -1;
	}
	if (family == AF_UNIX)
		fchmod(fd, 0600); /* before bind(): the file is never open to others */
	else
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (bind(fd, addr, size) < 0 || listen(fd, BACKLOG) < 0) {
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
	/* One socket for both families, or IPv4 alone where the kernel has no IPv6. */
	fd = socket_listen(AF_INET6, (struct sockaddr *)&parsed.addr, parsed.size, address, NULL);
	if (fd < 0) {
		const struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = parsed.port };

		fd = socket_listen(AF_INET, (const struct sockaddr *)&v4, sizeof(v4), address,
				   error);
	}
	return fd;
}

/* A socket that nobody listens at is left over from a crash. */
static gboolean remove_stale(const char *path, const struct sockaddr_un *addr, GError **error)
{
	rdmad_autofd int probe = -1;
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ||
		       rdmad_error_errno(error, errno, "cannot look at %s", path);
	if (!S_ISSOCK(st.st_mode)) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY,
			    "%s is there and is no socket: remove it", path);
		return FALSE;
	}
	probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (connect(probe, (const struct sockaddr *)addr, sizeof(*addr)) == 0 ||
	    errno != ECONNREFUSED) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY,
			    "another process listens at %s already", path);
		return FALSE;
	}
	return unlink(path) == 0 || rdmad_error_errno(error, errno, "cannot remove %s", path);
}

int http_socket_unix(const char *path, GError **error)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(addr.sun_path)) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
			    "%s: a socket's path has at most %zu bytes; choose a shorter run_dir",
			    path, sizeof(addr.sun_path) - 1);
		return -1;
	}
	g_strlcpy(addr.sun_path, path, sizeof(addr.sun_path));
	if (!remove_stale(path, &addr, error))
		return -1;
	return socket_listen(AF_UNIX, (struct sockaddr *)&addr, sizeof(addr), path, error);
}
