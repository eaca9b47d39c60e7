/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of a peer in a session
 *
 * nghttp2 limits SETTINGS and unread acknowledgements, and in newer versions resets and
 * CONTINUATION; the other limits are here.  A grpc-go client sends about one PING per call and
 * acknowledges DATA by WINDOW_UPDATE, so each call and each sent DATA frame adds to the budget of
 * control frames.
 */
#pragma once

#include <nghttp2/nghttp2.h>

#include "base/token-bucket.h"

typedef struct {
	gsize header_bytes;  /* of the current header list */
	RdmadBucket control; /* received frames without headers or data */
	RdmadBucket errors;  /* streams that were reset because of the peer's errors */
} RdmadGrpcSessionLimits;

typedef enum {
	RDMAD_GRPC_HEADERS_FIT,
	RDMAD_GRPC_HEADERS_LARGE, /* reject the stream */
	RDMAD_GRPC_HEADERS_FLOOD, /* close the connection */
} RdmadGrpcHeadersSize;

/* The options are those of all sessions. */
const nghttp2_option *rdmad_grpc_session_options(void);

void rdmad_grpc_session_limits_init(RdmadGrpcSessionLimits *limits);
void rdmad_grpc_session_limits_begin(RdmadGrpcSessionLimits *limits);
RdmadGrpcHeadersSize rdmad_grpc_session_limits_field(RdmadGrpcSessionLimits *limits, gsize name_len,
						     gsize value_len);
RdmadGrpcHeadersSize rdmad_grpc_session_limits_size(const RdmadGrpcSessionLimits *limits);
/* These return FALSE if the connection must be closed. */
gboolean rdmad_grpc_session_limits_received(RdmadGrpcSessionLimits *limits,
					    const nghttp2_frame_hd *head);
gboolean rdmad_grpc_session_limits_sent(RdmadGrpcSessionLimits *limits, const nghttp2_frame *frame);
/* Call when a stream has ended. */
void rdmad_grpc_session_limits_earn(RdmadGrpcSessionLimits *limits);
