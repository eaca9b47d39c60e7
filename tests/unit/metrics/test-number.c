/* SPDX-License-Identifier: Apache-2.0 */
#include "render/text.h"

#include <math.h>
#include <string.h>

#include "../support/unit.h"

static const guint64 WHOLE[] = {
	0,	 9,	      10,	   99,		100,	    12345,
	1000000, 4294967295u, 4294967296u, 9999999999u, G_MAXINT64, G_MAXUINT64,
};

static void test_whole_numbers_read_back(void)
{
	for (guint i = 0; i < G_N_ELEMENTS(WHOLE); i++) {
		char text[NUMBER_MAX + 1] = "";
		g_autofree char *expected = g_strdup_printf("%" G_GUINT64_FORMAT, WHOLE[i]);

		*number_print(text, WHOLE[i]) = '\0';
		g_assert_cmpstr(text, ==, expected);
	}
}

static void test_a_point_stands_before_the_last_digits(void)
{
	static const struct {
		guint64 value;
		guint decimals;
		const char *text;
	} cases[] = {
		{ 0, 3, "0" },
		{ 10, 3, "0.01" },
		{ 1000, 3, "1" },
		{ 1500, 3, "1.5" },
		{ 1000001, 6, "1.000001" },
		{ 123456789, 6, "123.456789" },
		{ 7, 0, "7" },
		{ G_MAXUINT64, 9, "18446744073.709551615" },
		{ 100, 2, "1" },
		{ 5, 2, "0.05" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		char text[NUMBER_MAX + 1] = "";

		*number_print_scaled(text, cases[i].value, cases[i].decimals) = '\0';
		g_assert_cmpstr(text, ==, cases[i].text);
	}
}

static void test_doubles_are_short(void)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = {
		{ 0, "0" },	     { -0.0, "0" },	   { 1, "1" },
		{ -3, "-3" },	     { 0.1, "0.1" },	   { 0.005, "0.005" },
		{ 2.5, "2.5" },	     { 1e6, "1000000" },   { 12500000000.0, "12500000000" },
		{ 1e300, "1e+300" }, { 1e-9, "1e-09" },	   { 1.0 / 3, "0.3333333333333333" },
		{ NAN, "NaN" },	     { INFINITY, "+Inf" }, { -INFINITY, "-Inf" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		char text[NUMBER_MAX + 1] = "";

		*number_print_double(text, cases[i].value) = '\0';
		g_assert_cmpstr(text, ==, cases[i].text);
	}
}

/* The label of a bucket must not change: bounds are decimals. */
static void test_decimals_are_as_printf_writes_them(void)
{
	for (guint i = 0; i < 100000; i++) {
		const guint64 bits = (guint64)g_test_rand_int() << 32 | (guint32)g_test_rand_int();
		double value = (double)(bits >> g_test_rand_int_range(14, 64)), power = 1;
		char text[NUMBER_MAX + 1] = "", expected[G_ASCII_DTOSTR_BUF_SIZE];

		for (int decimals = g_test_rand_int_range(0, 12); decimals > 0; decimals--)
			power *= 10;
		value /= power;
		g_ascii_formatd(expected, sizeof(expected), "%.15g", value);
		if (g_ascii_strtod(expected, NULL) != value || strchr(expected, 'e'))
			continue;
		*number_print_double(text, i % 2 ? value : -value) = '\0';
		g_assert_cmpstr(i % 2 || value == 0 ? text : text + 1, ==, expected);
	}
}

static void test_doubles_read_back_exactly(void)
{
	for (guint i = 0; i < 100000; i++) {
		const guint64 bits = (guint64)g_test_rand_int() << 32 | (guint32)g_test_rand_int();
		char text[NUMBER_MAX + 1] = "";
		char *end;
		double value;

		memcpy(&value, &bits, sizeof(value));
		if (!isfinite(value))
			continue;
		end = number_print_double(text, value);
		g_assert_cmpint(end - text, <=, NUMBER_MAX);
		*end = '\0';
		g_assert_true(g_ascii_strtod(text, NULL) == value);
	}
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/whole numbers read back", test_whole_numbers_read_back),
	UNIT_TEST("/a point stands before the last digits",
		  test_a_point_stands_before_the_last_digits),
	UNIT_TEST("/doubles are short", test_doubles_are_short),
	UNIT_TEST("/decimals are as printf() writes them", test_decimals_are_as_printf_writes_them),
	UNIT_TEST("/doubles read back exactly", test_doubles_read_back_exactly),
	{ 0 },
};
