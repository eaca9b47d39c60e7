/* SPDX-License-Identifier: Apache-2.0 */
/* Source: gRPC's PROTOCOL-HTTP2.md, http-grpc-status-mapping.md. */
#include "grpc/status.h"

#include <nghttp2/nghttp2.h>

static const char *const names[] = {
	[RDMAD_GRPC_OK] = "OK",
	[RDMAD_GRPC_CANCELLED] = "CANCELLED",
	[RDMAD_GRPC_UNKNOWN] = "UNKNOWN",
	[RDMAD_GRPC_INVALID_ARGUMENT] = "INVALID_ARGUMENT",
	[RDMAD_GRPC_DEADLINE_EXCEEDED] = "DEADLINE_EXCEEDED",
	[RDMAD_GRPC_NOT_FOUND] = "NOT_FOUND",
	[RDMAD_GRPC_ALREADY_EXISTS] = "ALREADY_EXISTS",
	[RDMAD_GRPC_PERMISSION_DENIED] = "PERMISSION_DENIED",
	[RDMAD_GRPC_RESOURCE_EXHAUSTED] = "RESOURCE_EXHAUSTED",
	[RDMAD_GRPC_FAILED_PRECONDITION] = "FAILED_PRECONDITION",
	[RDMAD_GRPC_ABORTED] = "ABORTED",
	[RDMAD_GRPC_OUT_OF_RANGE] = "OUT_OF_RANGE",
	[RDMAD_GRPC_UNIMPLEMENTED] = "UNIMPLEMENTED",
	[RDMAD_GRPC_INTERNAL] = "INTERNAL",
	[RDMAD_GRPC_UNAVAILABLE] = "UNAVAILABLE",
	[RDMAD_GRPC_DATA_LOSS] = "DATA_LOSS",
	[RDMAD_GRPC_UNAUTHENTICATED] = "UNAUTHENTICATED",
};

const char *rdmad_grpc_status_name(RdmadGrpcStatus status)
{
	return (guint)status < G_N_ELEMENTS(names) ? names[status] : "UNKNOWN";
}

gboolean rdmad_grpc_status_parse(const char *text, gsize size, RdmadGrpcStatus *status)
{
	guint value = 0;

	if (size < 1 || size > 3)
		return FALSE;
	for (gsize i = 0; i < size; i++) {
		if (!g_ascii_isdigit(text[i]))
			return FALSE;
		value = value * 10 + (guint)(text[i] - '0');
	}
	*status = value < G_N_ELEMENTS(names) ? (RdmadGrpcStatus)value : RDMAD_GRPC_UNKNOWN;
	return TRUE;
}

RdmadGrpcStatus rdmad_grpc_status_from_http(guint http)
{
	switch (http) {
	case 400:
		return RDMAD_GRPC_INTERNAL;
	case 401:
		return RDMAD_GRPC_UNAUTHENTICATED;
	case 403:
		return RDMAD_GRPC_PERMISSION_DENIED;
	case 404:
		return RDMAD_GRPC_UNIMPLEMENTED;
	case 429:
	case 502:
	case 503:
	case 504:
		return RDMAD_GRPC_UNAVAILABLE;
	default:
		return RDMAD_GRPC_UNKNOWN;
	}
}

RdmadGrpcStatus rdmad_grpc_status_from_reset(guint32 error_code)
{
	switch (error_code) {
	case NGHTTP2_REFUSED_STREAM:
		return RDMAD_GRPC_UNAVAILABLE;
	case NGHTTP2_CANCEL:
		return RDMAD_GRPC_CANCELLED;
	case NGHTTP2_FLOW_CONTROL_ERROR:
	case NGHTTP2_ENHANCE_YOUR_CALM:
		return RDMAD_GRPC_RESOURCE_EXHAUSTED;
	case NGHTTP2_INADEQUATE_SECURITY:
		return RDMAD_GRPC_PERMISSION_DENIED;
	default:
		return RDMAD_GRPC_INTERNAL;
	}
}
