/* SPDX-License-Identifier: Apache-2.0 */
/* gRPC status codes, and their mapping from failures of other layers */
#pragma once

#include <rdmad/grpc.h>

/* Parses "13" in a header.  Returns FALSE if it is not a number; numbers above 16 become
 * UNKNOWN. */
gboolean rdmad_grpc_status_parse(const char *text, gsize size, RdmadGrpcStatus *status);
/* Returns the status of a response whose :status is not 200. */
RdmadGrpcStatus rdmad_grpc_status_from_http(guint http);
/* Returns the status of a stream that ended with RST_STREAM. */
RdmadGrpcStatus rdmad_grpc_status_from_reset(guint32 error_code);
