/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One HTTP/2 connection on a descriptor, server or client side
 *
 * nghttp2 implements the protocol; the session handles the descriptor, the limits and the order of
 * calls: it writes at the end of a turn, never inside a callback of nghttp2.  A session may be
 * freed from any of its callbacks.
 */
#pragma once

#include <nghttp2/nghttp2.h>
#include <rdmad/loop.h>

#include "grpc/head.h"

#define RDMAD_GRPC_HEADERS_MAX 8192u /* bytes of a header list, counted as in RFC 9113 */

typedef struct RdmadGrpcSession RdmadGrpcSession;

typedef struct {
	/* The start, each field, and the end of a header list, including trailers. */
	void (*begin)(int32_t stream, gpointer data);
	void (*field)(int32_t stream, const RdmadGrpcField *field, gpointer data);
	void (*headers)(int32_t stream, gboolean too_large, gpointer data);
	void (*data)(int32_t stream, const guint8 *bytes, gsize size, gpointer data);
	/* The peer has ended its side of the stream. */
	void (*ended)(int32_t stream, gpointer data);
	/* The last event of a stream. */
	void (*stream_closed)(int32_t stream, guint32 error_code, gpointer data);
	/* The peer sent GOAWAY: it accepts no new streams. */
	void (*goaway)(gpointer data);
	void (*ping_acked)(gpointer data);
	/* The socket accepted all output that it could. */
	void (*flushed)(gpointer data);
	/* Returns whether a request is received partly; NULL: never. */
	gboolean (*partial)(gpointer data);
	/* For rdmad_grpc_session_resume(): the request of the state was replayed, and its
	 * response started.  Only output after `replayed` reaches the peer. */
	void (*replaying)(gpointer data);
	void (*replayed)(gpointer data);
	/* The connection has ended.  Called once, from the loop; the owner frees the session. */
	void (*closed)(const char *why, gpointer data);
} RdmadGrpcSessionOps;

/* Takes `fd` over, and sends the SETTINGS. */
RdmadGrpcSession *rdmad_grpc_session_new(RdmadLoop *loop, int fd, gboolean server,
					 guint max_streams, const RdmadGrpcSessionOps *ops,
					 gpointer data);
/* Calls no callback. */
void rdmad_grpc_session_free(RdmadGrpcSession *session);

/* ---- hand-over of a connection to another process ---- */

/* The state of a server's connection with one open stream, whose request is complete and whose
 * response has started. */
typedef struct {
	int32_t stream;
	guint32 initial_window, max_frame; /* of the peer's SETTINGS */
	gint32 window, stream_window;	   /* bytes that the peer accepts now */
} RdmadGrpcSessionState;

/* Stops reading once no frame and no request is received partly.  Writing continues. */
void rdmad_grpc_session_freeze(RdmadGrpcSession *session);
/* Reads again. */
void rdmad_grpc_session_thaw(RdmadGrpcSession *session);
/* Returns whether the peer has not begun to speak HTTP/2. */
gboolean rdmad_grpc_session_is_silent(const RdmadGrpcSession *s);
/* Returns whether the session is frozen and has written all output. */
gboolean rdmad_grpc_session_is_still(const RdmadGrpcSession *session);
/* Saves a still session.  Returns FALSE if no other process can resume it. */
gboolean rdmad_grpc_session_save(RdmadGrpcSession *session, int32_t stream,
				 RdmadGrpcSessionState *state);
/* Returns the number of padding bytes at the start of the resumed response, which are not sent
 * to the peer. */
guint32 rdmad_grpc_session_padding(const RdmadGrpcSessionState *state);
/* Resumes a connection from its state by replaying the request for `path`.  Takes `fd` over. */
RdmadGrpcSession *rdmad_grpc_session_resume(RdmadLoop *loop, int fd, guint max_streams,
					    const RdmadGrpcSessionState *state, const char *path,
					    const RdmadGrpcSessionOps *ops, gpointer data);
int rdmad_grpc_session_fd(const RdmadGrpcSession *session);

/* Returns the session for nghttp2's submit functions; valid until the session is freed. */
nghttp2_session *rdmad_grpc_session_h2(RdmadGrpcSession *session);
/* Call after submitting frames; they are written at the end of this turn of the loop. */
void rdmad_grpc_session_wake(RdmadGrpcSession *session);
/* Writes as much output as the socket accepts, before the session is freed. */
void rdmad_grpc_session_flush(RdmadGrpcSession *session);
/* Returns TRUE if the peer has closed the connection, even before an event reports it. */
gboolean rdmad_grpc_session_hung_up(const RdmadGrpcSession *session);
