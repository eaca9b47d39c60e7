/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channel, link, request
 *
 * A channel has at most one link (connection) for new requests, and older ones that a GOAWAY left to
 * finish theirs.  A request is counted, because it may be cancelled from its own callbacks.
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
	GQueue requests; /* all that are open */
};

struct RdmadGrpcLink {
	RdmadGrpcChannel *channel;
	RdmadGrpcSession *session;
	RdmadSocketFile server; /* as it was before the connect */
	GHashTable *requests;	/* stream -> RdmadGrpcRequest */
	GList node;
};

struct RdmadGrpcRequest {
	guint refs;
	RdmadGrpcChannel *channel; /* NULL: over */
	RdmadGrpcLink *link;	   /* NULL: none, which `timer` will report */
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
	RdmadEvent *timer;  /* the deadline, or the end that was decided already */
	gint64 deadline_us; /* monotonic, 0: none */
	char *failure;	    /* why it never began */
};

/* NULL with RDMAD_ERROR_UNAVAILABLE or another error. */
RdmadGrpcLink *rdmad_grpc_link_get(RdmadGrpcChannel *channel, GError **error);
/* Takes a connected descriptor over, for new requests. */
RdmadGrpcLink *rdmad_grpc_link_adopt(RdmadGrpcChannel *channel, int fd);
/* Its requests must be over. */
void rdmad_grpc_link_free(RdmadGrpcLink *link);
/* The server let the deadline of `request` pass: the link gets no new requests, and closes with its
 * last one.  From the top of the loop only. */
void rdmad_grpc_link_abandon(RdmadGrpcLink *link, RdmadGrpcRequest *request);

RdmadGrpcRequest *rdmad_grpc_request_new(RdmadGrpcChannel *channel, const guint8 *message,
					 gsize size, const RdmadGrpcRequestOps *ops, gpointer data);
RdmadGrpcRequest *rdmad_grpc_request_ref(RdmadGrpcRequest *request);
void rdmad_grpc_request_unref(RdmadGrpcRequest *request);
/* Sends it, or arranges for UNAVAILABLE. */
void rdmad_grpc_request_begin(RdmadGrpcRequest *request, const char *method, guint deadline_ms);
/* Its response. */
void rdmad_grpc_request_headers(RdmadGrpcRequest *request, gboolean too_large);
void rdmad_grpc_request_receive(RdmadGrpcRequest *request, const guint8 *bytes, gsize size);
void rdmad_grpc_request_ended(RdmadGrpcRequest *request);
void rdmad_grpc_request_reset(RdmadGrpcRequest *request, guint32 error_code);
/* Ends it and notifies the caller. */
void rdmad_grpc_request_done(RdmadGrpcRequest *request, RdmadGrpcStatus status, const char *text);
