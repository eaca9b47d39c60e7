/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of the port, which every driver with a performance agent has: 32-bit words are converted
 * to bytes. */
#include "names/table.h"

#define WORD 4 /* bytes, independent of the link width */

static const NameRow ROWS[] = {
	{ "VL15_dropped", "rdma_port_vl15_dropped", NULL,
	  "Management packets dropped for lack of buffers." },
	{ "excessive_buffer_overrun_errors", "rdma_port_excessive_buffer_overrun_errors", NULL,
	  "Buffer overruns in several consecutive flow control periods." },
	{ "link_downed", "rdma_port_link_downed", NULL,
	  "Link failures after failed error recovery." },
	{ "link_error_recovery", "rdma_port_link_error_recovery", NULL,
	  "Successful link error recoveries." },
	{ "local_link_integrity_errors", "rdma_port_local_link_integrity_errors", NULL,
	  "Local errors above the threshold." },
	{ "multicast_rcv_packets", "rdma_port_receive_multicast_packets", NULL,
	  "Multicast packets received, including those with errors." },
	{ "multicast_xmit_packets", "rdma_port_transmit_multicast_packets", NULL,
	  "Multicast packets sent, including those with errors." },
	{ "port_rcv_constraint_errors", "rdma_port_receive_constraint_errors", NULL,
	  "Packets received from a switch port and discarded by partition or filter rules." },
	{ "port_rcv_data", "rdma_port_receive_bytes", "bytes",
	  "Bytes of RDMA traffic received, without those of TCP/IP and of other functions.", WORD },
	{ "port_rcv_discards", "rdma_port_receive_discards", NULL,
	  "Packets received and discarded because of errors or a busy port." },
	{ "port_rcv_errors", "rdma_port_receive_errors", NULL, "Packets received with an error." },
	{ "port_rcv_packets", "rdma_port_receive_packets", NULL, "RDMA packets received." },
	{ "port_rcv_remote_physical_errors", "rdma_port_receive_remote_physical_errors", NULL,
	  "Packets received that the peer marked as bad." },
	{ "port_rcv_switch_relay_errors", "rdma_port_receive_switch_relay_errors", NULL,
	  "Packets received that a switch could not relay." },
	{ "port_xmit_constraint_errors", "rdma_port_transmit_constraint_errors", NULL,
	  "Packets not sent because of partition or filter rules." },
	{ "port_xmit_data", "rdma_port_transmit_bytes", "bytes",
	  "Bytes of RDMA traffic sent, without those of TCP/IP and of other functions.", WORD },
	{ "port_xmit_discards", "rdma_port_transmit_discards", NULL,
	  "Packets to send that were discarded because the port was down or congested." },
	{ "port_xmit_packets", "rdma_port_transmit_packets", NULL, "RDMA packets sent." },
	{ "port_xmit_wait", "rdma_port_transmit_wait_ticks", NULL,
	  "Ticks of the device's clock in which data to send had to wait." },
	{ "symbol_error", "rdma_port_symbol_errors", NULL,
	  "Minor errors on one or more lanes of the link." },
	{ "unicast_rcv_packets", "rdma_port_receive_unicast_packets", NULL,
	  "Unicast packets received, including those with errors." },
	{ "unicast_xmit_packets", "rdma_port_transmit_unicast_packets", NULL,
	  "Unicast packets sent, including those with errors." },
};

static gboolean is_known(const char *family)
{
	for (guint i = 0; i < G_N_ELEMENTS(ROWS); i++)
		if (g_str_equal(ROWS[i].family, family))
			return TRUE;
	return FALSE;
}

/* Maps "thing" and "port_thing" to one family, which is never one of ROWS. */
static char *family_of(const char *raw)
{
	g_autofree char *clean = names_sanitise(raw);
	const char *own = g_str_has_prefix(clean, "port_") && clean[5] ? clean + 5 : clean;
	char *family = g_strconcat("rdma_port_", own, NULL);

	if (!is_known(family))
		return family;
	g_free(family);
	return g_strconcat("rdma_port_counter_", own, NULL);
}

CounterName *names_port(const char *raw)
{
	const NameRow *row = name_row_find(ROWS, G_N_ELEMENTS(ROWS), raw);

	if (row)
		return counter_name_new(row);
	return counter_name_unknown(family_of(raw),
				    g_strdup_printf("Counter %s of the port.", raw));
}
