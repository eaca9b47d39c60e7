/* SPDX-License-Identifier: Apache-2.0 */
/* How many bits count: PMA counters stop at their maximum, those of hardware begin anew. */
#include "names.h"

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

/* mlx4's diagnostic counters are be32 as well; the other drivers add up in 64 bits themselves. */
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
