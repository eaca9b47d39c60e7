/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transport of a connection: the socket itself, or TLS over it
 *
 * No function blocks.  After HTTP_WAIT_* the caller repeats the call with the same bytes when the
 * socket is ready.  The connection owns the descriptor.
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
	/* Returns 0 when the handshake is complete, or HttpTransportWait.  NULL: no handshake. */
	int (*start)(HttpTransport *t);
	/* Returns the number of bytes read, 0 at the end, or HttpTransportWait.  `size` is
	 * HTTP_READ_SIZE. */
	gssize (*recv)(HttpTransport *t, void *buffer, gsize size);
	/* Returns the number of bytes written, or HttpTransportWait.  The parts are not all
	 * empty. */
	gssize (*send)(HttpTransport *t, const struct iovec *parts, guint n_parts);
	/* Notifies the peer that no more data follows. */
	void (*finish)(HttpTransport *t);
	void (*free)(HttpTransport *t);
} HttpTransportClass;

struct HttpTransport {
	const HttpTransportClass *klass;
	int fd;
};

#define HTTP_READ_SIZE                                                                             \
	16384u /* a whole TLS record, so that no bytes stay in the library's buffer */

HttpTransport *http_transport_plain(int fd);
