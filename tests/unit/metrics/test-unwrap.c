/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "unwrap.h"
#include "../support/unit.h"

/* The name determines the width: "a32" wraps, "s32" saturates, others have 64 bits. */
static guint width_by_name(const RdmadCounter *counter, const char *driver, gboolean *saturates)
{
	*saturates = counter->name[0] == 's';
	return g_str_has_suffix(counter->name, "32") ? 32 : 64;
}

/* Values of a device in one reading. */
typedef struct {
	const char *name;
	guint64 value;
	guint port;
	int errnum;
} Said;

static guint64 read_one(Unwrap *unwrap, const Said *said, guint n, guint wanted)
{
	g_autofree RdmadCounter *counters = g_new0(RdmadCounter, n);
	RdmadReading reading = { .counters = counters, .n_counters = n };

	for (guint i = 0; i < n; i++) {
		counters[i].group = RDMAD_COUNTER_HW;
		counters[i].port = said[i].port ? said[i].port : 1;
		counters[i].name = said[i].name;
		counters[i].value = said[i].value;
		counters[i].errnum = said[i].errnum;
	}
	unwrap_reading(unwrap, &reading, width_by_name, "mlx5_core");
	return counters[wanted].value;
}

static const guint64 ROUND = G_GUINT64_CONSTANT(1) << 32;

/* One counter in consecutive readings. */
static void test_a_counter_alone(void)
{
	static const struct {
		const char *what, *name;
		guint64 before, now, expected;
	} cases[] = {
		{ "rises", "a32", 5, 7, 7 },
		{ "stays", "a32", 5, 5, 5 },
		{ "goes round", "a32", 4294967290, 4, 4294967300 },
		{ "goes far round", "a32", 3000000000, 1500000000, 5794967296 },
		{ "began again", "a32", 1000, 0, 0 },
		{ "began again after much", "a32", 3000000000, 2500000000, 2500000000 },
		{ "is wide", "a64", 4294967290, 4, 4 },
		{ "stays at its maximum", "s32", 4294967295, 0, 0 },
		{ "was never so small", "a32", 5000000000, 4, 4 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(Unwrap) unwrap = unwrap_new();
		const Said first = { .name = cases[i].name, .value = cases[i].before };
		const Said second = { .name = cases[i].name, .value = cases[i].now };

		g_assert_cmpuint(read_one(unwrap, &first, 1, 0), ==, cases[i].before);
		g_test_message("%s", cases[i].what);
		g_assert_cmpuint(read_one(unwrap, &second, 1, 0), ==, cases[i].expected);
	}
}

static void test_rounds_add_up(void)
{
	g_autoptr(Unwrap) unwrap = unwrap_new();
	Said said = { .name = "a32" };

	for (guint64 total = 0; total < 20 * ROUND; total += ROUND / 5 * 2) {
		said.value = total % ROUND;
		g_assert_cmpuint(read_one(unwrap, &said, 1, 0), ==, total);
	}
}

static void test_after_a_new_beginning_there_are_no_rounds(void)
{
	g_autoptr(Unwrap) unwrap = unwrap_new();
	Said said = { .name = "a32", .value = ROUND - 1 };

	read_one(unwrap, &said, 1, 0);
	said.value = 1000;
	g_assert_cmpuint(read_one(unwrap, &said, 1, 0), ==, ROUND + 1000);
	said.value = 0;
	g_assert_cmpuint(read_one(unwrap, &said, 1, 0), ==, 0);
	said.value = 3;
	g_assert_cmpuint(read_one(unwrap, &said, 1, 0), ==, 3);
}

static void test_a_wide_one_that_falls_tells_that_all_began_again(void)
{
	g_autoptr(Unwrap) unwrap = unwrap_new();
	const Said before[] = { { "a32", ROUND - 10 }, { "wide", 500 } };
	const Said now[] = { { "a32", 20 }, { "wide", 2 } };

	read_one(unwrap, before, 2, 0);
	g_assert_cmpuint(read_one(unwrap, now, 2, 0), ==, 20);
}

static void test_nearly_all_that_fall_tell_that_all_began_again(void)
{
	g_autoptr(Unwrap) unwrap = unwrap_new();
	const Said before[] = { { "a32", ROUND - 10 },
				{ "b32", ROUND / 2 },
				{ "c32", ROUND / 4 * 3 },
				{ "lifespan", 10 } };
	const Said now[] = { { "a32", 20 }, { "b32", 7 }, { "c32", 9 }, { "lifespan", 10 } };

	read_one(unwrap, before, 4, 0);
	g_assert_cmpuint(read_one(unwrap, now, 4, 0), ==, 20);
}

static void test_ports_tell_nothing_about_each_other(void)
{
	g_autoptr(Unwrap) unwrap = unwrap_new();
	const Said before[] = { { "a32", ROUND - 10, 1 }, { "wide", 500, 2 } };
	const Said now[] = { { "a32", 20, 1 }, { "wide", 2, 2 } };

	read_one(unwrap, before, 2, 0);
	g_assert_cmpuint(read_one(unwrap, now, 2, 0), ==, ROUND + 20);
}

static void test_what_could_not_be_read_is_remembered(void)
{
	g_autoptr(Unwrap) unwrap = unwrap_new();
	const Said before = { "a32", ROUND - 10 }, failed = { "a32", 0, 1, EIO },
		   now = { "a32", 20 };

	read_one(unwrap, &before, 1, 0);
	g_assert_cmpuint(read_one(unwrap, &failed, 1, 0), ==, 0);
	g_assert_cmpuint(read_one(unwrap, &now, 1, 0), ==, ROUND + 20);
}

static void test_a_group_that_could_not_be_read_is_remembered(void)
{
	g_autoptr(Unwrap) unwrap = unwrap_new();

	read_one(unwrap, &(Said){ .name = "a32", .value = ROUND - 1 }, 1, 0);
	read_one(unwrap, &(Said){ .name = "a32", .value = 5 }, 1, 0);
	for (guint i = 0; i < 2; i++)
		read_one(unwrap, &(Said){ .errnum = EMFILE }, 1, 0);
	g_assert_cmpuint(read_one(unwrap, &(Said){ .name = "a32", .value = 7 }, 1, 0), ==,
			 ROUND + 7);
}

static void test_what_is_no_longer_there_is_forgotten(void)
{
	g_autoptr(Unwrap) unwrap = unwrap_new();
	const Said both[] = { { "a32", ROUND - 10 }, { "b32", 1 } };
	const Said other = { "b32", 1 }, again = { "a32", 20 };

	read_one(unwrap, both, 2, 0);
	read_one(unwrap, &other, 1, 0);
	g_assert_cmpuint(read_one(unwrap, &again, 1, 0), ==, 20);
}

static void test_counters_may_come_and_change_places(void)
{
	g_autoptr(Unwrap) unwrap = unwrap_new();
	const Said before[] = { { "a32", ROUND - 10 }, { "b32", ROUND - 20 }, { "c", 1 } };
	const Said now[] = { { "new32", 5 }, { "b32", 30 }, { "a32", ROUND - 5 }, { "c", 2 } };
	const Said later[] = { { "new32", 5 }, { "b32", 31 }, { "a32", 40 }, { "c", 3 } };

	read_one(unwrap, before, 3, 0);
	g_assert_cmpuint(read_one(unwrap, now, 4, 1), ==, ROUND + 30);
	g_assert_cmpuint(read_one(unwrap, later, 4, 2), ==, ROUND + 40);
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/metrics/unwrap/a counter alone", test_a_counter_alone),
	UNIT_TEST("/metrics/unwrap/rounds add up", test_rounds_add_up),
	UNIT_TEST("/metrics/unwrap/after a new beginning there are no rounds",
		  test_after_a_new_beginning_there_are_no_rounds),
	UNIT_TEST("/metrics/unwrap/a wide one that falls tells that all began again",
		  test_a_wide_one_that_falls_tells_that_all_began_again),
	UNIT_TEST("/metrics/unwrap/nearly all that fall tell that all began again",
		  test_nearly_all_that_fall_tell_that_all_began_again),
	UNIT_TEST("/metrics/unwrap/ports tell nothing about each other",
		  test_ports_tell_nothing_about_each_other),
	UNIT_TEST("/metrics/unwrap/what could not be read is remembered",
		  test_what_could_not_be_read_is_remembered),
	UNIT_TEST("/metrics/unwrap/a group that could not be read is remembered",
		  test_a_group_that_could_not_be_read_is_remembered),
	UNIT_TEST("/metrics/unwrap/what is no longer there is forgotten",
		  test_what_is_no_longer_there_is_forgotten),
	UNIT_TEST("/metrics/unwrap/counters may come and change places",
		  test_counters_may_come_and_change_places),
	{ 0 },
};
