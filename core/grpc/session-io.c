/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/socket.h>

#include "grpc/session-private.h"

#define READ_SIZE    16384u
#define READS_A_TURN 4	    /* then the others' turn */
#define OUT_SIZE     32768u /* about; gathered for one write */
#define LINGER_BYTES (256u * 1024)

static gboolean session_feed(RdmadGrpcSession *s, const guint8 *bytes, gsize size)
{
	const ssize_t n = nghttp2_session_mem_recv(s->h2, bytes, size);

	if (n < 0)
		rdmad_grpc_session_end(s, nghttp2_strerror((int)n));
	return n >= 0 && rdmad_grpc_session_listens(s);
}

static gboolean session_drop(RdmadGrpcSession *s, gsize size)
{
	s->dropped += size;
	if (s->dropped > LINGER_BYTES)
		rdmad_grpc_session_end(s, "the peer does not stop sending");
	return !s->over;
}

static gboolean session_read_once(RdmadGrpcSession *s)
{
	guint8 bytes[READ_SIZE];
	const ssize_t n = recv(s->fd, bytes, sizeof(bytes), 0);

	if (n == 0)
		rdmad_grpc_session_end(s, "the peer closed the connection");
	else if (n < 0 && errno != EAGAIN && errno != EINTR)
		rdmad_grpc_session_end(s, g_strerror(errno));
	if (n <= 0)
		return FALSE;
	/* nghttp2 that has ended a session by itself must not be fed either. */
	if (s->said || s->stopping || !nghttp2_session_want_read(s->h2))
		return session_drop(s, (gsize)n);
	return session_feed(s, bytes, (gsize)n) && n == sizeof(bytes);
}

void rdmad_grpc_session_read(RdmadGrpcSession *s)
{
	for (int i = 0; i < READS_A_TURN && !s->over && !s->dead; i++)
		if (!session_read_once(s))
			return;
}

/* Takes frames from nghttp2 until there is enough for one write. */
static gboolean session_gather(RdmadGrpcSession *s)
{
	const guint8 *bytes;
	ssize_t n = 0;

	if (s->out)
		return TRUE;
	while (!s->dead && (!s->out || s->out->len < OUT_SIZE)) {
		n = nghttp2_session_mem_send(s->h2, &bytes);
		if (n <= 0)
			break;
		if (!s->out)
			s->out = g_byte_array_new();
		g_byte_array_append(s->out, bytes, (guint)n);
	}
	if (n < 0)
		rdmad_grpc_session_end(s, nghttp2_strerror((int)n));
	return s->out != NULL;
}

/* FALSE when the socket takes no more. */
static gboolean session_send(RdmadGrpcSession *s)
{
	const gsize left = s->out->len - s->out_sent;
	const ssize_t n = send(s->fd, s->out->data + s->out_sent, left, MSG_NOSIGNAL);

	if (n < 0) {
		if (errno != EAGAIN && errno != EINTR)
			rdmad_grpc_session_end(s, g_strerror(errno));
		return FALSE;
	}
	s->out_sent += (guint)n;
	if ((gsize)n < left)
		return FALSE;
	g_clear_pointer(&s->out, g_byte_array_unref);
	s->out_sent = 0;
	return TRUE;
}

void rdmad_grpc_session_write(RdmadGrpcSession *s)
{
	s->again = FALSE;
	while (!s->over && session_gather(s) && !s->over && !s->dead && session_send(s))
		;
}
