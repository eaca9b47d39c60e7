/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of a port: sums of the drivers' counters of one kind */
#include <stdlib.h>
#include <string.h>

#include "traffic/traffic.h"

const char *const port_error_names[PORT_ERROR_KINDS] = {
	[PORT_RETRANSMISSIONS] = "retransmissions",
	[PORT_ACK_TIMEOUTS] = "acknowledgement_timeouts",
	[PORT_OUT_OF_SEQUENCE] = "out_of_sequence",
	[PORT_CNPS] = "congestion_notifications",
	[PORT_RECEIVE_ERRORS] = "receive_errors",
	[PORT_DISCARDS] = "discards",
	[PORT_RETRIES_EXCEEDED] = "retries_exceeded",
};

/* Sorted by name; at most PARTS_OF_GROUP of a kind.  Counters of mlx5, bnxt_re, rxe, irdma, efa,
 * mana, ionic, hns; the meanings are in names/hw.c. */
static const struct ErrorName {
	const char *name;
	PortErrorKind kind;
} error_names[] = {
	{ "VL15_dropped", PORT_DISCARDS },
	{ "cc_rx_cnp_pkts", PORT_CNPS },
	{ "cnpHandled", PORT_CNPS },
	{ "completer_retry_err", PORT_RETRANSMISSIONS },
	{ "ip4InDiscards", PORT_DISCARDS },
	{ "ip6InDiscards", PORT_DISCARDS },
	{ "local_ack_timeout_err", PORT_ACK_TIMEOUTS },
	{ "max_retry_exceeded", PORT_RETRIES_EXCEEDED },
	{ "oos_drop_count", PORT_OUT_OF_SEQUENCE },
	{ "out_of_buffer", PORT_DISCARDS },
	{ "out_of_seq_request", PORT_OUT_OF_SEQUENCE },
	{ "out_of_sequence", PORT_OUT_OF_SEQUENCE },
	{ "packet_seq_err", PORT_RETRANSMISSIONS },
	{ "port_rcv_errors", PORT_RECEIVE_ERRORS },
	{ "port_xmit_discards", PORT_DISCARDS },
	{ "received_cnps", PORT_CNPS },
	{ "req_rnr_retries_exceeded", PORT_RETRIES_EXCEEDED },
	{ "req_rx_pkt_seq_err", PORT_RETRANSMISSIONS },
	{ "req_transport_retries_exceeded", PORT_RETRIES_EXCEEDED },
	{ "req_tx_retry_excd_err", PORT_RETRIES_EXCEEDED },
	{ "requester_oos_nak", PORT_RETRANSMISSIONS },
	{ "requester_retries_exceeded", PORT_RETRIES_EXCEEDED },
	{ "requester_timeout", PORT_RETRANSMISSIONS },
	{ "res_oos_drop_count", PORT_OUT_OF_SEQUENCE },
	{ "resp_rx_outof_buf", PORT_DISCARDS },
	{ "resp_rx_outouf_seq", PORT_OUT_OF_SEQUENCE },
	{ "responder_oos", PORT_OUT_OF_SEQUENCE },
	{ "retrans_pkts", PORT_RETRANSMISSIONS },
	{ "retry_exceeded_err", PORT_RETRIES_EXCEEDED },
	{ "retry_rnr_exceeded_err", PORT_RETRIES_EXCEEDED },
	{ "rp_cnp_handled", PORT_CNPS },
	{ "rx_cnp_pkt", PORT_CNPS },
	{ "rx_cnp_pkts", PORT_CNPS },
	{ "rx_drops", PORT_DISCARDS },
	{ "rx_out_of_buffer", PORT_DISCARDS },
	{ "rx_rdma_cnp_pkts", PORT_CNPS },
	{ "rx_roce_discards", PORT_DISCARDS },
	{ "seq_err_naks_rcvd", PORT_RETRANSMISSIONS },
	{ "tcpRetransSegs", PORT_RETRANSMISSIONS },
	{ "to_retransmits", PORT_RETRANSMISSIONS },
	{ "tx_rdma_retx_pkts", PORT_RETRANSMISSIONS },
	{ "tx_roce_discards", PORT_DISCARDS },
};

static int compare_name(gconstpointer name, gconstpointer row)
{
	return strcmp(name, ((const struct ErrorName *)row)->name);
}

static guint32 part_of(const struct ErrorName *row, RdmadCounterGroup group)
{
	guint i = 0;

	for (const struct ErrorName *other = error_names; other < row; other++)
		i += other->kind == row->kind;
	return port_part(group, i);
}

static gboolean is_of_port(const RdmadCounter *counter, guint port, gboolean alone)
{
	if (counter->group == RDMAD_COUNTER_DEVICE)
		return alone;
	return counter->port == port &&
	       (counter->group == RDMAD_COUNTER_PORT || counter->group == RDMAD_COUNTER_HW);
}

static void counter_add(const RdmadCounter *counter, PortError errors[PORT_ERROR_KINDS])
{
	const struct ErrorName *row = bsearch(counter->name, error_names, G_N_ELEMENTS(error_names),
					      sizeof(*error_names), compare_name);

	if (!row)
		return;
	if (counter->errnum) {
		errors[row->kind].parts.failed |= part_of(row, counter->group);
		return;
	}
	errors[row->kind].parts.read |= part_of(row, counter->group);
	errors[row->kind].total += counter->value;
}

static void group_fail(RdmadCounterGroup group, PortError errors[PORT_ERROR_KINDS])
{
	for (guint kind = 0; kind < PORT_ERROR_KINDS; kind++)
		errors[kind].parts.failed |= port_parts_of(group);
}

void port_errors_read(const RdmadReading *reading, guint port, gboolean alone,
		      PortError errors[PORT_ERROR_KINDS])
{
	memset(errors, 0, PORT_ERROR_KINDS * sizeof(*errors));
	for (guint i = 0; i < reading->n_counters; i++) {
		const RdmadCounter *counter = &reading->counters[i];

		if (!is_of_port(counter, port, alone))
			continue;
		if (counter->name)
			counter_add(counter, errors);
		else
			group_fail(counter->group, errors);
	}
}
