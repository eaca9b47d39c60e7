/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gRPC over unix sockets: server and client
 *
 * Messages are bytes here; packing is the caller's (protobuf-c).  Nothing blocks.  Limits hold on
 * connections, streams, header and message size; floods are cut.  By default only uid 0 and our
 * own uid may connect (SO_PEERCRED).
 *
 * Source of the wire format: gRPC's PROTOCOL-HTTP2.md, RFC 9113.
 */
#pragma once

#include <rdmad/types.h>

typedef enum { /* gRPC status codes */
	       RDMAD_GRPC_OK = 0,
	       RDMAD_GRPC_CANCELLED = 1,
	       RDMAD_GRPC_UNKNOWN = 2,
	       RDMAD_GRPC_INVALID_ARGUMENT = 3,
	       RDMAD_GRPC_DEADLINE_EXCEEDED = 4,
	       RDMAD_GRPC_NOT_FOUND = 5,
	       RDMAD_GRPC_ALREADY_EXISTS = 6,
	       RDMAD_GRPC_PERMISSION_DENIED = 7,
	       RDMAD_GRPC_RESOURCE_EXHAUSTED = 8,
	       RDMAD_GRPC_FAILED_PRECONDITION = 9,
	       RDMAD_GRPC_ABORTED = 10,
	       RDMAD_GRPC_OUT_OF_RANGE = 11,
	       RDMAD_GRPC_UNIMPLEMENTED = 12,
	       RDMAD_GRPC_INTERNAL = 13,
	       RDMAD_GRPC_UNAVAILABLE = 14,
	       RDMAD_GRPC_DATA_LOSS = 15,
	       RDMAD_GRPC_UNAUTHENTICATED = 16,
} RdmadGrpcStatus;

/* "UNAVAILABLE" and so on. */
RDMAD_API const char *rdmad_grpc_status_name(RdmadGrpcStatus status);

/* ---- server ---- */

/* One call came in, with its whole request message (valid during the callback).  Answer now or
 * later (keep a reference): reply() or fail() ends it; streaming methods send() first. */
typedef void (*RdmadGrpcHandler)(RdmadGrpcCall *call, const guint8 *message, gsize size,
				 gpointer data);

typedef struct {
	const char *path; /* "/v1beta1.DevicePlugin/Allocate" */
	RdmadGrpcHandler handler;
} RdmadGrpcMethod;

typedef struct {	       /* 0: the default in parentheses */
	guint max_connections; /* (16); an idle one yields to a new one */
	guint max_streams;     /* a connection (100) */
	gsize max_message;     /* received bytes (4 MiB, as kubelet's own) */
	gboolean any_user;     /* also peers that are neither root nor our own uid */
} RdmadGrpcLimits;

/*
 * Listens at `socket_path` (mode 0600; a stale socket there is removed, a live one or another kind
 * of file is RDMAD_ERROR_BUSY).  `methods` ends with a NULL path and must outlive the server.
 * Freeing it sends GOAWAY, ends open calls with UNAVAILABLE (`ended` is called for them) and
 * unlinks the socket, unless another has taken the path.
 */
RDMAD_API RdmadGrpcServer *rdmad_grpc_server_new(RdmadLoop *loop, RdmadModule *owner,
						 const char *socket_path,
						 const RdmadGrpcMethod *methods, gpointer data,
						 const RdmadGrpcLimits *limits,
						 GError **error) G_GNUC_WARN_UNUSED_RESULT;
RDMAD_API void rdmad_grpc_server_free(RdmadGrpcServer *server);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadGrpcServer, rdmad_grpc_server_free)
/* No new calls; those under way go on, also after freeze().  `drained` is called once none is left,
 * from the loop. */
RDMAD_API void rdmad_grpc_server_drain(RdmadGrpcServer *server, void (*drained)(gpointer data),
				       gpointer data);

/*
 * A server that another process goes on with, unseen by its clients: their connections, and the streams
 * that are open on them, go to it.
 *
 * freeze(): no more calls are read, those that have come are answered.  `frozen` is called from the loop once
 * nothing is left but open streams.  give(), in `frozen` or later: what take() needs, and the descriptors,
 * which are borrowed and fit into a message (message-socket.h); NULL: the socket is no longer there.  The
 * server is good for nothing but rdmad_grpc_server_free() after give().
 *
 * take(): the handlers of the streams are called from the loop.  The descriptors that it takes over are -1
 * afterwards.  RDMAD_ERROR_INVALID, RDMAD_ERROR_GONE.
 */
RDMAD_API void rdmad_grpc_server_freeze(RdmadGrpcServer *server, void (*frozen)(gpointer data),
					gpointer data);
RDMAD_API struct json_t *rdmad_grpc_server_give(RdmadGrpcServer *server, int *fds, guint *n_fds);
RDMAD_API RdmadGrpcServer *rdmad_grpc_server_take(RdmadLoop *loop, RdmadModule *owner,
						  const struct json_t *state, int *fds, guint n_fds,
						  const RdmadGrpcMethod *methods, gpointer data,
						  const RdmadGrpcLimits *limits,
						  GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Totals of a server since it began, for the metrics. */
typedef struct {
	guint connections; /* now open */
	guint calls;	   /* now open */
	guint64 connections_total, refused_total, calls_total, failed_total;
} RdmadGrpcServerTotals;
RDMAD_API void rdmad_grpc_server_totals(const RdmadGrpcServer *server,
					RdmadGrpcServerTotals *totals);

RDMAD_API RdmadGrpcCall *rdmad_grpc_call_ref(RdmadGrpcCall *call);
RDMAD_API void rdmad_grpc_call_unref(RdmadGrpcCall *call);
/* Sends the one message of a unary call, and OK.  On a call that has ended, all of these do
 * nothing. */
RDMAD_API void rdmad_grpc_call_reply(RdmadGrpcCall *call, const guint8 *message, gsize size);
RDMAD_API void rdmad_grpc_call_fail(RdmadGrpcCall *call, RdmadGrpcStatus status, const char *format,
				    ...) G_GNUC_PRINTF(3, 4);
/* One message of a stream.  To hold no queue, wait for `writable` before the next. */
RDMAD_API void rdmad_grpc_call_send(RdmadGrpcCall *call, const guint8 *message, gsize size);
/* Ends a stream with OK. */
RDMAD_API void rdmad_grpc_call_finish(RdmadGrpcCall *call);
/* TRUE while a message that was sent has not left for the socket. */
RDMAD_API gboolean rdmad_grpc_call_pending(const RdmadGrpcCall *call);
/* TRUE: nobody waits for its answer, which would do nothing. */
RDMAD_API gboolean rdmad_grpc_call_has_ended(const RdmadGrpcCall *call);
/* `writable`: the queue is empty again.  `ended`: the client cancelled, its deadline passed, the
 * connection is gone or the server is freed; not called after reply(), fail() or finish().  Either
 * may be NULL.  Dropping the last reference of a call that is not answered fails it (INTERNAL). */
RDMAD_API void rdmad_grpc_call_watch(RdmadGrpcCall *call,
				     void (*writable)(RdmadGrpcCall *call, gpointer data),
				     void (*ended)(RdmadGrpcCall *call, gpointer data),
				     gpointer data);

/* ---- client ---- */

/* Connects at the first call, and again after a loss; keeps one connection.  `max_message` bounds a
 * response; 0: 16 MiB. */
RDMAD_API RdmadGrpcChannel *rdmad_grpc_channel_new(RdmadLoop *loop, RdmadModule *owner,
						   const char *socket_path,
						   gsize max_message) G_GNUC_WARN_UNUSED_RESULT;
/* Cancels what is open: no callback after this. */
RDMAD_API void rdmad_grpc_channel_free(RdmadGrpcChannel *channel);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadGrpcChannel, rdmad_grpc_channel_free)

typedef struct {
	/* A response message (valid during the callback); once for unary, any number for
	 * streams. */
	void (*message)(const guint8 *message, gsize size, gpointer data);
	/* The end; always called, once, from the loop, and never from inside
	 * rdmad_grpc_channel_call(). */
	void (*done)(RdmadGrpcStatus status, const char *text, gpointer data);
} RdmadGrpcRequestOps;

/* `deadline_ms` 0: none.  No connection is UNAVAILABLE through `done`.  The handle is valid until
 * `done`. */
RDMAD_API RdmadGrpcRequest *rdmad_grpc_channel_call(RdmadGrpcChannel *channel, const char *method,
						    const guint8 *message, gsize size,
						    guint deadline_ms,
						    const RdmadGrpcRequestOps *ops, gpointer data);
/* After this no callback comes. */
RDMAD_API void rdmad_grpc_request_cancel(RdmadGrpcRequest *request);
