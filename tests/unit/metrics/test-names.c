/* SPDX-License-Identifier: Apache-2.0 */
#include "names/table.h"

#include "hardware/counters/ethtool.h"
#include "../hardware/ethtool-names.h"
#include "../support/unit.h"

/* Every counter that node_exporter exposes. */
static const struct {
	RdmadCounterGroup group;
	const char *raw, *native, *compat;
	guint times;
} BOTH[] = {
	{ RDMAD_COUNTER_PORT, "excessive_buffer_overrun_errors",
	  "rdma_port_excessive_buffer_overrun_errors",
	  "node_infiniband_excessive_buffer_overrun_errors", 1 },
	{ RDMAD_COUNTER_PORT, "link_downed", "rdma_port_link_downed", "node_infiniband_link_downed",
	  1 },
	{ RDMAD_COUNTER_PORT, "port_rcv_constraint_errors", "rdma_port_receive_constraint_errors",
	  "node_infiniband_port_constraint_errors_received", 1 },
	{ RDMAD_COUNTER_PORT, "port_rcv_data", "rdma_port_receive_bytes",
	  "node_infiniband_port_data_received_bytes", 4 },
	{ RDMAD_COUNTER_PORT, "port_xmit_data", "rdma_port_transmit_bytes",
	  "node_infiniband_port_data_transmitted_bytes", 4 },
	{ RDMAD_COUNTER_PORT, "port_xmit_wait", "rdma_port_transmit_wait_ticks",
	  "node_infiniband_port_transmit_wait", 1 },
	{ RDMAD_COUNTER_PORT, "symbol_error", "rdma_port_symbol_errors",
	  "node_infiniband_symbol_error", 1 },
	{ RDMAD_COUNTER_PORT, "VL15_dropped", "rdma_port_vl15_dropped",
	  "node_infiniband_vl15_dropped", 1 },
	{ RDMAD_COUNTER_PORT, "unicast_xmit_packets", "rdma_port_transmit_unicast_packets",
	  "node_infiniband_unicast_packets_transmitted", 1 },
	{ RDMAD_COUNTER_PORT, "port_rcv_new_thing", "rdma_port_rcv_new_thing", NULL, 1 },
	{ RDMAD_COUNTER_PORT, "receive_bytes", "rdma_port_counter_receive_bytes", NULL, 1 },
	{ RDMAD_COUNTER_PORT, "Odd Name!", "rdma_port_odd_name", NULL, 1 },
	{ RDMAD_COUNTER_HW, "out_of_sequence", "rdma_out_of_sequence",
	  "node_infiniband_out_of_sequence_packets_received", 1 },
	{ RDMAD_COUNTER_HW, "roce_slow_restart", "rdma_roce_slow_restart",
	  "node_infiniband_roce_slow_restart_used", 1 },
	{ RDMAD_COUNTER_HW, "roce_slow_restart_trans", "rdma_roce_slow_restart_trans",
	  "node_infiniband_roce_slow_restart", 1 },
	{ RDMAD_COUNTER_HW, "lifespan", "rdma_hw_counters_lifespan_seconds",
	  "node_infiniband_lifespan_seconds", 1 },
	{ RDMAD_COUNTER_HW, "rdma_tx_bytes", "rdma_tx_bytes", NULL, 1 },
	{ RDMAD_COUNTER_HW, "SDMAIdInt1,32", "rdma_sdmaidint1_32", NULL, 1 },
	{ RDMAD_COUNTER_HW, "ip4InOctets", "rdma_ip4inoctets", NULL, 1 },
	{ RDMAD_COUNTER_HW, "thing_total", "rdma_thing", NULL, 1 },
	{ RDMAD_COUNTER_HW, "_total", "rdma_total", NULL, 1 },
	{ RDMAD_COUNTER_HW, "\xff\n\"", "rdma_unnamed", NULL, 1 },
	{ RDMAD_COUNTER_HW, "", "rdma_unnamed", NULL, 1 },
	{ RDMAD_COUNTER_DEVICE, "cmds_err", "rdma_device_cmds_err", NULL, 1 },
	{ RDMAD_COUNTER_DEVICE, "out_of_sequence", "rdma_device_out_of_sequence", NULL, 1 },
};

static void test_families(void)
{
	for (guint i = 0; i < G_N_ELEMENTS(BOTH); i++) {
		const RdmadCounter counter = { .group = BOTH[i].group, .name = BOTH[i].raw };
		g_autoptr(CounterName) native = names_native(&counter);
		g_autoptr(CounterName) compat = names_compat(&counter);

		g_assert_cmpstr(native->family, ==, BOTH[i].native);
		g_assert_cmpuint(native->times, ==, BOTH[i].times);
		g_assert_true(native->help[0] != '\0');
		g_assert_cmpstr(compat ? compat->family : NULL, ==, BOTH[i].compat);
		g_assert_true(!compat || compat->times == BOTH[i].times);
	}
}

/* An entry out of order would hide itself or others. */
static void test_each_meaning_of_a_driver_s_counter_is_found(void)
{
	const char *raw;

	for (guint i = 0; (raw = names_hw_known(i)); i++) {
		const RdmadCounter counter = { .group = RDMAD_COUNTER_HW, .name = raw };
		g_autoptr(CounterName) name = names_native(&counter);

		g_test_message("%s", raw);
		g_assert_false(g_str_has_prefix(name->help, "Driver counter"));
	}
}

static void test_interfaces(void)
{
	static const struct {
		RdmadCounterGroup group;
		const char *raw, *family, *label;
		guint value, decimals;
	} cases[] = {
		{ RDMAD_COUNTER_LINK, "carrier_changes", "rdma_netdev_carrier_changes" },
		{ RDMAD_COUNTER_LINK, "carrier_up_count", NULL },
		{ RDMAD_COUNTER_PAUSE, "tx_frames", "rdma_netdev_transmit_pause_frames" },
		{ RDMAD_COUNTER_PAUSE, "carrier_changes", NULL },
		{ RDMAD_COUNTER_FEC, "uncorr", "rdma_netdev_fec_uncorrectable_blocks" },
		{ RDMAD_COUNTER_ETHTOOL, "rx_prio3_pause", "rdma_netdev_receive_pfc_frames",
		  "priority", 3 },
		{ RDMAD_COUNTER_ETHTOOL, "rx_prio3_pause_duration",
		  "rdma_netdev_receive_pfc_pause_seconds", "priority", 3, 6 },
		{ RDMAD_COUNTER_ETHTOOL, "pfc_pri0_tx_duration_us",
		  "rdma_netdev_transmit_pfc_pause_seconds", "priority", 0, 6 },
		{ RDMAD_COUNTER_ETHTOOL, "rx_err_lane_2_phy",
		  "rdma_netdev_receive_lane_corrected_bit_errors", "lane", 2 },
		{ RDMAD_COUNTER_ETHTOOL, "outbound_pci_stalled_rd",
		  "rdma_netdev_pcie_read_stalled_ratio", NULL, 0, 2 },
		{ RDMAD_COUNTER_ETHTOOL, "outbound_pci_stalled_rd_events",
		  "rdma_netdev_pcie_read_stalled_seconds" },
		{ RDMAD_COUNTER_ETHTOOL, "port.rx_priority_7_xoff",
		  "rdma_netdev_receive_pfc_frames", "priority", 7 },
		{ RDMAD_COUNTER_ETHTOOL, "rx_prio_pause", NULL },
		{ RDMAD_COUNTER_ETHTOOL, "rx_prio33_pause", NULL },
		{ RDMAD_COUNTER_ETHTOOL, "rx_prio#_pause", NULL },
		{ RDMAD_COUNTER_ETHTOOL, "rx_prio3_pause ", NULL },
		{ RDMAD_COUNTER_ETHTOOL, "", NULL },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		const RdmadCounter counter = { .group = cases[i].group, .name = cases[i].raw };
		g_autoptr(CounterName) name = names_native(&counter);

		g_assert_cmpstr(name ? name->family : NULL, ==, cases[i].family);
		g_assert_null(names_compat(&counter));
		if (!name)
			continue;
		g_assert_cmpstr(name->label, ==, cases[i].label);
		g_assert_cmpuint(name->label_value, ==, cases[i].value);
		g_assert_cmpuint(name->decimals, ==, cases[i].decimals);
	}
}

/* The core's selection of `ethtool -S`. */
static void test_all_that_is_read_by_ethtool_has_a_family(void)
{
	for (guint i = 0; i < G_N_ELEMENTS(ethtool_names); i++) {
		const RdmadCounter counter = { .group = RDMAD_COUNTER_ETHTOOL,
					       .name = ethtool_names[i] };
		g_autoptr(CounterName) name = names_native(&counter);

		g_assert_true(rdmad_ethtool_name_matters(ethtool_names[i]));
		if (!name)
			g_error("%s has no family", ethtool_names[i]);
	}
}

static void test_widths(void)
{
	static const struct {
		RdmadCounterGroup group;
		const char *raw, *driver;
		guint width;
		gboolean saturates;
	} cases[] = {
		{ RDMAD_COUNTER_PORT, "link_downed", "mlx5_core", 8, TRUE },
		{ RDMAD_COUNTER_PORT, "local_link_integrity_errors", NULL, 4, TRUE },
		{ RDMAD_COUNTER_PORT, "symbol_error", NULL, 16, TRUE },
		{ RDMAD_COUNTER_PORT, "port_xmit_wait", NULL, 32, TRUE },
		{ RDMAD_COUNTER_PORT, "port_xmit_data", NULL, 64, FALSE },
		{ RDMAD_COUNTER_HW, "out_of_sequence", "mlx5_core", 32, FALSE },
		{ RDMAD_COUNTER_HW, "out_of_sequence", "other", 64, FALSE },
		{ RDMAD_COUNTER_HW, "out_of_sequence", NULL, 64, FALSE },
		{ RDMAD_COUNTER_HW, "np_cnp_sent", "mlx5_core", 64, FALSE },
		{ RDMAD_COUNTER_HW, "rq_num_rnr", "mlx4_core", 32, FALSE },
		{ RDMAD_COUNTER_HW, NULL, "mlx5_core", 64, FALSE },
		{ RDMAD_COUNTER_LINK, "carrier_changes", "mlx5_core", 32, FALSE },
		{ RDMAD_COUNTER_ETHTOOL, "rx_prio3_pause", "mlx5_core", 64, FALSE },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		const RdmadCounter counter = { .group = cases[i].group, .name = cases[i].raw };
		gboolean saturates = !cases[i].saturates;

		g_assert_cmpuint(names_counter_width(&counter, cases[i].driver, &saturates), ==,
				 cases[i].width);
		g_assert_cmpint(saturates, ==, cases[i].saturates);
	}
}

static void test_a_group_that_failed_has_no_name(void)
{
	const RdmadCounter counter = { .group = RDMAD_COUNTER_HW, .errnum = 5 };

	g_assert_null(names_native(&counter));
	g_assert_null(names_compat(&counter));
}

static void test_what_goes_down_again_is_a_gauge(void)
{
	static const char *const gauges[] = { "active_qps", "watermark_mrs", "current_rate" };

	for (guint i = 0; i < G_N_ELEMENTS(gauges); i++) {
		const RdmadCounter counter = { .group = RDMAD_COUNTER_HW, .name = gauges[i] };
		g_autoptr(CounterName) name = names_native(&counter);

		g_assert_cmpint(name->type, ==, FAMILY_GAUGE);
	}
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/families", test_families),
	UNIT_TEST("/each meaning of a driver's counter is found",
		  test_each_meaning_of_a_driver_s_counter_is_found),
	UNIT_TEST("/interfaces", test_interfaces),
	UNIT_TEST("/all that is read by ethtool has a family",
		  test_all_that_is_read_by_ethtool_has_a_family),
	UNIT_TEST("/widths", test_widths),
	UNIT_TEST("/a group that failed has no name", test_a_group_that_failed_has_no_name),
	UNIT_TEST("/what goes down again is a gauge", test_what_goes_down_again_is_a_gauge),
	{ 0 },
};
