/* SPDX-License-Identifier: Apache-2.0 */
/* What the header lists of a response (headers and trailers) say. */
#pragma once

#include <rdmad/grpc.h>

#include "grpc/session.h"

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
