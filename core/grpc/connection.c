/* SPDX-License-Identifier: Apache-2.0 */
/* One client's connection: passes events of the session to its calls. */
#define RDMAD_LOG_TOPIC "grpc"

#include <malloc.h>
#include <rdmad/error.h>
#include <rdmad/log.h>
#include <string.h>

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

	/* Ignores trailers of a request, which have no meaning in gRPC. */
	if (connection_call(c, stream))
		return;
	call = rdmad_grpc_call_new(c, stream);
	call->replaying = c->replayed_stream == stream;
	call->padding = call->replaying ? c->padding : 0;
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

/* Uses a separate list, because a callback may end the connection. */
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
	if (c->server->frozen)
		rdmad_event_arm(c->server->freeze, 0);
}

/* Returns the memory of large messages, which glibc would keep. */
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

static gboolean connection_partial(gpointer data)
{
	const RdmadGrpcConnection *c = data;
	nghttp2_session *h2 = rdmad_grpc_session_h2(c->session);

	for (const GList *l = c->calls.head; l; l = l->next) {
		const RdmadGrpcCall *call = l->data;

		if (!call->finishing &&
		    nghttp2_session_get_stream_remote_close(h2, call->stream) == 0)
			return TRUE;
	}
	return FALSE;
}

static void connection_replaying(gpointer data)
{
	RdmadGrpcConnection *c = data;
	RdmadGrpcCall *call = connection_call(c, c->replayed_stream);

	if (call && !call->finishing)
		rdmad_grpc_call_replay(call);
}

/* A response that ended during the replay did not reach the client, so the connection is closed. */
static void connection_replayed(gpointer data)
{
	RdmadGrpcConnection *c = data;
	RdmadGrpcCall *call = connection_call(c, c->replayed_stream);

	if (call && !call->finishing)
		rdmad_grpc_call_replayed(call);
	else
		connection_closed("its stream cannot continue", c);
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
	.partial = connection_partial,
	.replaying = connection_replaying,
	.replayed = connection_replayed,
	.closed = connection_closed,
};

static RdmadGrpcConnection *connection_enter(RdmadGrpcServer *server)
{
	RdmadGrpcConnection *c = g_new0(RdmadGrpcConnection, 1);

	c->server = server;
	c->node.data = c;
	g_queue_push_tail_link(&server->connections, &c->node);
	server->totals.connections++;
	server->totals.connections_total++;
	return c;
}

RdmadGrpcConnection *rdmad_grpc_connection_new(RdmadGrpcServer *server, int fd)
{
	RdmadGrpcConnection *c = connection_enter(server);

	c->session = rdmad_grpc_session_new(server->loop, fd, TRUE, server->limits.max_streams,
					    &connection_ops, c);
	return c;
}

/* ---- resumption in another process ---- */

void rdmad_grpc_connection_freeze(RdmadGrpcConnection *c)
{
	rdmad_grpc_session_freeze(c->session);
}

void rdmad_grpc_connection_thaw(RdmadGrpcConnection *c)
{
	rdmad_grpc_session_thaw(c->session);
}

gboolean rdmad_grpc_connection_is_still(const RdmadGrpcConnection *c)
{
	for (const GList *l = c->calls.head; l; l = l->next)
		if (!rdmad_grpc_call_is_still(l->data))
			return FALSE;
	return rdmad_grpc_session_is_silent(c->session) || rdmad_grpc_session_is_still(c->session);
}

json_t *rdmad_grpc_connection_save(RdmadGrpcConnection *c, int *fd)
{
	const RdmadGrpcCall *call = c->calls.length == 1 ? c->calls.head->data : NULL;
	RdmadGrpcSessionState state;

	if (!call || !rdmad_grpc_connection_is_still(c) ||
	    !rdmad_grpc_session_save(c->session, call->stream, &state))
		return NULL;
	*fd = rdmad_grpc_session_fd(c->session);
	return json_pack("{s:s, s:i, s:I, s:I, s:i, s:i}", "method", call->head.method->path,
			 "stream", (int)state.stream, "initial_window",
			 (json_int_t)state.initial_window, "max_frame", (json_int_t)state.max_frame,
			 "window", (int)state.window, "stream_window", (int)state.stream_window);
}

static const RdmadGrpcMethod *method_find(const RdmadGrpcServer *server, const char *path)
{
	for (const RdmadGrpcMethod *method = server->methods; method->path; method++)
		if (g_str_equal(method->path, path))
			return method;
	return NULL;
}

static gboolean state_is_sane(const RdmadGrpcSessionState *state)
{
	return state->stream > 0 && state->stream % 2 == 1 && state->initial_window <= G_MAXINT32 &&
	       state->max_frame >= 16384 && state->max_frame < 1u << 24 && state->window >= 0 &&
	       state->stream_window >= 0;
}

gboolean rdmad_grpc_connection_resume(RdmadGrpcServer *server, int fd, json_t *from, GError **error)
{
	RdmadGrpcSessionState state = { 0 };
	const RdmadGrpcMethod *method = NULL;
	json_int_t window = 0, frame = 0;
	const char *path = "";
	RdmadGrpcConnection *c;

	if (json_unpack(from, "{s:s, s:i, s:I, s:I, s:i, s:i}", "method", &path, "stream",
			&state.stream, "initial_window", &window, "max_frame", &frame, "window",
			&state.window, "stream_window", &state.stream_window) == 0)
		method = method_find(server, path);
	state.initial_window = (guint32)CLAMP(window, 0, G_MAXUINT32);
	state.max_frame = (guint32)CLAMP(frame, 0, G_MAXUINT32);
	if (!method || !state_is_sane(&state)) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
			    "the state of a connection is not understood");
		return FALSE;
	}
	c = connection_enter(server);
	c->replayed_stream = state.stream;
	c->padding = rdmad_grpc_session_padding(&state);
	c->session = rdmad_grpc_session_resume(server->loop, fd, server->limits.max_streams, &state,
					       method->path, &connection_ops, c);
	return TRUE;
}

/* ---- end ---- */

/* The acknowledgement of the PING follows all requests that the client sent before it received
 * GOAWAY. */
void rdmad_grpc_connection_drain(RdmadGrpcConnection *c)
{
	nghttp2_session *h2 = rdmad_grpc_session_h2(c->session);

	c->draining = TRUE;
	nghttp2_submit_shutdown_notice(h2);
	nghttp2_submit_ping(h2, NGHTTP2_FLAG_NONE, NULL);
	rdmad_grpc_session_thaw(c->session);
}

void rdmad_grpc_connection_goaway(RdmadGrpcConnection *c)
{
	nghttp2_session *h2 = rdmad_grpc_session_h2(c->session);

	c->draining = FALSE;
	nghttp2_submit_goaway(h2, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(h2),
			      NGHTTP2_NO_ERROR, NULL, 0);
	rdmad_grpc_session_wake(c->session);
}

static void call_end(RdmadGrpcCall *call, GQueue *unnotified)
{
	rdmad_grpc_call_status(call, RDMAD_GRPC_UNAVAILABLE, "the server is going away");
	if (call->answered)
		return;
	call->answered = TRUE;
	g_queue_push_tail(unnotified, rdmad_grpc_call_ref(call));
}

void rdmad_grpc_connection_end_calls(RdmadGrpcConnection *c, GQueue *unnotified)
{
	for (GList *l = c->calls.head; l; l = l->next)
		call_end(l->data, unnotified);
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
