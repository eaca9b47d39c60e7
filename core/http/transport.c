/* SPDX-License-Identifier: Apache-2.0 */
/* The transport of a plain socket */
#include "http/transport.h"

#include <errno.h>
#include <sys/socket.h>

static gssize socket_result(gssize n, HttpTransportWait wait)
{
	if (n >= 0)
		return n;
	return errno == EAGAIN || errno == EINTR ? (gssize)wait : HTTP_BROKEN;
}

static gssize plain_recv(HttpTransport *t, void *buffer, gsize size)
{
	return socket_result(recv(t->fd, buffer, size, MSG_DONTWAIT), HTTP_WAIT_READ);
}

static gssize plain_send(HttpTransport *t, const struct iovec *parts, guint n_parts)
{
	const struct msghdr message = { .msg_iov = (struct iovec *)parts, .msg_iovlen = n_parts };

	return socket_result(sendmsg(t->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT),
			     HTTP_WAIT_WRITE);
}

static void plain_finish(HttpTransport *t)
{
	shutdown(t->fd, SHUT_WR);
}

static void plain_free(HttpTransport *t)
{
	g_free(t);
}

HttpTransport *http_transport_plain(int fd)
{
	static const HttpTransportClass klass = {
		.recv = plain_recv,
		.send = plain_send,
		.finish = plain_finish,
		.free = plain_free,
	};
	HttpTransport *t = g_new0(HttpTransport, 1);

	t->klass = &klass;
	t->fd = fd;
	return t;
}
