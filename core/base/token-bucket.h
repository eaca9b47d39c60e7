/* SPDX-License-Identifier: Apache-2.0 */
/* A token bucket, which limits the burst and the rate of a peer's requests */
#pragma once

#include <glib.h>

typedef struct {
	gint64 burst;
	gint64 interval_us; /* one token is added per interval */
	gint64 tokens;
	gint64 filled_us; /* monotonic time of the last fill */
} RdmadBucket;

/* `interval_us` must be positive. */
void rdmad_bucket_init(RdmadBucket *bucket, guint burst, gint64 interval_us, gint64 now_us);
/* Returns FALSE if the bucket is empty. */
gboolean rdmad_bucket_take(RdmadBucket *bucket, gint64 now_us);
/* Adds tokens for legitimate requests, up to the burst. */
void rdmad_bucket_give(RdmadBucket *bucket, guint tokens);
