/* SPDX-License-Identifier: Apache-2.0 */
#include "grpc/session-limits.h"

#include <rdmad/clock.h>

#include "grpc/nghttp2-features.h"
#include "grpc/session.h"

#define HEADERS_FLOOD 65536u
#define CONTROL_BURST 10000u
#define CONTROL_US    1000 /* interval of one token */
#define CONTROL_CALL  20u  /* tokens for each call */
#define CONTROL_DATA  4u   /* tokens for each sent DATA frame, which WINDOW_UPDATE acknowledges */
#define FIRST_UNKNOWN 0x0a /* RFC 9113 defines ten types */
#define ERROR_BURST   200u
#define ERROR_US      50000

const nghttp2_option *rdmad_grpc_session_options(void)
{
	static nghttp2_option *option;

	if (option)
		return option;
	if (nghttp2_option_new(&option) != 0)
		g_error("out of memory");
	/* nghttp2's checks reject the :authority of real clients (a path, or none). */
	nghttp2_option_set_no_http_messaging(option, 1);
	/* nghttp2 reports only registered types, and frames of unknown types must be counted. */
	for (guint type = FIRST_UNKNOWN; type <= G_MAXUINT8; type++)
		nghttp2_option_set_user_recv_extension_type(option, (uint8_t)type);
	nghttp2_option_set_no_closed_streams(option, 1);
	nghttp2_option_set_max_deflate_dynamic_table_size(option, 0);
	nghttp2_option_set_max_outbound_ack(option, 64);
	nghttp2_option_set_max_settings(option, 16);
#ifdef RDMAD_HAVE_NGHTTP2_STREAM_RESET_RATE_LIMIT
	nghttp2_option_set_stream_reset_rate_limit(option, 200, 20);
#endif
#ifdef RDMAD_HAVE_NGHTTP2_MAX_CONTINUATIONS
	nghttp2_option_set_max_continuations(option, 8);
#endif
#ifdef RDMAD_HAVE_NGHTTP2_GLITCH_RATE_LIMIT
	nghttp2_option_set_glitch_rate_limit(option, 1000, 100);
#endif
	return option;
}

void rdmad_grpc_session_limits_init(RdmadGrpcSessionLimits *limits)
{
	const gint64 now = rdmad_now_us();

	rdmad_bucket_init(&limits->control, CONTROL_BURST, CONTROL_US, now);
	rdmad_bucket_init(&limits->errors, ERROR_BURST, ERROR_US, now);
}

void rdmad_grpc_session_limits_begin(RdmadGrpcSessionLimits *limits)
{
	limits->header_bytes = 0;
}

RdmadGrpcHeadersSize rdmad_grpc_session_limits_field(RdmadGrpcSessionLimits *limits, gsize name_len,
						     gsize value_len)
{
	limits->header_bytes += name_len + value_len + 32;
	return rdmad_grpc_session_limits_size(limits);
}

RdmadGrpcHeadersSize rdmad_grpc_session_limits_size(const RdmadGrpcSessionLimits *limits)
{
	if (limits->header_bytes > HEADERS_FLOOD)
		return RDMAD_GRPC_HEADERS_FLOOD;
	return limits->header_bytes > RDMAD_GRPC_HEADERS_MAX ? RDMAD_GRPC_HEADERS_LARGE
							     : RDMAD_GRPC_HEADERS_FIT;
}

static gboolean frame_is_work(const nghttp2_frame_hd *head)
{
	if (head->type == NGHTTP2_HEADERS || head->type == NGHTTP2_CONTINUATION)
		return TRUE;
	return head->type == NGHTTP2_DATA &&
	       (head->length > 0 || (head->flags & NGHTTP2_FLAG_END_STREAM));
}

gboolean rdmad_grpc_session_limits_received(RdmadGrpcSessionLimits *limits,
					    const nghttp2_frame_hd *head)
{
	return frame_is_work(head) || rdmad_bucket_take(&limits->control, rdmad_now_us());
}

gboolean rdmad_grpc_session_limits_sent(RdmadGrpcSessionLimits *limits, const nghttp2_frame *frame)
{
	if (frame->hd.type == NGHTTP2_DATA && frame->hd.length > 0)
		rdmad_bucket_give(&limits->control, CONTROL_DATA);
	if (frame->hd.type != NGHTTP2_RST_STREAM ||
	    frame->rst_stream.error_code == NGHTTP2_NO_ERROR ||
	    frame->rst_stream.error_code == NGHTTP2_CANCEL)
		return TRUE;
	return rdmad_bucket_take(&limits->errors, rdmad_now_us());
}

void rdmad_grpc_session_limits_earn(RdmadGrpcSessionLimits *limits)
{
	rdmad_bucket_give(&limits->control, CONTROL_CALL);
}
