/* SPDX-License-Identifier: Apache-2.0 */
#include <glib/gstdio.h>
#include <rdmad/config.h>
#include <rdmad/error.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
} Sample;

static const char *const modes[] = { "shared", "exclusive", NULL };

static const RdmadConfigField sample_fields[] = {
	RDMAD_CONFIG_BOOL_FIELD("flag", Sample, flag),
	RDMAD_CONFIG_INT_FIELD("count", Sample, count, 0, 0),
	RDMAD_CONFIG_STRING_FIELD("name", Sample, name),
	RDMAD_CONFIG_STRINGS_FIELD("names", Sample, names),
	RDMAD_CONFIG_DURATION_FIELD("wait", Sample, wait_ms, 0, 0),
	RDMAD_CONFIG_SIZE_FIELD("room", Sample, room, 0, 0),
	RDMAD_CONFIG_ENUM_FIELD("mode", Sample, mode, modes),
	RDMAD_CONFIG_GROUP_FIELD("deep", Sample, deep),
	RDMAD_CONFIG_LIST_FIELD("items", Sample, items),
	RDMAD_CONFIG_FIELDS_END,
};

static void sample_clear(Sample *sample)
{
	g_clear_pointer(&sample->name, g_free);
	g_clear_pointer(&sample->names, g_strfreev);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Sample, sample_clear)

static RdmadConfig *load_text(const char *text)
{
	g_autoptr(GError) error = NULL;
	RdmadConfig *config = rdmad_config_load_text("x.conf", text, strlen(text), &error);

	g_assert_no_error(error);
	return config;
}

static void assert_parses(const RdmadConfig *config, Sample *sample)
{
	g_autoptr(GError) error = NULL;

	rdmad_config_parse(rdmad_config_root(config), sample_fields, sample, &error);
	g_assert_no_error(error);
}

static void test_values_arrive_with_their_types(void)
{
	g_auto(Sample) sample = { .name = g_strdup("default") };
	RdmadConfig *config =
		load_text("flag = true; count = -5L; name = \"a\\\"b\\x41\\n\";\n"
			  "names = [ \"x\", \"y\" ]; wait = \"250ms\"; room = \"8M\";\n"
			  "mode = \"exclusive\"; deep : { z = 1 }; items = ( {}, {} )");

	assert_parses(config, &sample);
	g_assert_cmpuint(rdmad_config_length(sample.items), ==, 2);
	g_assert_nonnull(rdmad_config_entry(sample.items, 1));
	g_assert_null(rdmad_config_entry(sample.items, 2));
	g_assert_nonnull(sample.deep);
	rdmad_config_free(config);

	/* The strings are the struct's own. */
	g_assert_true(sample.flag);
	g_assert_cmpint(sample.count, ==, -5);
	g_assert_cmpstr(sample.name, ==, "a\"bA\n");
	g_assert_cmpstrv(sample.names, ((const char *const[]){ "x", "y", NULL }));
	g_assert_cmpuint(sample.wait_ms, ==, 250);
	g_assert_cmpuint(sample.room, ==, 8388608);
	g_assert_cmpint(sample.mode, ==, 1);
}

static void test_integers_keep_all_64_bits(void)
{
	static const struct {
		const char *text;
		gint64 value;
	} rows[] = {
		{ "count = 2147483647;", G_MAXINT32 },
		{ "count = -2147483648;", G_MININT32 },
		{ "count = 3000000000L;", 3000000000 },
		{ "count = 9223372036854775807LL;", G_MAXINT64 },
		{ "count = -9223372036854775808L;", G_MININT64 },
		{ "count = 0x7fffffff;", G_MAXINT32 },
		{ "count = 0xFFFFFFFFL;", G_MAXUINT32 },
		{ "count = +7;", 7 },
		/* Large numbers in comments and strings are ignored. */
		{ "# 99999999999999999999\n// 3000000000\n/* 5m */ count = 1; name = "
		  "\"3000000000\"",
		  1 },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autoptr(RdmadConfig) config = load_text(rows[i].text);
		g_auto(Sample) sample = { 0 };

		assert_parses(config, &sample);
		g_assert_cmpint(sample.count, ==, rows[i].value);
	}
}

static void test_a_single_string_is_a_list_of_one(void)
{
	g_autoptr(RdmadConfig) config = load_text("names = \"x\"; wait = 5; room = 512");
	g_auto(Sample) sample = { 0 };

	assert_parses(config, &sample);
	g_assert_cmpstrv(sample.names, ((const char *const[]){ "x", NULL }));
	g_assert_cmpuint(sample.wait_ms, ==, 5000);
	g_assert_cmpuint(sample.room, ==, 512);
}

static void test_what_is_absent_keeps_its_default(void)
{
	g_autoptr(RdmadConfig) config = rdmad_config_new_empty();
	g_auto(Sample) sample = { .count = 7, .name = g_strdup("default") };

	assert_parses(config, &sample);
	g_assert_cmpint(sample.count, ==, 7);
	g_assert_cmpstr(sample.name, ==, "default");
	g_assert_null(rdmad_config_child(rdmad_config_root(config), "modules"));
	g_assert_null(rdmad_config_child(NULL, "modules"));
	g_assert_cmpuint(rdmad_config_length(NULL), ==, 0);
}

static void test_an_absent_group_lacks_its_required_keys(void)
{
	static const RdmadConfigField fields[] = {
		{ .key = "id", .type = RDMAD_CONFIG_STRING, .required = TRUE },
		RDMAD_CONFIG_FIELDS_END,
	};
	g_autoptr(GError) error = NULL;
	Sample sample = { 0 };

	g_assert_false(rdmad_config_parse(NULL, fields, &sample, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG);
	g_assert_cmpstr(error->message, ==, "configuration: the required key `id` is missing");
}

static void test_keys_come_in_the_order_of_the_file(void)
{
	g_autoptr(RdmadConfig) config =
		load_text("modules = { nccl = {}; device-plugin = {}; x = 1 }");
	const RdmadConfigNode *modules = rdmad_config_child(rdmad_config_root(config), "modules");
	g_auto(GStrv) keys = rdmad_config_keys(modules);

	g_assert_cmpstrv(keys, ((const char *const[]){ "nccl", "device-plugin", "x", NULL }));
	g_assert_nonnull(rdmad_config_child(modules, "nccl"));
	g_assert_null(rdmad_config_child(modules, "x"));
}

static void test_an_error_of_the_module_names_file_line_and_path(void)
{
	g_autoptr(RdmadConfig) config = load_text("\nmodules = {\n  m = {\n    a = 1;\n  };\n};");
	const RdmadConfigNode *root = rdmad_config_root(config);
	const RdmadConfigNode *m = rdmad_config_child(rdmad_config_child(root, "modules"), "m");
	g_autoptr(GError) known = NULL, absent = NULL, group = NULL, nowhere = NULL;

	g_assert_false(rdmad_config_error(m, "a", &known, "is %d", 1));
	g_assert_cmpstr(known->message, ==, "x.conf:4: modules.m.a: is 1");
	rdmad_config_error(m, "b", &absent, "no");
	g_assert_cmpstr(absent->message, ==, "x.conf:3: modules.m.b: no");
	rdmad_config_error(m, NULL, &group, "no");
	g_assert_cmpstr(group->message, ==, "x.conf:3: modules.m: no");
	rdmad_config_error(NULL, "b", &nowhere, "no");
	g_assert_cmpstr(nowhere->message, ==, "configuration: b: no");
}

typedef struct {
	gboolean optional, enabled;
} Core;

static const RdmadConfigField core_fields[] = {
	RDMAD_CONFIG_BOOL_FIELD("optional", Core, optional),
	RDMAD_CONFIG_BOOL_FIELD("enabled", Core, enabled),
	RDMAD_CONFIG_FIELDS_END,
};

static void test_shared_keys_are_known_to_every_table(void)
{
	g_autoptr(RdmadConfig) config = load_text("optional = true; count = 3; enabled = false;");
	Core core = { .enabled = TRUE };
	g_auto(Sample) sample = { 0 };
	g_autoptr(GError) error = NULL;

	g_assert_true(
		rdmad_config_parse_shared(rdmad_config_root(config), core_fields, &core, &error));
	g_assert_no_error(error);
	g_assert_true(core.optional);
	g_assert_false(core.enabled);
	assert_parses(config, &sample);
	g_assert_cmpint(sample.count, ==, 3);

	/* A table that names the keys itself gets them. */
	core = (Core){ 0 };
	g_assert_false(rdmad_config_parse(rdmad_config_root(config), core_fields, &core, &error));
	g_assert_cmpstr(error->message, ==,
			"x.conf:1: count: unknown key; known here are: optional, enabled");
	g_assert_true(core.optional);
}

static void test_a_wrong_type_among_shared_keys_is_an_error(void)
{
	g_autoptr(RdmadConfig) config = load_text("optional = 1;");
	g_autoptr(GError) error = NULL;
	Core core = { 0 };

	g_assert_false(
		rdmad_config_parse_shared(rdmad_config_root(config), core_fields, &core, &error));
	g_assert_cmpstr(error->message, ==,
			"x.conf:1: optional: expected true or false, found the integer 1");
}

static void test_what_is_printed_is_read_as_the_same_again(void)
{
	static const char *const texts[] = {
		"",
		"flag = true; count = 5; big = 3000000000L; small = -9223372036854775808L;",
		"f = 1.5; g = 1e300; h = 3.0;",
		"name = \"quote \\\" backslash \\\\ x \\\\x41 nl \\n tab \\t bell \\x07 é\";",
		"name = \"\\xc3\\xa9\";",
		"a = { b = { c = ( { d = [ 1, 2 ] }, ( true, \"x\" ), {} ); }; }; e = (); g = {};",
		"long-key_1 = \"a\" \"b\";",
	};

	for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autoptr(RdmadConfig) first = load_text(texts[i]);
		g_autofree char *once = rdmad_config_print(first);
		g_autoptr(RdmadConfig) second = load_text(once);
		g_autofree char *twice = rdmad_config_print(second);

		g_assert_cmpstr(once, ==, twice);
	}
}

static void test_the_printed_form_is_readable(void)
{
	g_autoptr(RdmadConfig) config = load_text("a={b=\"x\";r=({n=1},{n=2})}l=[\"p\",\"q\"]");
	g_autofree char *text = rdmad_config_print(config);

	g_assert_cmpstr(text, ==,
			"a = {\n"
			"\tb = \"x\";\n"
			"\tr = ( {\n"
			"\t\tn = 1;\n"
			"\t}, {\n"
			"\t\tn = 2;\n"
			"\t} );\n"
			"};\n"
			"l = ( \"p\", \"q\" );\n");
}

#define TEST(name) UNIT_TEST("/config/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(values_arrive_with_their_types),
	TEST(integers_keep_all_64_bits),
	TEST(a_single_string_is_a_list_of_one),
	TEST(what_is_absent_keeps_its_default),
	TEST(an_absent_group_lacks_its_required_keys),
	TEST(keys_come_in_the_order_of_the_file),
	TEST(an_error_of_the_module_names_file_line_and_path),
	TEST(shared_keys_are_known_to_every_table),
	TEST(a_wrong_type_among_shared_keys_is_an_error),
	TEST(what_is_printed_is_read_as_the_same_again),
	TEST(the_printed_form_is_readable),
	{ 0 },
};
