/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of a port of which some know less than others */
#include <errno.h>
#include <jansson.h>

#include "traffic/traffic.h"
#include "../support/unit.h"

#define S      G_USEC_PER_SEC
#define KEPT_S (TRAFFIC_KEPT_US / S)

#define COUNTER(group, port, name, ...)                                                            \
	{                                                                                          \
		RDMAD_COUNTER_##group, port, NULL, name, __VA_ARGS__                               \
	}
#define PORT(name, value)	  COUNTER(PORT, 1, name, value)
#define HW(name, value)		  COUNTER(HW, 1, name, value)
#define DEVICE(name, value)	  COUNTER(DEVICE, 0, name, value)
#define FAILED(group, port, name) COUNTER(group, port, name, 0, EMFILE)
#define NO_PORT			  FAILED(PORT, 1, NULL)
#define WORDS(v)		  PORT("port_rcv_data", v), PORT("port_xmit_data", v)
#define NO_WORDS		  FAILED(PORT, 1, "port_rcv_data"), FAILED(PORT, 1, "port_xmit_data")
#define OCTETS(g, v)		  g("rx_bytes", v), g("tx_bytes", v)
#define PACKETS(v)		  HW("rcvd_pkts", v), HW("sent_pkts", v)
#define LINK_PACKETS(v)		  PORT("port_rcv_packets", v), PORT("port_xmit_packets", v)
#define DISCARDS(v)		  PORT("port_xmit_discards", v)
#define DROPS(g, v)		  g("out_of_buffer", v)
#define SUM(kind, total, rate)	  "{\"kind\":\"" kind "\",\"total\":" total ",\"per_second\":" rate "}"

typedef struct {
	gint64 seconds; /* 0: no more of them */
	RdmadCounter counters[4];
} Step;

typedef struct {
	const char *name;
	Step steps[4];
	/* After the last one; NULL: not looked at. */
	const char *unit, *received, *errors, *finding;
	const char *vpd_model;
} Case;

static const Case cases[] = {
	{ "a-group-that-failed-once",
	  { { 10, { WORDS(1000), OCTETS(HW, 70000) } },
	    { 12, { NO_PORT, OCTETS(HW, 71000) } },
	    { 14, { WORDS(2000), OCTETS(HW, 72000) } } },
	  "\"bytes\"",
	  "[1000]" },
	{ "counters-that-failed-twice",
	  { { 10, { WORDS(1000), OCTETS(HW, 70000) } },
	    { 12, { NO_WORDS, OCTETS(HW, 71000) } },
	    { 14, { NO_WORDS, OCTETS(HW, 72000) } },
	    { 18, { WORDS(3000), OCTETS(HW, 73000) } } },
	  "\"bytes\"",
	  "[1000]" },
	{ "one-direction-that-failed-once",
	  { { 10, { WORDS(1000), OCTETS(HW, 70000) } },
	    { 12,
	      { PORT("port_rcv_data", 1500), FAILED(PORT, 1, "port_xmit_data"),
		OCTETS(HW, 71000) } },
	    { 14, { WORDS(2000), OCTETS(HW, 72000) } } },
	  "\"bytes\"",
	  "[1000]" },
	{ "bytes-that-failed-once-are-no-packets",
	  { { 10, { WORDS(1000), PACKETS(7) } },
	    { 12, { NO_PORT, PACKETS(8) } },
	    { 14, { WORDS(2000), PACKETS(9) } } },
	  "\"bytes\"",
	  "[1000]" },
	{ "of-the-port-and-of-the-device",
	  { { 10, { OCTETS(HW, 1000), OCTETS(DEVICE, 70000) } },
	    { 12, { FAILED(HW, 1, NULL), OCTETS(DEVICE, 71000) } },
	    { 14, { OCTETS(HW, 5000), OCTETS(DEVICE, 72000) } } },
	  "\"bytes\"",
	  "[1000]" },
	{ "a-device-without-the-better-one-since",
	  { { 10, { WORDS(1000), OCTETS(HW, 70000) } },
	    { 12, { OCTETS(HW, 71000) } },
	    { 14, { OCTETS(HW, 75000) } } },
	  "\"bytes\"",
	  "[2000]" },
	{ "a-better-one-that-always-fails",
	  { { 10, { NO_WORDS, OCTETS(HW, 70000) } },
	    { 12, { NO_WORDS, OCTETS(HW, 72000) } },
	    { 14, { NO_PORT, OCTETS(HW, 76000) } } },
	  "\"bytes\"",
	  "[1000,2000]" },
	{ "a-better-one-that-failed-first",
	  { { 10, { NO_PORT, OCTETS(HW, 70000) } },
	    { 12, { WORDS(1000), OCTETS(HW, 72000) } },
	    { 14, { WORDS(2000), OCTETS(HW, 76000) } } },
	  "\"bytes\"",
	  "[2000]" },
	{ "one-that-fails-is-kept-ten-minutes",
	  { { 10, { WORDS(1000), PACKETS(70000) } },
	    { 12, { NO_PORT, PACKETS(71000) } },
	    { 10 + KEPT_S, { NO_PORT, PACKETS(72000) } } },
	  "\"bytes\"",
	  "[]" },
	{ "one-that-fails-longer-is-given-up",
	  { { 10, { WORDS(1000), PACKETS(70000) } },
	    { 12, { NO_PORT, PACKETS(71000) } },
	    { 11 + KEPT_S, { NO_PORT, PACKETS(72000) } },
	    { 13 + KEPT_S, { NO_PORT, PACKETS(74000) } } },
	  "\"packets\"",
	  "[1000]" },
	{ "a-part-of-errors-that-fails",
	  { { 10, { DISCARDS(10), DROPS(HW, 100) } }, { 12, { NO_PORT, DROPS(HW, 200) } } },
	  .errors = "[" SUM("discards", "110", "null") "]" },
	{ "a-part-of-errors-that-failed-once",
	  { { 10, { DISCARDS(10), DROPS(HW, 100) } },
	    { 12, { NO_PORT, DROPS(HW, 101) } },
	    { 14, { DISCARDS(12), DROPS(HW, 102) } } },
	  .errors = "[" SUM("discards", "114", "1.0") "]" },
	{ "a-counter-of-errors-that-failed-once",
	  { { 10, { DISCARDS(10), DROPS(HW, 100) } },
	    { 12, { DISCARDS(11), FAILED(HW, 1, "out_of_buffer") } },
	    { 14, { DISCARDS(12), DROPS(HW, 102) } } },
	  .errors = "[" SUM("discards", "114", "1.0") "]" },
	{ "all-errors-that-failed-once",
	  { { 10, { DISCARDS(10) } }, { 12, { NO_PORT } }, { 14, { DISCARDS(14) } } },
	  .errors = "[" SUM("discards", "14", "1.0") "]" },
	{ "errors-of-the-device-that-failed-once",
	  { { 10, { DROPS(HW, 10), DROPS(DEVICE, 100) } },
	    { 12, { DROPS(HW, 11), FAILED(DEVICE, 0, NULL) } },
	    { 14, { DROPS(HW, 12), DROPS(DEVICE, 102) } } },
	  .errors = "[" SUM("discards", "114", "1.0") "]" },
	{ "a-failure-at-once-after-a-reading",
	  { { 10, { DISCARDS(10), DROPS(HW, 100) } },
	    { 12, { DISCARDS(12), DROPS(HW, 100) } },
	    { 12, { NO_PORT, DROPS(HW, 100) } } },
	  .errors = "[" SUM("discards", "112", "1.0") "]" },
	{ "a-part-of-errors-that-failed-first",
	  { { 10, { NO_PORT, DROPS(HW, 100) } }, { 12, { DISCARDS(10), DROPS(HW, 100) } } },
	  .errors = "[" SUM("discards", "110", "null") "]" },
	{ "a-part-of-errors-that-always-fails",
	  { { 10, { NO_PORT, DROPS(HW, 100) } }, { 12, { NO_PORT, DROPS(HW, 102) } } },
	  .errors = "[" SUM("discards", "102", "1.0") "]" },
	{ "a-device-without-a-part-of-errors-since",
	  { { 10, { DISCARDS(10), DROPS(HW, 100) } }, { 12, { DROPS(HW, 200) } } },
	  .errors = "[" SUM("discards", "200", "null") "]" },
	{ "a-part-of-errors-that-fails-is-kept-ten-minutes",
	  { { 10, { DISCARDS(10), DROPS(HW, 100) } },
	    { 12, { NO_PORT, DROPS(HW, 101) } },
	    { 10 + KEPT_S, { NO_PORT, DROPS(HW, 102) } } },
	  .errors = "[" SUM("discards", "110", "null") "]" },
	{ "a-part-of-errors-that-fails-longer-is-given-up",
	  { { 10, { DISCARDS(10), DROPS(HW, 100) } },
	    { 12, { NO_PORT, DROPS(HW, 101) } },
	    { 11 + KEPT_S, { NO_PORT, DROPS(HW, 102) } },
	    { 13 + KEPT_S, { NO_PORT, DROPS(HW, 104) } } },
	  .errors = "[" SUM("discards", "104", "1.0") "]" },
	{ "other-errors-go-on",
	  { { 10, { DISCARDS(10), HW("rx_cnp_pkts", 1), DROPS(DEVICE, 100) } },
	    { 12, { NO_PORT, HW("rx_cnp_pkts", 3), FAILED(DEVICE, 0, NULL) } } },
	  .errors = "[" SUM("congestion_notifications", "3", "1.0") "," SUM("discards", "110",
									    "null") "]" },
	{ "a-sum-that-is-whole-again-is-no-loss",
	  { { 10, { DISCARDS(1000000), DROPS(HW, 5) } },
	    { 20, { NO_PORT, DROPS(HW, 5) } },
	    { 30, { DISCARDS(1000000), DROPS(HW, 5) } } },
	  .finding = "" },
	{ "a-loss-is-remembered-while-a-part-fails",
	  { { 10, { DISCARDS(0), DROPS(HW, 0) } },
	    { 20, { DISCARDS(500), DROPS(HW, 501) } },
	    { 22, { NO_PORT, DROPS(HW, 501) } } },
	  .finding = "port 1 discards packets: 1001 in 10 s" },
	{ "a-loss-of-a-device-that-is-no-nic",
	  { { 10, { DISCARDS(0), DROPS(HW, 0) } }, { 20, { DISCARDS(5000), DROPS(HW, 500) } } },
	  .errors = "[" SUM("discards", "5500", "550.0") "]",
	  .finding = "",
	  .vpd_model = "SW_MNG" },
	{ "a-loss-is-remembered-while-packets-fail",
	  { { 10, { LINK_PACKETS(0), HW("out_of_sequence", 0) } },
	    { 20, { LINK_PACKETS(1000000), HW("out_of_sequence", 200) } },
	    { 22, { NO_PORT, HW("out_of_sequence", 200) } } },
	  .finding = "port 1 receives packets out of sequence: 200 in 10 s" },
	{ "packets-of-another-source-are-none",
	  { { 10, { LINK_PACKETS(0), HW("out_of_sequence", 0) } },
	    { 20, { PACKETS(1000000), HW("out_of_sequence", 200) } } },
	  .finding = "" },
};

static void take(Traffic *traffic, const Step *step, const char *vpd_model)
{
	RdmadReading reading = { .counters = (RdmadCounter *)step->counters,
				 .time_us = step->seconds * S };
	RdmadPort port = { .number = 1 };
	RdmadDevice device = {
		.id = (char *)"dev",
		.name = (char *)"dev",
		.vpd_model = (char *)vpd_model,
		.ports = &port,
		.n_ports = 1,
	};
	const DeviceSample sample = { .device = &device, .reading = &reading };

	while (reading.n_counters < G_N_ELEMENTS(step->counters) &&
	       (step->counters[reading.n_counters].name ||
		step->counters[reading.n_counters].errnum))
		reading.n_counters++;
	traffic_take(traffic, &sample, reading.time_us);
}

static void assert_member(const json_t *object, const char *member, const char *expected)
{
	g_autofree char *text = NULL;

	if (!expected)
		return;
	text = json_dumps(json_object_get(object, member), JSON_COMPACT | JSON_ENCODE_ANY);
	g_assert_cmpstr(text, ==, expected);
}

static void assert_finding(const Traffic *traffic, gint64 now_us, const char *expected)
{
	json_t *findings = json_array();
	const char *text;

	traffic_doctor(traffic, now_us, findings);
	text = json_string_value(json_object_get(json_array_get(findings, 0), "text"));
	g_assert_cmpstr(text ? text : "", ==, expected);
	json_decref(findings);
}

static void test_case(gconstpointer data)
{
	const Case *row = data;
	g_autoptr(Traffic) traffic = traffic_new();
	json_t *answer, *port;
	gint64 last_us = 0;

	for (guint i = 0; i < G_N_ELEMENTS(row->steps) && row->steps[i].seconds; i++) {
		take(traffic, &row->steps[i], row->vpd_model);
		last_us = row->steps[i].seconds * S;
	}
	answer = traffic_json(traffic, 0, last_us);
	port = json_array_get(json_object_get(answer, "ports"), 0);
	assert_member(port, "unit", row->unit);
	assert_member(port, "received", row->received);
	assert_member(port, "errors", row->errors);
	json_decref(answer);
	if (row->finding)
		assert_finding(traffic, last_us, row->finding);
}

const UnitTest unit_tests[] = {
	UNIT_CASES("/traffic-unread/", cases, test_case),
	{ 0 },
};
