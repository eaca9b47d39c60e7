/* SPDX-License-Identifier: Apache-2.0 */
#include <glib.h>

#include "config/fields.h"
#include "../support/unit.h"

typedef struct {
	const char *text;
	guint64 value;
} Good;

static void test_durations_are_milliseconds(void)
{
	static const Good good[] = {
		{ "0s", 0 },
		{ "250ms", 250 },
		{ "5s", 5000 },
		{ "2m", 120000 },
		{ "1h", 3600000 },
		{ "007s", 7000 },
		{ "18446744073709551615ms", G_MAXUINT64 },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(good); i++) {
		guint64 ms = 99;

		g_assert_true(rdmad_config_parse_duration(good[i].text, &ms));
		g_assert_cmpuint(ms, ==, good[i].value);
	}
}

static void test_what_is_no_duration_is_refused(void)
{
	static const char *const bad[] = {
		"",
		"5",
		"s",
		" 5s",
		"5 s",
		"5s ",
		"-5s",
		"+5s",
		"5S",
		"5d",
		"1.5s",
		"1h30m",
		"0x5s",
		"18446744073709551616ms",
		"18446744073709551615s",
		"99999999999999999999h",
	};

	for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
		guint64 ms;

		g_test_message("%s", bad[i]);
		g_assert_false(rdmad_config_parse_duration(bad[i], &ms));
	}
}

static void test_sizes_are_bytes(void)
{
	static const Good good[] = {
		{ "0", 0 },	   { "512", 512 },	 { "64K", 65536 },
		{ "8M", 8388608 }, { "2G", 2147483648 },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(good); i++) {
		guint64 bytes = 99;

		g_assert_true(rdmad_config_parse_size(good[i].text, &bytes));
		g_assert_cmpuint(bytes, ==, good[i].value);
	}
}

static void test_what_is_no_size_is_refused(void)
{
	static const char *const bad[] = { "",	  "K",	  "64k", "64KB",	"64 K",
					   "-1K", "1.5M", "1T",	 "17179869184G" };

	for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
		guint64 bytes;

		g_test_message("%s", bad[i]);
		g_assert_false(rdmad_config_parse_size(bad[i], &bytes));
	}
}

static void test_values_are_shown_in_the_largest_whole_unit(void)
{
	static const struct {
		guint64 ms;
		const char *duration, *size;
	} rows[] = {
		{ 0, "0ms", "0" },
		{ 250, "250ms", "250" },
		{ 1000, "1s", "1000" },
		{ 1500, "1500ms", "1500" },
		{ 120000, "2m", "120000" },
		{ 1024, "1024ms", "1K" },
		{ 3600000, "1h", "3600000" },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autofree char *duration = rdmad_config_format_duration(rows[i].ms);
		g_autofree char *size = rdmad_config_format_size(rows[i].ms);

		g_assert_cmpstr(duration, ==, rows[i].duration);
		g_assert_cmpstr(size, ==, rows[i].size);
	}
}

#define TEST(name) UNIT_TEST("/units/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(durations_are_milliseconds),
	TEST(what_is_no_duration_is_refused),
	TEST(sizes_are_bytes),
	TEST(what_is_no_size_is_refused),
	TEST(values_are_shown_in_the_largest_whole_unit),
	{ 0 },
};
