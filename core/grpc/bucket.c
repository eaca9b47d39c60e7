/* SPDX-License-Identifier: Apache-2.0 */
#include "grpc/bucket.h"

void rdmad_grpc_bucket_init(RdmadGrpcBucket *bucket, guint burst, guint per_second, gint64 now_us)
{
	*bucket = (RdmadGrpcBucket){ burst, per_second, burst, now_us };
}

static void bucket_fill(RdmadGrpcBucket *bucket, gint64 now_us)
{
	const gint64 passed = MIN(now_us - bucket->filled_us, (gint64)3600 * G_USEC_PER_SEC);
	const gint64 earned = passed * bucket->per_second / G_USEC_PER_SEC;

	if (earned <= 0)
		return;
	bucket->tokens = MIN(bucket->tokens + earned, bucket->burst);
	bucket->filled_us = now_us;
}

gboolean rdmad_grpc_bucket_take(RdmadGrpcBucket *bucket, gint64 now_us)
{
	bucket_fill(bucket, now_us);
	if (bucket->tokens == 0)
		return FALSE;
	bucket->tokens--;
	return TRUE;
}

void rdmad_grpc_bucket_give(RdmadGrpcBucket *bucket, guint tokens)
{
	bucket->tokens = MIN(bucket->tokens + tokens, bucket->burst);
}
