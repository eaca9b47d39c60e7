/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One HTTP/2 connection over a descriptor, server or client side
 *
 * nghttp2 keeps the protocol; this keeps the descriptor, the limits and the order of things: bytes
 * are written at the end of a turn and never from inside a callback of nghttp2.  A session may be
 * freed from any of its callbacks.
 */
#pragma once

#include <nghttp2/nghttp2.h>
#include <rdmad/loop.h>

#include "grpc/head.h"

#define RDMAD_GRPC_HEADERS_MAX 8192u /* bytes of a header list, counted as RFC 9113 does */

typedef struct RdmadGrpcSession RdmadGrpcSession;

typedef struct {
	/* A header list begins, goes on field by field, and is whole.  Also for trailers. */
	void (*begin)(int32_t stream, gpointer data);
	void (*field)(int32_t stream, const RdmadGrpcField *field, gpointer data);
	void (*headers)(int32_t stream, gboolean too_large, gpointer data);
	void (*data)(int32_t stream, const guint8 *bytes, gsize size, gpointer data);
	/* The peer will send no more on this stream. */
	void (*ended)(int32_t stream, gpointer data);
	/* The last one for a stream. */
	void (*stream_closed)(int32_t stream, guint32 error_code, gpointer data);
	/* The peer sent GOAWAY: no new streams. */
	void (*goaway)(gpointer data);
	void (*ping_acked)(gpointer data);
	/* All output that the socket accepted is written. */
	void (*flushed)(gpointer data);
	/* Whether a request has come in part; NULL: it never has. */
	gboolean (*partial)(gpointer data);
	/* rdmad_grpc_session_resume(): the requests of the state have come again, and their responses
	 * begun; what is sent after the second one reaches the peer. */
	void (*replaying)(gpointer data);
	void (*replayed)(gpointer data);
	/* The connection is over; from the loop, once.  The owner frees the session. */
	void (*closed)(const char *why, gpointer data);
} RdmadGrpcSessionOps;

/* Takes `fd` over.  `settings` go out at once. */
RdmadGrpcSession *rdmad_grpc_session_new(RdmadLoop *loop, int fd, gboolean server,
					 guint max_streams, const RdmadGrpcSessionOps *ops,
					 gpointer data);
/* No callback after this. */
void rdmad_grpc_session_free(RdmadGrpcSession *session);

/* ---- a connection that another process goes on with ---- */

/* Of a server's connection with one open stream, whose request is whole and whose response has begun. */
typedef struct {
	int32_t stream;
	guint32 initial_window, max_frame; /* of the peer's SETTINGS */
	gint32 window, stream_window;	   /* what the peer takes now */
} RdmadGrpcSessionState;

/* Reads no more as soon as there is no frame and no request in part; writing goes on. */
void rdmad_grpc_session_freeze(RdmadGrpcSession *session);
/* It is frozen, and all is written. */
gboolean rdmad_grpc_session_is_still(const RdmadGrpcSession *session);
/* Of one that is still.  FALSE: only this process can go on with it. */
gboolean rdmad_grpc_session_save(RdmadGrpcSession *session, int32_t stream,
				 RdmadGrpcSessionState *state);
/* The bytes of padding that the response to the stream of the state begins with, which the peer does not get. */
guint32 rdmad_grpc_session_padding(const RdmadGrpcSessionState *state);
/* Goes on with a connection from its state: the request for `path` comes again.  Takes `fd` over. */
RdmadGrpcSession *rdmad_grpc_session_resume(RdmadLoop *loop, int fd, guint max_streams,
					    const RdmadGrpcSessionState *state, const char *path,
					    const RdmadGrpcSessionOps *ops, gpointer data);
int rdmad_grpc_session_fd(const RdmadGrpcSession *session);

/* For the submit functions; valid as long as the session. */
nghttp2_session *rdmad_grpc_session_h2(RdmadGrpcSession *session);
/* Something was submitted: it is written at the end of this turn of the loop. */
void rdmad_grpc_session_wake(RdmadGrpcSession *session);
/* Writes now what the socket takes, for the last words before the session is freed. */
void rdmad_grpc_session_flush(RdmadGrpcSession *session);
/* TRUE if the peer has closed already, even before an event reports it. */
gboolean rdmad_grpc_session_hung_up(const RdmadGrpcSession *session);
