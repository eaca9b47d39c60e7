/* SPDX-License-Identifier: Apache-2.0 */
/* Token bucket: what a peer may do in a burst, and for how long. */
#pragma once

#include <glib.h>

typedef struct {
	gint64 burst;
	gint64 per_second;
	gint64 tokens;
	gint64 filled_us; /* monotonic time up to which it was filled */
} RdmadGrpcBucket;

void rdmad_grpc_bucket_init(RdmadGrpcBucket *bucket, guint burst, guint per_second, gint64 now_us);
/* FALSE when it is empty. */
gboolean rdmad_grpc_bucket_take(RdmadGrpcBucket *bucket, gint64 now_us);
/* Gives back for honest work, never above the burst. */
void rdmad_grpc_bucket_give(RdmadGrpcBucket *bucket, guint tokens);
