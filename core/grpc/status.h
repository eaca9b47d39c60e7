/* SPDX-License-Identifier: Apache-2.0 */
/* gRPC status codes, and what other layers' failures are in them. */
#pragma once

#include <rdmad/grpc.h>

/* "13" as a header has it; FALSE when it is not a number.  Numbers above 16 become UNKNOWN. */
gboolean rdmad_grpc_status_parse(const char *text, gsize size, RdmadGrpcStatus *status);
/* A response whose :status is not 200. */
RdmadGrpcStatus rdmad_grpc_status_from_http(guint http);
/* A stream that ended with RST_STREAM. */
RdmadGrpcStatus rdmad_grpc_status_from_reset(guint32 error_code);
