/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of a call
 *
 * call.c		its life, and what a handler does with it
 * call-request.c	the request is put together
 * call-response.c	the answer is taken apart
 */
#pragma once

#include "grpc/server-private.h"

/* ---- call.c: what it holds ---- */

/* After `reader` or `out` changed. */
void rdmad_grpc_call_account(RdmadGrpcCall *call);
/* All calls of the server together hold too much. */
gboolean rdmad_grpc_call_over_budget(const RdmadGrpcCall *call);
gsize rdmad_grpc_call_out_left(const RdmadGrpcCall *call);
void rdmad_grpc_call_out_clear(RdmadGrpcCall *call);

/* ---- call-response.c ---- */

/* Fixes status and text, and sends nothing. */
void rdmad_grpc_call_decide(RdmadGrpcCall *call, RdmadGrpcStatus status, const char *text);
/* Answers in the handler's place, or for it. */
void rdmad_grpc_call_refuse(RdmadGrpcCall *call, RdmadGrpcStatus status, const char *text);
void rdmad_grpc_call_reset(RdmadGrpcCall *call, guint32 error_code);
/* What was decided, in one header list. */
void rdmad_grpc_call_submit_alone(RdmadGrpcCall *call, guint http);
/* There is more in `out`. */
void rdmad_grpc_call_start_or_resume(RdmadGrpcCall *call);
