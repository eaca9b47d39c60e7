/* SPDX-License-Identifier: Apache-2.0 */
/* A driver's table of names, as the kernel gives it. */
#include <stdint.h>
#include <string.h>

#include "hardware/counters/ethtool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static gboolean anything(const char *name)
{
	return TRUE;
}

static void check(const GArray *chosen, guint n)
{
	for (guint i = 0; i < chosen->len; i++) {
		const RdmadEthtoolName *name = &g_array_index(chosen, RdmadEthtoolName, i);

		g_assert_cmpuint(name->place, <, n);
		g_assert_cmpuint(strlen(name->name), <=, RDMAD_ETHTOOL_NAME_SIZE);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const guint n = (guint)(size / RDMAD_ETHTOOL_NAME_SIZE);
	g_autofree char *table = g_memdup2(data, (gsize)n * RDMAD_ETHTOOL_NAME_SIZE);
	g_autoptr(GArray) all = rdmad_ethtool_names_choose(table, n, anything);
	g_autoptr(GArray) chosen = rdmad_ethtool_names_choose(table, n, rdmad_ethtool_name_matters);

	check(all, n);
	check(chosen, n);
	g_assert_cmpuint(all->len, ==, n);
	g_assert_true(rdmad_ethtool_names_hold(all, table, n));
	g_assert_true(rdmad_ethtool_names_hold(chosen, table, n));
	/* Compares with a shorter table. */
	rdmad_ethtool_names_hold(all, table, n / 2);
	return 0;
}
