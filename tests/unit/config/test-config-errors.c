/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of a configuration, and their messages. */
#include <rdmad/config.h>
#include <rdmad/error.h>
#include <string.h>

#include "config/config-private.h"
#include "libconfig-leak.h"
#include "../support/unit.h"

typedef struct {
	gboolean flag;
	gint64 count;
	char *name;
	char **names;
	guint64 wait_ms, room;
	int mode;
	const RdmadConfigNode *deep, *items;
	char *item_id;
} Sample;

static gboolean check_lower(const char *value, GError **error)
{
	for (; *value; value++)
		if (!g_ascii_islower(*value)) {
			g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
				    "only lower-case letters");
			return FALSE;
		}
	return TRUE;
}

static const char *const modes[] = { "shared", "exclusive", NULL };

static const RdmadConfigField sample_fields[] = {
	RDMAD_CONFIG_BOOL_FIELD("flag", Sample, flag),
	RDMAD_CONFIG_INT_FIELD("count", Sample, count, 1, 1000),
	{ .key = "name",
	  .type = RDMAD_CONFIG_STRING,
	  .offset = G_STRUCT_OFFSET(Sample, name),
	  .min = 1,
	  .max = 8,
	  .check = check_lower },
	{ .key = "names",
	  .type = RDMAD_CONFIG_STRINGS,
	  .offset = G_STRUCT_OFFSET(Sample, names),
	  .min = 1,
	  .max = 3,
	  .check = check_lower },
	RDMAD_CONFIG_DURATION_FIELD("wait", Sample, wait_ms, 100, 60000),
	RDMAD_CONFIG_SIZE_FIELD("room", Sample, room, 1024, 1 << 20),
	RDMAD_CONFIG_ENUM_FIELD("mode", Sample, mode, modes),
	RDMAD_CONFIG_GROUP_FIELD("deep", Sample, deep),
	RDMAD_CONFIG_LIST_FIELD("items", Sample, items),
	RDMAD_CONFIG_FIELDS_END,
};

static const RdmadConfigField item_fields[] = {
	{ .key = "id",
	  .type = RDMAD_CONFIG_STRING,
	  .offset = G_STRUCT_OFFSET(Sample, item_id),
	  .required = TRUE },
	RDMAD_CONFIG_FIELDS_END,
};

static gboolean sample_parse(const RdmadConfig *config, Sample *sample, GError **error)
{
	if (!rdmad_config_parse(rdmad_config_root(config), sample_fields, sample, error))
		return FALSE;
	for (guint i = 0; i < rdmad_config_length(sample->items); i++)
		if (!rdmad_config_parse(rdmad_config_entry(sample->items, i), item_fields, sample,
					error))
			return FALSE;
	return !sample->deep || rdmad_config_parse(sample->deep, item_fields, sample, error);
}

static void sample_clear(Sample *sample)
{
	g_free(sample->name);
	g_strfreev(sample->names);
	g_free(sample->item_id);
}

typedef struct {
	const char *text;
	const char *words[4]; /* all must be in the message */
} Bad;

static const Bad bad[] = {
	/* Keys. */
	{ "conut = 5;", { "x.conf:1: conut: ", "unknown key", "did you mean `count`?" } },
	{ "\n\nzebra = 5;", { "x.conf:3: zebra: ", "unknown key", "known here are: flag, count" } },
	{ "deep = {\n idd = \"a\";\n};", { "x.conf:2: deep.idd: ", "did you mean `id`?" } },
	{ "items = ( { id = \"a\"; }, {\n ib = \"b\"; } );",
	  { "x.conf:2: items[1].ib: ", "`id`" } },
	{ "deep = {};", { "x.conf:1: deep: ", "required key `id` is missing" } },
	{ "items = ( { id = \"a\"; },\n {} );", { "x.conf:2: items[1]: ", "`id` is missing" } },
	{ "count = 1;\ncount = 2;",
	  { "x.conf:2: ", "given before in the same group", "`count = 2;`" } },
	/* Types. */
	{ "flag = 1;", { "flag: ", "expected true or false", "found the integer 1" } },
	{ "flag = \"true\";", { "flag: ", "found the string \"true\"" } },
	{ "count = \"5\";", { "count: ", "expected an integer", "found the string \"5\"" } },
	{ "count = 1.5;", { "count: ", "expected an integer", "found the fraction 1.5" } },
	{ "count = true;", { "count: ", "found true" } },
	{ "count = { a = 1; };", { "count: ", "found a group" } },
	{ "count = ( 1 );", { "count: ", "found a list" } },
	{ "count = [ 1 ];", { "count: ", "found a list" } },
	{ "name = 5;", { "name: ", "expected a string", "found the integer 5" } },
	{ "name = ( \"a\" );", { "name: ", "expected a string", "found a list" } },
	{ "names = 5;", { "names: ", "expected a string or a list of strings", "the integer 5" } },
	{ "names = ( \"a\", 5 );", { "names[1]: ", "expected a string", "the integer 5" } },
	{ "names = ( \"a\", ( \"b\" ) );", { "names[1]: ", "found a list" } },
	{ "wait = \"5 s\";",
	  { "wait: ", "expected seconds or a duration", "\"250ms\"", "\"5 s\"" } },
	{ "wait = -1;", { "wait: ", "expected seconds", "the integer -1" } },
	{ "wait = 9223372036854775807L;", { "wait: ", "expected seconds" } },
	{ "wait = false;", { "wait: ", "found false" } },
	{ "room = \"1T\";", { "room: ", "expected bytes or a size", "\"64K\"" } },
	{ "mode = 1;", { "mode: ", "expected one of \"shared\", \"exclusive\"", "the integer 1" } },
	{ "mode = \"exlusive\";", { "mode: ", "is not one of", "did you mean \"exclusive\"?" } },
	{ "mode = \"\";", { "mode: ", "\"\" is not one of \"shared\", \"exclusive\"" } },
	{ "deep = 5;", { "deep: ", "expected a group { ... }", "the integer 5" } },
	{ "items = { id = \"a\"; };", { "items: ", "expected a list of groups", "found a group" } },
	{ "items = ( { id = \"a\"; }, 5 );", { "items[1]: ", "expected a group" } },
	{ "items = [ 1, 2 ];", { "items[0]: ", "expected a group" } },
	/* Bounds. */
	{ "count = 0;", { "count: ", "0 is not from 1 to 1000" } },
	{ "count = 1001;", { "count: ", "1001 is not from 1 to 1000" } },
	{ "count = -9223372036854775808L;", { "count: ", "-9223372036854775808 is not from 1" } },
	{ "name = \"\";", { "name: ", "must not be empty" } },
	{ "name = \"abcdefghi\";", { "name: ", "has 9 bytes, not from 1 to 8" } },
	{ "name = \"Abc\";", { "name: ", "only lower-case letters" } },
	{ "names = ();", { "names: ", "has 0 entries, not from 1 to 3" } },
	{ "names = (\"a\", \"b\", \"c\", \"d\");", { "names: ", "has 4 entries" } },
	{ "names = (\"a\", \"B\");", { "names[1]: ", "only lower-case letters" } },
	{ "wait = \"99ms\";", { "wait: ", "99ms is not from 100ms to 1m" } },
	{ "wait = 61;", { "wait: ", "61s is not from 100ms to 1m" } },
	{ "room = 5;", { "room: ", "5 is not from 1K to 1M" } },
	/* Numbers that libconfig 1.5 reads wrongly. */
	{ "count = 3000000000;", { "x.conf:1: ", "does not fit into 32 bits", "3000000000L" } },
	{ "\ncount = 4294967297;", { "x.conf:2: ", "does not fit into 32 bits" } },
	{ "count = -2147483649;", { "-2147483649 does not fit into 32 bits" } },
	{ "count = 0xFFFFFFFF;", { "0xFFFFFFFF does not fit into 32 bits", "0xFFFFFFFFL" } },
	{ "count = 99999999999999999999;", { "does not fit into 64 bits" } },
	{ "count = 9223372036854775808L;", { "9223372036854775808 does not fit into 64 bits" } },
	{ "count = -9223372036854775809LL;", { "does not fit into 64 bits" } },
	{ "count = 0x10000000000000000L;", { "does not fit into 64 bits" } },
	{ "count = 1e999;", { "x.conf:1: ", "`count`", "too large" } },
	{ "wait = 5m;", { "x.conf:1: ", "`5m` must be in quotes: \"5m\"" } },
	{ "room = 0x5G;", { "x.conf:1: ", "`0x5G` must be in quotes" } },
	/* Text with a syntax error. */
	{ "flag = yes;", { "x.conf:1: ", "`yes`", "write true or false" } },
	{ "names = ( a, b );", { "x.conf:1: ", "`a` must be in quotes: \"a\"" } },
	{ "items = ( { id = \"a\"; }, b );", { "x.conf:1: ", "`b` must be in quotes" } },
	{ "names = 0000:3b:00.0;", { "x.conf:1: ", "`3b` must be in quotes" } },
	{ "mode : shared;", { "x.conf:1: ", "`shared` must be in quotes: \"shared\"" } },
	{ "name = \"a", { "x.conf:1: ", "this string has no end" } },
	{ "name = \"a\";\nnames = \"b;\n\n", { "x.conf:2: ", "this string has no end" } },
	{ "name = \"a\\x00b\";", { "x.conf:1: ", "NUL byte" } },
	{ "name = \"\\xff\";", { "x.conf:1: ", "`name`", "not UTF-8" } },
	{ "\ncount = 1; /* and\n so on", { "x.conf:2: ", "comment has no end" } },
	{ "deep = {\n\n", { "x.conf:1: ", "this `{` is never closed" } },
	{ "deep = { };\n};", { "x.conf:2: ", "`}` closes nothing" } },
	{ "deep = {\n x = ( 1 };", { "x.conf:2: ", "`}` does not close the `(` of line 2" } },
	{ "names = ( \"a\", );", { "x.conf:1: ", "remove the comma before `)`" } },
	{ "names = [ \"a\",\n # last\n];", { "x.conf:3: ", "remove the comma before `]`" } },
	{ "names = [ \"a\", 5 ];", { "x.conf:1: ", "must all have one type, use a list" } },
	{ "count 5;", { "x.conf:1: ", "syntax error", "`count 5;`" } },
	{ "count = ;", { "x.conf:1: ", "syntax error", "`key = value;`" } },
	{ "\n\ncount = \n \n\t\n\n", { "x.conf:3: ", "syntax error", "`count =`" } },
	{ "= 5;", { "x.conf:1: ", "syntax error" } },
	{ "\"count\" = 5;", { "x.conf:1: ", "syntax error" } },
	{ "@include \"a.conf\"\n", { "x.conf:1: ", "`@include` works only in files" } },
	{ "count = @5;", { "x.conf:1: ", "`@` starts only" } },
	{ "\xef\xbb\xbf"
	  "count = 5;",
	  { "x.conf:1: ", "byte order mark" } },
	{ "count = 5;\nname = \"\xc3\x28\";", { "x.conf:2: ", "byte 0xc3 is not UTF-8" } },
};

static void assert_words(const char *message, const Bad *row)
{
	g_test_message("%s", message);
	for (gsize i = 0; i < G_N_ELEMENTS(row->words) && row->words[i]; i++)
		if (!strstr(message, row->words[i]))
			g_error("\"%s\" does not say \"%s\"", message, row->words[i]);
}

static void test_every_mistake_is_reported_with_its_place(void)
{
	for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(RdmadConfig) config = NULL;
		Sample sample = { 0 };

		config = rdmad_config_load_text("x.conf", bad[i].text, strlen(bad[i].text), &error);
		if (config && sample_parse(config, &sample, &error))
			g_error("accepted: %s", bad[i].text);
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG);
		g_assert_true(g_str_has_prefix(error->message, "x.conf:"));
		assert_words(error->message, &bad[i]);
		sample_clear(&sample);
	}
}

static void assert_refused(const char *text, gsize length, const char *words)
{
	g_autoptr(GError) error = NULL;

	g_assert_null(rdmad_config_load_text("x.conf", text, length, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG);
	g_assert_nonnull(strstr(error->message, words));
}

static void test_a_nul_byte_is_reported_with_its_line(void)
{
	assert_refused("count = 5;\n\0", 12, "x.conf:2: holds a NUL byte");
}

static void test_deep_nesting_is_refused(void)
{
	g_autoptr(GString) text = g_string_new("x = ");
	g_autoptr(RdmadConfig) fits = NULL;

	for (int i = 0; i < 32; i++)
		g_string_append(text, "(");
	for (int i = 0; i < 32; i++)
		g_string_append(text, ")");
	fits = rdmad_config_load_text("x.conf", text->str, text->len, NULL);
	g_assert_nonnull(fits);
	g_string_printf(text, "x = ");
	for (int i = 0; i < 100000; i++)
		g_string_append(text, "(");
	assert_refused(text->str, text->len, "more than 32 groups and lists");
}

static void test_too_many_settings_are_refused(void)
{
	g_autoptr(GString) text = g_string_new(NULL);

	for (int i = 0; i < 16385; i++)
		g_string_append_printf(text, "a%d=1;", i);
	assert_refused(text->str, text->len, "more than 16384 settings");
}

static void test_too_large_a_text_is_refused(void)
{
	g_autofree char *text = g_strnfill(1024 * 1024 + 1, '\n');

	assert_refused(text, strlen(text), "x.conf: larger than 1 MiB");
}

#define TEST(name) UNIT_TEST("/config-errors/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(every_mistake_is_reported_with_its_place),
	TEST(a_nul_byte_is_reported_with_its_line),
	TEST(deep_nesting_is_refused),
	TEST(too_many_settings_are_refused),
	TEST(too_large_a_text_is_refused),
	{ 0 },
};
