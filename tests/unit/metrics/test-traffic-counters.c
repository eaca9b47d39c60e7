/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "traffic/traffic.h"
#include "../support/unit.h"

#define PORT   RDMAD_COUNTER_PORT
#define HW     RDMAD_COUNTER_HW
#define DEVICE RDMAD_COUNTER_DEVICE

typedef struct {
	const char *what;
	gboolean alone;
	RdmadCounter counters[6];
	const char *unit; /* NULL: no counter */
	guint64 received, transmitted;
} Case;

static const Case cases[] = {
	{ "words of four bytes",
	  TRUE,
	  { { PORT, 1, NULL, "port_rcv_data", 10 }, { PORT, 1, NULL, "port_xmit_data", 20 } },
	  "bytes",
	  40,
	  80 },
	{ "the port's own before the driver's",
	  TRUE,
	  { { HW, 1, NULL, "rdma_rx_bytes", 1 },
	    { HW, 1, NULL, "rdma_tx_bytes", 2 },
	    { PORT, 1, NULL, "port_rcv_data", 10 },
	    { PORT, 1, NULL, "port_xmit_data", 20 } },
	  "bytes",
	  40,
	  80 },
	{ "eRDMA counts octets",
	  TRUE,
	  { { HW, 1, NULL, "rx_bytes_cnt", 5500 }, { HW, 1, NULL, "tx_bytes_cnt", 3300 } },
	  "bytes",
	  5500,
	  3300 },
	{ "EFA",
	  TRUE,
	  { { HW, 1, NULL, "rx_bytes", 7 }, { HW, 1, NULL, "tx_bytes", 8 } },
	  "bytes",
	  7,
	  8 },
	{ "of the whole device, whose one port it is",
	  TRUE,
	  { { DEVICE, 0, NULL, "rx_bytes", 7 }, { DEVICE, 0, NULL, "tx_bytes", 8 } },
	  "bytes",
	  7,
	  8 },
	{ "of the whole device, of which it is one port",
	  FALSE,
	  { { DEVICE, 0, NULL, "rx_bytes", 7 }, { DEVICE, 0, NULL, "tx_bytes", 8 } } },
	{ "soft-RoCE has packets alone",
	  TRUE,
	  { { HW, 1, NULL, "rcvd_pkts", 3 }, { HW, 1, NULL, "sent_pkts", 4 } },
	  "packets",
	  3,
	  4 },
	{ "bytes that cannot be read leave packets",
	  TRUE,
	  { { PORT, 1, NULL, "port_rcv_data", 0, EINVAL },
	    { PORT, 1, NULL, "port_xmit_data", 0, EINVAL },
	    { PORT, 1, NULL, "port_rcv_packets", 5 },
	    { PORT, 1, NULL, "port_xmit_packets", 6 } },
	  "packets",
	  5,
	  6 },
	{ "one direction is not enough", TRUE, { { PORT, 1, NULL, "port_rcv_data", 10 } } },
	{ "another port's",
	  TRUE,
	  { { PORT, 2, NULL, "port_rcv_data", 10 }, { PORT, 2, NULL, "port_xmit_data", 20 } } },
	{ "a group that failed has no name", TRUE, { { PORT, 1, NULL, NULL, 0, EIO } } },
	{ "nothing", TRUE },
};

static guint count(const Case *c)
{
	guint n = 0;

	while (n < G_N_ELEMENTS(c->counters) && (c->counters[n].name || c->counters[n].errnum))
		n++;
	return n;
}

static void test_each_driver_tells_traffic_by_its_own_names(void)
{
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		const Case *c = &cases[i];
		const RdmadReading reading = { .counters = (RdmadCounter *)c->counters,
					       .n_counters = count(c) };
		PortTraffic traffic = { 0 };

		g_test_message("%s", c->what);
		g_assert_cmpint(port_traffic_read(&reading, 1, c->alone, &traffic), ==,
				c->unit != NULL);
		g_assert_cmpstr(traffic.unit, ==, c->unit);
		g_assert_cmpuint(traffic.received, ==, c->received);
		g_assert_cmpuint(traffic.transmitted, ==, c->transmitted);
	}
}

static void test_errors_of_a_kind_are_added_up(void)
{
	static const struct {
		RdmadCounter counter;
		gboolean alone;
		guint kind; /* PORT_ERROR_KINDS: no error of the port */
	} one[] = {
		{ { PORT, 1, NULL, "VL15_dropped", 3 }, TRUE, PORT_DISCARDS },
		{ { HW, 1, NULL, "tx_roce_discards", 3 }, TRUE, PORT_DISCARDS },
		{ { HW, 1, NULL, "packet_seq_err", 3 }, FALSE, PORT_RETRANSMISSIONS },
		{ { HW, 1, NULL, "tcpRetransSegs", 3 }, TRUE, PORT_RETRANSMISSIONS },
		{ { HW, 1, NULL, "out_of_sequence", 3 }, TRUE, PORT_OUT_OF_SEQUENCE },
		{ { HW, 1, NULL, "rx_cnp_pkts", 3 }, TRUE, PORT_CNPS },
		{ { HW, 1, NULL, "rx_cnp_pkt", 3 }, TRUE, PORT_CNPS },
		{ { DEVICE, 0, NULL, "max_retry_exceeded", 3 }, TRUE, PORT_RETRIES_EXCEEDED },
		{ { DEVICE, 0, NULL, "max_retry_exceeded", 3 }, FALSE, PORT_ERROR_KINDS },
		{ { HW, 2, NULL, "packet_seq_err", 3 }, TRUE, PORT_ERROR_KINDS },
		{ { HW, 1, NULL, "packet_seq_err", 3, EIO }, TRUE, PORT_ERROR_KINDS },
		{ { HW, 1, NULL, "packet_seq", 3 }, TRUE, PORT_ERROR_KINDS },
		{ { HW, 1, NULL, NULL, 0, EIO }, TRUE, PORT_ERROR_KINDS },
	};

	for (guint i = 0; i < G_N_ELEMENTS(one); i++) {
		RdmadCounter both[] = { one[i].counter, one[i].counter };
		const RdmadReading reading = { .counters = both, .n_counters = 2 };
		PortError errors[PORT_ERROR_KINDS];

		g_test_message("case %u", i);
		port_errors_read(&reading, 1, one[i].alone, errors);
		for (guint kind = 0; kind < PORT_ERROR_KINDS; kind++) {
			g_assert_cmpint(errors[kind].parts.read != 0, ==, kind == one[i].kind);
			g_assert_cmpuint(errors[kind].total, ==, kind == one[i].kind ? 6 : 0);
		}
	}
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/traffic-counters/errors-of-a-kind-are-added-up",
		  test_errors_of_a_kind_are_added_up),
	UNIT_TEST("/traffic-counters/each-driver-tells-traffic-by-its-own-names",
		  test_each_driver_tells_traffic_by_its_own_names),
	{ 0 },
};
