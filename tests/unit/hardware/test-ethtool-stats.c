/* SPDX-License-Identifier: Apache-2.0 */
/* With this kernel's own interfaces. */
#include <errno.h>

#include "hardware/ethtool-stats.h"
#include "hardware/sysroot-private.h"

static gboolean anything(const char *name)
{
	return TRUE;
}

static gboolean nothing(const char *name)
{
	return FALSE;
}

static void count(const char *name, guint64 value, gpointer data)
{
	g_assert_cmpuint(strlen(name), <=, RDMAD_ETHTOOL_NAME_SIZE);
	++*(guint *)data;
}

static void test_an_interface_without_statistics_says_so(void)
{
	g_autoptr(RdmadEthtoolStats) stats = rdmad_ethtool_stats_new("lo", anything);
	guint n = 0;

	g_assert_cmpint(rdmad_ethtool_stats_read(stats, count, &n), ==, EOPNOTSUPP);
	g_assert_cmpuint(n, ==, 0);
}

static void test_an_interface_that_is_not_there_says_so(void)
{
	g_autoptr(RdmadEthtoolStats) stats = rdmad_ethtool_stats_new("nosuchif0", anything);
	guint n = 0;

	g_assert_cmpint(rdmad_ethtool_stats_read(stats, count, &n), ==, ENODEV);
	g_assert_cmpuint(n, ==, 0);
}

/* Whatever interfaces there are: each reading has as many as the first. */
static void test_each_reading_has_the_same_names(void)
{
	g_autoptr(RdmadSysroot) root = rdmad_sysroot_new(NULL, NULL);
	g_auto(GStrv) names = rdmad_sysroot_list(root, "sys/class/net", NULL);

	for (char **name = names; name && *name; name++) {
		g_autoptr(RdmadEthtoolStats) stats = rdmad_ethtool_stats_new(*name, anything);
		g_autoptr(RdmadEthtoolStats) none = rdmad_ethtool_stats_new(*name, nothing);
		guint first = 0, second = 0, unwanted = 0;
		const int errnum = rdmad_ethtool_stats_read(stats, count, &first);

		g_assert_cmpint(rdmad_ethtool_stats_read(stats, count, &second), ==, errnum);
		g_assert_cmpuint(second, ==, first);
		g_assert_cmpint(rdmad_ethtool_stats_read(none, count, &unwanted), ==, errnum);
		g_assert_cmpint(rdmad_ethtool_stats_read(none, count, &unwanted), ==, errnum);
		g_assert_cmpuint(unwanted, ==, 0);
		g_test_message("%s: %u, errno %d", *name, first, errnum);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(name) g_test_add_func("/ethtool-stats/" #name, test_##name)
	ADD(an_interface_without_statistics_says_so);
	ADD(an_interface_that_is_not_there_says_so);
	ADD(each_reading_has_the_same_names);
	return g_test_run();
}
