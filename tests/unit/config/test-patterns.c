/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/config.h>
#include <rdmad/error.h>

#include "../support/unit.h"

typedef struct {
	const char *name; /* of the test */
	const char *patterns[3];
	const char *text;
	gboolean matches;
} Case;

static const Case cases[] = {
	{ "no pattern", { NULL }, "mlx5_0", TRUE },
	{ "a star", { "*" }, "mlx5_0", TRUE },
	{ "one character", { "mlx5_?" }, "mlx5_0", TRUE },
	{ "two characters for one", { "mlx5_?" }, "mlx5_10", FALSE },
	{ "an exclusion alone, the excluded", { "!mlx5_9" }, "mlx5_9", FALSE },
	{ "an exclusion alone, another", { "!mlx5_9" }, "mlx5_0", TRUE },
	{ "an exclusion after a match", { "mlx5_*", "!mlx5_9" }, "mlx5_9", FALSE },
	{ "an exclusion before a match", { "!mlx5_9", "mlx5_*" }, "mlx5_9", FALSE },
	{ "a match beside an exclusion", { "!mlx5_9", "mlx5_*" }, "mlx5_8", TRUE },
	{ "neither match nor exclusion", { "mlx5_*", "!mlx5_9" }, "bnxt_re0", FALSE },
	{ "no name, no pattern", { NULL }, NULL, TRUE },
	{ "no name, a star", { "*" }, NULL, FALSE },
	{ "no name, an exclusion", { "!*" }, NULL, TRUE },
};

static void test_match(gconstpointer data)
{
	const Case *c = data;

	g_assert_cmpint(rdmad_config_patterns_match((char *const *)c->patterns, c->text), ==,
			c->matches);
}

static void test_no_list_matches_every_name(void)
{
	g_assert_true(rdmad_config_patterns_match(NULL, "mlx5_0"));
	g_assert_true(rdmad_config_patterns_match(NULL, NULL));
}

static void test_an_empty_pattern_is_rejected(void)
{
	static const char *const bad[] = { "", "!" };

	for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_false(rdmad_config_pattern_check(bad[i], &error));
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG);
	}
	g_assert_true(rdmad_config_pattern_check("!x", NULL));
}

const UnitTest unit_tests[] = {
	UNIT_CASES("/patterns/match/", cases, test_match),
	UNIT_TEST("/patterns/no_list_matches_every_name", test_no_list_matches_every_name),
	UNIT_TEST("/patterns/an_empty_pattern_is_rejected", test_an_empty_pattern_is_rejected),
	{ 0 },
};
