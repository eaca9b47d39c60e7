/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of a peer in a session
 *
 * nghttp2 bounds resets, CONTINUATION, SETTINGS and unread acknowledgements; the rest is counted
 * here.  A grpc-go client sends about one PING a call, so control frames are earned by calls.
 */
#pragma once

#include <nghttp2/nghttp2.h>

#include "base/token-bucket.h"

typedef struct {
	gsize header_bytes;  /* of the list under way */
	RdmadBucket control; /* frames that carry neither headers nor data */
	RdmadBucket errors;  /* streams that the peer made us reset */
} RdmadGrpcSessionLimits;

typedef enum {
	RDMAD_GRPC_HEADERS_FIT,
	RDMAD_GRPC_HEADERS_LARGE, /* this stream is refused */
	RDMAD_GRPC_HEADERS_FLOOD, /* the connection is cut */
} RdmadGrpcHeadersSize;

nghttp2_option *rdmad_grpc_session_options(void);

void rdmad_grpc_session_limits_init(RdmadGrpcSessionLimits *limits);
void rdmad_grpc_session_limits_begin(RdmadGrpcSessionLimits *limits);
RdmadGrpcHeadersSize rdmad_grpc_session_limits_field(RdmadGrpcSessionLimits *limits, gsize name_len,
						     gsize value_len);
RdmadGrpcHeadersSize rdmad_grpc_session_limits_size(const RdmadGrpcSessionLimits *limits);
/* These are FALSE when the connection is to be cut. */
gboolean rdmad_grpc_session_limits_received(RdmadGrpcSessionLimits *limits,
					    const nghttp2_frame_hd *head);
gboolean rdmad_grpc_session_limits_sent(RdmadGrpcSessionLimits *limits, const nghttp2_frame *frame);
/* A stream came to its end. */
void rdmad_grpc_session_limits_earn(RdmadGrpcSessionLimits *limits);
