/* SPDX-License-Identifier: Apache-2.0 */
#include "base/token-bucket.h"
#include "../support/unit.h"

static void test_a_burst_and_then_one_in_each_interval(void)
{
	RdmadBucket bucket;

	rdmad_bucket_init(&bucket, 2, 1000, 0);
	g_assert_true(rdmad_bucket_take(&bucket, 0));
	g_assert_true(rdmad_bucket_take(&bucket, 0));
	g_assert_false(rdmad_bucket_take(&bucket, 999));
	g_assert_true(rdmad_bucket_take(&bucket, 1000));
	g_assert_false(rdmad_bucket_take(&bucket, 1999));
	g_assert_true(rdmad_bucket_take(&bucket, 2000));
}

static void test_it_never_holds_more_than_the_burst(void)
{
	RdmadBucket bucket;

	rdmad_bucket_init(&bucket, 2, 1, 0);
	g_assert_true(rdmad_bucket_take(&bucket, G_MAXINT64 / 2));
	g_assert_true(rdmad_bucket_take(&bucket, G_MAXINT64 / 2));
	g_assert_false(rdmad_bucket_take(&bucket, G_MAXINT64 / 2));
	rdmad_bucket_give(&bucket, 100);
	g_assert_true(rdmad_bucket_take(&bucket, G_MAXINT64 / 2));
	g_assert_true(rdmad_bucket_take(&bucket, G_MAXINT64 / 2));
	g_assert_false(rdmad_bucket_take(&bucket, G_MAXINT64 / 2));
}

static void test_what_is_less_than_an_interval_is_not_lost(void)
{
	RdmadBucket bucket;

	rdmad_bucket_init(&bucket, 1, 1000, 0);
	g_assert_true(rdmad_bucket_take(&bucket, 0));
	g_assert_true(rdmad_bucket_take(&bucket, 1900));
	g_assert_true(rdmad_bucket_take(&bucket, 2000));
}

#define TEST(name) UNIT_TEST("/bucket/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(a_burst_and_then_one_in_each_interval),
	TEST(it_never_holds_more_than_the_burst),
	TEST(what_is_less_than_an_interval_is_not_lost),
	{ 0 },
};
