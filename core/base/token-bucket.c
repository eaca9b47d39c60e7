/* SPDX-License-Identifier: Apache-2.0 */
#include "base/token-bucket.h"

void rdmad_bucket_init(RdmadBucket *bucket, guint burst, gint64 interval_us, gint64 now_us)
{
	*bucket = (RdmadBucket){ burst, interval_us, burst, now_us };
}

static void bucket_fill(RdmadBucket *bucket, gint64 now_us)
{
	const gint64 earned = (now_us - bucket->filled_us) / bucket->interval_us;

	if (earned <= 0)
		return;
	bucket->tokens = MIN(bucket->tokens + earned, bucket->burst);
	bucket->filled_us += earned * bucket->interval_us;
}

gboolean rdmad_bucket_take(RdmadBucket *bucket, gint64 now_us)
{
	bucket_fill(bucket, now_us);
	if (bucket->tokens == 0)
		return FALSE;
	bucket->tokens--;
	return TRUE;
}

void rdmad_bucket_give(RdmadBucket *bucket, guint tokens)
{
	bucket->tokens = MIN(bucket->tokens + tokens, bucket->burst);
}
