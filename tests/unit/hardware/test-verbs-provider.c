/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/verbs/open.h"

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

static void test_a_device_that_no_provider_fits_is_no_harm(void)
{
	rdmad_verbs_provider_load("nothing0", NULL);
	rdmad_verbs_provider_load("", "");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/verbs-provider/the_name_of_a_provider_is_that_of_its_file",
			test_the_name_of_a_provider_is_that_of_its_file);
	g_test_add_func("/verbs-provider/a_device_that_no_provider_fits_is_no_harm",
			test_a_device_that_no_provider_fits_is_no_harm);
	return g_test_run();
}
