/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Server, connection, call
 *
 * A server has connections, a connection has calls.  A call is counted: one reference is the
 * connection's, until the stream is closed; the others are the handler's.  A call whose connection
 * is gone has `connection` NULL, and everything done to it does nothing.
 */
#pragma once

#include <jansson.h>
#include <rdmad/loop.h>

#include "base/owned.h"
#include "base/unix-socket.h"
#include "grpc/grpc-stats.h"
#include "grpc/head.h"
#include "grpc/session.h"
#include "grpc/wire.h"

typedef struct RdmadGrpcConnection RdmadGrpcConnection;

struct RdmadGrpcServer {
	RdmadOwned owned;
	RdmadLoop *loop;
	const RdmadGrpcMethod *methods;
	gpointer data;
	RdmadGrpcLimits limits;
	int fd; /* -1: no new connections */
	RdmadUnixFile file;
	RdmadEvent *accept;
	RdmadEvent *pause;  /* timer: no descriptors were left */
	GQueue connections; /* those without a call in the order in which they became so */
	gsize held;	    /* bytes in all calls, both ways */
	RdmadGrpcServerTotals totals;
	RdmadGrpcStats stats;
	void (*drained)(gpointer data);
	gpointer drained_data;
	RdmadEvent *drain; /* timer: the second GOAWAY, and the end of the drain */
	void (*frozen)(gpointer data);
	gpointer frozen_data;
	RdmadEvent *freeze; /* timer: nothing may be under way any more */
	gboolean is_frozen, is_given;
};

struct RdmadGrpcConnection {
	RdmadGrpcServer *server;
	RdmadGrpcSession *session;
	GList node;
	GQueue calls;
	GQueue written; /* calls whose queue ran empty; each a reference */
	gsize most;	/* that the server held while this connection was there */
	gboolean draining;
	gboolean called;	 /* it has had a call */
	int32_t replayed_stream; /* 0: none */
	guint32 padding;	 /* of its response */
};

struct RdmadGrpcCall {
	guint refs;
	RdmadGrpcConnection *connection;
	int32_t stream;
	GList node;
	gint64 began_us; /* monotonic */
	RdmadGrpcHead head;
	RdmadGrpcReader reader; /* the request */
	guint messages;		/* received whole */
	GByteArray *out;	/* framed messages, or NULL */
	gsize out_sent;
	gsize held;	    /* what of server->held is this call's */
	gboolean checked;   /* the header list was whole */
	gboolean begun;	    /* response headers were submitted */
	gboolean deferred;  /* nghttp2 waits for more of `out` */
	gboolean replaying; /* nothing of `out` may leave */
	guint32 padding;    /* what is sent instead */
	gboolean finishing; /* status and text are decided */
	gboolean answered;  /* by the handler, or no client is left */
	RdmadGrpcStatus status;
	char *text; /* encoded, or NULL */
	RdmadEvent *deadline;
	void (*writable)(RdmadGrpcCall *call, gpointer data);
	void (*ended)(RdmadGrpcCall *call, gpointer data);
	gpointer data;
};

/* Takes an accepted descriptor over. */
void rdmad_grpc_server_adopt(RdmadGrpcServer *server, int fd);
/* A connection is gone. */
void rdmad_grpc_server_left(RdmadGrpcServer *server);

RdmadGrpcConnection *rdmad_grpc_connection_new(RdmadGrpcServer *server, int fd);
/* One of another process; `state` as rdmad_grpc_connection_save() has made it. */
gboolean rdmad_grpc_connection_resume(RdmadGrpcServer *server, int fd, json_t *state,
				      GError **error);
void rdmad_grpc_connection_freeze(RdmadGrpcConnection *connection);
/* It has open streams, or nothing. */
gboolean rdmad_grpc_connection_is_still(const RdmadGrpcConnection *connection);
/* NULL: no other process can go on with it. */
json_t *rdmad_grpc_connection_save(RdmadGrpcConnection *connection, int *fd);
/* The first GOAWAY, which announces the last one. */
void rdmad_grpc_connection_drain(RdmadGrpcConnection *connection);
/* The last GOAWAY: the connection ends with its last call. */
void rdmad_grpc_connection_goaway(RdmadGrpcConnection *connection);
/* Open calls get UNAVAILABLE; their handlers are notified later. */
void rdmad_grpc_connection_farewell(RdmadGrpcConnection *connection, GQueue *untold);
/* Ends one without a call, to make room for another. */
void rdmad_grpc_connection_yield(RdmadGrpcConnection *connection);
/* Frees it; its calls move to `lost`, each with a reference. */
void rdmad_grpc_connection_free(RdmadGrpcConnection *connection, GQueue *lost);

RdmadGrpcCall *rdmad_grpc_call_new(RdmadGrpcConnection *connection, int32_t stream);
/* The header list is whole: checks it and starts the deadline. */
void rdmad_grpc_call_begin(RdmadGrpcCall *call, gboolean too_large);
void rdmad_grpc_call_receive(RdmadGrpcCall *call, const guint8 *bytes, gsize size);
/* The client has sent all: calls the handler. */
void rdmad_grpc_call_received(RdmadGrpcCall *call);
/* It is a stream: its request is whole, its response has begun, and nothing of it waits. */
gboolean rdmad_grpc_call_is_still(const RdmadGrpcCall *call);
/* Its response begins, with the padding alone. */
void rdmad_grpc_call_replay(RdmadGrpcCall *call);
/* The padding is over. */
void rdmad_grpc_call_replayed(RdmadGrpcCall *call);
/* It is over, with this status. */
void rdmad_grpc_call_count(const RdmadGrpcCall *call, RdmadGrpcStatus status);
/* Ends it for the client's side, with an encoded status; the handler is not notified. */
void rdmad_grpc_call_status(RdmadGrpcCall *call, RdmadGrpcStatus status, const char *text);
/* Takes it off its connection; the connection's reference is the caller's now. */
void rdmad_grpc_call_detach(RdmadGrpcCall *call);
/* Notifies the handler that the call is over. */
void rdmad_grpc_call_tell(RdmadGrpcCall *call);
/* The same, unless it answered. */
void rdmad_grpc_call_lost(RdmadGrpcCall *call);
