/* SPDX-License-Identifier: Apache-2.0 */
/* The core's list of statistics to read must match the module's list of names */
#include "hardware/counters/ethtool.h"
#include "names/table.h"
#include "../support/unit.h"

typedef const char *(*PatternAt)(guint i);

/* Returns a driver's name for the pattern, with the digit 1, which all of them have. */
static char *name_of(const char *pattern)
{
	return g_strdelimit(g_strdup(pattern), "#", '1');
}

static void assert_each(PatternAt at, gboolean (*known)(const char *name))
{
	guint i = 0;

	for (; at(i); i++) {
		g_autofree char *name = name_of(at(i));

		if (!known(name))
			g_error("only in one table: %s", at(i));
	}
	g_assert_cmpuint(i, >, 50);
}

static gboolean has_family(const char *name)
{
	g_autoptr(CounterName) known = names_netdev(RDMAD_COUNTER_ETHTOOL, name);

	return known != NULL;
}

static void test_what_is_read_has_a_name(void)
{
	assert_each(rdmad_ethtool_name_pattern, has_family);
}

static void test_what_has_a_name_is_read(void)
{
	assert_each(names_ethtool_pattern, rdmad_ethtool_name_matters);
}

#define TEST(name) UNIT_TEST("/metrics-names-netdev/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(what_is_read_has_a_name),
	TEST(what_has_a_name_is_read),
	{ 0 },
};
