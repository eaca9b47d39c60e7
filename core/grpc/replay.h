/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resuming an HTTP/2 connection in another process
 *
 * nghttp2 cannot restore a connection.  So a new session is fed bytes in place of the peer that
 * recreate the state of the previous process: the peer's settings, its windows, its open request.
 * Only sent bytes shrink a window, so the response begins with padding, which is discarded.
 */
#pragma once

#include "grpc/session.h"

/* The position of the input: within a frame or between two frames. */
typedef struct {
	guint8 head[9];
	guint n;    /* bytes of the head */
	gsize left; /* of the payload, or of the preface */
} RdmadGrpcFrames;

void rdmad_grpc_frames_init(RdmadGrpcFrames *frames, gboolean server);
void rdmad_grpc_frames_pass(RdmadGrpcFrames *frames, const guint8 *bytes, gsize size);
gboolean rdmad_grpc_frames_whole(const RdmadGrpcFrames *frames);

/* Returns the bytes that the peer would send to reach `state`. */
GByteArray *rdmad_grpc_replay(const RdmadGrpcSessionState *state, const char *path);
