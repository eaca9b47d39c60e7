/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/clock.h>
#include <stdarg.h>
#include <string.h>

#include "grpc/server-private.h"

#define HELD_MESSAGES                                                                              \
	16 /* limit of buffered bytes in all calls of a server, in units of the largest message */

/* ---- buffered bytes ---- */

static gsize call_size(const RdmadGrpcCall *call)
{
	return (call->reader.body ? call->reader.body->len : 0) + (call->out ? call->out->len : 0);
}

static void call_account(RdmadGrpcCall *call)
{
	RdmadGrpcServer *server = call->connection->server;
	const gsize now = call_size(call);

	server->held = server->held - call->held + now;
	call->held = now;
	call->connection->most = MAX(call->connection->most, server->held);
}

/* Returns whether all calls of the server together exceed the limit. */
static gboolean call_over_budget(const RdmadGrpcCall *call)
{
	const RdmadGrpcServer *server = call->connection->server;

	return server->held > server->limits.max_message * HELD_MESSAGES;
}

static void call_out_clear(RdmadGrpcCall *call)
{
	g_clear_pointer(&call->out, g_byte_array_unref);
	call->out_sent = 0;
	call_account(call);
}

static gsize call_out_left(const RdmadGrpcCall *call)
{
	return call->out ? call->out->len - call->out_sent : 0;
}

/* ---- the response ---- */

static nghttp2_session *call_h2(const RdmadGrpcCall *call)
{
	return rdmad_grpc_session_h2(call->connection->session);
}

/* Fills `nv`, which has room for two fields; returns their number. */
static gsize call_status_fields(const RdmadGrpcCall *call, char number[12], nghttp2_nv *nv)
{
	g_snprintf(number, 12, "%d", (int)call->status);
	nv[0] = rdmad_grpc_field_send("grpc-status", number);
	if (!call->text || !*call->text)
		return 1;
	nv[1] = rdmad_grpc_field_send("grpc-message", call->text);
	return 2;
}

static void call_submit_trailer(const RdmadGrpcCall *call)
{
	char number[12];
	nghttp2_nv nv[2];
	const gsize n = call_status_fields(call, number, nv);

	nghttp2_submit_trailer(call_h2(call), call->stream, nv, n);
}

/* Output was written completely inside nghttp2; waiters are notified after the flush. */
static void call_out_written(RdmadGrpcCall *call)
{
	call_out_clear(call);
	if (!call->answered && call->writable)
		g_queue_push_tail(&call->connection->written, rdmad_grpc_call_ref(call));
}

static ssize_t call_read_padding(RdmadGrpcCall *call, uint8_t *bytes, size_t size)
{
	const gsize n = MIN(call->padding, size);

	if (n == 0) {
		call->deferred = TRUE;
		return NGHTTP2_ERR_DEFERRED;
	}
	memset(bytes, 0, n);
	call->padding -= (guint32)n;
	return (ssize_t)n;
}

static ssize_t call_read_out(nghttp2_session *h2, int32_t stream, uint8_t *bytes, size_t size,
			     uint32_t *flags, nghttp2_data_source *source, void *data)
{
	RdmadGrpcCall *call = nghttp2_session_get_stream_user_data(h2, stream);
	const gsize left = call ? call_out_left(call) : 0, n = MIN(left, size);

	if (!call)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	if (call->replaying)
		return call_read_padding(call, bytes, size);
	if (n > 0) {
		memcpy(bytes, call->out->data + call->out_sent, n);
		call->out_sent += n;
		if (n < left)
			return (ssize_t)n;
		call_out_written(call);
	}
	if (call->finishing) {
		*flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
		call_submit_trailer(call);
	} else if (n == 0) {
		call->deferred = TRUE;
		return NGHTTP2_ERR_DEFERRED;
	}
	return (ssize_t)n;
}

/* Submits the response headers; call_read_out() supplies the rest. */
static void call_start(RdmadGrpcCall *call)
{
	const nghttp2_nv nv[] = { rdmad_grpc_field_send(":status", "200"),
				  rdmad_grpc_field_send("content-type", "application/grpc") };
	const nghttp2_data_provider provider = { .read_callback = call_read_out };

	call->begun = TRUE;
	nghttp2_submit_response(call_h2(call), call->stream, nv, G_N_ELEMENTS(nv), &provider);
}

/* Call when `out` has more data. */
static void call_start_or_resume(RdmadGrpcCall *call)
{
	if (!call->begun)
		call_start(call);
	else if (call->deferred)
		nghttp2_session_resume_data(call_h2(call), call->stream);
	call->deferred = FALSE;
	rdmad_grpc_session_wake(call->connection->session);
}

gboolean rdmad_grpc_call_is_still(const RdmadGrpcCall *call)
{
	return call->begun && !call->finishing && !call->deadline && !call_out_left(call);
}

void rdmad_grpc_call_replay(RdmadGrpcCall *call)
{
	if (!call->begun)
		call_start(call);
}

void rdmad_grpc_call_replayed(RdmadGrpcCall *call)
{
	call->replaying = FALSE;
	if (call_out_left(call) > 0)
		call_start_or_resume(call);
}

/* Submits a status without messages as a single header list. */
static void call_submit_alone(RdmadGrpcCall *call, guint http)
{
	char status[12], number[12];
	nghttp2_nv nv[5];
	gsize n;

	g_snprintf(status, sizeof(status), "%u", http);
	nv[0] = rdmad_grpc_field_send(":status", status);
	nv[1] = rdmad_grpc_field_send("content-type", "application/grpc");
	nv[2] = rdmad_grpc_field_send("grpc-accept-encoding", "identity");
	n = 3 + call_status_fields(call, number, nv + 3);
	call->begun = TRUE;
	nghttp2_submit_response(call_h2(call), call->stream, nv, n, NULL);
	rdmad_grpc_session_wake(call->connection->session);
}

/* Decides the status.  Further input of the request is discarded. */
static void call_decide(RdmadGrpcCall *call, RdmadGrpcStatus status, const char *text)
{
	rdmad_grpc_call_count(call, status);
	call->finishing = TRUE;
	call->status = status;
	call->text = text ? rdmad_grpc_text_encode(text) : NULL;
	g_clear_pointer(&call->deadline, rdmad_event_free);
	if (status != RDMAD_GRPC_OK)
		call->connection->server->totals.failed_total++;
}

void rdmad_grpc_call_status(RdmadGrpcCall *call, RdmadGrpcStatus status, const char *text)
{
	if (call->finishing)
		return;
	call_decide(call, status, text);
	if (!call->begun && status != RDMAD_GRPC_OK)
		call_submit_alone(call, 200);
	else
		call_start_or_resume(call);
}

/* Rejects the call without its handler. */
static void call_refuse(RdmadGrpcCall *call, RdmadGrpcStatus status, const char *text)
{
	call->answered = TRUE;
	rdmad_grpc_call_status(call, status, text);
}

static void call_reset(RdmadGrpcCall *call, guint32 error_code)
{
	nghttp2_submit_rst_stream(call_h2(call), NGHTTP2_FLAG_NONE, call->stream, error_code);
	rdmad_grpc_session_wake(call->connection->session);
}

/* ---- the request ---- */

/* Resets the stream: a client that does not read the messages would not read the status either. */
static void call_expired(gpointer data)
{
	RdmadGrpcCall *call = data;

	rdmad_grpc_call_ref(call);
	if (call_out_left(call) > 0) {
		call_decide(call, RDMAD_GRPC_DEADLINE_EXCEEDED, NULL);
		call_reset(call, NGHTTP2_CANCEL);
	} else {
		rdmad_grpc_call_status(call, RDMAD_GRPC_DEADLINE_EXCEEDED, "the deadline passed");
	}
	rdmad_grpc_call_lost(call);
	rdmad_grpc_call_unref(call);
}

static void call_reject(RdmadGrpcCall *call, const RdmadGrpcRefusal *refusal)
{
	g_autofree char *text = refusal->detail
					? g_strconcat(refusal->text, " ", refusal->detail, NULL)
					: g_strdup(refusal->text);

	call->answered = TRUE;
	call_decide(call, refusal->status, text);
	if (refusal->http == 0)
		call_reset(call, NGHTTP2_PROTOCOL_ERROR);
	else
		call_submit_alone(call, refusal->http);
}

void rdmad_grpc_call_begin(RdmadGrpcCall *call, gboolean too_large)
{
	RdmadGrpcRefusal refusal;

	call->checked = TRUE;
	if (too_large) {
		call_refuse(call, RDMAD_GRPC_RESOURCE_EXHAUSTED, "the header list is too large");
	} else if (!rdmad_grpc_head_check(&call->head, &refusal)) {
		call_reject(call, &refusal);
	} else if (call->head.has_timeout) {
		call->deadline = rdmad_loop_add_timer(call->connection->server->loop, NULL,
						      call_expired, call);
		rdmad_event_arm(call->deadline, call->head.timeout_ms);
	}
	rdmad_grpc_head_clear(&call->head);
}

static void call_refuse_size(RdmadGrpcCall *call)
{
	g_autofree char *text =
		g_strdup_printf("received message larger than max (%u vs. %" G_GSIZE_FORMAT ")",
				call->reader.length, call->reader.max);

	call_refuse(call, RDMAD_GRPC_RESOURCE_EXHAUSTED, text);
}

static void call_take(RdmadGrpcCall *call, const guint8 **bytes, gsize *size)
{
	if (call->messages > 0) {
		call_refuse(call, RDMAD_GRPC_UNIMPLEMENTED, "more than one request message");
		return;
	}
	switch (rdmad_grpc_reader_take(&call->reader, bytes, size)) {
	case RDMAD_GRPC_READ_MORE:
		break;
	case RDMAD_GRPC_READ_MESSAGE:
		call->messages++;
		break;
	case RDMAD_GRPC_READ_TOO_LARGE:
		call_refuse_size(call);
		break;
	case RDMAD_GRPC_READ_COMPRESSED:
		call_refuse(call, RDMAD_GRPC_INTERNAL,
			    "compressed message without a grpc-encoding");
		break;
	}
}

void rdmad_grpc_call_receive(RdmadGrpcCall *call, const guint8 *bytes, gsize size)
{
	while (size > 0 && !call->finishing)
		call_take(call, &bytes, &size);
	call_account(call);
	if (!call->finishing && call_over_budget(call))
		call_refuse(call, RDMAD_GRPC_RESOURCE_EXHAUSTED,
			    "the server holds too much already");
	if (call->finishing) {
		rdmad_grpc_reader_clear(&call->reader);
		call_account(call);
	}
}

static void call_dispatch(RdmadGrpcCall *call)
{
	g_autoptr(GByteArray) message = g_steal_pointer(&call->reader.body);

	rdmad_grpc_call_ref(call);
	call_account(call);
	call->connection->server->totals.calls_total++;
	call->head.method->handler(call, message->data, message->len,
				   call->connection->server->data);
	rdmad_grpc_call_unref(call);
}

void rdmad_grpc_call_received(RdmadGrpcCall *call)
{
	if (call->finishing)
		return;
	if (rdmad_grpc_reader_partial(&call->reader) && call->messages == 0)
		call_refuse(call, RDMAD_GRPC_INTERNAL, "the request ended within a message");
	else if (call->messages == 0)
		call_refuse(call, RDMAD_GRPC_UNIMPLEMENTED, "no request message");
	else
		call_dispatch(call);
}

/* ---- life cycle of a call ---- */

RdmadGrpcCall *rdmad_grpc_call_new(RdmadGrpcConnection *connection, int32_t stream)
{
	RdmadGrpcCall *call = g_new0(RdmadGrpcCall, 1);
	RdmadGrpcServer *server = connection->server;

	call->refs = 1;
	call->connection = connection;
	connection->called = TRUE;
	call->stream = stream;
	call->began_us = rdmad_now_us();
	call->node.data = call;
	rdmad_grpc_head_init(&call->head, server->methods);
	rdmad_grpc_reader_init(&call->reader, server->limits.max_message);
	g_queue_push_tail_link(&connection->calls, &call->node);
	server->totals.calls++;
	return call;
}

/* Counts unknown methods, which clients choose, under a single name. */
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
	call_out_clear(call);
	g_clear_pointer(&call->deadline, rdmad_event_free);
	g_queue_unlink(&call->connection->calls, &call->node);
	if (call->connection->calls.length == 0) { /* idle from now on */
		g_queue_unlink(&server->connections, &call->connection->node);
		g_queue_push_tail_link(&server->connections, &call->connection->node);
	}
	server->totals.calls--;
	call->connection = NULL;
}

void rdmad_grpc_call_notify(RdmadGrpcCall *call)
{
	if (call->ended)
		call->ended(call, call->data);
}

void rdmad_grpc_call_lost(RdmadGrpcCall *call)
{
	if (call->answered)
		return;
	call->answered = TRUE;
	rdmad_grpc_call_notify(call);
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
		/* Only the connection has a reference left, and cannot respond. */
		rdmad_grpc_call_fail(call, RDMAD_GRPC_INTERNAL, "the call was dropped");
}

/* ---- functions for handlers ---- */

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
	call_account(call);
	if (call_over_budget(call)) {
		call_out_clear(call);
		call_decide(call, RDMAD_GRPC_RESOURCE_EXHAUSTED, NULL);
		call_reset(call, NGHTTP2_ENHANCE_YOUR_CALM);
		return;
	}
	call_start_or_resume(call);
}

void rdmad_grpc_call_finish(RdmadGrpcCall *call)
{
	if (!call->connection || call->answered)
		return;
	/* Also if the call is failing for its size: the handler has finished. */
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
	call_refuse(call, status == RDMAD_GRPC_OK ? RDMAD_GRPC_UNKNOWN : status, text);
}

gboolean rdmad_grpc_call_has_ended(const RdmadGrpcCall *call)
{
	return !call_is_open(call) || rdmad_grpc_session_hung_up(call->connection->session);
}

gboolean rdmad_grpc_call_pending(const RdmadGrpcCall *call)
{
	return call->connection && call_out_left(call) > 0;
}

void rdmad_grpc_call_watch(RdmadGrpcCall *call,
			   void (*writable)(RdmadGrpcCall *call, gpointer data),
			   void (*ended)(RdmadGrpcCall *call, gpointer data), gpointer data)
{
	call->writable = writable;
	call->ended = ended;
	call->data = data;
}
