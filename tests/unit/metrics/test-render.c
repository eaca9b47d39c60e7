/* SPDX-License-Identifier: Apache-2.0 */
#include "made-reading.h"

#include <errno.h>

#include "../support/unit.h"

static void assert_lines(const char *text, const char *const *lines)
{
	for (; *lines; lines++)
		if (!made_has(text, *lines))
			g_error("no line %s in\n%s", *lines, text);
}

static void assert_no_part(const char *text, const char *part)
{
	if (strstr(text, part))
		g_error("there is a %s in\n%s", part, text);
}

/* A VF on NUMA node 1 with one port, an interface and a GID. */
static RdmadDevice *full_device(void)
{
	RdmadDevice *device = rdmad_device_new("0000:3b:00.2", "mlx5_2");

	device->driver = g_strdup("mlx5_core");
	device->firmware = g_strdup("28.39.1002");
	device->board_id = g_strdup("MT_0000000838");
	device->hca_type = g_strdup("MT4129");
	device->node_guid = g_strdup("0c42:a103:0065:4321");
	device->node_type = RDMAD_NODE_CA;
	device->pci_address = g_strdup("0000:3b:00.2");
	device->pf_address = g_strdup("0000:3b:00.0");
	device->pci_role = RDMAD_PCI_VF;
	device->numa_node = 1;
	rdmad_device_add_problem(device, "ports/1/rate: %s", "Invalid argument");
	device->n_ports = 1;
	device->ports = g_new0(RdmadPort, 1);
	device->ports[0].number = 1;
	device->ports[0].link_layer = RDMAD_LINK_LAYER_ETHERNET;
	device->ports[0].netdev = g_strdup("ens1v0");
	device->ports[0].transitions = 3;
	device->ports[0].flaps = 1;
	device->ports[0].gid_changes = 2;
	device->ports[0].changed_us = 1700000000500000;
	device->ports[0].n_gids = 1;
	device->ports[0].gids = g_new0(RdmadGid, 1);
	device->ports[0].gids[0].index = 3;
	device->ports[0].gids[0].type = RDMAD_GID_ROCE_V2;
	device->n_netdevs = 1;
	device->netdevs = g_new0(RdmadNetdev, 1);
	device->netdevs[0].name = g_strdup("ens1v0");
	device->netdevs[0].carrier = 1;
	device->netdevs[0].mtu = 9000;
	device->netdevs[0].speed_mbps = 200000;
	return device;
}

static const RdmadCounter COUNTERS[] = {
	{ RDMAD_COUNTER_PORT, 1, NULL, "link_downed", 255, 0 },
	{ RDMAD_COUNTER_PORT, 1, NULL, "port_rcv_data", 1000, 0 },
	{ RDMAD_COUNTER_PORT, 1, NULL, "symbol_error", 0, EINVAL },
	{ RDMAD_COUNTER_HW, 1, NULL, "lifespan", 10, 0 },
	{ RDMAD_COUNTER_HW, 1, NULL, "out_of_sequence", 7, 0 },
	{ RDMAD_COUNTER_DEVICE, 0, NULL, "cmds_err", 5, 0 },
	{ RDMAD_COUNTER_FEC, 0, "ens1v0", NULL, 0, EIO },
	{ RDMAD_COUNTER_ETHTOOL, 0, "ens1v0", "rx_prio3_pause", 9, 0 },
	{ RDMAD_COUNTER_ETHTOOL, 0, "ens1v0", "rx_prio3_pause_duration", 1500000, 0 },
	{ RDMAD_COUNTER_ETHTOOL, 0, "ens1v0", "unheard_of", 1, 0 },
};

static RdmadReading *full_reading(void)
{
	RdmadReading *reading = made_reading(COUNTERS, G_N_ELEMENTS(COUNTERS));

	reading->n_ports = 1;
	reading->ports = g_new0(RdmadPortReading, 1);
	reading->ports[0] = (RdmadPortReading){ 1, RDMAD_PORT_ACTIVE, 5, 200000 };
	reading->n_users = 3;
	reading->users = g_new0(RdmadDeviceUser, 3);
	reading->users[0].objects[RDMAD_USES_QP] = 1;
	reading->users[1].pod_uid = reading->users[2].pod_uid = "11-22";
	reading->users[1].objects[RDMAD_USES_QP] = 10;
	reading->users[2].objects[RDMAD_USES_QP] = 20;
	reading->users[2].objects[RDMAD_USES_SRQ] = 4;
	return reading;
}

static char *full_text(NamesMode names)
{
	g_autoptr(Snapshot) snapshot = made_snapshot(names);
	g_autoptr(RdmadDevice) device = full_device();

	made_sample(snapshot, device, full_reading());
	return made_text(snapshot, EXPOSITION_TEXT);
}

static void test_a_device(void)
{
	static const char *const lines[] = {
		"rdma_device_info{device=\"mlx5_2\",device_id=\"0000:3b:00.2\",driver=\"mlx5_"
		"core\","
		"board_id=\"MT_0000000838\",firmware_version=\"28.39.1002\",hca_type=\"MT4129\","
		"node_guid=\"0c42:a103:0065:4321\",node_type=\"ca\",pci_address=\"0000:3b:00.2\","
		"numa_node=\"1\",role=\"vf\",physical_function=\"0000:3b:00.0\"} 1",
		"rdma_device_fatal{device=\"mlx5_2\"} 0",
		"rdma_device_problems{device=\"mlx5_2\"} 1",
		"rdma_device_scrape_success{device=\"mlx5_2\"} 1",
		"rdma_device_scrape_duration_seconds{device=\"mlx5_2\"} 0.125",
		"rdma_port_info{device=\"mlx5_2\",port=\"1\",link_layer=\"ethernet\","
		"netdev=\"ens1v0\"} 1",
		"rdma_port_state_id{device=\"mlx5_2\",port=\"1\"} 4",
		"rdma_port_physical_state_id{device=\"mlx5_2\",port=\"1\"} 5",
		"rdma_port_state{device=\"mlx5_2\",port=\"1\",state=\"active\"} 1",
		"rdma_port_state{device=\"mlx5_2\",port=\"1\",state=\"down\"} 0",
		"rdma_port_rate_bytes_per_second{device=\"mlx5_2\",port=\"1\"} 25000000000",
		"rdma_port_at_rest{device=\"mlx5_2\",port=\"1\"} 0",
		"rdma_port_link_transitions_total{device=\"mlx5_2\",port=\"1\"} 3",
		"rdma_port_link_flaps_total{device=\"mlx5_2\",port=\"1\"} 1",
		"rdma_port_gid_changes_total{device=\"mlx5_2\",port=\"1\"} 2",
		"rdma_port_last_state_change_timestamp_seconds{device=\"mlx5_2\",port=\"1\"} "
		"1700000000.5",
		"rdma_port_gids{device=\"mlx5_2\",port=\"1\"} 1",
		"rdma_gid_info{device=\"mlx5_2\",port=\"1\",index=\"3\","
		"gid=\"0000:0000:0000:0000:0000:0000:0000:0000\",type=\"RoCE v2\",netdev=\"\"} 1",
		"rdma_netdev_info{device=\"mlx5_2\",port=\"1\",netdev=\"ens1v0\",mac=\"\","
		"master=\"\"} 1",
		"rdma_netdev_carrier{device=\"mlx5_2\",netdev=\"ens1v0\"} 1",
		"rdma_netdev_mtu_bytes{device=\"mlx5_2\",netdev=\"ens1v0\"} 9000",
		"rdma_netdev_speed_bytes_per_second{device=\"mlx5_2\",netdev=\"ens1v0\"} "
		"25000000000",
		NULL,
	};
	g_autofree char *text = full_text(NAMES_NATIVE);

	assert_lines(text, lines);
	assert_no_part(text, "node_infiniband");
}

static void test_counters(void)
{
	static const char *const lines[] = {
		"rdma_port_link_downed_total{device=\"mlx5_2\",port=\"1\"} 255",
		"rdma_port_receive_bytes_total{device=\"mlx5_2\",port=\"1\"} 4000",
		"rdma_hw_counters_lifespan_seconds{device=\"mlx5_2\",port=\"1\"} 0.01",
		"rdma_out_of_sequence_total{device=\"mlx5_2\",port=\"1\"} 7",
		"rdma_device_cmds_err_total{device=\"mlx5_2\"} 5",
		"rdma_netdev_receive_pfc_frames_total{device=\"mlx5_2\",netdev=\"ens1v0\","
		"priority=\"3\"} 9",
		"rdma_netdev_receive_pfc_pause_seconds_total{device=\"mlx5_2\",netdev=\"ens1v0\","
		"priority=\"3\"} 1.5",
		"rdma_counters_unreadable{device=\"mlx5_2\",port=\"1\",counter=\"symbol_error\","
		"error=\"EINVAL\"} 1",
		"rdma_counters_unreadable{device=\"mlx5_2\",port=\"\",counter=\"ens1v0/fec/...\","
		"error=\"EIO\"} 1",
		"rdma_counters_saturated{device=\"mlx5_2\",port=\"1\",counter=\"link_downed\"} 1",
		"rdma_scrape_collector_success{collector=\"counters\"} 1",
		"rdma_scrape_collector_success{collector=\"netdevs\"} 0",
		"rdma_scrape_collector_success{collector=\"users\"} 1",
		"rdma_scrape_duration_seconds 0.25",
		NULL,
	};
	g_autofree char *text = full_text(NAMES_NATIVE);

	assert_lines(text, lines);
	/* Unreadable values are absent. */
	assert_no_part(text, "rdma_port_symbol_errors");
	assert_no_part(text, "unheard_of");
}

static void test_who(void)
{
	static const char *const lines[] = {
		"rdma_device_queue_pairs{device=\"mlx5_2\"} 31",
		"rdma_device_shared_receive_queues{device=\"mlx5_2\"} 4",
		"rdma_device_contexts{device=\"mlx5_2\"} 0",
		"rdma_pod_queue_pairs{device=\"mlx5_2\",namespace=\"\",pod=\"\","
		"pod_uid=\"11-22\"} 30",
		"rdma_pod_memory_regions{device=\"mlx5_2\",namespace=\"\",pod=\"\","
		"pod_uid=\"11-22\"} 0",
		NULL,
	};
	g_autofree char *text = full_text(NAMES_NATIVE);

	assert_lines(text, lines);
}

static void test_the_names_of_node_exporter(void)
{
	static const char *const lines[] = {
		"node_infiniband_info{device=\"mlx5_2\",board_id=\"MT_0000000838\","
		"firmware_version=\"28.39.1002\",hca_type=\"MT4129\"} 1",
		"node_infiniband_state_id{device=\"mlx5_2\",port=\"1\"} 4",
		"node_infiniband_physical_state_id{device=\"mlx5_2\",port=\"1\"} 5",
		"node_infiniband_rate_bytes_per_second{device=\"mlx5_2\",port=\"1\"} 25000000000",
		"node_infiniband_port_data_received_bytes_total{device=\"mlx5_2\",port=\"1\"} 4000",
		"node_infiniband_out_of_sequence_packets_received_total{device=\"mlx5_2\","
		"port=\"1\"} 7",
		"node_infiniband_lifespan_seconds{device=\"mlx5_2\",port=\"1\"} 0.01",
		"rdma_device_scrape_success{device=\"mlx5_2\"} 1",
		NULL,
	};
	g_autofree char *compat = full_text(NAMES_COMPAT);
	g_autofree char *both = full_text(NAMES_BOTH);
	g_autofree char *native = full_text(NAMES_NATIVE);

	assert_lines(compat, lines);
	assert_lines(both, lines);
	assert_no_part(compat, "rdma_port");
	assert_no_part(compat, "rdma_netdev");
	g_assert_cmpuint(made_count(both, "\nrdma_"), ==, made_count(native, "\nrdma_"));
}

static void test_a_device_that_was_late_is_left_out(void)
{
	static const char *const lines[] = {
		"rdma_device_scrape_success{device=\"mlx5_2\"} 0",
		"rdma_device_fatal{device=\"mlx5_2\"} 0",
		"rdma_port_link_transitions_total{device=\"mlx5_2\",port=\"1\"} 3",
		"rdma_scrape_collector_success{collector=\"counters\"} 0",
		NULL,
	};
	g_autoptr(Snapshot) snapshot = made_snapshot(NAMES_BOTH);
	g_autoptr(RdmadDevice) device = full_device();
	g_autofree char *text = NULL;

	made_sample(snapshot, device, NULL)->seconds = 0;
	text = made_text(snapshot, EXPOSITION_TEXT);
	assert_lines(text, lines);
	assert_no_part(text, "state_id");
	assert_no_part(text, "rdma_device_scrape_duration_seconds");
	assert_no_part(text, "rdma_device_queue_pairs");
}

static void test_a_port_that_nobody_set_up_is_at_rest(void)
{
	g_autoptr(Snapshot) snapshot = made_snapshot(NAMES_NATIVE);
	g_autoptr(RdmadDevice) device = full_device();
	g_autofree char *text = NULL;

	device->ports[0].state = RDMAD_PORT_DOWN;
	device->ports[0].phys_state = RDMAD_PHYS_DISABLED;
	made_sample(snapshot, device, NULL);
	text = made_text(snapshot, EXPOSITION_TEXT);
	g_assert_true(made_has(text, "rdma_port_at_rest{device=\"mlx5_2\",port=\"1\"} 1"));
}

static void test_a_collector_is_complete_without_a_device_that_is_no_nic(void)
{
	static const char *const lines[] = {
		"rdma_device_scrape_success{device=\"mlx5_2\"} 0",
		"rdma_scrape_collector_success{collector=\"counters\"} 1",
		"rdma_scrape_collector_success{collector=\"users\"} 1",
		NULL,
	};
	g_autoptr(Snapshot) snapshot = made_snapshot(NAMES_NATIVE);
	g_autoptr(RdmadDevice) device = full_device();
	g_autofree char *text = NULL;

	device->vpd_model = g_strdup("SW_MNG");
	made_sample(snapshot, device, NULL);
	text = made_text(snapshot, EXPOSITION_TEXT);
	assert_lines(text, lines);
}

static void test_what_was_not_asked_for_is_not_told(void)
{
	g_autoptr(Snapshot) snapshot = made_snapshot(NAMES_NATIVE);
	g_autoptr(RdmadDevice) device = full_device();
	g_autofree char *text = NULL;

	snapshot->what = RDMAD_READ_COUNTERS;
	snapshot->gids = FALSE;
	made_sample(snapshot, device, full_reading());
	text = made_text(snapshot, EXPOSITION_TEXT);
	assert_no_part(text, "queue_pairs");
	assert_no_part(text, "rdma_gid_info");
	assert_no_part(text, "collector=\"users\"");
}

static void test_users_that_could_not_be_listed_are_not_none(void)
{
	g_autoptr(Snapshot) snapshot = made_snapshot(NAMES_NATIVE);
	g_autoptr(RdmadDevice) device = full_device();
	RdmadReading *reading = made_reading(NULL, 0);
	g_autofree char *text = NULL;

	reading->users_errnum = EPERM;
	made_sample(snapshot, device, reading);
	text = made_text(snapshot, EXPOSITION_TEXT);
	assert_no_part(text, "queue_pairs");
	g_assert_true(made_has(text, "rdma_scrape_collector_success{collector=\"users\"} 0"));
}

static void test_what_the_driver_cannot_list_is_of_no_pod(void)
{
	g_autoptr(Snapshot) snapshot = made_snapshot(NAMES_NATIVE);
	g_autoptr(RdmadDevice) device = full_device();
	RdmadReading *reading = full_reading();
	g_autofree char *text = NULL;

	reading->users_unlisted = 1u << RDMAD_USES_QP;
	made_sample(snapshot, device, reading);
	text = made_text(snapshot, EXPOSITION_TEXT);
	assert_no_part(text, "rdma_pod_queue_pairs");
	g_assert_true(made_has(text, "rdma_device_queue_pairs{device=\"mlx5_2\"} 31"));
	g_assert_true(made_has(text, "rdma_scrape_collector_success{collector=\"users\"} 1"));
}

static void test_names_that_look_the_same_stay_apart(void)
{
	static const RdmadCounter counters[] = {
		{ RDMAD_COUNTER_HW, 1, NULL, "SDMA.1", 1, 0 },
		{ RDMAD_COUNTER_HW, 1, NULL, "port_receive_bytes", 2, 0 },
		{ RDMAD_COUNTER_HW, 1, NULL, "sdma,1", 3, 0 },
		{ RDMAD_COUNTER_HW, 1, NULL, "sdma_1", 4, 0 },
		{ RDMAD_COUNTER_DEVICE, 0, NULL, "fatal", 5, 0 },
		{ RDMAD_COUNTER_DEVICE, 0, NULL, "info", 6, 0 },
	};
	static const char *const lines[] = {
		"rdma_sdma_1_total{device=\"mlx5_0\",port=\"1\"} 1",
		"rdma_hw_port_receive_bytes_total{device=\"mlx5_0\",port=\"1\"} 2",
		"rdma_sdma_1_2_total{device=\"mlx5_0\",port=\"1\"} 3",
		"rdma_sdma_1_3_total{device=\"mlx5_0\",port=\"1\"} 4",
		"rdma_device_fatal_2_total{device=\"mlx5_0\"} 5",
		"rdma_device_info_2_total{device=\"mlx5_0\"} 6",
		NULL,
	};
	g_autoptr(Snapshot) snapshot = made_snapshot(NAMES_NATIVE);
	g_autoptr(RdmadDevice) device = rdmad_device_new("a", "mlx5_0");
	g_autofree char *text = NULL;

	made_sample(snapshot, device, made_reading(counters, G_N_ELEMENTS(counters)));
	text = made_text(snapshot, EXPOSITION_TEXT);
	assert_lines(text, lines);
}

static void test_two_names_of_one_thing_are_one_series(void)
{
	static const RdmadCounter counters[] = {
		{ RDMAD_COUNTER_ETHTOOL, 0, "e0", "rx_crc_errors.nic", 1, 0 },
		{ RDMAD_COUNTER_ETHTOOL, 0, "e0", "rx_crc_errors_phy", 2, 0 },
		{ RDMAD_COUNTER_ETHTOOL, 0, "e1", "rx_crc_errors_phy", 3, 0 },
	};
	static const char *const lines[] = {
		"rdma_netdev_receive_crc_errors_total{device=\"mlx5_0\",netdev=\"e0\"} 1",
		"rdma_netdev_receive_crc_errors_total{device=\"mlx5_0\",netdev=\"e1\"} 3",
		NULL,
	};
	g_autoptr(Snapshot) snapshot = made_snapshot(NAMES_NATIVE);
	g_autoptr(RdmadDevice) device = rdmad_device_new("a", "mlx5_0");
	g_autofree char *text = NULL;

	made_sample(snapshot, device, made_reading(counters, G_N_ELEMENTS(counters)));
	text = made_text(snapshot, EXPOSITION_TEXT);
	assert_lines(text, lines);
	g_assert_cmpuint(made_count(text, "\nrdma_netdev_receive_crc_errors_total{"), ==, 2);
}

static void test_of_two_devices_of_one_name_one_is_shown(void)
{
	g_autoptr(Snapshot) snapshot = made_snapshot(NAMES_NATIVE);
	g_autoptr(RdmadDevice) one = rdmad_device_new("a", "mlx5_0");
	g_autoptr(RdmadDevice) other = rdmad_device_new("b", "mlx5_0");
	g_autofree char *text = NULL;

	made_sample(snapshot, one, NULL);
	made_sample(snapshot, other, NULL);
	text = made_text(snapshot, EXPOSITION_TEXT);
	g_assert_cmpuint(made_count(text, "\nrdma_device_fatal{"), ==, 1);
}

/* Devices in the reverse order. */
static void test_devices_that_count_other_things(void)
{
	static const RdmadCounter some[] = {
		{ RDMAD_COUNTER_HW, 1, NULL, "a", 1, 0 },
		{ RDMAD_COUNTER_HW, 1, NULL, "b", 2, 0 },
		{ RDMAD_COUNTER_HW, 1, NULL, "c", 3, 0 },
	};
	static const RdmadCounter others[] = {
		{ RDMAD_COUNTER_HW, 1, NULL, "b", 5, 0 },
		{ RDMAD_COUNTER_HW, 1, NULL, "d", 6, 0 },
		{ RDMAD_COUNTER_HW, 2, NULL, "c", 7, 0 },
	};
	static const char *const lines[] = {
		"rdma_a_total{device=\"x\",port=\"1\"} 1",
		"rdma_b_total{device=\"x\",port=\"1\"} 2",
		"rdma_c_total{device=\"x\",port=\"1\"} 3",
		"rdma_b_total{device=\"y\",port=\"1\"} 5",
		"rdma_d_total{device=\"y\",port=\"1\"} 6",
		"rdma_c_total{device=\"y\",port=\"2\"} 7",
		"rdma_a_total{device=\"z\",port=\"1\"} 1",
		"rdma_c_total{device=\"z\",port=\"1\"} 3",
		NULL,
	};
	g_autoptr(Snapshot) snapshot = made_snapshot(NAMES_NATIVE);
	g_autoptr(RdmadDevice) x = rdmad_device_new("x", "x");
	g_autoptr(RdmadDevice) y = rdmad_device_new("y", "y");
	g_autoptr(RdmadDevice) z = rdmad_device_new("z", "z");
	g_autofree char *text = NULL;

	made_sample(snapshot, x, made_reading(some, G_N_ELEMENTS(some)));
	made_sample(snapshot, y, made_reading(others, G_N_ELEMENTS(others)));
	made_sample(snapshot, z, made_reading(some, G_N_ELEMENTS(some)));
	text = made_text(snapshot, EXPOSITION_TEXT);
	assert_lines(text, lines);
}

/* The maximum of each width of struct ib_pma_portcounters; beside them what is near, beyond, or of
 * 64 bits. */
static void test_a_counter_at_its_maximum_has_stopped(void)
{
	static const RdmadCounter counters[] = {
		{ RDMAD_COUNTER_PORT, 1, NULL, "excessive_buffer_overrun_errors", 15, 0 },
		{ RDMAD_COUNTER_PORT, 1, NULL, "local_link_integrity_errors", 14, 0 },
		{ RDMAD_COUNTER_PORT, 1, NULL, "link_downed", 255, 0 },
		{ RDMAD_COUNTER_PORT, 1, NULL, "link_error_recovery", 256, 0 },
		{ RDMAD_COUNTER_PORT, 1, NULL, "port_xmit_discards", 65535, 0 },
		{ RDMAD_COUNTER_PORT, 1, NULL, "symbol_error", 65534, 0 },
		{ RDMAD_COUNTER_PORT, 1, NULL, "port_xmit_wait", 4294967295, 0 },
		{ RDMAD_COUNTER_PORT, 1, NULL, "port_xmit_data", 4294967295, 0 },
		{ RDMAD_COUNTER_PORT, 1, NULL, "port_rcv_packets", G_MAXUINT64, 0 },
		{ RDMAD_COUNTER_PORT, 2, NULL, "port_xmit_wait", 4294967296, 0 },
		{ RDMAD_COUNTER_HW, 1, NULL, "link_downed", 255, 0 },
	};
	static const char *const stopped[] = { "excessive_buffer_overrun_errors", "link_downed",
					       "port_xmit_discards", "port_xmit_wait" };
	g_autoptr(Snapshot) snapshot = made_snapshot(NAMES_NATIVE);
	g_autoptr(RdmadDevice) device = rdmad_device_new("0000:3b:00.0", "mlx5_0");
	g_autofree char *text = NULL;

	made_sample(snapshot, device, made_reading(counters, G_N_ELEMENTS(counters)));
	text = made_text(snapshot, EXPOSITION_TEXT);
	g_assert_cmpuint(made_count(text, "\nrdma_counters_saturated{"), ==, G_N_ELEMENTS(stopped));
	for (guint i = 0; i < G_N_ELEMENTS(stopped); i++) {
		g_autofree char *line =
			g_strdup_printf("rdma_counters_saturated{device=\"mlx5_0\",port=\"1\","
					"counter=\"%s\"} 1",
					stopped[i]);

		g_assert_true(made_has(text, line));
	}
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/a device", test_a_device),
	UNIT_TEST("/counters", test_counters),
	UNIT_TEST("/a counter at its maximum has stopped",
		  test_a_counter_at_its_maximum_has_stopped),
	UNIT_TEST("/who", test_who),
	UNIT_TEST("/the names of node_exporter", test_the_names_of_node_exporter),
	UNIT_TEST("/what the driver cannot list is of no pod",
		  test_what_the_driver_cannot_list_is_of_no_pod),
	UNIT_TEST("/a device that was late is left out", test_a_device_that_was_late_is_left_out),
	UNIT_TEST("/a port that nobody set up is at rest",
		  test_a_port_that_nobody_set_up_is_at_rest),
	UNIT_TEST("/a collector is complete without a device that is no NIC",
		  test_a_collector_is_complete_without_a_device_that_is_no_nic),
	UNIT_TEST("/what was not asked for is not told", test_what_was_not_asked_for_is_not_told),
	UNIT_TEST("/users that could not be listed are not none",
		  test_users_that_could_not_be_listed_are_not_none),
	UNIT_TEST("/names that look the same stay apart", test_names_that_look_the_same_stay_apart),
	UNIT_TEST("/two names of one thing are one series",
		  test_two_names_of_one_thing_are_one_series),
	UNIT_TEST("/of two devices of one name one is shown",
		  test_of_two_devices_of_one_name_one_is_shown),
	UNIT_TEST("/devices that count other things", test_devices_that_count_other_things),
	{ 0 },
};
