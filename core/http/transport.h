/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transport of a connection: the socket itself, or TLS over it
 *
 * No function waits.  After HTTP_WAIT_* the caller repeats the call with the same bytes when the
 * socket is ready.  The descriptor stays the connection's.
 */
#pragma once

#include <glib.h>
#include <sys/uio.h>

typedef enum {
	HTTP_WAIT_READ = -1,
	HTTP_WAIT_WRITE = -2,
	HTTP_BROKEN = -3,
} HttpTransportWait;

typedef struct HttpTransport HttpTransport;

typedef struct {
	/* 0 when bytes can flow, or HttpTransportWait.  NULL: at once. */
	int (*start)(HttpTransport *t);
	/* The number of bytes read, 0 at the end, or HttpTransportWait.  `size` is
	 * HTTP_READ_SIZE. */
	gssize (*recv)(HttpTransport *t, void *buffer, gsize size);
	/* The number of bytes of the parts, together not empty, that were written, or
	 * HttpTransportWait. */
	gssize (*send)(HttpTransport *t, const struct iovec *parts, guint n_parts);
	/* Notifies the peer that no more data follows. */
	void (*finish)(HttpTransport *t);
	void (*free)(HttpTransport *t);
} HttpTransportClass;

struct HttpTransport {
	const HttpTransportClass *klass;
	int fd;
};

#define HTTP_READ_SIZE 16384u /* a whole TLS record, so that none is left behind in a buffer */

HttpTransport *http_transport_plain(int fd);
