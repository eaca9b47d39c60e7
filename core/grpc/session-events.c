/* SPDX-License-Identifier: Apache-2.0 */
/* What nghttp2 tells goes to the owner of the session, unless a limit was passed. */
#include "grpc/session-private.h"

/* A freed session must not be fed any further. */
static int session_result(const RdmadGrpcSession *s)
{
	return s->dead ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_begin_frame(nghttp2_session *h2, const nghttp2_frame_hd *head, void *data)
{
	RdmadGrpcSession *s = data;

	if (s->server && rdmad_grpc_session_listens(s) &&
	    !rdmad_grpc_session_limits_received(&s->limits, head))
		rdmad_grpc_session_terminate(s, "a flood of control frames");
	return session_result(s);
}

static int on_begin_headers(nghttp2_session *h2, const nghttp2_frame *frame, void *data)
{
	RdmadGrpcSession *s = data;

	rdmad_grpc_session_limits_begin(&s->limits);
	if (rdmad_grpc_session_listens(s))
		s->ops->begin(frame->hd.stream_id, s->data);
	return session_result(s);
}

static int on_header(nghttp2_session *h2, const nghttp2_frame *frame, const uint8_t *name,
		     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
		     void *data)
{
	RdmadGrpcSession *s = data;
	const RdmadGrpcField field = { (const char *)name, (const char *)value, name_len,
				       value_len };
	const RdmadGrpcHeadersSize size =
		rdmad_grpc_session_limits_field(&s->limits, name_len, value_len);

	if (!rdmad_grpc_session_listens(s))
		return session_result(s);
	if (size == RDMAD_GRPC_HEADERS_FIT)
		s->ops->field(frame->hd.stream_id, &field, s->data);
	else if (size == RDMAD_GRPC_HEADERS_FLOOD)
		rdmad_grpc_session_terminate(s, "a flood of headers");
	return session_result(s);
}

static int on_data(nghttp2_session *h2, uint8_t flags, int32_t stream, const uint8_t *bytes,
		   size_t size, void *data)
{
	RdmadGrpcSession *s = data;

	if (rdmad_grpc_session_listens(s))
		s->ops->data(stream, bytes, size, s->data);
	return session_result(s);
}

static void session_received_stream_frame(RdmadGrpcSession *s, const nghttp2_frame *frame)
{
	const int32_t stream = frame->hd.stream_id;

	if (frame->hd.type == NGHTTP2_HEADERS)
		s->ops->headers(stream,
				rdmad_grpc_session_limits_size(&s->limits) !=
					RDMAD_GRPC_HEADERS_FIT,
				s->data);
	if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) && rdmad_grpc_session_listens(s))
		s->ops->ended(stream, s->data);
}

static int on_frame(nghttp2_session *h2, const nghttp2_frame *frame, void *data)
{
	RdmadGrpcSession *s = data;

	if (!rdmad_grpc_session_listens(s))
		return session_result(s);
	if (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA)
		session_received_stream_frame(s, frame);
	else if (frame->hd.type == NGHTTP2_SETTINGS)
		g_clear_pointer(&s->preface, rdmad_event_free);
	else if (frame->hd.type == NGHTTP2_GOAWAY)
		s->ops->goaway(s->data);
	else if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK))
		s->ops->ping_acked(s->data);
	return session_result(s);
}

/* A server that answers before the request is whole asks for no more of it (RFC 9113 8.1). */
static void session_ended_early(RdmadGrpcSession *s, const nghttp2_frame *frame)
{
	const int32_t stream = frame->hd.stream_id;

	if (s->server && nghttp2_session_get_stream_remote_close(s->h2, stream) == 0)
		nghttp2_submit_rst_stream(s->h2, NGHTTP2_FLAG_NONE, stream, NGHTTP2_NO_ERROR);
}

static int on_sent(nghttp2_session *h2, const nghttp2_frame *frame, void *data)
{
	RdmadGrpcSession *s = data;
	const gboolean carries =
		frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;

	if (carries && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		session_ended_early(s, frame);
	if (s->server && rdmad_grpc_session_listens(s) &&
	    !rdmad_grpc_session_limits_sent(&s->limits, frame))
		rdmad_grpc_session_terminate(s, "a flood of wrong streams");
	return session_result(s);
}

static int on_stream_close(nghttp2_session *h2, int32_t stream, uint32_t error_code, void *data)
{
	RdmadGrpcSession *s = data;

	rdmad_grpc_session_limits_earn(&s->limits);
	if (!s->dead)
		s->ops->stream_closed(stream, error_code, s->data);
	return session_result(s);
}

/* RFC 9113 5.5: a frame of an unknown type is ignored; on_begin_frame() has counted it. */
static int unpack_unknown(nghttp2_session *h2, void **payload, const nghttp2_frame_hd *head,
			  void *data)
{
	return NGHTTP2_ERR_CANCEL;
}

nghttp2_session_callbacks *rdmad_grpc_session_callbacks(void)
{
	nghttp2_session_callbacks *cb;

	if (nghttp2_session_callbacks_new(&cb) != 0)
		g_error("out of memory");
	nghttp2_session_callbacks_set_on_begin_frame_callback(cb, on_begin_frame);
	nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
	nghttp2_session_callbacks_set_on_frame_send_callback(cb, on_sent);
	nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_stream_close);
	nghttp2_session_callbacks_set_unpack_extension_callback(cb, unpack_unknown);
	return cb;
}
