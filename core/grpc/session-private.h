/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of a session
 *
 * session.c		its life, and what is done each turn of the loop
 * session-events.c	what nghttp2 tells, on to the owner
 * session-io.c		bytes in and out
 */
#pragma once

#include "grpc/session-limits.h"
#include "grpc/session.h"

struct RdmadGrpcSession {
	int fd;
	gboolean server;
	nghttp2_session *h2;
	const RdmadGrpcSessionOps *ops;
	gpointer data;
	RdmadEvent *io;
	RdmadEvent *turn;    /* timer: writes what was submitted outside of a turn */
	RdmadEvent *preface; /* timer: until the peer's first SETTINGS */
	RdmadEvent *linger;  /* timer: last words that the peer does not read */
	GByteArray *out;     /* bytes the socket did not take yet, or NULL */
	guint out_sent;
	RdmadGrpcSessionLimits limits;
	const char *over;  /* why the connection is at its end */
	gboolean stopping; /* we ended it: nothing more is heard */
	const char *why;   /* we ended it */
	gboolean said;	   /* all was sent; what still comes is dropped */
	gsize dropped;
	gboolean again; /* submitted during a turn */
	gboolean dead;	/* freed while `busy` */
	guint busy;
};

/* FALSE: what comes is for nobody. */
gboolean rdmad_grpc_session_listens(const RdmadGrpcSession *session);
/* The connection is at its end; `why` must outlive the session. */
void rdmad_grpc_session_end(RdmadGrpcSession *session, const char *why);

nghttp2_session_callbacks *rdmad_grpc_session_callbacks(void);

/* Some bytes from the socket, fed to nghttp2. */
void rdmad_grpc_session_read(RdmadGrpcSession *session);
/* All that nghttp2 has to send, as far as the socket takes it. */
void rdmad_grpc_session_write(RdmadGrpcSession *session);
