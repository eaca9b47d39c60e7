/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of a channel: channel, link, request
 *
 * A channel has at most one link (connection) for new requests, and retired links whose requests
 * still run.  Requests are reference-counted, because they may be cancelled from their own
 * callbacks.
 */
#pragma once

#include <rdmad/loop.h>
#include <rdmad/socket-file.h>

#include "base/owned.h"
#include "grpc/grpc-stats.h"
#include "grpc/head.h"
#include "grpc/session.h"
#include "grpc/wire.h"

typedef struct RdmadGrpcLink RdmadGrpcLink;

struct RdmadGrpcChannel {
	RdmadOwned owned;
	RdmadLoop *loop;
	char *path;
	gsize max_message;
	RdmadGrpcStats stats;
	RdmadGrpcLink *current; /* for new requests, or NULL */
	GQueue links;
	GQueue requests; /* all open requests */
};

struct RdmadGrpcLink {
	RdmadGrpcChannel *channel;
	RdmadGrpcSession *session;
	RdmadSocketFile server; /* the socket's file before the connect */
	GHashTable *requests;	/* stream -> RdmadGrpcRequest */
	GList node;
};

struct RdmadGrpcRequest {
	guint refs;
	RdmadGrpcChannel *channel; /* NULL: over */
	RdmadGrpcLink *link;	   /* NULL: no connection; `timer` reports the failure */
	int32_t stream;
	GList node;
	char *method;
	gint64 began_us; /* monotonic */
	const RdmadGrpcRequestOps *ops;
	gpointer data;
	GByteArray *out; /* the framed request */
	gsize out_sent;
	RdmadGrpcResponseHead head;
	RdmadGrpcReader reader;
	RdmadEvent *timer;  /* the deadline, or the deferred report of `failure` */
	gint64 deadline_us; /* monotonic, 0: none */
	char *failure;	    /* why it could not be sent */
};

/* Returns the link for new requests, or NULL with RDMAD_ERROR_UNAVAILABLE or another error. */
RdmadGrpcLink *rdmad_grpc_link_get(RdmadGrpcChannel *channel, GError **error);
/* Makes a link for new requests from a connected descriptor (taken over). */
RdmadGrpcLink *rdmad_grpc_link_adopt(RdmadGrpcChannel *channel, int fd);
/* The link must have no requests. */
void rdmad_grpc_link_free(RdmadGrpcLink *link);
/* Call when the server missed the deadline of `request`.  The link gets no new requests, and
 * closes after its last one.  Must be called from the loop, not from a callback of the session. */
void rdmad_grpc_link_abandon(RdmadGrpcLink *link, RdmadGrpcRequest *request);

RdmadGrpcRequest *rdmad_grpc_request_new(RdmadGrpcChannel *channel, const guint8 *message,
					 gsize size, const RdmadGrpcRequestOps *ops, gpointer data);
RdmadGrpcRequest *rdmad_grpc_request_ref(RdmadGrpcRequest *request);
void rdmad_grpc_request_unref(RdmadGrpcRequest *request);
/* Sends the request, or schedules the report of UNAVAILABLE. */
void rdmad_grpc_request_begin(RdmadGrpcRequest *request, const char *method, guint deadline_ms);
/* Events of the response. */
void rdmad_grpc_request_headers(RdmadGrpcRequest *request, gboolean too_large);
void rdmad_grpc_request_receive(RdmadGrpcRequest *request, const guint8 *bytes, gsize size);
void rdmad_grpc_request_ended(RdmadGrpcRequest *request);
void rdmad_grpc_request_reset(RdmadGrpcRequest *request, guint32 error_code);
/* Ends the request and notifies the caller. */
void rdmad_grpc_request_done(RdmadGrpcRequest *request, RdmadGrpcStatus status, const char *text);
