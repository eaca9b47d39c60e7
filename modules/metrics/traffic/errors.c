/* SPDX-License-Identifier: Apache-2.0 */
#include "traffic/errors.h"

#include <string.h>

#define NAMES_MAX 14u

const char *const port_error_names[PORT_ERROR_KINDS] = {
	[PORT_RETRANSMISSIONS] = "retransmissions",   [PORT_OUT_OF_SEQUENCE] = "out_of_sequence",
	[PORT_CNPS] = "congestion_notifications",     [PORT_DISCARDS] = "discards",
	[PORT_RETRIES_EXCEEDED] = "retries_exceeded",
};

/* Of mlx5, bnxt_re, rxe, irdma, efa, mana, ionic, hns; the meanings are in names/hw.c. */
static const char *const counter_names[PORT_ERROR_KINDS][NAMES_MAX] = {
	[PORT_RETRANSMISSIONS] = { "packet_seq_err", "local_ack_timeout_err", "seq_err_naks_rcvd",
				   "to_retransmits", "completer_retry_err", "requester_oos_nak",
				   "requester_timeout", "retrans_pkts", "tcpRetransSegs",
				   "req_rx_pkt_seq_err", "tx_rdma_retx_pkts" },
	[PORT_OUT_OF_SEQUENCE] = { "out_of_sequence", "res_oos_drop_count", "oos_drop_count",
				   "out_of_seq_request", "responder_oos", "resp_rx_outouf_seq" },
	[PORT_CNPS] = { "rp_cnp_handled", "rx_cnp_pkts", "rx_cnp_pkt", "cnpHandled",
			"received_cnps", "cc_rx_cnp_pkts", "rx_rdma_cnp_pkts" },
	[PORT_DISCARDS] = { "out_of_buffer", "rx_out_of_buffer", "resp_rx_outof_buf",
			    "rx_roce_discards", "tx_roce_discards", "rx_drops", "ip4InDiscards",
			    "ip6InDiscards", "port_xmit_discards", "VL15_dropped" },
	[PORT_RETRIES_EXCEEDED] = { "req_transport_retries_exceeded", "req_rnr_retries_exceeded",
				    "max_retry_exceeded", "retry_exceeded_err",
				    "retry_rnr_exceeded_err", "requester_retries_exceeded",
				    "req_tx_retry_excd_err" },
};

static gboolean is_of_port(const RdmadCounter *counter, guint port, gboolean alone)
{
	if (counter->errnum || !counter->name)
		return FALSE;
	if (counter->group == RDMAD_COUNTER_DEVICE)
		return alone;
	return counter->port == port &&
	       (counter->group == RDMAD_COUNTER_PORT || counter->group == RDMAD_COUNTER_HW);
}

static gboolean is_of_kind(const RdmadCounter *counter, PortErrorKind kind)
{
	for (guint i = 0; i < NAMES_MAX && counter_names[kind][i]; i++)
		if (strcmp(counter_names[kind][i], counter->name) == 0)
			return TRUE;
	return FALSE;
}

void port_errors_read(const RdmadReading *reading, guint port, gboolean alone,
		      PortError errors[PORT_ERROR_KINDS])
{
	memset(errors, 0, PORT_ERROR_KINDS * sizeof(*errors));
	for (guint i = 0; i < reading->n_counters; i++) {
		const RdmadCounter *counter = &reading->counters[i];

		for (guint kind = 0; kind < PORT_ERROR_KINDS && is_of_port(counter, port, alone);
		     kind++) {
			if (!is_of_kind(counter, kind))
				continue;
			errors[kind].known = TRUE;
			errors[kind].total += counter->value;
		}
	}
}
