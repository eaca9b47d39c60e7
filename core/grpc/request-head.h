/* SPDX-License-Identifier: Apache-2.0 */
/* What the header list of a request says, and whether it is a call that can be served. */
#pragma once

#include <rdmad/grpc.h>

#include "grpc/session.h"

typedef struct {
	const RdmadGrpcMethod *methods; /* those that are served */
	const RdmadGrpcMethod *method;	/* the one that is called, or NULL */
	char *unknown;			/* the beginning of a path that is not served */
	gboolean has_timeout;
	guint timeout_ms;
	guint authorities, hosts;
	gboolean post, grpc, compressed, bad_timeout, connection;
} RdmadGrpcHead;

/* How a request is turned away; `http` 0: the stream is reset as a protocol error. */
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
