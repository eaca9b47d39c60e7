/* SPDX-License-Identifier: Apache-2.0 */
#include <glib.h>

#include "base/nearest.h"
#include "../support/unit.h"

static void test_the_nearest_word_is_the_one_that_was_meant(void)
{
	static const char *const keys[] = { "count", "name", "selectors", "mode", "umad", NULL };
	static const struct {
		const char *word, *meant;
	} rows[] = {
		{ "conut", "count" },	     { "coun", "count" },
		{ "Count", "count" },	     { "nmae", "name" },
		{ "selector", "selectors" }, { "umd", "umad" },
		{ "moed", "mode" },	     { "x", NULL },
		{ "frequency", NULL },	     { "", NULL },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
		g_assert_cmpstr(rdmad_nearest(rows[i].word, keys), ==, rows[i].meant);
}

static void test_a_word_too_long_to_be_meant_is_not_measured(void)
{
	static const char *const keys[] = { "count", NULL };
	g_autofree char *word = g_strnfill(100000, 'c');

	g_assert_null(rdmad_nearest(word, keys));
}

static void test_the_nearest_option_is_one_of_the_command(void)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "output", required_argument, NULL, 'o' },
		{ "refresh", no_argument, NULL, 'r' },
		{ "check", no_argument, NULL, 256 },
		{ NULL, 0, NULL, 0 },
	};
	static const struct {
		const char *word, *values, *meant;
	} rows[] = {
		{ "--jsno", "jo", "json" },	 { "--ouput=wide", "jo", "output" },
		{ "--refesh", "jo", NULL },	 { "--refesh", "jor", "refresh" },
		{ "--refesh", NULL, "refresh" }, { "--chek", NULL, "check" },
		{ "--bogus", NULL, NULL },	 { "--", NULL, NULL },
		{ "-json", NULL, NULL },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
		g_assert_cmpstr(rdmad_nearest_option(rows[i].word, options, rows[i].values), ==,
				rows[i].meant);
}

#define TEST(name) UNIT_TEST("/nearest/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(the_nearest_word_is_the_one_that_was_meant),
	TEST(a_word_too_long_to_be_meant_is_not_measured),
	TEST(the_nearest_option_is_one_of_the_command),
	{ NULL },
};
