/* SPDX-License-Identifier: Apache-2.0 */
/* Widths of counters: PMA counters stop at their maximum, those of hardware wrap. */
#include <stdlib.h>

#include "names/table.h"
#include "names/names.h"

typedef struct {
	const char *name;
	guint8 bits;
} Width;

/* include/rdma/ib_pma.h struct ib_pma_portcounters; data and packets are of its 64-bit sister. */
static const Width PORT_WIDTHS[] = {
	{ "VL15_dropped", 16 },
	{ "excessive_buffer_overrun_errors", 4 },
	{ "link_downed", 8 },
	{ "link_error_recovery", 8 },
	{ "local_link_integrity_errors", 4 },
	{ "port_rcv_constraint_errors", 8 },
	{ "port_rcv_errors", 16 },
	{ "port_rcv_remote_physical_errors", 16 },
	{ "port_rcv_switch_relay_errors", 16 },
	{ "port_xmit_constraint_errors", 8 },
	{ "port_xmit_discards", 16 },
	{ "port_xmit_wait", 32 },
	{ "symbol_error", 16 },
};

/* The fields of mlx5's QUERY_Q_COUNTER, be32. */
static const char *const MLX5_Q_COUNTERS[] = {
	"duplicate_request",
	"implied_nak_seq_err",
	"local_ack_timeout_err",
	"out_of_buffer",
	"out_of_sequence",
	"packet_seq_err",
	"req_cqe_error",
	"req_cqe_flush_error",
	"req_remote_access_errors",
	"req_remote_invalid_request",
	"req_rnr_retries_exceeded",
	"req_transport_retries_exceeded",
	"resp_cqe_error",
	"resp_cqe_flush_error",
	"resp_local_length_error",
	"resp_remote_access_errors",
	"rnr_nak_retry_err",
	"roce_adp_retrans",
	"roce_adp_retrans_to",
	"roce_slow_restart",
	"roce_slow_restart_cnps",
	"roce_slow_restart_trans",
	"rx_atomic_requests",
	"rx_dct_connect",
	"rx_read_requests",
	"rx_write_requests",
	NULL,
};

static guint port_width(const char *name)
{
	for (guint i = 0; i < G_N_ELEMENTS(PORT_WIDTHS); i++)
		if (g_str_equal(PORT_WIDTHS[i].name, name))
			return PORT_WIDTHS[i].bits;
	return 64;
}

/* mlx4's diagnostic counters are be32 as well; other drivers extend theirs to 64 bits. */
static guint hw_width(const char *name, const char *driver)
{
	if (!g_strcmp0(driver, "mlx5_core") && g_strv_contains(MLX5_Q_COUNTERS, name))
		return 32;
	if (!g_strcmp0(driver, "mlx4_core") &&
	    (g_str_has_prefix(name, "rq_num_") || g_str_has_prefix(name, "sq_num_")))
		return 32;
	return 64;
}

guint names_counter_width(const RdmadCounter *counter, const char *driver, gboolean *saturates)
{
	guint width;

	*saturates = FALSE;
	if (!counter->name)
		return 64;
	switch (counter->group) {
	case RDMAD_COUNTER_PORT:
		width = port_width(counter->name);
		*saturates = width < 64;
		return width;
	case RDMAD_COUNTER_HW:
	case RDMAD_COUNTER_DEVICE:
		return hw_width(counter->name, driver);
	case RDMAD_COUNTER_LINK: /* atomic_t in struct net_device */
		return 32;
	case RDMAD_COUNTER_PAUSE:
	case RDMAD_COUNTER_FEC:
	case RDMAD_COUNTER_ETHTOOL:
		break;
	}
	return 64;
}

/* ---- names of drivers' counters, as in their manuals, and the meaning of common ones ---- */

typedef struct {
	const char *raw, *help;
} Meaning;

/* mlx5, bnxt_re, irdma, efa, erdma, hns, ionic, mana, rxe; by name, for bsearch(). */
static const Meaning MEANINGS[] = {
	{ "RxECNMrkd", "Packets received that a switch had marked as congested." },
	{ "RxUDP", "UDP packets of RoCE received." },
	{ "TxUDP", "UDP packets of RoCE sent." },
	{ "ack_deferred", "Acknowledgements whose handling was deferred." },
	{ "active_ahs", "Address handles that exist." },
	{ "active_cqs", "Completion queues that exist." },
	{ "active_mrs", "Memory regions that exist." },
	{ "active_mws", "Memory windows that exist." },
	{ "active_pds", "Protection domains that exist." },
	{ "active_qps", "Queue pairs that exist." },
	{ "active_rc_qps", "Queue pairs of reliable connections that exist." },
	{ "active_srqs", "Shared receive queues that exist." },
	{ "active_ud_qps", "Queue pairs of unreliable datagrams that exist." },
	{ "aeqe", "Asynchronous events that the driver handled." },
	{ "alloc_pd_err", "Protection domains that could not be created." },
	{ "alloc_ucontext_err", "Contexts that could not be created." },
	{ "bad_resp_err", "Invalid responses received." },
	{ "cc_rx_ce_pkts", "Packets received that a switch had marked as congested." },
	{ "cc_rx_cnp_pkts", "Congestion notifications received." },
	{ "cc_tx_cnp_pkts", "Congestion notifications sent." },
	{ "ceqe", "Completion events that the driver handled." },
	{ "cmds", "Commands submitted to the device." },
	{ "cmds_err", "Commands to the device that failed." },
	{ "cnpHandled", "Congestion notifications received that slowed the sender down." },
	{ "cnpIgnored", "Congestion notifications received and ignored." },
	{ "cnpSent", "Congestion notifications sent." },
	{ "completed_cmds", "Commands that the device has completed." },
	{ "completer_retry_err", "Requests that were retried." },
	{ "cq_create_err", "Completion queues that could not be created." },
	{ "create_ah_err", "Address handles that could not be created." },
	{ "create_cq_err", "Completion queues that could not be created." },
	{ "create_qp_err", "Queue pairs that could not be created." },
	{ "current_rate", "Rate that congestion control allows, in the driver's unit." },
	{ "dup_req", "Duplicate requests received." },
	{ "dup_rx_requests", "Duplicate requests received." },
	{ "duplicate_request", "Duplicate requests received." },
	{ "impaired_remote_conn_events", "Impairments of the path to another device." },
	{ "implied_nak_seq_err", "Responses to reads that were lost." },
	{ "ip4InDiscards", "IPv4 packets received and discarded." },
	{ "ip4InOctets", "Bytes of IPv4 packets received." },
	{ "ip4InPkts", "IPv4 packets received." },
	{ "ip4OutNoRoutes", "IPv4 packets without a route." },
	{ "ip4OutOctets", "Bytes of IPv4 packets sent." },
	{ "ip4OutPkts", "IPv4 packets sent." },
	{ "ip6InDiscards", "IPv6 packets received and discarded." },
	{ "ip6InOctets", "Bytes of IPv6 packets received." },
	{ "ip6InPkts", "IPv6 packets received." },
	{ "ip6OutNoRoutes", "IPv6 packets without a route." },
	{ "ip6OutOctets", "Bytes of IPv6 packets sent." },
	{ "ip6OutPkts", "IPv6 packets sent." },
	{ "iwInRdmaReads", "Read requests received." },
	{ "iwInRdmaSends", "Sends received." },
	{ "iwInRdmaWrites", "Writes received." },
	{ "iwOutRdmaReads", "Read requests sent." },
	{ "iwOutRdmaSends", "Sends sent." },
	{ "iwOutRdmaWrites", "Writes sent." },
	{ "keep_alive_rcvd", "Keep-alive messages received from the device." },
	{ "link_downed", "Link failures." },
	{ "local_ack_timeout_err", "Acknowledgement timeouts of queue pairs." },
	{ "local_protection_err", "Accesses to local memory that its protection rejected." },
	{ "local_qp_op_err", "Operation errors of local queue pairs." },
	{ "max_retry_exceeded", "Requests that failed because all retries got no response." },
	{ "missing_resp", "Missing responses." },
	{ "mmap_err", "Mappings of device memory that failed." },
	{ "mr_reg_err", "Memory regions that could not be registered." },
	{ "no_completion_cmds", "Commands that the device never completed." },
	{ "np_cnp_sent", "Congestion notifications sent in response to marked packets." },
	{ "np_ecn_marked_roce_packets",
	  "RoCE packets received that a switch had marked as congested." },
	{ "oos_drop_count", "Packets dropped because they were out of sequence." },
	{ "out_of_buffer", "Packets dropped because no receive buffer was posted." },
	{ "out_of_seq_request", "Requests received out of sequence." },
	{ "out_of_sequence", "Packets received out of sequence." },
	{ "packet_seq_err",
	  "Negative acknowledgements received for wrong packet sequence numbers." },
	{ "qp_create_err", "Queue pairs that could not be created." },
	{ "qp_modify_err", "Changes of queue pairs that failed." },
	{ "rcvd_pkts", "RDMA packets received." },
	{ "rcvd_rnr_err", "Receiver-not-ready responses received." },
	{ "rcvd_seq_err", "Negative acknowledgements received for wrong packet sequence numbers." },
	{ "rdma_read_bytes", "Bytes received by reads." },
	{ "rdma_read_resp_bytes", "Bytes sent in response to reads." },
	{ "rdma_read_wr_err", "Reads that failed." },
	{ "rdma_read_wrs", "Completed reads." },
	{ "rdma_recvs", "Completed receives." },
	{ "rdma_rx_bytes", "Bytes of RDMA traffic received." },
	{ "rdma_rx_packets", "RDMA packets received." },
	{ "rdma_sends", "Completed sends." },
	{ "rdma_tx_bytes", "Bytes of RDMA traffic sent." },
	{ "rdma_tx_packets", "RDMA packets sent." },
	{ "rdma_write_bytes", "Bytes sent by writes." },
	{ "rdma_write_recv_bytes", "Bytes received by writes of peers." },
	{ "rdma_write_wr_err", "Writes that failed." },
	{ "rdma_write_wrs", "Completed writes." },
	{ "received_cnps", "Congestion notifications received." },
	{ "recoverable_errors", "Errors from which the device recovered." },
	{ "recv_bytes", "Bytes received by receives." },
	{ "recv_wrs", "Completed receives." },
	{ "reg_mr_err", "Memory regions that could not be registered." },
	{ "remote_access_err", "Accesses that the peer rejected." },
	{ "remote_invalid_req_err", "Requests that the peer rejected as invalid." },
	{ "remote_op_err", "Requests that the peer could not perform." },
	{ "req_cqe_error", "Completions with an error at the requester." },
	{ "req_cqe_flush_error",
	  "Completions flushed at the requester because their queue pair failed." },
	{ "req_remote_access_errors", "Accesses that the peer rejected." },
	{ "req_remote_invalid_request", "Requests that the peer rejected as invalid." },
	{ "req_rnr_retries_exceeded",
	  "Requests that failed because the receiver was not ready within all retries." },
	{ "req_rx_pkt_seq_err",
	  "Negative acknowledgements received for wrong packet sequence numbers." },
	{ "req_rx_rnr_retry_err", "Receiver-not-ready responses received." },
	{ "req_transport_retries_exceeded",
	  "Requests that failed because all retries got no response." },
	{ "req_tx_retry_excd_err", "Requests that failed because all retries got no response." },
	{ "requester_oos_nak",
	  "Negative acknowledgements received for wrong packet sequence numbers." },
	{ "requester_retries_exceeded",
	  "Requests that failed because all retries got no response." },
	{ "requester_rnr_nak", "Receiver-not-ready responses received." },
	{ "requester_timeout", "Acknowledgement timeouts." },
	{ "res_rx_pci_err", "PCIe errors while received data was written." },
	{ "res_tx_pci_err", "PCIe errors while data to send was read." },
	{ "resp_cqe_error", "Completions with an error at the responder." },
	{ "resp_cqe_flush_error",
	  "Completions flushed at the responder because their queue pair failed." },
	{ "resp_local_length_error", "Packets with an invalid length at the responder." },
	{ "resp_remote_access_errors", "Accesses of the peer that the responder rejected." },
	{ "resp_rx_dup_request", "Duplicate requests received." },
	{ "resp_rx_outof_buf", "Packets dropped because no receive buffer was posted." },
	{ "resp_rx_outouf_seq", "Packets received out of sequence." },
	{ "responder_dup_request", "Duplicate requests received." },
	{ "responder_oos", "Packets received out of sequence." },
	{ "responder_rnr_nak", "Receiver-not-ready responses sent." },
	{ "retrans_bytes", "Bytes that were retransmitted." },
	{ "retrans_pkts", "Packets that were retransmitted." },
	{ "retrans_timeout_events", "Packets retransmitted after a timeout." },
	{ "retry_exceeded_err", "Requests that failed because all retries got no response." },
	{ "retry_rnr_exceeded_err",
	  "Requests that failed because the receiver was not ready within all retries." },
	{ "rnr_nak_retry_err", "Receiver-not-ready responses received." },
	{ "rnr_naks_rcvd", "Receiver-not-ready responses received." },
	{ "roce_adp_retrans", "Retransmissions by the adaptive algorithm." },
	{ "roce_adp_retrans_to", "Timeouts of the adaptive retransmission." },
	{ "roce_slow_restart", "Uses of slow restart." },
	{ "roce_slow_restart_cnps", "Congestion notifications that slow restart generated." },
	{ "roce_slow_restart_trans", "Transitions of queue pairs to slow restart." },
	{ "rp_cnp_handled", "Congestion notifications received that slowed the sender down." },
	{ "rp_cnp_ignored", "Congestion notifications received and ignored." },
	{ "rx_atomic_requests", "Atomic requests received." },
	{ "rx_bps_limit_drop_cnt", "Packets received and dropped because of the bandwidth limit." },
	{ "rx_bytes", "Bytes of RDMA traffic received." },
	{ "rx_bytes_cnt", "Bytes of RDMA traffic received." },
	{ "rx_cnp_pkt", "Congestion notifications received." },
	{ "rx_cnp_pkts", "Congestion notifications received." },
	{ "rx_dct_connect", "Connection requests received for dynamically connected transport." },
	{ "rx_disable_drop_cnt", "Packets received and dropped because the device was disabled." },
	{ "rx_drops", "Packets received and dropped." },
	{ "rx_ecn_marked_pkts", "Packets received that a switch had marked as congested." },
	{ "rx_err_pkt", "Packets received with an error." },
	{ "rx_icrc_encapsulated", "RoCE packets received with a wrong invariant checksum." },
	{ "rx_out_of_buffer", "Packets dropped because no receive buffer was posted." },
	{ "rx_packets", "RDMA packets received." },
	{ "rx_packets_cnt", "RDMA packets received." },
	{ "rx_pkts", "RDMA packets received." },
	{ "rx_pps_limit_drop_cnt",
	  "Packets received and dropped because of the packet rate limit." },
	{ "rx_rc_pkt", "Packets of reliable connections received." },
	{ "rx_rdma_cnp_pkts", "Congestion notifications received." },
	{ "rx_rdma_ecn_pkts", "Packets received that a switch had marked as congested." },
	{ "rx_rdma_mcast_bytes", "Bytes of multicast RDMA traffic received." },
	{ "rx_rdma_mcast_pkts", "Multicast RDMA packets received." },
	{ "rx_rdma_mtu_discard_pkts",
	  "Packets received and discarded because they were larger than the MTU." },
	{ "rx_rdma_ucast_bytes", "Bytes of unicast RDMA traffic received." },
	{ "rx_rdma_ucast_pkts", "Unicast RDMA packets received." },
	{ "rx_read_requests", "Read requests received." },
	{ "rx_roce_discards", "RoCE packets received and discarded." },
	{ "rx_roce_errors", "RoCE packets received with an error." },
	{ "rx_roce_good_bytes", "Bytes of error-free RoCE packets received." },
	{ "rx_roce_good_pkts", "Error-free RoCE packets received." },
	{ "rx_send_requests", "Sends received." },
	{ "rx_uc_pkt", "Packets of unreliable connections received." },
	{ "rx_ud_pkt", "Unreliable datagrams received." },
	{ "rx_write_requests", "Write requests received." },
	{ "send_bytes", "Bytes sent by sends." },
	{ "send_err", "Packets that could not be sent." },
	{ "send_rnr_err", "Receiver-not-ready responses sent." },
	{ "send_wrs", "Completed sends." },
	{ "sent_cnps", "Congestion notifications sent." },
	{ "sent_pkts", "RDMA packets sent." },
	{ "seq_err_naks_rcvd",
	  "Negative acknowledgements received for wrong packet sequence numbers." },
	{ "submitted_cmds", "Commands submitted to the device." },
	{ "tcpRetransSegs", "TCP segments of iWARP that were retransmitted." },
	{ "to_retransmits", "Retransmissions after an acknowledgement timeout." },
	{ "total_fatal_error", "Fatal errors of queue pairs." },
	{ "tx_bps_limit_drop_cnt",
	  "Packets to send that were dropped because of the bandwidth limit." },
	{ "tx_bytes", "Bytes of RDMA traffic sent." },
	{ "tx_bytes_cnt", "Bytes of RDMA traffic sent." },
	{ "tx_cnp_pkt", "Congestion notifications sent." },
	{ "tx_cnp_pkts", "Congestion notifications sent." },
	{ "tx_disable_drop_cnt",
	  "Packets to send that were dropped because the device was disabled." },
	{ "tx_err_pkt", "Packets to send that had an error." },
	{ "tx_packets", "RDMA packets sent." },
	{ "tx_packets_cnt", "RDMA packets sent." },
	{ "tx_pkts", "RDMA packets sent." },
	{ "tx_pps_limit_drop_cnt",
	  "Packets to send that were dropped because of the packet rate limit." },
	{ "tx_rc_pkt", "Packets of reliable connections sent." },
	{ "tx_rdma_ack_timeout", "Acknowledgement timeouts." },
	{ "tx_rdma_cnp_pkts", "Congestion notifications sent." },
	{ "tx_rdma_mcast_bytes", "Bytes of multicast RDMA traffic sent." },
	{ "tx_rdma_mcast_pkts", "Multicast RDMA packets sent." },
	{ "tx_rdma_retx_bytes", "Bytes that were retransmitted." },
	{ "tx_rdma_retx_pkts", "Packets that were retransmitted." },
	{ "tx_rdma_ucast_bytes", "Bytes of unicast RDMA traffic sent." },
	{ "tx_rdma_ucast_pkts", "Unicast RDMA packets sent." },
	{ "tx_reqs_cnt", "Requests sent." },
	{ "tx_roce_discards", "RoCE packets to send that were discarded." },
	{ "tx_roce_errors", "RoCE packets that could not be sent." },
	{ "tx_uc_pkt", "Packets of unreliable connections sent." },
	{ "tx_ud_pkt", "Unreliable datagrams sent." },
	{ "unrecoverable_err", "Errors from which the device did not recover." },
	{ "unresponsive_remote_events", "Events of a remote device that did not respond." },
};

/* Gauges. */
static const char *const GAUGES[] = { "active_", "watermark_", "current_rate" };

static int compare_meaning(gconstpointer raw, gconstpointer meaning)
{
	return strcmp(raw, ((const Meaning *)meaning)->raw);
}

const char *names_hw_known(guint i)
{
	return i < G_N_ELEMENTS(MEANINGS) ? MEANINGS[i].raw : NULL;
}

static char *meaning_of(const char *raw, gboolean of_device)
{
	const Meaning *found = bsearch(raw, MEANINGS, G_N_ELEMENTS(MEANINGS), sizeof(MEANINGS[0]),
				       compare_meaning);

	if (found)
		return g_strdup(found->help);
	return g_strdup_printf("Driver counter %s of the %s.", raw, of_device ? "device" : "port");
}

static gboolean is_gauge(const char *clean)
{
	for (guint i = 0; i < G_N_ELEMENTS(GAUGES); i++)
		if (g_str_has_prefix(clean, GAUGES[i]))
			return TRUE;
	return FALSE;
}

/* Prefix of rdmad's own families. */
static const char *own_prefix(const char *own, gboolean of_device)
{
	if (of_device)
		return "rdma_device_";
	return g_str_has_prefix(own, "port_") || g_str_has_prefix(own, "netdev_") ? "rdma_hw_"
										  : "rdma_";
}

/* Omits the prefix if the name has it already: "rdma_tx_bytes", "dropped_total". */
static char *family_of(const char *clean, gboolean of_device)
{
	const char *own = g_str_has_prefix(clean, "rdma_") && clean[5] ? clean + 5 : clean;
	char *family = g_strconcat(own_prefix(own, of_device), own, NULL);

	if (strlen(own) > strlen("_total") && g_str_has_suffix(own, "_total"))
		family[strlen(family) - strlen("_total")] = '\0';
	return family;
}

static CounterName *lifespan_name(gboolean of_device)
{
	CounterName *name = counter_name_unknown(
		g_strdup(of_device ? "rdma_device_hw_counters_lifespan_seconds"
				   : "rdma_hw_counters_lifespan_seconds"),
		g_strdup("Maximum age of the driver's counters when they are read."));

	name->type = FAMILY_GAUGE;
	name->unit = "seconds";
	name->decimals = 3;
	name->known = TRUE;
	return name;
}

CounterName *names_hw(const char *raw, gboolean of_device)
{
	g_autofree char *clean = NULL;
	CounterName *name;

	if (g_str_equal(raw, "lifespan"))
		return lifespan_name(of_device);
	clean = names_sanitise(raw);
	name = counter_name_unknown(family_of(clean, of_device), meaning_of(raw, of_device));
	if (is_gauge(clean))
		name->type = FAMILY_GAUGE;
	return name;
}
