/* SPDX-License-Identifier: Apache-2.0 */
#include "render/family.h"
#include "../support/unit.h"

static void assert_labels(const Labels *labels, const char *expected)
{
	g_autofree char *text = g_strndup(labels->text.start, labels->text.length);

	g_assert_cmpstr(text, ==, expected);
}

static void test_values_from_outside_are_escaped(void)
{
	static const struct {
		const char *value, *text;
	} cases[] = {
		{ "mlx5_0", "{a=\"mlx5_0\"" },
		{ "", "{a=\"\"" },
		{ NULL, "{a=\"\"" },
		{ "a\"b", "{a=\"a\\\"b\"" },
		{ "a\\b", "{a=\"a\\\\b\"" },
		{ "a\nb", "{a=\"a\\nb\"" },
		{ "\\n", "{a=\"\\\\n\"" },
		{ "caf\xc3\xa9", "{a=\"caf\xc3\xa9\"" },
		{ "bad\xff\"", "{a=\"bad\xef\xbf\xbd\\\"\"" },
		{ "} 1\nb 2", "{a=\"} 1\\nb 2\"" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_auto(Labels) labels = LABELS_INIT;

		labels_add(&labels, "a", cases[i].value);
		assert_labels(&labels, cases[i].text);
	}
}

static void test_long_values_are_cut_between_characters(void)
{
	g_autofree char *value = g_strnfill(LABELS_VALUE_MAX + 100, 'x');
	g_auto(Labels) labels = LABELS_INIT, whole = LABELS_INIT;

	labels_add(&labels, "a", value);
	g_assert_cmpuint(labels.text.length, ==, strlen("{a=\"\"") + LABELS_VALUE_MAX);
	/* A character of two bytes, only the first of which is within the limit. */
	memcpy(value + LABELS_VALUE_MAX - 1, "\xc3\xa9", 2);
	labels_add(&whole, "a", value);
	g_assert_cmpuint(whole.text.length, ==, strlen("{a=\"\"") + LABELS_VALUE_MAX - 1);
	g_assert_true(g_utf8_validate(whole.text.start, (gssize)whole.text.length, NULL));
}

static void test_the_last_labels_can_be_taken_back(void)
{
	g_auto(Labels) labels = LABELS_INIT;
	gsize mark;

	labels_add(&labels, "device", "mlx5_0");
	labels_add_number(&labels, "port", 1);
	mark = labels_mark(&labels);
	labels_add(&labels, "state", "down");
	labels_back(&labels, mark);
	labels_add(&labels, "state", "up");
	assert_labels(&labels, "{device=\"mlx5_0\",port=\"1\",state=\"up\"");
	labels_back(&labels, 0);
	labels_add(&labels, "b", "c");
	assert_labels(&labels, "{b=\"c\"");
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/values from outside are escaped", test_values_from_outside_are_escaped),
	UNIT_TEST("/long values are cut between characters",
		  test_long_values_are_cut_between_characters),
	UNIT_TEST("/the last labels can be taken back", test_the_last_labels_can_be_taken_back),
	{ 0 },
};
