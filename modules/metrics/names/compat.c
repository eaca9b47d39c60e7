/* SPDX-License-Identifier: Apache-2.0 */
/* The names of node_exporter's infiniband collector, as dashboards and alerts have them. */
#include "names/table.h"

#define WORD 4

/* PORT: ports/N/counters. */
static const NameRow PORT_ROWS[] = {
	{ "VL15_dropped", "node_infiniband_vl15_dropped", NULL,
	  "Management packets dropped for lack of buffers." },
	{ "excessive_buffer_overrun_errors", "node_infiniband_excessive_buffer_overrun_errors",
	  NULL, "Buffer overruns in several consecutive flow control periods." },
	{ "link_downed", "node_infiniband_link_downed", NULL,
	  "Link failures after failed error recovery." },
	{ "link_error_recovery", "node_infiniband_link_error_recovery", NULL,
	  "Successful link error recoveries." },
	{ "local_link_integrity_errors", "node_infiniband_local_link_integrity_errors", NULL,
	  "Local errors above the threshold." },
	{ "multicast_rcv_packets", "node_infiniband_multicast_packets_received", NULL,
	  "Multicast packets received, including those with errors." },
	{ "multicast_xmit_packets", "node_infiniband_multicast_packets_transmitted", NULL,
	  "Multicast packets sent, including those with errors." },
	{ "port_rcv_constraint_errors", "node_infiniband_port_constraint_errors_received", NULL,
	  "Packets received from a switch port and discarded by partition or filter rules." },
	{ "port_rcv_data", "node_infiniband_port_data_received_bytes", "bytes",
	  "Bytes of RDMA traffic received.", WORD },
	{ "port_rcv_discards", "node_infiniband_port_discards_received", NULL,
	  "Packets received and discarded because of errors or a busy port." },
	{ "port_rcv_errors", "node_infiniband_port_errors_received", NULL,
	  "Packets received with an error." },
	{ "port_rcv_packets", "node_infiniband_port_packets_received", NULL,
	  "RDMA packets received." },
	{ "port_rcv_remote_physical_errors", "node_infiniband_port_receive_remote_physical_errors",
	  NULL, "Packets received that the peer marked as bad." },
	{ "port_rcv_switch_relay_errors", "node_infiniband_port_receive_switch_relay_errors", NULL,
	  "Packets received that a switch could not relay." },
	{ "port_xmit_constraint_errors", "node_infiniband_port_constraint_errors_transmitted", NULL,
	  "Packets not sent because of partition or filter rules." },
	{ "port_xmit_data", "node_infiniband_port_data_transmitted_bytes", "bytes",
	  "Bytes of RDMA traffic sent.", WORD },
	{ "port_xmit_discards", "node_infiniband_port_discards_transmitted", NULL,
	  "Packets to send that were discarded because the port was down or congested." },
	{ "port_xmit_packets", "node_infiniband_port_packets_transmitted", NULL,
	  "RDMA packets sent." },
	{ "port_xmit_wait", "node_infiniband_port_transmit_wait", NULL,
	  "Ticks of the device's clock in which data to send had to wait." },
	{ "symbol_error", "node_infiniband_symbol_error", NULL,
	  "Minor errors on one or more lanes of the link." },
	{ "unicast_rcv_packets", "node_infiniband_unicast_packets_received", NULL,
	  "Unicast packets received, including those with errors." },
	{ "unicast_xmit_packets", "node_infiniband_unicast_packets_transmitted", NULL,
	  "Unicast packets sent, including those with errors." },
};

/* HW: ports/N/hw_counters; the names of mlx5 alone. */
static const NameRow HW_ROWS[] = {
	{ "duplicate_request", "node_infiniband_duplicate_requests_packets" },
	{ "implied_nak_seq_err", "node_infiniband_implied_nak_seq_errors" },
	{ "local_ack_timeout_err", "node_infiniband_local_ack_timeout_errors" },
	{ "np_cnp_sent", "node_infiniband_np_cnp_packets_sent" },
	{ "np_ecn_marked_roce_packets", "node_infiniband_np_ecn_marked_roce_packets_received" },
	{ "out_of_buffer", "node_infiniband_out_of_buffer_drops" },
	{ "out_of_sequence", "node_infiniband_out_of_sequence_packets_received" },
	{ "packet_seq_err", "node_infiniband_packet_sequence_errors" },
	{ "req_cqe_error", "node_infiniband_req_cqes_errors" },
	{ "req_cqe_flush_error", "node_infiniband_req_cqes_flush_errors" },
	{ "req_remote_access_errors", "node_infiniband_req_remote_access_errors" },
	{ "req_remote_invalid_request", "node_infiniband_req_remote_invalid_request_errors" },
	{ "resp_cqe_error", "node_infiniband_resp_cqes_errors" },
	{ "resp_cqe_flush_error", "node_infiniband_resp_cqes_flush_errors" },
	{ "resp_local_length_error", "node_infiniband_resp_local_length_errors" },
	{ "resp_remote_access_errors", "node_infiniband_resp_remote_access_errors" },
	{ "rnr_nak_retry_err", "node_infiniband_rnr_nak_retry_packets_received" },
	{ "roce_adp_retrans", "node_infiniband_roce_adp_retransmits" },
	{ "roce_adp_retrans_to", "node_infiniband_roce_adp_retransmits_timeout" },
	{ "roce_slow_restart", "node_infiniband_roce_slow_restart_used" },
	{ "roce_slow_restart_cnps", "node_infiniband_roce_slow_restart_cnps" },
	{ "roce_slow_restart_trans", "node_infiniband_roce_slow_restart" },
	{ "rp_cnp_handled", "node_infiniband_rp_cnp_packets_handled" },
	{ "rp_cnp_ignored", "node_infiniband_rp_cnp_ignored_packets_received" },
	{ "rx_atomic_requests", "node_infiniband_rx_atomic_requests" },
	{ "rx_dct_connect", "node_infiniband_rx_dct_connect_requests" },
	{ "rx_icrc_encapsulated", "node_infiniband_rx_icrc_encapsulated_errors" },
	{ "rx_read_requests", "node_infiniband_rx_read_requests" },
	{ "rx_write_requests", "node_infiniband_rx_write_requests" },
};

/* node_exporter exposes it in whole seconds, which is always 0; here it has decimals. */
static CounterName *lifespan_name(void)
{
	static const NameRow row = { "lifespan", "node_infiniband_lifespan_seconds", "seconds",
				     "Maximum age of the driver's counters when they are read." };
	CounterName *name = counter_name_new(&row);

	name->type = FAMILY_GAUGE;
	name->decimals = 3;
	return name;
}

static CounterName *hw_name(const char *raw)
{
	const NameRow *row = name_row_find(HW_ROWS, G_N_ELEMENTS(HW_ROWS), raw);
	g_autoptr(CounterName) native = row ? names_hw(raw, FALSE) : NULL;
	CounterName *name;

	if (!row)
		return NULL;
	name = counter_name_new(row);
	name->help = g_steal_pointer(&native->help);
	return name;
}

CounterName *names_compat(const RdmadCounter *counter)
{
	const NameRow *row;

	if (!counter->name)
		return NULL;
	if (counter->group == RDMAD_COUNTER_HW)
		return g_str_equal(counter->name, "lifespan") ? lifespan_name()
							      : hw_name(counter->name);
	if (counter->group != RDMAD_COUNTER_PORT)
		return NULL;
	row = name_row_find(PORT_ROWS, G_N_ELEMENTS(PORT_ROWS), counter->name);
	return row ? counter_name_new(row) : NULL;
}
