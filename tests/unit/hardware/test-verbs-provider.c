/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "hardware/verbs/open.h"
#include "../support/unit.h"

static void test_the_name_of_a_provider_is_that_of_its_file(void)
{
	static const struct {
		const char *file, *provider;
	} cases[] = {
		{ "libmlx5-rdmav34.so", "mlx5" }, { "libbnxt_re-rdmav59.so", "bnxt_re" },
		{ "librxe-rdmav34.so", "rxe" },	  { "lib-rdmav34.so", NULL },
		{ "libmlx5.so.1", NULL },	  { "libmlx5-rdmav34.so.dpkg-new", NULL },
		{ "mlx5-rdmav34.so", NULL },	  { "", NULL },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *provider = rdmad_verbs_provider_of_file(cases[i].file);

		g_assert_cmpstr(provider, ==, cases[i].provider);
	}
}

/* Returns the loaded providers, in the order of their addresses. */
static char *providers_loaded(void)
{
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autofree char *maps = NULL;
	g_auto(GStrv) lines = NULL;
	GString *names = g_string_new(NULL);

	g_assert_true(g_file_get_contents("/proc/self/maps", &maps, NULL, NULL));
	lines = g_strsplit(maps, "\n", -1);
	for (char **line = lines; *line; line++) {
		const char *file = strrchr(*line, '/');
		char *provider = file ? rdmad_verbs_provider_of_file(file + 1) : NULL;

		if (provider && g_hash_table_add(seen, provider))
			g_string_append_printf(names, "%s ", provider);
	}
	return g_string_free(names, FALSE);
}

static void assert_loaded(const char *expected)
{
	g_autofree char *loaded = providers_loaded();

	g_assert_cmpstr(loaded, ==, expected);
}

static void test_a_device_that_no_provider_fits_is_no_harm(void)
{
	rdmad_verbs_provider_load("nothing0", NULL);
	rdmad_verbs_provider_load("", "");
	assert_loaded("");
	/* Found by the driver, whatever the device's name. */
	rdmad_verbs_provider_load("nothing0", "rxe");
	assert_loaded("rxe ");
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/verbs-provider/the_name_of_a_provider_is_that_of_its_file",
		  test_the_name_of_a_provider_is_that_of_its_file),
	UNIT_TEST("/verbs-provider/a_device_that_no_provider_fits_is_no_harm",
		  test_a_device_that_no_provider_fits_is_no_harm),
	{ 0 },
};
