/* SPDX-License-Identifier: Apache-2.0 */
#include "traffic-counters.h"

#include <string.h>

/*
 * In the order of preference.  Words of 4 bytes: Documentation/ABI/stable/sysfs-class-infiniband; the
 * drivers' own count octets: drivers/infiniband/hw/{mlx5,efa,bnxt_re,erdma,ionic}; soft-RoCE counts
 * packets alone: drivers/infiniband/sw/rxe/rxe_hw_counters.c.
 */
static const struct {
	RdmadCounterGroup group;
	const char *received, *transmitted;
	guint factor;
	const char *unit;
} sources[] = {
	{ RDMAD_COUNTER_PORT, "port_rcv_data", "port_xmit_data", 4, "bytes" },
	{ RDMAD_COUNTER_HW, "rdma_rx_bytes", "rdma_tx_bytes", 1, "bytes" },
	{ RDMAD_COUNTER_HW, "rx_bytes", "tx_bytes", 1, "bytes" },
	{ RDMAD_COUNTER_HW, "rx_bytes_cnt", "tx_bytes_cnt", 1, "bytes" },
	{ RDMAD_COUNTER_HW, "hw_rx_bytes_cnt", "hw_tx_bytes_cnt", 1, "bytes" },
	{ RDMAD_COUNTER_HW, "rx_rdma_ucast_bytes", "tx_rdma_ucast_bytes", 1, "bytes" },
	{ RDMAD_COUNTER_PORT, "port_rcv_packets", "port_xmit_packets", 1, "packets" },
	{ RDMAD_COUNTER_HW, "rcvd_pkts", "sent_pkts", 1, "packets" },
};

static const RdmadCounter *counter_find(const RdmadReading *reading, RdmadCounterGroup group,
					guint port, const char *name)
{
	for (guint i = 0; i < reading->n_counters; i++) {
		const RdmadCounter *counter = &reading->counters[i];

		if (counter->group == group && counter->port == port && !counter->errnum &&
		    counter->name && strcmp(counter->name, name) == 0)
			return counter;
	}
	return NULL;
}

static gboolean source_read(const RdmadReading *reading, gsize index, RdmadCounterGroup group,
			    guint port, PortTraffic *traffic)
{
	const RdmadCounter *received = counter_find(reading, group, port, sources[index].received);
	const RdmadCounter *transmitted =
		received ? counter_find(reading, group, port, sources[index].transmitted) : NULL;

	if (!transmitted)
		return FALSE;
	traffic->unit = sources[index].unit;
	traffic->received = received->value * sources[index].factor;
	traffic->transmitted = transmitted->value * sources[index].factor;
	return TRUE;
}

gboolean port_traffic_read(const RdmadReading *reading, guint port, gboolean alone,
			   PortTraffic *traffic)
{
	for (gsize i = 0; i < G_N_ELEMENTS(sources); i++) {
		if (source_read(reading, i, sources[i].group, port, traffic))
			return TRUE;
		if (alone && sources[i].group == RDMAD_COUNTER_HW &&
		    source_read(reading, i, RDMAD_COUNTER_DEVICE, 0, traffic))
			return TRUE;
	}
	return FALSE;
}
