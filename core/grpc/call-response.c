/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "grpc/call-private.h"

static nghttp2_session *call_h2(const RdmadGrpcCall *call)
{
	return rdmad_grpc_session_h2(call->connection->session);
}

/* Into `nv`, room for two; the number of fields. */
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

/* The queue ran empty in the midst of nghttp2: who waits is told after the flush. */
static void call_out_written(RdmadGrpcCall *call)
{
	rdmad_grpc_call_out_clear(call);
	if (!call->answered && call->writable)
		g_queue_push_tail(&call->connection->written, rdmad_grpc_call_ref(call));
}

static ssize_t call_read_out(nghttp2_session *h2, int32_t stream, uint8_t *bytes, size_t size,
			     uint32_t *flags, nghttp2_data_source *source, void *data)
{
	RdmadGrpcCall *call = nghttp2_session_get_stream_user_data(h2, stream);
	const gsize left = call ? rdmad_grpc_call_out_left(call) : 0, n = MIN(left, size);

	if (!call)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
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

/* Response headers, and all that follows by way of call_read_out(). */
static void call_start(RdmadGrpcCall *call)
{
	const nghttp2_nv nv[] = { rdmad_grpc_field_send(":status", "200"),
				  rdmad_grpc_field_send("content-type", "application/grpc") };
	const nghttp2_data_provider provider = { .read_callback = call_read_out };

	call->begun = TRUE;
	nghttp2_submit_response(call_h2(call), call->stream, nv, G_N_ELEMENTS(nv), &provider);
}

void rdmad_grpc_call_start_or_resume(RdmadGrpcCall *call)
{
	if (!call->begun)
		call_start(call);
	else if (call->deferred)
		nghttp2_session_resume_data(call_h2(call), call->stream);
	call->deferred = FALSE;
	rdmad_grpc_session_wake(call->connection->session);
}

/* A status alone needs one header list only. */
void rdmad_grpc_call_submit_alone(RdmadGrpcCall *call, guint http)
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

/* Nothing more is heard of the request. */
void rdmad_grpc_call_decide(RdmadGrpcCall *call, RdmadGrpcStatus status, const char *text)
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
	rdmad_grpc_call_decide(call, status, text);
	if (!call->begun && status != RDMAD_GRPC_OK)
		rdmad_grpc_call_submit_alone(call, 200);
	else
		rdmad_grpc_call_start_or_resume(call);
}

void rdmad_grpc_call_refuse(RdmadGrpcCall *call, RdmadGrpcStatus status, const char *text)
{
	call->answered = TRUE;
	rdmad_grpc_call_status(call, status, text);
}

void rdmad_grpc_call_reset(RdmadGrpcCall *call, guint32 error_code)
{
	nghttp2_submit_rst_stream(call_h2(call), NGHTTP2_FLAG_NONE, call->stream, error_code);
	rdmad_grpc_session_wake(call->connection->session);
}
