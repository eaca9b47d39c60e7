/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "ethtool-names.h"
#include "hardware/counters/ethtool.h"
#include "../support/unit.h"

static const char *const unwanted[] = {
	"",
	"rx_packets",
	"rx0_packets",
	"rx_prio3_bytes",
	"rx_prio33_pause",
	"rx_prio_pause",
	"rx_prio#_pause2",
	"ch12_poll",
	"[3]: rx_ucast_packets",
	"tx_queue_0_xdp_xmit",
	"rx_prio3_pause_duration_and_then_some",
	"\xff\xfe",
};

static void test_what_tells_of_congestion_and_faults_matters(void)
{
	for (gsize i = 0; i < G_N_ELEMENTS(ethtool_names); i++)
		if (!rdmad_ethtool_name_matters(ethtool_names[i]))
			g_error("left out: %s", ethtool_names[i]);
	for (gsize i = 0; i < G_N_ELEMENTS(unwanted); i++)
		if (rdmad_ethtool_name_matters(unwanted[i]))
			g_error("taken: %s", unwanted[i]);
}

#define ROWS 5u

static void table_set(char *table, guint place, const char *name)
{
	memset(table + place * RDMAD_ETHTOOL_NAME_SIZE, 0, RDMAD_ETHTOOL_NAME_SIZE);
	memcpy(table + place * RDMAD_ETHTOOL_NAME_SIZE, name, strlen(name));
}

/* Exactly as large as its header says, so that a read beyond the end is detected. */
static char *make_table(void)
{
	char *table = g_malloc(ROWS * RDMAD_ETHTOOL_NAME_SIZE);

	table_set(table, 0, "rx_packets");
	table_set(table, 1, "rx_prio3_pause");
	/* Uses all bytes, without a NUL. */
	table_set(table, 2, "a_name_that_is_as_long_as_can_be");
	table_set(table, 3, "");
	table_set(table, 4, "tx_prio3_pause");
	return table;
}

static gboolean anything(const char *name)
{
	return TRUE;
}

static void test_names_are_chosen_with_their_places(void)
{
	g_autofree char *table = make_table();
	g_autoptr(GArray) chosen =
		rdmad_ethtool_names_choose(table, ROWS, rdmad_ethtool_name_matters);
	g_autoptr(GArray) all = rdmad_ethtool_names_choose(table, ROWS, anything);

	g_assert_cmpuint(chosen->len, ==, 2);
	g_assert_cmpuint(g_array_index(chosen, RdmadEthtoolName, 0).place, ==, 1);
	g_assert_cmpstr(g_array_index(chosen, RdmadEthtoolName, 0).name, ==, "rx_prio3_pause");
	g_assert_cmpuint(g_array_index(chosen, RdmadEthtoolName, 1).place, ==, 4);
	g_assert_cmpuint(all->len, ==, ROWS);
	g_assert_cmpstr(g_array_index(all, RdmadEthtoolName, 2).name, ==,
			"a_name_that_is_as_long_as_can_be");
}

/* A driver lists the priorities with flow control: after a change from 3 to 4 their number is the
 * same. */
static void test_names_that_have_moved_are_noticed(void)
{
	g_autofree char *table = make_table();
	g_autoptr(GArray) chosen =
		rdmad_ethtool_names_choose(table, ROWS, rdmad_ethtool_name_matters);

	g_assert_true(rdmad_ethtool_names_hold(chosen, table, ROWS));
	g_assert_false(rdmad_ethtool_names_hold(chosen, table, ROWS - 1));
	table_set(table, 0, "rx_bytes");
	g_assert_true(rdmad_ethtool_names_hold(chosen, table, ROWS));
	table_set(table, 4, "tx_prio4_pause");
	g_assert_false(rdmad_ethtool_names_hold(chosen, table, ROWS));
}

#define TEST(name) UNIT_TEST("/ethtool-names/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(what_tells_of_congestion_and_faults_matters),
	TEST(names_are_chosen_with_their_places),
	TEST(names_that_have_moved_are_noticed),
	{ 0 },
};
