/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table.h"

#include <string.h>

#include "base/terminal.h"
#include "../support/unit.h"

static const char *const headers[] = { "NAME", "STATE", "NOTE", NULL };

static char *write_all(const RdmadTable *table, gboolean with_headers, const char *indent)
{
	GString *out = g_string_new(NULL);

	rdmad_table_write(table, with_headers ? &rdmad_table_plain : &rdmad_table_bare, indent,
			  out);
	return g_string_free(out, FALSE);
}

static void test_columns_are_as_wide_as_their_widest_cell(void)
{
	g_autoptr(RdmadTable) table = rdmad_table_new(headers);
	g_autofree char *text = NULL;

	rdmad_table_add(table, "mlx5_10", "up", "a long note that nobody cuts");
	rdmad_table_add(table, "a", NULL, "");
	text = write_all(table, TRUE, "");
	g_assert_cmpstr(text, ==,
			"NAME     STATE  NOTE\n"
			"mlx5_10  up     a long note that nobody cuts\n"
			"a        -      -\n");
}

static void test_headers_are_optional_and_lines_can_be_indented(void)
{
	g_autoptr(RdmadTable) table = rdmad_table_new(headers);
	g_autofree char *text = NULL;

	rdmad_table_set_min_width(table, 1, 8);
	rdmad_table_add(table, "a", "b", "c");
	text = write_all(table, FALSE, "  ");
	g_assert_cmpstr(text, ==, "  a     b         c\n");
}

static void test_an_empty_table_is_its_headers(void)
{
	g_autoptr(RdmadTable) table = rdmad_table_new(headers);
	g_autofree char *text = write_all(table, TRUE, "");

	g_assert_cmpstr(text, ==, "NAME  STATE  NOTE\n");
}

static void test_wide_and_combining_characters_are_counted_as_shown(void)
{
	g_autoptr(RdmadTable) table = rdmad_table_new(headers);
	g_autofree char *text = NULL;

	rdmad_table_add(table, "\xe7\xbd\x91\xe5\x8d\xa1", "e\xcc\x81", "x");
	rdmad_table_add(table, "abcd", "f", "x");
	text = write_all(table, FALSE, "");
	g_assert_cmpstr(text, ==,
			"\xe7\xbd\x91\xe5\x8d\xa1  e\xcc\x81      x\n"
			"abcd  f      x\n");
}

static void test_nothing_from_outside_reaches_the_terminal_raw(void)
{
	static const struct {
		const char *raw, *shown;
	} table[] = {
		{ "plain", "plain" },	    { "a\nb\tc", "a\\nb\\tc" },
		{ "\033[2J", "\\x1b[2J" },  { "\x7f", "\\x7f" },
		{ "\xc2\x9b", "\\x9b" },    { "\xe2\x80\xae", "\\u202e" },
		{ "\xff", "\xef\xbf\xbd" },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		g_autofree char *shown = rdmad_text_escape(table[i].raw);

		g_assert_cmpstr(shown, ==, table[i].shown);
	}
}

static void test_what_is_too_long_loses_its_middle(void)
{
	g_autofree char *long_word = g_strnfill(1000000, 'x');
	g_autofree char *path = g_strconcat("/", long_word, "/rdmad.conf:12: key", NULL);
	g_autofree char *shown = rdmad_text_escape(path);
	GString *words = g_string_new(NULL);
	g_autofree char *all = NULL, *wide = NULL;

	g_assert_cmpuint(strlen(shown), <=, RDMAD_TERMINAL_WORD_MAX + strlen("... key"));
	g_assert_true(g_str_has_prefix(shown, "/xxx"));
	g_assert_nonnull(strstr(shown, "xxx...xxx"));
	g_assert_true(g_str_has_suffix(shown, "x/rdmad.conf:12: key"));
	for (int i = 0; i < 100000; i++)
		g_string_append(words, "\xe7\xbd\x91 ");
	all = rdmad_text_escape(words->str);
	g_assert_cmpuint(strlen(all), <=, RDMAD_TERMINAL_TEXT_MAX + strlen("..."));
	g_assert_true(g_utf8_validate(all, -1, NULL));
	for (char *blank = words->str; (blank = strchr(blank, ' '));)
		*blank = 'a';
	wide = rdmad_text_escape(words->str);
	g_assert_cmpuint(strlen(wide), <=, RDMAD_TERMINAL_WORD_MAX + strlen("..."));
	g_assert_true(g_utf8_validate(wide, -1, NULL));
	g_assert_null(strstr(wide, "\xef\xbf\xbd"));
	g_string_free(words, TRUE);
}

#define TEST(name) UNIT_TEST("/table/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(columns_are_as_wide_as_their_widest_cell),
	TEST(headers_are_optional_and_lines_can_be_indented),
	TEST(an_empty_table_is_its_headers),
	TEST(wide_and_combining_characters_are_counted_as_shown),
	TEST(nothing_from_outside_reaches_the_terminal_raw),
	TEST(what_is_too_long_loses_its_middle),
	{ 0 },
};
