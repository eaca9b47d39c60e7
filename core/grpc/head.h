/* SPDX-License-Identifier: Apache-2.0 */
/* Header lists of requests and responses, field by field. */
#pragma once

#include <glib.h>
#include <nghttp2/nghttp2.h>
#include <rdmad/grpc.h>

/* Neither end is terminated by more than its length. */
typedef struct {
	const char *name, *value;
	gsize name_len, value_len;
} RdmadGrpcField;

/* For the submit functions, which copy it. */
nghttp2_nv rdmad_grpc_field_send(const char *name, const char *value);

/* A request: whether it is a call that can be served. */
typedef struct {
	const RdmadGrpcMethod *methods; /* those that are served */
	const RdmadGrpcMethod *method;	/* the one that is called, or NULL */
	char *unknown;			/* the beginning of a path that is not served */
	gboolean has_timeout;
	guint timeout_ms;
	guint authorities, hosts;
	gboolean post, grpc, compressed, bad_timeout, connection;
} RdmadGrpcHead;

/* Refusal of a request; `http` 0: the stream is reset as a protocol error. */
typedef struct {
	guint http;
	RdmadGrpcStatus status;
	const char *text;
	const char *detail; /* may be NULL */
} RdmadGrpcRefusal;

void rdmad_grpc_head_init(RdmadGrpcHead *head, const RdmadGrpcMethod *methods);
void rdmad_grpc_head_clear(RdmadGrpcHead *head);
void rdmad_grpc_head_field(RdmadGrpcHead *head, const RdmadGrpcField *field);
/* FALSE with `refusal` filled in. */
gboolean rdmad_grpc_head_check(const RdmadGrpcHead *head, RdmadGrpcRefusal *refusal);

/* A response: headers and trailers. */
typedef struct {
	guint http;	     /* :status */
	gboolean grpc;	     /* content-type */
	gboolean compressed; /* grpc-encoding other than identity */
	gboolean has_status;
	RdmadGrpcStatus status;
	char *text;	  /* decoded grpc-message, or NULL */
	gboolean checked; /* the first list was whole and good */
} RdmadGrpcResponseHead;

void rdmad_grpc_response_head_clear(RdmadGrpcResponseHead *head);
void rdmad_grpc_response_head_field(RdmadGrpcResponseHead *head, const RdmadGrpcField *field);
/* After the first list: FALSE with the reason when no gRPC response follows. */
gboolean rdmad_grpc_response_head_check(const RdmadGrpcResponseHead *head, RdmadGrpcStatus *status,
					char **text);
