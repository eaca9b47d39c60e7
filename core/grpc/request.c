/* SPDX-License-Identifier: Apache-2.0 */
/* One call, on the client side */
#include <rdmad/clock.h>
#include <rdmad/error.h>
#include <string.h>

#include "grpc/channel-private.h"
#include "grpc/status.h"

static nghttp2_session *request_h2(const RdmadGrpcRequest *request)
{
	return rdmad_grpc_session_h2(request->link->session);
}

RdmadGrpcRequest *rdmad_grpc_request_ref(RdmadGrpcRequest *request)
{
	request->refs++;
	return request;
}

void rdmad_grpc_request_unref(RdmadGrpcRequest *request)
{
	if (--request->refs > 0)
		return;
	rdmad_grpc_response_head_clear(&request->head);
	rdmad_grpc_reader_clear(&request->reader);
	g_clear_pointer(&request->out, g_byte_array_unref);
	g_free(request->failure);
	g_free(request->method);
	g_free(request);
}

/* Removes the request from all lists; the list's reference passes to the caller. */
static void request_detach(RdmadGrpcRequest *request, RdmadGrpcStatus status)
{
	rdmad_grpc_stats_count(&request->channel->stats, request->method, status,
			       request->began_us);
	g_clear_pointer(&request->timer, rdmad_event_free);
	if (request->link)
		g_hash_table_remove(request->link->requests, GINT_TO_POINTER(request->stream));
	request->link = NULL;
	g_queue_unlink(&request->channel->requests, &request->node);
	request->channel = NULL;
}

void rdmad_grpc_request_done(RdmadGrpcRequest *request, RdmadGrpcStatus status, const char *text)
{
	if (!request->channel)
		return;
	request_detach(request, status);
	if (request->ops->done)
		request->ops->done(status, text ? text : "", request->data);
	rdmad_grpc_request_unref(request);
}

static void request_submit_reset(RdmadGrpcRequest *request)
{
	if (!request->link)
		return;
	nghttp2_submit_rst_stream(request_h2(request), NGHTTP2_FLAG_NONE, request->stream,
				  NGHTTP2_CANCEL);
	rdmad_grpc_session_wake(request->link->session);
}

/* Resets the stream too, because the server may still send. */
static void request_abort(RdmadGrpcRequest *request, RdmadGrpcStatus status, const char *text)
{
	request_submit_reset(request);
	rdmad_grpc_request_done(request, status, text);
}

void rdmad_grpc_request_cancel(RdmadGrpcRequest *request)
{
	if (!request || !request->channel)
		return;
	request_submit_reset(request);
	request_detach(request, RDMAD_GRPC_CANCELLED);
	rdmad_grpc_request_unref(request);
}

/* ---- sending ---- */

static ssize_t request_read_out(nghttp2_session *h2, int32_t stream, uint8_t *bytes, size_t size,
				uint32_t *flags, nghttp2_data_source *source, void *data)
{
	const RdmadGrpcLink *link = source->ptr;
	RdmadGrpcRequest *request = g_hash_table_lookup(link->requests, GINT_TO_POINTER(stream));
	gsize n;

	if (!request || !request->out)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	n = MIN(request->out->len - request->out_sent, size);
	memcpy(bytes, request->out->data + request->out_sent, n);
	request->out_sent += n;
	if (request->out_sent == request->out->len) {
		g_clear_pointer(&request->out, g_byte_array_unref);
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	}
	return (ssize_t)n;
}

static int32_t request_submit(RdmadGrpcRequest *request, const char *method, guint deadline_ms)
{
	g_autofree char *timeout = rdmad_grpc_timeout_format(deadline_ms);
	const nghttp2_nv nv[] = {
		rdmad_grpc_field_send(":method", "POST"),
		rdmad_grpc_field_send(":scheme", "http"),
		rdmad_grpc_field_send(":path", method),
		rdmad_grpc_field_send(":authority", "localhost"),
		rdmad_grpc_field_send("content-type", "application/grpc"),
		rdmad_grpc_field_send("te", "trailers"),
		rdmad_grpc_field_send("grpc-accept-encoding", "identity"),
		rdmad_grpc_field_send("user-agent", "rdmad"),
		rdmad_grpc_field_send("grpc-timeout", timeout),
	};
	const nghttp2_data_provider provider = { .source.ptr = request->link,
						 .read_callback = request_read_out };

	return nghttp2_submit_request(request_h2(request), NULL, nv,
				      G_N_ELEMENTS(nv) - (deadline_ms ? 0 : 1), &provider, NULL);
}

static void request_timed(gpointer data)
{
	RdmadGrpcRequest *request = data;

	if (request->failure) {
		rdmad_grpc_request_done(request, RDMAD_GRPC_UNAVAILABLE, request->failure);
		return;
	}
	request_submit_reset(request);
	if (request->link)
		rdmad_grpc_link_abandon(request->link, request);
	rdmad_grpc_request_done(request, RDMAD_GRPC_DEADLINE_EXCEEDED, "the deadline passed");
}

static void request_arm(RdmadGrpcRequest *request, guint ms)
{
	request->timer = rdmad_loop_add_timer(request->channel->loop, NULL, request_timed, request);
	rdmad_event_arm(request->timer, ms);
}

static void request_fail_later(RdmadGrpcRequest *request, const char *why)
{
	request->link = NULL;
	request->failure = g_strdup(why);
	request_arm(request, 0);
}

void rdmad_grpc_request_begin(RdmadGrpcRequest *request, const char *method, guint deadline_ms)
{
	g_autoptr(GError) error = NULL;

	request->method = g_strdup(method);
	request->began_us = rdmad_now_us();
	request->link = rdmad_grpc_link_get(request->channel, &error);
	if (!request->link) {
		request_fail_later(request, error->message);
		return;
	}
	request->stream = request_submit(request, method, deadline_ms);
	if (request->stream < 0) {
		request_fail_later(request, nghttp2_strerror(request->stream));
		return;
	}
	g_hash_table_insert(request->link->requests, GINT_TO_POINTER(request->stream), request);
	rdmad_grpc_session_wake(request->link->session);
	if (deadline_ms == 0)
		return;
	request->deadline_us = rdmad_now_us() + (gint64)deadline_ms * 1000;
	request_arm(request, deadline_ms);
}

/* ---- receiving ---- */

void rdmad_grpc_request_headers(RdmadGrpcRequest *request, gboolean too_large)
{
	g_autofree char *text = NULL;
	RdmadGrpcStatus status;

	if (too_large) {
		request_abort(request, RDMAD_GRPC_RESOURCE_EXHAUSTED,
			      "the server's header list is too large");
		return;
	}
	/* Interim responses come before the real one. */
	if (request->head.checked || request->head.http / 100 == 1)
		return;
	if (!rdmad_grpc_response_head_check(&request->head, &status, &text))
		request_abort(request, status, text);
	else
		request->head.checked = TRUE;
}

static void request_refuse_size(RdmadGrpcRequest *request)
{
	g_autofree char *text =
		g_strdup_printf("received message larger than max (%u vs. %" G_GSIZE_FORMAT ")",
				request->reader.length, request->reader.max);

	request_abort(request, RDMAD_GRPC_RESOURCE_EXHAUSTED, text);
}

static void request_deliver(RdmadGrpcRequest *request)
{
	g_autoptr(GByteArray) message = g_steal_pointer(&request->reader.body);

	rdmad_grpc_reader_next(&request->reader);
	if (request->ops->message)
		request->ops->message(message->data, message->len, request->data);
}

static void request_take(RdmadGrpcRequest *request, const guint8 **bytes, gsize *size)
{
	switch (rdmad_grpc_reader_take(&request->reader, bytes, size)) {
	case RDMAD_GRPC_READ_MORE:
		break;
	case RDMAD_GRPC_READ_MESSAGE:
		request_deliver(request);
		break;
	case RDMAD_GRPC_READ_TOO_LARGE:
		request_refuse_size(request);
		break;
	case RDMAD_GRPC_READ_COMPRESSED:
		request_abort(request, RDMAD_GRPC_INTERNAL, "the server sent a compressed message");
		break;
	}
}

void rdmad_grpc_request_receive(RdmadGrpcRequest *request, const guint8 *bytes, gsize size)
{
	if (!request->head.checked) {
		request_abort(request, RDMAD_GRPC_INTERNAL, "the server sent data before headers");
		return;
	}
	rdmad_grpc_request_ref(request);
	while (size > 0 && request->channel)
		request_take(request, &bytes, &size);
	rdmad_grpc_request_unref(request);
}

void rdmad_grpc_request_ended(RdmadGrpcRequest *request)
{
	g_autofree char *text = g_strdup(request->head.text);

	if (!request->head.has_status)
		request_abort(request, RDMAD_GRPC_INTERNAL,
			      "the server ended the stream without a status");
	else if (request->head.status == RDMAD_GRPC_OK &&
		 rdmad_grpc_reader_partial(&request->reader))
		request_abort(request, RDMAD_GRPC_INTERNAL,
			      "the server ended the stream within a message");
	else if (request->out) /* the server responded before it received the whole request */
		request_abort(request, request->head.status, text);
	else
		rdmad_grpc_request_done(request, request->head.status, text);
}

void rdmad_grpc_request_reset(RdmadGrpcRequest *request, guint32 error_code)
{
	g_autofree char *text = g_strdup_printf("the server reset the stream: %s",
						nghttp2_http2_strerror(error_code));
	const gboolean expired = request->deadline_us && rdmad_now_us() >= request->deadline_us;

	if (error_code == NGHTTP2_CANCEL && expired)
		rdmad_grpc_request_done(request, RDMAD_GRPC_DEADLINE_EXCEEDED,
					"the deadline passed");
	else
		rdmad_grpc_request_done(request, rdmad_grpc_status_from_reset(error_code), text);
}

RdmadGrpcRequest *rdmad_grpc_request_new(RdmadGrpcChannel *channel, const guint8 *message,
					 gsize size, const RdmadGrpcRequestOps *ops, gpointer data)
{
	RdmadGrpcRequest *request = g_new0(RdmadGrpcRequest, 1);

	request->refs = 1;
	request->channel = channel;
	request->ops = ops;
	request->data = data;
	request->node.data = request;
	request->out = g_byte_array_new();
	rdmad_grpc_message_append(request->out, message, size);
	rdmad_grpc_reader_init(&request->reader, channel->max_message);
	g_queue_push_tail_link(&channel->requests, &request->node);
	return request;
}
