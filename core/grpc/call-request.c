/* SPDX-License-Identifier: Apache-2.0 */
#include "grpc/call-private.h"

/* A client that does not read what was sent would not read the status either. */
static void call_expired(gpointer data)
{
	RdmadGrpcCall *call = data;

	rdmad_grpc_call_ref(call);
	if (rdmad_grpc_call_out_left(call) > 0) {
		rdmad_grpc_call_decide(call, RDMAD_GRPC_DEADLINE_EXCEEDED, NULL);
		rdmad_grpc_call_reset(call, NGHTTP2_CANCEL);
	} else {
		rdmad_grpc_call_status(call, RDMAD_GRPC_DEADLINE_EXCEEDED, "the deadline passed");
	}
	rdmad_grpc_call_lost(call);
	rdmad_grpc_call_unref(call);
}

static void call_turn_away(RdmadGrpcCall *call, const RdmadGrpcRefusal *refusal)
{
	g_autofree char *text = refusal->detail
					? g_strconcat(refusal->text, " ", refusal->detail, NULL)
					: g_strdup(refusal->text);

	call->answered = TRUE;
	rdmad_grpc_call_decide(call, refusal->status, text);
	if (refusal->http == 0)
		rdmad_grpc_call_reset(call, NGHTTP2_PROTOCOL_ERROR);
	else
		rdmad_grpc_call_submit_alone(call, refusal->http);
}

void rdmad_grpc_call_begin(RdmadGrpcCall *call, gboolean too_large)
{
	RdmadGrpcRefusal refusal;

	call->checked = TRUE;
	if (too_large) {
		rdmad_grpc_call_refuse(call, RDMAD_GRPC_RESOURCE_EXHAUSTED,
				       "the header list is too large");
	} else if (!rdmad_grpc_head_check(&call->head, &refusal)) {
		call_turn_away(call, &refusal);
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

	rdmad_grpc_call_refuse(call, RDMAD_GRPC_RESOURCE_EXHAUSTED, text);
}

static void call_take(RdmadGrpcCall *call, const guint8 **bytes, gsize *size)
{
	if (call->messages > 0) {
		rdmad_grpc_call_refuse(call, RDMAD_GRPC_UNIMPLEMENTED,
				       "more than one request message");
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
		rdmad_grpc_call_refuse(call, RDMAD_GRPC_INTERNAL,
				       "compressed message without a grpc-encoding");
		break;
	}
}

void rdmad_grpc_call_receive(RdmadGrpcCall *call, const guint8 *bytes, gsize size)
{
	while (size > 0 && !call->finishing)
		call_take(call, &bytes, &size);
	rdmad_grpc_call_account(call);
	if (!call->finishing && rdmad_grpc_call_over_budget(call))
		rdmad_grpc_call_refuse(call, RDMAD_GRPC_RESOURCE_EXHAUSTED,
				       "the server holds too much already");
	if (call->finishing) {
		rdmad_grpc_reader_clear(&call->reader);
		rdmad_grpc_call_account(call);
	}
}

static void call_dispatch(RdmadGrpcCall *call)
{
	g_autoptr(GByteArray) message = g_steal_pointer(&call->reader.body);

	rdmad_grpc_call_ref(call);
	rdmad_grpc_call_account(call);
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
		rdmad_grpc_call_refuse(call, RDMAD_GRPC_INTERNAL,
				       "the request ended within a message");
	else if (call->messages == 0)
		rdmad_grpc_call_refuse(call, RDMAD_GRPC_UNIMPLEMENTED, "no request message");
	else
		call_dispatch(call);
}
