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

typedef struct {
	gint64 seconds; /* 0: no more of them */
	RdmadCounter counters[4];
} Step;

typedef struct {
	const char *name;
	Step steps[4];
	const char *unit, *received; /* of the answer after the last one */
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
};

static void take(Traffic *traffic, const Step *step)
{
	RdmadReading reading = { .counters = (RdmadCounter *)step->counters,
				 .time_us = step->seconds * S };
	RdmadPort port = { .number = 1 };
	RdmadDevice device = {
		.id = (char *)"dev", .name = (char *)"dev", .ports = &port, .n_ports = 1
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
	char *text = json_dumps(json_object_get(object, member), JSON_COMPACT | JSON_ENCODE_ANY);

	g_assert_cmpstr(text, ==, expected);
	free(text);
}

static void test_case(gconstpointer data)
{
	const Case *row = data;
	g_autoptr(Traffic) traffic = traffic_new();
	gint64 last_us = 0;
	json_t *json;

	for (guint i = 0; i < G_N_ELEMENTS(row->steps) && row->steps[i].seconds; i++) {
		take(traffic, &row->steps[i]);
		last_us = row->steps[i].seconds * S;
	}
	json = traffic_json(traffic, 0, last_us);
	assert_member(json_array_get(json_object_get(json, "ports"), 0), "unit", row->unit);
	assert_member(json_array_get(json_object_get(json, "ports"), 0), "received", row->received);
	json_decref(json);
}

const UnitTest unit_tests[] = {
	UNIT_CASES("/traffic-unread/", cases, test_case),
	{ 0 },
};
