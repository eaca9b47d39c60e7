/* SPDX-License-Identifier: Apache-2.0 */
/* Token bucket: limits the burst and the rate of a peer's requests. */
#pragma once

#include <glib.h>

typedef struct {
	gint64 burst;
	gint64 interval_us; /* in which one token comes back */
	gint64 tokens;
	gint64 filled_us; /* monotonic time up to which it was filled */
} RdmadBucket;

/* `interval_us` is above 0. */
void rdmad_bucket_init(RdmadBucket *bucket, guint burst, gint64 interval_us, gint64 now_us);
/* FALSE when it is empty. */
gboolean rdmad_bucket_take(RdmadBucket *bucket, gint64 now_us);
/* Gives back for honest work, never above the burst. */
void rdmad_bucket_give(RdmadBucket *bucket, guint tokens);
