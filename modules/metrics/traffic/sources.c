/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of a port's traffic, which differ between drivers */
#include <string.h>

#include "traffic/traffic.h"

/* Counters in words of 4 bytes: Documentation/ABI/stable/sysfs-class-infiniband; drivers' own
 * counters of octets: drivers/infiniband/hw/{mlx5,efa,bnxt_re,erdma,ionic}; soft-RoCE counts
 * packets only: drivers/infiniband/sw/rxe/rxe_hw_counters.c. */
typedef struct {
	RdmadCounterGroup group;
	const char *received, *transmitted;
	guint factor;
	const char *unit;
} Source;

/* In the order of preference. */
static const Source traffic_sources[] = {
	{ RDMAD_COUNTER_PORT, "port_rcv_data", "port_xmit_data", 4, "bytes" },
	{ RDMAD_COUNTER_HW, "rdma_rx_bytes", "rdma_tx_bytes", 1, "bytes" },
	{ RDMAD_COUNTER_HW, "rx_bytes", "tx_bytes", 1, "bytes" },
	{ RDMAD_COUNTER_HW, "rx_bytes_cnt", "tx_bytes_cnt", 1, "bytes" },
	{ RDMAD_COUNTER_HW, "hw_rx_bytes_cnt", "hw_tx_bytes_cnt", 1, "bytes" },
	{ RDMAD_COUNTER_HW, "rx_rdma_ucast_bytes", "tx_rdma_ucast_bytes", 1, "bytes" },
	{ RDMAD_COUNTER_PORT, "port_rcv_packets", "port_xmit_packets", 1, "packets" },
	{ RDMAD_COUNTER_HW, "rcvd_pkts", "sent_pkts", 1, "packets" },
};

/* In the order of contrib/prometheus/recording.yml. */
static const Source packet_sources[] = {
	{ RDMAD_COUNTER_PORT, "port_rcv_packets", "port_xmit_packets", 1, "packets" },
	{ RDMAD_COUNTER_HW, "rx_pkts", "tx_pkts", 1, "packets" },
	{ RDMAD_COUNTER_HW, "rx_packets_cnt", "tx_packets_cnt", 1, "packets" },
	{ RDMAD_COUNTER_HW, "rcvd_pkts", "sent_pkts", 1, "packets" },
};

/* Sets `failed` if the counter or its group could not be read. */
static const RdmadCounter *counter_find(const RdmadReading *reading, RdmadCounterGroup group,
					guint port, const char *name, gboolean *failed)
{
	for (guint i = 0; i < reading->n_counters; i++) {
		const RdmadCounter *counter = &reading->counters[i];

		if (counter->group != group || counter->port != port ||
		    (counter->name && strcmp(counter->name, name) != 0))
			continue;
		if (counter->name && !counter->errnum)
			return counter;
		*failed = TRUE;
	}
	return NULL;
}

static gboolean source_read(const Source *source, const RdmadReading *reading,
			    RdmadCounterGroup group, guint port, guint32 part, PortTraffic *traffic)
{
	gboolean failed = FALSE;
	const RdmadCounter *received =
		counter_find(reading, group, port, source->received, &failed);
	const RdmadCounter *transmitted =
		received ? counter_find(reading, group, port, source->transmitted, &failed) : NULL;

	if (!transmitted) {
		traffic->parts.failed |= failed ? part : 0;
		return FALSE;
	}
	traffic->unit = source->unit;
	traffic->received = received->value * source->factor;
	traffic->transmitted = transmitted->value * source->factor;
	traffic->parts.read = part;
	return TRUE;
}

static gboolean sources_read(const Source *sources, gsize n, const RdmadReading *reading,
			     guint port, gboolean alone, PortTraffic *traffic)
{
	for (gsize i = 0; i < n; i++) {
		if (source_read(&sources[i], reading, sources[i].group, port,
				port_part(sources[i].group, i), traffic))
			return TRUE;
		if (alone && sources[i].group == RDMAD_COUNTER_HW &&
		    source_read(&sources[i], reading, RDMAD_COUNTER_DEVICE, 0,
				port_part(RDMAD_COUNTER_DEVICE, i), traffic))
			return TRUE;
	}
	return FALSE;
}

gboolean port_traffic_read(const RdmadReading *reading, guint port, gboolean alone,
			   PortTraffic *traffic)
{
	return sources_read(traffic_sources, G_N_ELEMENTS(traffic_sources), reading, port, alone,
			    traffic);
}

gboolean port_packets_read(const RdmadReading *reading, guint port, gboolean alone,
			   PortTraffic *packets)
{
	return sources_read(packet_sources, G_N_ELEMENTS(packet_sources), reading, port, alone,
			    packets);
}
