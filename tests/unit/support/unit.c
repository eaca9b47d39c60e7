/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

static void cases_add(const UnitTest *test)
{
	const char *one = test->data;

	for (guint i = 0; i < test->cases; i++, one += test->size) {
		const char *name = G_STRUCT_MEMBER(const char *, one, test->name);
		g_autofree char *path = g_strconcat(test->path, name, NULL);

		g_test_add_data_func(path, one, test->data_test);
	}
}

void unit_tests_add(void)
{
	for (const UnitTest *test = unit_tests; test->path; test++) {
		if (test->test)
			g_test_add_func(test->path, test->test);
		else if (test->fixture_test)
			g_test_add_vtable(test->path, test->size, test->data, test->setup,
					  test->fixture_test, test->teardown);
		else if (test->cases)
			cases_add(test);
		else
			g_test_add_data_func(test->path, test->data, test->data_test);
	}
}
