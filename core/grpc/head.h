/* SPDX-License-Identifier: Apache-2.0 */
/* Header lists of requests and responses, parsed field by field */
#pragma once

#include <glib.h>
#include <nghttp2/nghttp2.h>
#include <rdmad/grpc.h>

/* Name and value are not NUL-terminated. */
typedef struct {
	const char *name, *value;
	gsize name_len, value_len;
} RdmadGrpcField;

/* Makes a field for nghttp2's submit functions, which copy it. */
nghttp2_nv rdmad_grpc_field_send(const char *name, const char *value);

/* The header list of a request. */
typedef struct {
	const RdmadGrpcMethod *methods; /* served methods */
	const RdmadGrpcMethod *method;	/* the called method, or NULL */
	char *unknown;			/* the start of a path that is not served */
	gboolean has_timeout;
	guint timeout_ms;
	guint authorities, hosts;
	gboolean post, grpc, compressed, bad_timeout, connection;
} RdmadGrpcHead;

/* The rejection of a request; `http` 0: reset the stream with a protocol error. */
typedef struct {
	guint http;
	RdmadGrpcStatus status;
	const char *text;
	const char *detail; /* may be NULL */
} RdmadGrpcRefusal;

void rdmad_grpc_head_init(RdmadGrpcHead *head, const RdmadGrpcMethod *methods);
void rdmad_grpc_head_clear(RdmadGrpcHead *head);
void rdmad_grpc_head_field(RdmadGrpcHead *head, const RdmadGrpcField *field);
/* Returns FALSE and fills `refusal` if the call cannot be served. */
gboolean rdmad_grpc_head_check(const RdmadGrpcHead *head, RdmadGrpcRefusal *refusal);

/* Headers and trailers of a response. */
typedef struct {
	guint http;	     /* :status */
	gboolean grpc;	     /* content-type */
	gboolean compressed; /* grpc-encoding other than identity */
	gboolean has_status;
	RdmadGrpcStatus status;
	char *text;	  /* decoded grpc-message, or NULL */
	gboolean checked; /* the first header list was complete and valid */
} RdmadGrpcResponseHead;

void rdmad_grpc_response_head_clear(RdmadGrpcResponseHead *head);
void rdmad_grpc_response_head_field(RdmadGrpcResponseHead *head, const RdmadGrpcField *field);
/* Call after the first header list.  Returns FALSE with the reason if this is not a gRPC
 * response. */
gboolean rdmad_grpc_response_head_check(const RdmadGrpcResponseHead *head, RdmadGrpcStatus *status,
					char **text);
