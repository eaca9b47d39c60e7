/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "hardware/counters/ethtool.h"
#include "../support/unit.h"

/* As the drivers of Linux 6.12 say them: one of each. */
static const char *const wanted[] = {
	"dev_out_of_buffer",
	"frames_rx_bad_fcs",
	"frames_rx_dropped",
	"frames_rx_pripause",
	"frames_tx_pripause",
	"hc_rx_pkt_drop_phy",
	"hc_tc3_rx_pause_phy",
	"hc_tc3_tx_pause_phy",
	"link_down_events",
	"link_down_events_phy",
	"mac_rx_fcs_err_pkt_num",
	"mac_rx_pfc_pri7_pkt_num",
	"mac_tx_pfc_pri0_pkt_num",
	"outbound_pci_buffer_overflow",
	"outbound_pci_stalled_rd",
	"outbound_pci_stalled_rd_events",
	"outbound_pci_stalled_wr",
	"outbound_pci_stalled_wr_events",
	"pfc_pri3_rx_duration_us",
	"pfc_pri3_rx_transitions",
	"pfc_pri3_tx_duration_us",
	"port.rx_crc_errors",
	"port.rx_dropped",
	"port.rx_priority_3_xoff",
	"port.tx_priority_3_xoff",
	"rx_corrected_bits",
	"rx_corrected_bits_phy",
	"rx_crc_errors",
	"rx_crc_errors.nic",
	"rx_crc_errors_phy",
	"rx_discard_packets_cos5",
	"rx_discards_phy",
	"rx_dropped.nic",
	"rx_ecn_mark",
	"rx_err_lane_2_phy",
	"rx_fcs_err_frames",
	"rx_global_pause_duration",
	"rx_global_pause_transition",
	"rx_out_of_buffer",
	"rx_pause_1us_count",
	"rx_pause_duration_prio_3",
	"rx_pause_prio_3",
	"rx_pause_transition_prio_3",
	"rx_pci_signal_integrity",
	"rx_pcs_symbol_err",
	"rx_pcs_symbol_err_phy",
	"rx_pfc_ena_frames_pri3",
	"rx_prio0_buf_discard",
	"rx_prio7_cong_discard",
	"rx_prio3_discards",
	"rx_prio3_marked",
	"rx_prio3_pause",
	"rx_prio3_pause_duration",
	"rx_prio3_pause_transition",
	"rx_priority_3_xoff.nic",
	"rx_pripause_3_1us_count",
	"rx_stat_discard",
	"rx_symbol_err_phy",
	"tx_discards_phy",
	"tx_global_pause_duration",
	"tx_pause_duration_prio_3",
	"tx_pause_prio_3",
	"tx_pause_storm_error_events",
	"tx_pause_storm_warning_events",
	"tx_pci_signal_integrity",
	"tx_pfc_ena_frames_pri3",
	"tx_prio3_pause",
	"tx_prio3_pause_duration",
	"tx_priority_3_xoff.nic",
	"tx_pripause_3_1us_count",
	"tx_stat_discard",
};

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
	for (gsize i = 0; i < G_N_ELEMENTS(wanted); i++)
		if (!rdmad_ethtool_name_matters(wanted[i]))
			g_error("left out: %s", wanted[i]);
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

/* Exactly as large as its header, so that a read beyond it is seen. */
static char *make_table(void)
{
	char *table = g_malloc(ROWS * RDMAD_ETHTOOL_NAME_SIZE);

	table_set(table, 0, "rx_packets");
	table_set(table, 1, "rx_prio3_pause");
	/* All of its bytes, and no end. */
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

/* A driver lists the priorities for which flow control is on: switched from 3 to 4 there are as many. */
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
