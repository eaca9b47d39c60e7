/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>

#include "grpc/call-private.h"

#define HELD_MESSAGES 16 /* bytes in all calls of a server, in largest messages */

/* ---- what a call holds ---- */

static gsize call_size(const RdmadGrpcCall *call)
{
	return (call->reader.body ? call->reader.body->len : 0) + (call->out ? call->out->len : 0);
}

void rdmad_grpc_call_account(RdmadGrpcCall *call)
{
	RdmadGrpcServer *server = call->connection->server;
	const gsize now = call_size(call);

	server->held = server->held - call->held + now;
	call->held = now;
	call->connection->most = MAX(call->connection->most, server->held);
}

gboolean rdmad_grpc_call_over_budget(const RdmadGrpcCall *call)
{
	const RdmadGrpcServer *server = call->connection->server;

	return server->held > server->limits.max_message * HELD_MESSAGES;
}

void rdmad_grpc_call_out_clear(RdmadGrpcCall *call)
{
	g_clear_pointer(&call->out, g_byte_array_unref);
	call->out_sent = 0;
	rdmad_grpc_call_account(call);
}

gsize rdmad_grpc_call_out_left(const RdmadGrpcCall *call)
{
	return call->out ? call->out->len - call->out_sent : 0;
}

/* ---- the life of a call ---- */

RdmadGrpcCall *rdmad_grpc_call_new(RdmadGrpcConnection *connection, int32_t stream)
{
	RdmadGrpcCall *call = g_new0(RdmadGrpcCall, 1);
	RdmadGrpcServer *server = connection->server;

	call->refs = 1;
	call->connection = connection;
	connection->called = TRUE;
	call->stream = stream;
	call->began_us = g_get_monotonic_time();
	call->node.data = call;
	rdmad_grpc_head_init(&call->head, server->methods);
	rdmad_grpc_reader_init(&call->reader, server->limits.max_message);
	g_queue_push_tail_link(&connection->calls, &call->node);
	server->totals.calls++;
	return call;
}

/* Methods that are not served come from outside: they have one name for all. */
void rdmad_grpc_call_count(const RdmadGrpcCall *call, RdmadGrpcStatus status)
{
	const RdmadGrpcMethod *method = call->head.method;

	rdmad_grpc_stats_count(&call->connection->server->stats, method ? method->path : "unknown",
			       status, call->began_us);
}

void rdmad_grpc_call_detach(RdmadGrpcCall *call)
{
	RdmadGrpcServer *server = call->connection->server;

	if (!call->finishing) {
		server->totals.failed_total++;
		rdmad_grpc_call_count(call, RDMAD_GRPC_CANCELLED);
	}
	rdmad_grpc_reader_clear(&call->reader);
	rdmad_grpc_call_out_clear(call);
	g_clear_pointer(&call->deadline, rdmad_event_free);
	g_queue_unlink(&call->connection->calls, &call->node);
	if (call->connection->calls.length == 0) { /* idle since now */
		g_queue_unlink(&server->connections, &call->connection->node);
		g_queue_push_tail_link(&server->connections, &call->connection->node);
	}
	server->totals.calls--;
	call->connection = NULL;
}

void rdmad_grpc_call_tell(RdmadGrpcCall *call)
{
	if (call->ended)
		call->ended(call, call->data);
}

void rdmad_grpc_call_lost(RdmadGrpcCall *call)
{
	if (call->answered)
		return;
	call->answered = TRUE;
	rdmad_grpc_call_tell(call);
}

RdmadGrpcCall *rdmad_grpc_call_ref(RdmadGrpcCall *call)
{
	call->refs++;
	return call;
}

static void call_free(RdmadGrpcCall *call)
{
	rdmad_grpc_head_clear(&call->head);
	g_free(call->text);
	g_free(call);
}

void rdmad_grpc_call_unref(RdmadGrpcCall *call)
{
	if (--call->refs == 0)
		call_free(call);
	else if (call->refs == 1 && call->connection && !call->answered)
		/* Only the connection knows it any more, and that one cannot answer. */
		rdmad_grpc_call_fail(call, RDMAD_GRPC_INTERNAL, "the call was dropped");
}

/* ---- what a handler does ---- */

static gboolean call_is_open(const RdmadGrpcCall *call)
{
	return call->connection && !call->answered && !call->finishing;
}

void rdmad_grpc_call_send(RdmadGrpcCall *call, const guint8 *message, gsize size)
{
	if (!call_is_open(call))
		return;
	if (!call->out)
		call->out = g_byte_array_new();
	rdmad_grpc_message_append(call->out, message, size);
	rdmad_grpc_call_account(call);
	if (rdmad_grpc_call_over_budget(call)) {
		rdmad_grpc_call_out_clear(call);
		rdmad_grpc_call_decide(call, RDMAD_GRPC_RESOURCE_EXHAUSTED, NULL);
		rdmad_grpc_call_reset(call, NGHTTP2_ENHANCE_YOUR_CALM);
		return;
	}
	rdmad_grpc_call_start_or_resume(call);
}

void rdmad_grpc_call_finish(RdmadGrpcCall *call)
{
	if (!call->connection || call->answered)
		return;
	/* Also when it was too much and is failing already: its handler is done with it. */
	call->answered = TRUE;
	rdmad_grpc_call_status(call, RDMAD_GRPC_OK, NULL);
}

void rdmad_grpc_call_reply(RdmadGrpcCall *call, const guint8 *message, gsize size)
{
	rdmad_grpc_call_send(call, message, size);
	rdmad_grpc_call_finish(call);
}

void rdmad_grpc_call_fail(RdmadGrpcCall *call, RdmadGrpcStatus status, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list args;

	if (!call->connection || call->answered)
		return;
	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	rdmad_grpc_call_refuse(call, status == RDMAD_GRPC_OK ? RDMAD_GRPC_UNKNOWN : status, text);
}

gboolean rdmad_grpc_call_pending(const RdmadGrpcCall *call)
{
	return call->connection && rdmad_grpc_call_out_left(call) > 0;
}

void rdmad_grpc_call_watch(RdmadGrpcCall *call,
			   void (*writable)(RdmadGrpcCall *call, gpointer data),
			   void (*ended)(RdmadGrpcCall *call, gpointer data), gpointer data)
{
	call->writable = writable;
	call->ended = ended;
	call->data = data;
}
