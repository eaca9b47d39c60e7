/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of a server: server, connection, call
 *
 * A server has connections, a connection has calls.  A call is reference-counted: the connection
 * has one reference until the stream is closed; the handler has the others.  When the connection
 * has ended, `connection` is NULL, and functions on the call do nothing.
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
	RdmadEvent *pause;  /* timer: accept again after a lack of descriptors */
	GQueue connections; /* idle ones are in the order of their last call */
	gsize held;	    /* bytes buffered in all calls, in both directions */
	RdmadGrpcServerTotals totals;
	RdmadGrpcStats stats;
	void (*drained)(gpointer data);
	gpointer drained_data;
	RdmadEvent *drain; /* timer: the second GOAWAY, and the end of the drain */
	void (*frozen)(gpointer data);
	gpointer frozen_data;
	RdmadEvent *freeze; /* timer: check whether all connections are still */
	gboolean is_frozen, is_given;
};

struct RdmadGrpcConnection {
	RdmadGrpcServer *server;
	RdmadGrpcSession *session;
	GList node;
	GQueue calls;
	GQueue written; /* calls whose output ran empty; each with a reference */
	gsize most;	/* the largest server->held during this connection */
	gboolean draining;
	gboolean called;	 /* had a call */
	int32_t replayed_stream; /* 0: no stream */
	guint32 padding;	 /* of the response to the replayed stream */
};

struct RdmadGrpcCall {
	guint refs;
	RdmadGrpcConnection *connection;
	int32_t stream;
	GList node;
	gint64 began_us; /* monotonic */
	RdmadGrpcHead head;
	RdmadGrpcReader reader; /* the request */
	guint messages;		/* received completely */
	GByteArray *out;	/* framed messages, or NULL */
	gsize out_sent;
	gsize held;	    /* the share of server->held */
	gboolean checked;   /* the header list was complete */
	gboolean begun;	    /* response headers were submitted */
	gboolean deferred;  /* nghttp2 waits for more in `out` */
	gboolean replaying; /* `out` must not be sent yet */
	guint32 padding;    /* bytes to send instead of `out` */
	gboolean finishing; /* status and text are decided */
	gboolean answered;  /* by the handler, or the client has gone */
	RdmadGrpcStatus status;
	char *text; /* encoded, or NULL */
	RdmadEvent *deadline;
	void (*writable)(RdmadGrpcCall *call, gpointer data);
	void (*ended)(RdmadGrpcCall *call, gpointer data);
	gpointer data;
};

/* Takes an accepted descriptor over. */
void rdmad_grpc_server_adopt(RdmadGrpcServer *server, int fd);
/* Call after a connection has ended. */
void rdmad_grpc_server_left(RdmadGrpcServer *server);

RdmadGrpcConnection *rdmad_grpc_connection_new(RdmadGrpcServer *server, int fd);
/* Resumes a connection of another process from the `state` of rdmad_grpc_connection_save(). */
gboolean rdmad_grpc_connection_resume(RdmadGrpcServer *server, int fd, json_t *state,
				      GError **error);
void rdmad_grpc_connection_freeze(RdmadGrpcConnection *connection);
void rdmad_grpc_connection_thaw(RdmadGrpcConnection *connection);
/* Returns whether the connection has only open streams, or nothing. */
gboolean rdmad_grpc_connection_is_still(const RdmadGrpcConnection *connection);
/* Returns NULL if no other process can resume the connection. */
json_t *rdmad_grpc_connection_save(RdmadGrpcConnection *connection, int *fd);
/* Sends the first GOAWAY, which announces the last one. */
void rdmad_grpc_connection_drain(RdmadGrpcConnection *connection);
/* Sends the last GOAWAY: the connection ends after its last call. */
void rdmad_grpc_connection_goaway(RdmadGrpcConnection *connection);
/* Ends open calls with UNAVAILABLE, and adds those whose handlers are not notified yet to
 * `unnotified`. */
void rdmad_grpc_connection_end_calls(RdmadGrpcConnection *connection, GQueue *unnotified);
/* Closes a connection without a call to make room for another. */
void rdmad_grpc_connection_yield(RdmadGrpcConnection *connection);
/* Frees the connection and moves its calls, each with a reference, to `lost`. */
void rdmad_grpc_connection_free(RdmadGrpcConnection *connection, GQueue *lost);

RdmadGrpcCall *rdmad_grpc_call_new(RdmadGrpcConnection *connection, int32_t stream);
/* Call when the header list is complete: checks it and starts the deadline. */
void rdmad_grpc_call_begin(RdmadGrpcCall *call, gboolean too_large);
void rdmad_grpc_call_receive(RdmadGrpcCall *call, const guint8 *bytes, gsize size);
/* Call when the client has sent the whole request: calls the handler. */
void rdmad_grpc_call_received(RdmadGrpcCall *call);
/* Returns whether the call is a stream with a complete request, a started response, and no unsent
 * output. */
gboolean rdmad_grpc_call_is_still(const RdmadGrpcCall *call);
/* Starts the response with only the padding. */
void rdmad_grpc_call_replay(RdmadGrpcCall *call);
/* Call when the padding was sent. */
void rdmad_grpc_call_replayed(RdmadGrpcCall *call);
/* Counts a call that ended with this status. */
void rdmad_grpc_call_count(const RdmadGrpcCall *call, RdmadGrpcStatus status);
/* Ends the call for the client with a status and an encoded text, without notifying the handler. */
void rdmad_grpc_call_status(RdmadGrpcCall *call, RdmadGrpcStatus status, const char *text);
/* Removes the call from its connection; the connection's reference passes to the caller. */
void rdmad_grpc_call_detach(RdmadGrpcCall *call);
/* Notifies the handler that the call has ended. */
void rdmad_grpc_call_notify(RdmadGrpcCall *call);
/* The same, unless the handler has answered. */
void rdmad_grpc_call_lost(RdmadGrpcCall *call);
