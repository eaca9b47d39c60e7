/* SPDX-License-Identifier: Apache-2.0 */
#include "base/yaml.h"

#include <rdmad/error.h>
#include <string.h>

#include "../support/unit.h"

static GPtrArray *parse(const char *text, GError **error)
{
	return rdmad_yaml_parse("x.yml", text, strlen(text), error);
}

static const RdmadYaml *child(const RdmadYaml *node, guint index)
{
	return g_ptr_array_index(node->children, index);
}

static void test_a_tree_knows_its_lines(void)
{
	g_autoptr(GPtrArray) documents =
		parse("a: 1\nb:\n  - \"2\"\n  - {c: }\n---\nsecond\n", NULL);
	const RdmadYaml *root;

	g_assert_nonnull(documents);
	g_assert_cmpuint(documents->len, ==, 2);
	root = documents->pdata[0];
	g_assert_cmpint(root->type, ==, RDMAD_YAML_MAP);
	g_assert_null(root->key);
	g_assert_cmpstr(child(root, 0)->key, ==, "a");
	g_assert_cmpstr(child(root, 0)->text, ==, "1");
	g_assert_true(child(root, 0)->plain);
	g_assert_cmpuint(child(root, 0)->line, ==, 1);
	g_assert_cmpuint(child(root, 0)->column, ==, 4);
	g_assert_cmpint(child(root, 1)->type, ==, RDMAD_YAML_LIST);
	g_assert_cmpuint(child(root, 1)->line, ==, 3);
	g_assert_cmpstr(child(child(root, 1), 0)->text, ==, "2");
	g_assert_false(child(child(root, 1), 0)->plain);
	g_assert_true(rdmad_yaml_is_null(child(child(child(root, 1), 1), 0)));
	g_assert_cmpuint(((RdmadYaml *)documents->pdata[1])->line, ==, 6);
}

static void test_nothing_is_no_document(void)
{
	g_autoptr(GPtrArray) documents = parse("# a comment\n", NULL);

	g_assert_cmpuint(documents->len, ==, 0);
}

static void test_only_what_stands_for_nothing_is_null(void)
{
	g_autoptr(GPtrArray) documents =
		parse("[ ~, null, '', \"null\", \"~\", NULL, 0, [], {} ]", NULL);
	const RdmadYaml *root = documents->pdata[0];

	for (guint i = 0; i < root->children->len; i++)
		g_assert_cmpint(rdmad_yaml_is_null(child(root, i)), ==, i < 2);
}

static void test_what_is_not_taken_is_refused_with_its_place(void)
{
	static const struct {
		const char *text, *place;
	} table[] = {
		{ "a: 1\na: 2\n", "x.yml:2:1: " },   { "a: &x 1\nb: *x\n", "x.yml:2:4: " },
		{ "? [ a ]\n: b\n", "x.yml:1:3: " }, { "a:\n  - \"\\0\"\n", "x.yml:2:5: " },
		{ "a: \"\\ud800\"\n", "x.yml:1:" },  { "a: \xc3\n", "x.yml:" },
		{ "a: [\n", "x.yml:2:1: " },	     { "a: b: c\n", "x.yml:1:5: " },
		{ "\ta: b\n", "x.yml:1:1: " },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_null(parse(table[i].text, &error));
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
		g_test_message("%s", error->message);
		g_assert_true(g_str_has_prefix(error->message, table[i].place));
	}
}

#define TEST(name) UNIT_TEST("/yaml/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(a_tree_knows_its_lines),
	TEST(nothing_is_no_document),
	TEST(only_what_stands_for_nothing_is_null),
	TEST(what_is_not_taken_is_refused_with_its_place),
	{ 0 },
};
