/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "hardware/counters/backoff.h"
#include "../support/unit.h"

#define SECOND ((gint64)G_USEC_PER_SEC)

static const RdmadCounterKey key = { RDMAD_COUNTER_PORT, 1, NULL, "VL15_dropped" };

static void test_a_failed_counter_is_skipped_for_ten_seconds(void)
{
	g_autoptr(RdmadBackoff) backoff = rdmad_backoff_new();

	g_assert_cmpint(rdmad_backoff_errnum(backoff, &key, 0), ==, 0);
	rdmad_backoff_hold(backoff, &key, EINVAL, 100 * SECOND);
	g_assert_cmpint(rdmad_backoff_errnum(backoff, &key, 100 * SECOND), ==, EINVAL);
	g_assert_cmpint(rdmad_backoff_errnum(backoff, &key, 110 * SECOND - 1), ==, EINVAL);
	g_assert_cmpint(rdmad_backoff_errnum(backoff, &key, 110 * SECOND), ==, 0);
}

static void test_the_time_doubles_up_to_an_hour(void)
{
	static const int delays[] = { 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600, 3600 };
	g_autoptr(RdmadBackoff) backoff = rdmad_backoff_new();
	gint64 now = 0;

	for (guint i = 0; i < G_N_ELEMENTS(delays); i++) {
		rdmad_backoff_hold(backoff, &key, EIO, now);
		now += delays[i] * SECOND;
		g_assert_cmpint(rdmad_backoff_errnum(backoff, &key, now - 1), ==, EIO);
		g_assert_cmpint(rdmad_backoff_errnum(backoff, &key, now), ==, 0);
	}
}

static void test_another_errno_or_a_value_begins_again(void)
{
	g_autoptr(RdmadBackoff) backoff = rdmad_backoff_new();

	rdmad_backoff_hold(backoff, &key, EIO, 0);
	rdmad_backoff_hold(backoff, &key, EIO, 0);
	rdmad_backoff_hold(backoff, &key, EINVAL, 0);
	g_assert_cmpint(rdmad_backoff_errnum(backoff, &key, 10 * SECOND - 1), ==, EINVAL);
	g_assert_cmpint(rdmad_backoff_errnum(backoff, &key, 10 * SECOND), ==, 0);

	rdmad_backoff_hold(backoff, &key, EINVAL, 0);
	rdmad_backoff_lift(backoff, &key);
	g_assert_cmpint(rdmad_backoff_errnum(backoff, &key, 0), ==, 0);
	rdmad_backoff_hold(backoff, &key, EINVAL, 0);
	g_assert_cmpint(rdmad_backoff_errnum(backoff, &key, 10 * SECOND), ==, 0);
}

static void test_only_the_same_counter_is_held(void)
{
	static const RdmadCounterKey others[] = {
		{ RDMAD_COUNTER_HW, 1, NULL, "VL15_dropped" },
		{ RDMAD_COUNTER_PORT, 2, NULL, "VL15_dropped" },
		{ RDMAD_COUNTER_PORT, 1, "eth0", "VL15_dropped" },
		{ RDMAD_COUNTER_PORT, 1, NULL, "symbol_error" },
		{ RDMAD_COUNTER_PORT, 1, NULL, NULL },
	};
	g_autoptr(RdmadBackoff) backoff = rdmad_backoff_new();

	rdmad_backoff_hold(backoff, &key, EINVAL, 0);
	for (guint i = 0; i < G_N_ELEMENTS(others); i++)
		g_assert_cmpint(rdmad_backoff_errnum(backoff, &others[i], 0), ==, 0);
}

static void test_what_has_vanished_or_was_not_asked_is_not_held(void)
{
	static const int vanished[] = { ENOENT, ENODEV, ENXIO, EMFILE, ENFILE, EINTR };
	g_autoptr(RdmadBackoff) backoff = rdmad_backoff_new();

	for (guint i = 0; i < G_N_ELEMENTS(vanished); i++) {
		rdmad_backoff_hold(backoff, &key, vanished[i], 0);
		g_assert_cmpint(rdmad_backoff_errnum(backoff, &key, 0), ==, 0);
	}
}

static void test_it_holds_no_more_than_its_bound(void)
{
	g_autoptr(RdmadBackoff) backoff = rdmad_backoff_new();
	guint held = 0;

	for (guint i = 0; i < RDMAD_BACKOFF_MAX + 10; i++) {
		g_autofree char *name = g_strdup_printf("counter_%u", i);
		const RdmadCounterKey one = { RDMAD_COUNTER_HW, 1, NULL, name };

		rdmad_backoff_hold(backoff, &one, EIO, 0);
		held += rdmad_backoff_errnum(backoff, &one, 0) == EIO;
	}
	g_assert_cmpuint(held, ==, RDMAD_BACKOFF_MAX);
}

/* A renewed reader and the old one, which is still reading, share a back-off. */
static gpointer hold_and_lift(gpointer data)
{
	RdmadBackoff *backoff = data;

	for (guint i = 0; i < 20000; i++) {
		const RdmadCounterKey one = { RDMAD_COUNTER_HW, i % 7, NULL, "shared" };

		rdmad_backoff_hold(backoff, &one, EIO, i);
		rdmad_backoff_errnum(backoff, &one, i);
		rdmad_backoff_lift(backoff, &one);
	}
	rdmad_backoff_unref(backoff);
	return NULL;
}

static void test_threads_share_it(void)
{
	g_autoptr(RdmadBackoff) backoff = rdmad_backoff_new();
	GThread *threads[3];

	for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
		threads[i] = g_thread_new("reader", hold_and_lift, rdmad_backoff_ref(backoff));
	rdmad_backoff_hold(backoff, &key, EINVAL, 0);
	for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
		g_thread_join(threads[i]);
	g_assert_cmpint(rdmad_backoff_errnum(backoff, &key, 0), ==, EINVAL);
}

#define TEST(name) UNIT_TEST("/back-off/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(a_failed_counter_is_skipped_for_ten_seconds),
	TEST(the_time_doubles_up_to_an_hour),
	TEST(another_errno_or_a_value_begins_again),
	TEST(only_the_same_counter_is_held),
	TEST(what_has_vanished_or_was_not_asked_is_not_held),
	TEST(it_holds_no_more_than_its_bound),
	TEST(threads_share_it),
	{ 0 },
};
