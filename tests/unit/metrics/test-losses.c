/* SPDX-License-Identifier: Apache-2.0 */
#include "traffic/losses.h"

#include <jansson.h>
#include <string.h>

#include "../support/unit.h"

#define S	G_USEC_PER_SEC
#define MILLION 1000000u

/* A port at the beginning, and `seconds` later. */
typedef struct {
	const char *name;
	guint seconds;
	guint received, transmitted; /* packets of that time */
	guint errors[PORT_ERROR_KINDS];
	const char *found;
} Case;

static const Case cases[] = {
	{ "nothing", 60, MILLION, MILLION, { 0 }, "" },
	{ "congestion", 60, MILLION, MILLION, { [PORT_CNPS] = 500000 }, "" },
	{ "few-out-of-sequence", 60, MILLION, MILLION, { [PORT_OUT_OF_SEQUENCE] = 100 }, "" },
	{ "out-of-sequence",
	  60,
	  MILLION,
	  MILLION,
	  { [PORT_OUT_OF_SEQUENCE] = 101 },
	  "port 1 receives packets out of sequence: 101 in 60 s" },
	{ "out-of-sequence-of-few-packets", 60, 60000, 0, { [PORT_OUT_OF_SEQUENCE] = 5000 }, "" },
	{ "retransmissions-of-both-kinds",
	  60,
	  0,
	  MILLION,
	  { [PORT_RETRANSMISSIONS] = 60, [PORT_ACK_TIMEOUTS] = 41 },
	  "port 1 sends packets again: 101 in 60 s" },
	{ "timeouts-without-traffic",
	  60,
	  0,
	  0,
	  { [PORT_ACK_TIMEOUTS] = 61 },
	  "port 1 gets no acknowledgements: 61 in 60 s" },
	{ "few-timeouts", 60, 0, 0, { [PORT_ACK_TIMEOUTS] = 60 }, "" },
	{ "a-broken-connection",
	  60,
	  0,
	  0,
	  { [PORT_RETRIES_EXCEEDED] = 1 },
	  "port 1 had connections that broke after all retries: 1 in 60 s" },
	{ "damaged",
	  60,
	  0,
	  0,
	  { [PORT_RECEIVE_ERRORS] = 601 },
	  "port 1 receives damaged packets: 601 in 60 s" },
	{ "few-damaged", 60, 0, 0, { [PORT_RECEIVE_ERRORS] = 600 }, "" },
	{ "discards",
	  60,
	  0,
	  0,
	  { [PORT_DISCARDS] = 6001 },
	  "port 1 discards packets: 6001 in 60 s" },
	{ "two",
	  60,
	  MILLION,
	  0,
	  { [PORT_OUT_OF_SEQUENCE] = 200, [PORT_DISCARDS] = 6001 },
	  "port 1 receives packets out of sequence: 200 in 60 s; "
	  "port 1 discards packets: 6001 in 60 s" },
	{ "too-short-to-say", 2, MILLION, 0, { [PORT_OUT_OF_SEQUENCE] = 200 }, "" },
	{ "after-a-gap", 301, MILLION, 0, { [PORT_RETRIES_EXCEEDED] = 1 }, "" },
};

static void take(PortLosses *losses, const Case *row, guint times, gint64 at_us)
{
	const PortTraffic packets = { "packets", 7 + (guint64)times * row->received,
				      9 + (guint64)times * row->transmitted };
	PortError errors[PORT_ERROR_KINDS];

	for (guint kind = 0; kind < PORT_ERROR_KINDS; kind++)
		errors[kind] =
			(PortError){ 1000 + (guint64)times * row->errors[kind], { .read = 1 } };
	port_losses_take(losses, errors, &packets, at_us);
}

static char *findings_text(const PortLosses *losses, gint64 now_us)
{
	GString *text = g_string_new(NULL);
	json_t *findings = json_array(), *finding;
	size_t i;

	port_losses_doctor(losses, "mlx5_0", 1, now_us, findings);
	json_array_foreach(findings, i, finding)
	{
		g_assert_cmpstr(json_string_value(json_object_get(finding, "level")), ==,
				"problem");
		g_assert_cmpstr(json_string_value(json_object_get(finding, "subject")), ==,
				"mlx5_0");
		g_string_append_printf(text, "%s%s", i ? "; " : "",
				       json_string_value(json_object_get(finding, "text")));
	}
	json_decref(findings);
	return g_string_free(text, FALSE);
}

static void assert_found(const PortLosses *losses, gint64 now_us, const char *found)
{
	g_autofree char *text = findings_text(losses, now_us);

	g_assert_cmpstr(text, ==, found);
}

static void test_case(gconstpointer data)
{
	const Case *row = data;
	const gint64 end_us = (100 + row->seconds) * S;
	PortLosses losses = { 0 };

	take(&losses, row, 0, 100 * S);
	take(&losses, row, 1, end_us);
	assert_found(&losses, end_us, row->found);
}

static const Case broken = { "broken", 60, 0, 0, { [PORT_RETRIES_EXCEEDED] = 1 }, "" };

static void test_an_error_is_forgotten_after_five_minutes(void)
{
	PortLosses losses = { 0 };

	take(&losses, &broken, 0, 100 * S);
	for (gint64 at_us = 130 * S; at_us <= 370 * S; at_us += 30 * S)
		take(&losses, &broken, 1, at_us);
	assert_found(&losses, 370 * S,
		     "port 1 had connections that broke after all retries: 1 in 270 s");
	take(&losses, &broken, 1, 400 * S);
	assert_found(&losses, 400 * S, "");
}

static void test_counters_that_begin_again_are_no_errors(void)
{
	PortLosses losses = { 0 };

	take(&losses, &broken, 1, 100 * S);
	take(&losses, &broken, 0, 130 * S);
	take(&losses, &broken, 0, 160 * S);
	assert_found(&losses, 160 * S, "");
}

static void test_readings_that_ended_say_nothing(void)
{
	PortLosses losses = { 0 };

	take(&losses, &broken, 0, 100 * S);
	take(&losses, &broken, 1, 130 * S);
	assert_found(&losses, 430 * S,
		     "port 1 had connections that broke after all retries: 1 in 30 s");
	assert_found(&losses, 431 * S, "");
}

static void test_errors_that_were_unreadable_once_are_no_new_ones(void)
{
	const PortError unread[PORT_ERROR_KINDS] = { [PORT_RETRIES_EXCEEDED].parts.failed = 1 };
	const PortTraffic packets = { "packets", 7, 9 };
	PortLosses losses = { 0 };

	take(&losses, &broken, 0, 100 * S);
	port_losses_take(&losses, unread, &packets, 130 * S);
	take(&losses, &broken, 0, 160 * S);
	assert_found(&losses, 160 * S, "");
	take(&losses, &broken, 1, 190 * S);
	assert_found(&losses, 190 * S,
		     "port 1 had connections that broke after all retries: 1 in 90 s");
}

#define TEST(name) UNIT_TEST("/losses/" #name, test_##name)

const UnitTest unit_tests[] = {
	UNIT_CASES("/losses/", cases, test_case),
	TEST(an_error_is_forgotten_after_five_minutes),
	TEST(counters_that_begin_again_are_no_errors),
	TEST(errors_that_were_unreadable_once_are_no_new_ones),
	TEST(readings_that_ended_say_nothing),
	{ NULL },
};
