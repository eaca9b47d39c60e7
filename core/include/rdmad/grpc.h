/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gRPC over unix sockets: server and client
 *
 * Messages are bytes; the caller packs them (protobuf-c).  No function blocks.  Connections,
 * streams, headers and messages are limited, and floods of frames close the connection.  By default
 * only uid 0 and rdmad's own uid may connect (SO_PEERCRED, unix(7)).
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

/* Returns a static name, such as "UNAVAILABLE". */
RDMAD_API const char *rdmad_grpc_status_name(RdmadGrpcStatus status);

/* ---- server ---- */

/* Called for each call, with its whole request message, which is valid during the callback.  The
 * handler responds now, or later if it takes a reference.  reply() or fail() ends a call; a
 * streaming method calls send(), then finish() or fail(). */
typedef void (*RdmadGrpcHandler)(RdmadGrpcCall *call, const guint8 *message, gsize size,
				 gpointer data);

typedef struct {
	const char *path; /* "/v1beta1.DevicePlugin/Allocate" */
	RdmadGrpcHandler handler;
} RdmadGrpcMethod;

typedef struct {	       /* 0 of a number: the default in parentheses */
	guint max_connections; /* (16); the longest idle one is closed for a new one */
	guint max_streams;     /* of a connection (100) */
	gsize max_message;     /* bytes of a request (4 MiB, as in kubelet) */
	gboolean any_user;     /* accepts any uid */
} RdmadGrpcLimits;

/*
 * Listens at `socket_path`, with mode 0600.  A stale socket is removed.  `methods` ends with a NULL
 * path and must outlive the server; `limits` may be NULL.  rdmad_grpc_server_free() sends GOAWAY,
 * ends open calls with UNAVAILABLE, calls `ended` for them, and unlinks the socket unless the path
 * has another file.  RDMAD_ERROR_BUSY: the path has a live socket or a file of another type.
 */
RDMAD_API RdmadGrpcServer *rdmad_grpc_server_new(RdmadLoop *loop, RdmadModule *owner,
						 const char *socket_path,
						 const RdmadGrpcMethod *methods, gpointer data,
						 const RdmadGrpcLimits *limits,
						 GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Does nothing if `server` is NULL. */
RDMAD_API void rdmad_grpc_server_free(RdmadGrpcServer *server);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadGrpcServer, rdmad_grpc_server_free)
/* Accepts no new connection, closes those without a call, and calls `left` from the loop once the
 * clients have closed the others.  Calls continue, also after freeze(). */
RDMAD_API void rdmad_grpc_server_await_clients(RdmadGrpcServer *server, void (*left)(gpointer data),
					       gpointer data);
/* Accepts no new call; open calls continue, also after freeze().  `drained` is called from the loop
 * once no connection is left. */
RDMAD_API void rdmad_grpc_server_drain(RdmadGrpcServer *server, void (*drained)(gpointer data),
				       gpointer data);

/*
 * Hand-over of a server to another process, with its connections and their open streams; clients
 * notice nothing
 *
 * freeze() stops reading calls, and lets the received ones complete.  It calls `frozen` from the
 * loop once only open streams are left.  give(), in `frozen` or later, returns the state for
 * take(), and stores the descriptors, which are borrowed and fit into one message
 * (message-socket.h); NULL: the socket no longer exists.  After give(), call only
 * rdmad_grpc_server_free().
 *
 * take() makes the server again, and calls the handlers of the streams from the loop.  Descriptors
 * that it takes over are set to -1.  RDMAD_ERROR_INVALID: malformed state; RDMAD_ERROR_GONE: no
 * socket at the path.
 */
RDMAD_API void rdmad_grpc_server_freeze(RdmadGrpcServer *server, void (*frozen)(gpointer data),
					gpointer data);
RDMAD_API struct json_t *rdmad_grpc_server_give(RdmadGrpcServer *server, int *fds, guint *n_fds);
RDMAD_API RdmadGrpcServer *rdmad_grpc_server_take(RdmadLoop *loop, RdmadModule *owner,
						  const struct json_t *state, int *fds, guint n_fds,
						  const RdmadGrpcMethod *methods, gpointer data,
						  const RdmadGrpcLimits *limits,
						  GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Totals of a server since its start, for the metrics. */
typedef struct {
	guint connections; /* now open */
	guint calls;	   /* now open */
	guint64 connections_total, refused_total, calls_total, failed_total;
} RdmadGrpcServerTotals;
RDMAD_API void rdmad_grpc_server_totals(const RdmadGrpcServer *server,
					RdmadGrpcServerTotals *totals);

RDMAD_API RdmadGrpcCall *rdmad_grpc_call_ref(RdmadGrpcCall *call);
RDMAD_API void rdmad_grpc_call_unref(RdmadGrpcCall *call);
/* Sends the message of a unary call, and OK.  reply(), fail(), send() and finish() do nothing on a
 * call that has ended. */
RDMAD_API void rdmad_grpc_call_reply(RdmadGrpcCall *call, const guint8 *message, gsize size);
/* Ends a call with `status` and a message. */
RDMAD_API void rdmad_grpc_call_fail(RdmadGrpcCall *call, RdmadGrpcStatus status, const char *format,
				    ...) G_GNUC_PRINTF(3, 4);
/* Sends a message of a stream.  To queue at most one, wait for `writable` before the next. */
RDMAD_API void rdmad_grpc_call_send(RdmadGrpcCall *call, const guint8 *message, gsize size);
/* Ends a stream with OK. */
RDMAD_API void rdmad_grpc_call_finish(RdmadGrpcCall *call);
/* Returns whether a part of a sent message is not written to the socket yet. */
RDMAD_API gboolean rdmad_grpc_call_pending(const RdmadGrpcCall *call);
/* Returns whether the call has ended, or the client has closed its connection, so that a response
 * would do nothing. */
RDMAD_API gboolean rdmad_grpc_call_has_ended(const RdmadGrpcCall *call);
/* Sets the callbacks of a call; either may be NULL.  `writable` is called when the queue is empty
 * again. `ended` is called when the client cancels, its deadline passes, the connection is lost or
 * the server is freed, but not after reply(), fail() or finish().  Dropping the last reference to a
 * call without response fails it (INTERNAL). */
RDMAD_API void rdmad_grpc_call_watch(RdmadGrpcCall *call,
				     void (*writable)(RdmadGrpcCall *call, gpointer data),
				     void (*ended)(RdmadGrpcCall *call, gpointer data),
				     gpointer data);

/* ---- client ---- */

/* The channel keeps one connection, made by the first call and again after its loss.  `max_message`
 * is the maximum of a response message in bytes; 0: 16 MiB. */
RDMAD_API RdmadGrpcChannel *rdmad_grpc_channel_new(RdmadLoop *loop, RdmadModule *owner,
						   const char *socket_path,
						   gsize max_message) G_GNUC_WARN_UNUSED_RESULT;
/* Cancels open requests, without callbacks.  Does nothing if `channel` is NULL. */
RDMAD_API void rdmad_grpc_channel_free(RdmadGrpcChannel *channel);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadGrpcChannel, rdmad_grpc_channel_free)

typedef struct {
	/* Called for each response message, which is valid during the callback.  May be NULL. */
	void (*message)(const guint8 *message, gsize size, gpointer data);
	/* Called once at the end, from the loop, and never from inside rdmad_grpc_channel_call();
	 * not after rdmad_grpc_request_cancel().  May be NULL. */
	void (*done)(RdmadGrpcStatus status, const char *text, gpointer data);
} RdmadGrpcRequestOps;

/* Starts a request; the handle is valid until `done`.  `message` is copied, `ops` must outlive the
 * request. `deadline_ms` 0: none.  Without a connection, `done` gets UNAVAILABLE. */
RDMAD_API RdmadGrpcRequest *rdmad_grpc_channel_call(RdmadGrpcChannel *channel, const char *method,
						    const guint8 *message, gsize size,
						    guint deadline_ms,
						    const RdmadGrpcRequestOps *ops, gpointer data);
/* Cancels a request and its callbacks.  Does nothing if `request` is NULL. */
RDMAD_API void rdmad_grpc_request_cancel(RdmadGrpcRequest *request);
