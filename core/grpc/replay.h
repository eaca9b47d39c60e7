/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection of HTTP/2 from its middle
 *
 * nghttp2 cannot begin there.  So it is told, in the place of the peer, what makes its picture of the
 * connection that of the process before: the peer's settings, its windows, its open request.  The
 * windows of a connection only shrink by bytes that were sent, so the response begins with padding, which
 * goes nowhere.
 */
#pragma once

#include "grpc/session.h"

/* Where the input of a connection is: within a frame, or between two. */
typedef struct {
	guint8 head[9];
	guint n;    /* bytes of the head */
	gsize left; /* of the payload, or of the preface */
} RdmadGrpcFrames;

void rdmad_grpc_frames_init(RdmadGrpcFrames *frames, gboolean server);
void rdmad_grpc_frames_pass(RdmadGrpcFrames *frames, const guint8 *bytes, gsize size);
gboolean rdmad_grpc_frames_whole(const RdmadGrpcFrames *frames);

/* The bytes that the peer would have to send. */
GByteArray *rdmad_grpc_replay(const RdmadGrpcSessionState *state, const char *path);
