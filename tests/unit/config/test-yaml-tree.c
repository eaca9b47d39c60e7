/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/error.h>
#include <string.h>

#include "config/tree.h"
#include "../support/unit.h"

static RdmadConfigNode *parse(const char *text, GError **error)
{
	return rdmad_config_yaml_parse("x.yml", text, strlen(text), error);
}

static const RdmadConfigNode *child(const RdmadConfigNode *node, guint index)
{
	return g_ptr_array_index(node->children, index);
}

static void test_a_tree_knows_its_lines(void)
{
	g_autoptr(RdmadConfigNode) root = parse("a: 1\nb:\n  - \"2\"\n  - {c: }\n", NULL);

	g_assert_nonnull(root);
	g_assert_cmpint(root->kind, ==, RDMAD_CONFIG_KIND_GROUP);
	g_assert_null(root->name);
	g_assert_cmpstr(child(root, 0)->name, ==, "a");
	g_assert_cmpstr(child(root, 0)->string, ==, "1");
	g_assert_cmpint(child(root, 0)->kind, ==, RDMAD_CONFIG_KIND_INT);
	g_assert_cmpuint(child(root, 0)->line, ==, 1);
	g_assert_cmpint(child(root, 1)->kind, ==, RDMAD_CONFIG_KIND_LIST);
	g_assert_cmpuint(child(root, 1)->line, ==, 3);
	g_assert_cmpstr(child(child(root, 1), 0)->string, ==, "2");
	g_assert_cmpint(child(child(root, 1), 0)->kind, ==, RDMAD_CONFIG_KIND_STRING);
	g_assert_cmpint(child(child(child(root, 1), 1), 0)->kind, ==, RDMAD_CONFIG_KIND_NOTHING);
}

static void test_nothing_is_no_document(void)
{
	g_autoptr(GError) error = NULL;

	g_assert_null(parse("# a comment\n", &error));
	g_assert_no_error(error);
}

static void test_only_what_stands_for_nothing_is_null(void)
{
	g_autoptr(RdmadConfigNode) root =
		parse("[ ~, null, '', \"null\", \"~\", NULL, 0, [], {} ]", NULL);

	for (guint i = 0; i < root->children->len; i++)
		g_assert_cmpint(child(root, i)->kind == RDMAD_CONFIG_KIND_NOTHING, ==, i < 2);
}

static void test_what_is_not_taken_is_refused_with_its_place(void)
{
	g_autofree char *deep = g_strnfill(100, '[');
	const struct {
		const char *text, *place;
	} table[] = {
		{ "a: 1\na: 2\n", "x.yml:2:1: this key is here twice" },
		{ "a: &x 1\nb: *x\n", "x.yml:2:4: aliases are not supported" },
		{ "? [ a ]\n: b\n", "x.yml:1:3: a key that is not a string" },
		{ "a:\n  - \"\\0\"\n", "x.yml:2:5: a text with a NUL" },
		{ "a: \"\\ud800\"\n", "x.yml:1:" },
		{ "a: \xc3\n", "x.yml:" },
		{ "a: [\n", "x.yml:2:1: " },
		{ "a: b: c\n", "x.yml:1:5: " },
		{ "\ta: b\n", "x.yml:1:1: " },
		{ deep, "x.yml:1:65: nested too deeply" },
		{ "a: 1\n---\nb: 2\n", "x.yml:3: a second document" },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_null(parse(table[i].text, &error));
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG);
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
