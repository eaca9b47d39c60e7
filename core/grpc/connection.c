/* SPDX-License-Identifier: Apache-2.0 */
/* One client's connection: passes events of the session to its calls. */
#define RDMAD_LOG_TOPIC "grpc"

#include <malloc.h>
#include <rdmad/log.h>

#include "grpc/server-private.h"

#define LARGE (1024u * 1024)

static RdmadGrpcCall *connection_call(const RdmadGrpcConnection *c, int32_t stream)
{
	return nghttp2_session_get_stream_user_data(rdmad_grpc_session_h2(c->session), stream);
}

static void connection_begin(int32_t stream, gpointer data)
{
	RdmadGrpcConnection *c = data;
	RdmadGrpcCall *call;

	/* Trailers of a request mean nothing in gRPC. */
	if (connection_call(c, stream))
		return;
	call = rdmad_grpc_call_new(c, stream);
	nghttp2_session_set_stream_user_data(rdmad_grpc_session_h2(c->session), stream, call);
}

static void connection_field(int32_t stream, const RdmadGrpcField *field, gpointer data)
{
	RdmadGrpcCall *call = connection_call(data, stream);

	if (call && !call->checked)
		rdmad_grpc_head_field(&call->head, field);
}

static void connection_headers(int32_t stream, gboolean too_large, gpointer data)
{
	RdmadGrpcCall *call = connection_call(data, stream);

	if (call && !call->checked)
		rdmad_grpc_call_begin(call, too_large);
}

static void connection_data(int32_t stream, const guint8 *bytes, gsize size, gpointer data)
{
	RdmadGrpcCall *call = connection_call(data, stream);

	if (call)
		rdmad_grpc_call_receive(call, bytes, size);
}

static void connection_ended(int32_t stream, gpointer data)
{
	RdmadGrpcCall *call = connection_call(data, stream);

	if (call)
		rdmad_grpc_call_received(call);
}

static void connection_stream_closed(int32_t stream, guint32 error_code, gpointer data)
{
	RdmadGrpcConnection *c = data;
	RdmadGrpcCall *call = connection_call(c, stream);

	if (!call)
		return;
	nghttp2_session_set_stream_user_data(rdmad_grpc_session_h2(c->session), stream, NULL);
	rdmad_grpc_call_detach(call);
	rdmad_grpc_call_lost(call);
	rdmad_grpc_call_unref(call);
}

/* From a list of its own: a callback may end the connection. */
static void connection_flushed(gpointer data)
{
	RdmadGrpcConnection *c = data;
	GQueue written = c->written;
	RdmadGrpcCall *call;

	g_queue_init(&c->written);
	while ((call = g_queue_pop_head(&written))) {
		if (call->connection && !call->answered && call->writable)
			call->writable(call, call->data);
		rdmad_grpc_call_unref(call);
	}
}

/* glibc keeps what large messages took, for good. */
static void memory_give_back(gsize most)
{
	if (most > LARGE)
		malloc_trim(0);
}

static void connection_closed(const char *why, gpointer data)
{
	RdmadGrpcConnection *c = data;
	RdmadGrpcServer *server = c->server;
	GQueue lost = G_QUEUE_INIT;
	const gsize most = c->most;
	RdmadGrpcCall *call;

	rdmad_debug("%s: a connection ended: %s", server->file.path ? server->file.path : "gone",
		    why);
	rdmad_grpc_connection_free(c, &lost);
	memory_give_back(most);
	rdmad_grpc_server_left(server);
	while ((call = g_queue_pop_head(&lost))) {
		rdmad_grpc_call_lost(call);
		rdmad_grpc_call_unref(call);
	}
}

void rdmad_grpc_connection_yield(RdmadGrpcConnection *c)
{
	rdmad_grpc_connection_goaway(c);
	rdmad_grpc_session_flush(c->session);
	connection_closed("it was idle, and another one came", c);
}

static void connection_ping_acked(gpointer data)
{
	RdmadGrpcConnection *c = data;

	if (c->draining)
		rdmad_grpc_connection_goaway(c);
}

static void connection_goaway(gpointer data)
{
}

static const RdmadGrpcSessionOps connection_ops = {
	.begin = connection_begin,
	.field = connection_field,
	.headers = connection_headers,
	.data = connection_data,
	.ended = connection_ended,
	.stream_closed = connection_stream_closed,
	.goaway = connection_goaway,
	.ping_acked = connection_ping_acked,
	.flushed = connection_flushed,
	.closed = connection_closed,
};

RdmadGrpcConnection *rdmad_grpc_connection_new(RdmadGrpcServer *server, int fd)
{
	RdmadGrpcConnection *c = g_new0(RdmadGrpcConnection, 1);

	c->server = server;
	c->node.data = c;
	c->session = rdmad_grpc_session_new(server->loop, fd, TRUE, server->limits.max_streams,
					    &connection_ops, c);
	g_queue_push_tail_link(&server->connections, &c->node);
	server->totals.connections++;
	server->totals.connections_total++;
	return c;
}

/* The PING comes back after everything that the client sent before it received GOAWAY. */
void rdmad_grpc_connection_drain(RdmadGrpcConnection *c)
{
	nghttp2_session *h2 = rdmad_grpc_session_h2(c->session);

	c->draining = TRUE;
	nghttp2_submit_shutdown_notice(h2);
	nghttp2_submit_ping(h2, NGHTTP2_FLAG_NONE, NULL);
	rdmad_grpc_session_wake(c->session);
}

void rdmad_grpc_connection_goaway(RdmadGrpcConnection *c)
{
	nghttp2_session *h2 = rdmad_grpc_session_h2(c->session);

	c->draining = FALSE;
	nghttp2_submit_goaway(h2, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(h2),
			      NGHTTP2_NO_ERROR, NULL, 0);
	rdmad_grpc_session_wake(c->session);
}

static void call_farewell(RdmadGrpcCall *call, GQueue *untold)
{
	rdmad_grpc_call_status(call, RDMAD_GRPC_UNAVAILABLE, "the server is going away");
	if (call->answered)
		return;
	call->answered = TRUE;
	g_queue_push_tail(untold, rdmad_grpc_call_ref(call));
}

void rdmad_grpc_connection_farewell(RdmadGrpcConnection *c, GQueue *untold)
{
	for (GList *l = c->calls.head; l; l = l->next)
		call_farewell(l->data, untold);
	rdmad_grpc_connection_goaway(c);
	rdmad_grpc_session_flush(c->session);
}

void rdmad_grpc_connection_free(RdmadGrpcConnection *c, GQueue *lost)
{
	RdmadGrpcCall *call;

	while (c->calls.head) {
		call = c->calls.head->data;
		rdmad_grpc_call_detach(call);
		g_queue_push_tail(lost, call);
	}
	while ((call = g_queue_pop_head(&c->written)))
		rdmad_grpc_call_unref(call);
	g_queue_unlink(&c->server->connections, &c->node);
	c->server->totals.connections--;
	rdmad_grpc_session_free(c->session);
	g_free(c);
}
