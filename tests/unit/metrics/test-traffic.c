/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <jansson.h>

#include "traffic/traffic.h"
#include "../support/unit.h"

#define S G_USEC_PER_SEC

/* A device with one port that has counted `words` in each direction at `time_us`; one process has
 * three queue pairs, another one only a context. */
static void take_unlisted(Traffic *traffic, const char *id, guint64 words, gint64 time_us,
			  guint unlisted)
{
	RdmadCounter counters[] = { { RDMAD_COUNTER_PORT, 1, NULL, "port_rcv_data", words },
				    { RDMAD_COUNTER_PORT, 1, NULL, "port_xmit_data", 2 * words } };
	RdmadDeviceUser users[] = { { .pid = 0, .objects = { [RDMAD_USES_QP] = 1 } },
				    { .pid = 1, .objects = { [RDMAD_USES_CTX] = 1 } },
				    { .pid = 7, .objects = { [RDMAD_USES_QP] = 3 } } };
	RdmadReading reading = { .counters = counters,
				 .n_counters = 2,
				 .users = users,
				 .n_users = 3,
				 .users_unlisted = unlisted,
				 .time_us = time_us };
	RdmadPort port = { .number = 1 };
	RdmadDevice device = { .id = (char *)id, .name = (char *)id, .ports = &port, .n_ports = 1 };
	const DeviceSample sample = { .device = &device, .reading = &reading };

	traffic_take(traffic, &sample, time_us);
}

static void take_as(Traffic *traffic, const char *id, guint64 words, gint64 time_us)
{
	take_unlisted(traffic, id, words, time_us, 0);
}

static void take(Traffic *traffic, guint64 words, gint64 time_us)
{
	take_as(traffic, "dev", words, time_us);
}

/* The caller frees the result. */
static json_t *answer(Traffic *traffic, gint64 after, gint64 now_us)
{
	json_t *json = traffic_json(traffic, after, now_us);

	g_assert_nonnull(json);
	return json;
}

static json_t *rates(json_t *json, guint port, const char *which)
{
	return json_object_get(json_array_get(json_object_get(json, "ports"), port), which);
}

static void assert_rates(Traffic *traffic, gint64 after, gint64 now_us, const char *expected)
{
	json_t *json = answer(traffic, after, now_us);
	json_t *received = rates(json, 0, "received");
	char *text = json_dumps(received, JSON_COMPACT);

	g_assert_cmpstr(text, ==, expected);
	g_assert_cmpuint(json_array_size(rates(json, 0, "ages_ms")), ==, json_array_size(received));
	free(text);
	json_decref(json);
}

static void take_errors(Traffic *traffic, guint64 naks, guint64 timeouts, gint64 time_us)
{
	RdmadCounter counters[] = {
		{ RDMAD_COUNTER_HW, 1, NULL, "packet_seq_err", naks },
		{ RDMAD_COUNTER_HW, 1, NULL, "to_retransmits", timeouts },
		{ RDMAD_COUNTER_HW, 2, NULL, "packet_seq_err", 1000 },
		{ RDMAD_COUNTER_HW, 1, NULL, "out_of_sequence", 0, EIO },
		{ RDMAD_COUNTER_DEVICE, 0, NULL, "cnpHandled", 7 },
	};
	RdmadReading reading = { .counters = counters,
				 .n_counters = G_N_ELEMENTS(counters),
				 .time_us = time_us };
	RdmadPort port = { .number = 1 };
	RdmadDevice device = {
		.id = (char *)"dev", .name = (char *)"dev", .ports = &port, .n_ports = 1
	};
	const DeviceSample sample = { .device = &device, .reading = &reading };

	traffic_take(traffic, &sample, time_us);
}

static void assert_errors(Traffic *traffic, gint64 now_us, const char *expected)
{
	json_t *json = answer(traffic, 0, now_us);
	char *text = json_dumps(rates(json, 0, "errors"), JSON_COMPACT);

	g_assert_cmpstr(text, ==, expected);
	free(text);
	json_decref(json);
}

static void test_errors_of_one_kind_are_added_up_and_have_a_rate(void)
{
	g_autoptr(Traffic) traffic = traffic_new();

	take_errors(traffic, 5, 1, 10 * S);
	assert_errors(traffic, 10 * S,
		      "[{\"kind\":\"retransmissions\",\"total\":6,\"per_second\":null},"
		      "{\"kind\":\"congestion_notifications\",\"total\":7,\"per_second\":null}]");
	take_errors(traffic, 6, 2, 12 * S);
	assert_errors(traffic, 12 * S,
		      "[{\"kind\":\"retransmissions\",\"total\":8,\"per_second\":1.0},"
		      "{\"kind\":\"congestion_notifications\",\"total\":7,\"per_second\":0.0}]");
	take_errors(traffic, 0, 0, 14 * S);
	assert_errors(traffic, 14 * S,
		      "[{\"kind\":\"retransmissions\",\"total\":0,\"per_second\":null},"
		      "{\"kind\":\"congestion_notifications\",\"total\":7,\"per_second\":0.0}]");
}

static void test_a_rate_needs_two_readings(void)
{
	g_autoptr(Traffic) traffic = traffic_new();

	take(traffic, 1000, 10 * S);
	assert_rates(traffic, 0, 10 * S, "[]");
	take(traffic, 2000, 12 * S);
	assert_rates(traffic, 0, 12 * S, "[2000]");
}

static void test_rates_are_of_the_time_that_passed_between_readings(void)
{
	g_autoptr(Traffic) traffic = traffic_new();

	take(traffic, 0, 10 * S);
	take(traffic, 1000, 12 * S);
	take(traffic, 1500, 13 * S);
	take(traffic, 1500, 23 * S);
	assert_rates(traffic, 0, 23 * S, "[2000,2000,0]");
}

static void test_a_second_scraper_does_not_make_rates_of_nothing(void)
{
	g_autoptr(Traffic) traffic = traffic_new();

	take(traffic, 0, 10 * S);
	take(traffic, 1000, 12 * S);
	take(traffic, 1000, 12 * S);
	take(traffic, 1001, 12 * S + 1);
	take(traffic, 2000, 14 * S);
	assert_rates(traffic, 0, 14 * S, "[2000,2000]");
}

static void test_a_reset_is_unknown_not_a_rate(void)
{
	g_autoptr(Traffic) traffic = traffic_new();

	take(traffic, 5000, 10 * S);
	take(traffic, 10, 12 * S);
	take(traffic, 1010, 14 * S);
	assert_rates(traffic, 0, 14 * S, "[null,2000]");
}

/* A counter may have any value. */
static void test_a_counter_that_jumps_to_the_end_is_a_high_rate(void)
{
	g_autoptr(Traffic) traffic = traffic_new();
	json_t *json;

	take(traffic, 0, 10 * S);
	take(traffic, G_MAXUINT64 / 4, 11 * S);
	json = answer(traffic, 0, 11 * S);
	g_assert_cmpint(json_integer_value(json_array_get(rates(json, 0, "received"), 0)), >,
			G_MAXINT64 / 2);
	json_decref(json);
}

static void test_an_answer_begins_after_what_the_caller_has(void)
{
	g_autoptr(Traffic) traffic = traffic_new();
	json_t *json;
	gint64 last;

	take(traffic, 0, 10 * S);
	take(traffic, 1000, 12 * S);
	json = answer(traffic, 0, 12 * S);
	last = json_integer_value(json_object_get(json, "last"));
	json_decref(json);
	assert_rates(traffic, last, 12 * S, "[]");
	take(traffic, 2500, 14 * S);
	assert_rates(traffic, last, 14 * S, "[3000]");
}

/* Two devices may be read within one microsecond. */
static void test_no_two_samples_have_the_same_mark(void)
{
	g_autoptr(Traffic) traffic = traffic_new();
	json_t *json;
	gint64 last;

	take_as(traffic, "a", 0, 10 * S);
	take_as(traffic, "b", 0, 10 * S);
	take_as(traffic, "a", 1000, 12 * S);
	json = answer(traffic, 0, 12 * S);
	last = json_integer_value(json_object_get(json, "last"));
	json_decref(json);
	take_as(traffic, "b", 1000, 12 * S);
	json = answer(traffic, last, 12 * S);
	g_assert_cmpuint(json_array_size(rates(json, 0, "received")), ==, 0);
	g_assert_cmpuint(json_array_size(rates(json, 1, "received")), ==, 1);
	json_decref(json);
}

static void test_ten_minutes_are_kept(void)
{
	g_autoptr(Traffic) traffic = traffic_new();
	json_t *json;

	for (guint i = 0; i < 1000; i++)
		take(traffic, i * 1000, (10 + i) * S);
	json = answer(traffic, 0, 1010 * S);
	g_assert_cmpuint(json_array_size(rates(json, 0, "ages_ms")), ==, TRAFFIC_PORT_MAX);
	json_decref(json);
	/* After a pause without requests, older samples are not returned, and the pause itself
	 * yields no rate. */
	assert_rates(traffic, 0, 1010 * S + TRAFFIC_KEPT_US - S, "[4000]");
	take(traffic, 5, 2000 * S);
	assert_rates(traffic, 0, 2000 * S, "[]");
}

static void test_many_ports_share_the_memory(void)
{
	g_autoptr(Traffic) traffic = traffic_new();
	json_t *json;
	gsize all = 0;

	for (guint time = 1; time <= 60; time++)
		for (guint i = 0; i < 1024; i++) {
			g_autofree char *id = g_strdup_printf("dev%u", i);

			take_as(traffic, id, time * 1000, time * S);
		}
	json = answer(traffic, 0, 60 * S);
	for (guint i = 0; i < 1024; i++)
		all += json_array_size(rates(json, i, "ages_ms"));
	g_assert_cmpuint(all, ==, TRAFFIC_SAMPLE_MAX);
	json_decref(json);
}

static void test_ports_without_number_are_not_taken_without_end(void)
{
	g_autoptr(Traffic) traffic = traffic_new();
	json_t *json;

	for (guint i = 0; i < TRAFFIC_PORTS_MAX + 10; i++) {
		g_autofree char *id = g_strdup_printf("dev%u", i);

		take_as(traffic, id, 1, S);
	}
	json = answer(traffic, 0, S);
	g_assert_cmpuint(json_array_size(json_object_get(json, "ports")), ==, TRAFFIC_PORTS_MAX);
	g_assert_cmpuint(json_array_size(json_object_get(json, "users")), ==, TRAFFIC_PORTS_MAX);
	json_decref(json);
}

static void test_a_device_that_left_is_forgotten(void)
{
	g_autoptr(Traffic) traffic = traffic_new();
	json_t *json;

	take_as(traffic, "gone", 1, S);
	take_as(traffic, "here", 1, S + TRAFFIC_KEPT_US + 2);
	json = answer(traffic, 0, S + TRAFFIC_KEPT_US + 2);
	g_assert_cmpuint(json_array_size(json_object_get(json, "ports")), ==, 1);
	g_assert_cmpuint(json_array_size(json_object_get(json, "users")), ==, 1);
	json_decref(json);
	take_as(traffic, "gone", 5, 2 * (S + TRAFFIC_KEPT_US));
}

static void test_users_are_processes_with_queue_pairs(void)
{
	g_autoptr(Traffic) traffic = traffic_new();
	json_t *json, *users;

	take(traffic, 1, S);
	json = answer(traffic, 0, S);
	users = json_array_get(json_object_get(json, "users"), 0);
	g_assert_cmpint(json_integer_value(json_object_get(users, "queue_pairs")), ==, 3);
	g_assert_cmpint(json_integer_value(json_object_get(users, "processes")), ==, 1);
	json_decref(json);
}

static void test_queue_pairs_that_cannot_be_listed_are_not_none(void)
{
	g_autoptr(Traffic) traffic = traffic_new();
	json_t *json;

	take(traffic, 1, S);
	take_unlisted(traffic, "dev", 2, 2 * S, 1u << RDMAD_USES_QP);
	json = answer(traffic, 0, 2 * S);
	g_assert_cmpuint(json_array_size(json_object_get(json, "users")), ==, 0);
	json_decref(json);
}

static void test_a_device_that_failed_adds_nothing(void)
{
	g_autoptr(Traffic) traffic = traffic_new();
	RdmadPort port = { .number = 1 };
	RdmadDevice device = { .id = (char *)"dev", .ports = &port, .n_ports = 1 };
	const DeviceSample sample = { .device = &device, .error = (char *)"late" };
	json_t *json;

	traffic_take(traffic, &sample, S);
	json = answer(traffic, 0, S);
	g_assert_cmpuint(json_array_size(json_object_get(json, "ports")), ==, 0);
	json_decref(json);
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/traffic/a-rate-needs-two-readings", test_a_rate_needs_two_readings),
	UNIT_TEST("/traffic/errors-of-one-kind-are-added-up-and-have-a-rate",
		  test_errors_of_one_kind_are_added_up_and_have_a_rate),
	UNIT_TEST("/traffic/rates-are-of-the-time-that-passed-between-readings",
		  test_rates_are_of_the_time_that_passed_between_readings),
	UNIT_TEST("/traffic/a-second-scraper-does-not-make-rates-of-nothing",
		  test_a_second_scraper_does_not_make_rates_of_nothing),
	UNIT_TEST("/traffic/a-reset-is-unknown-not-a-rate", test_a_reset_is_unknown_not_a_rate),
	UNIT_TEST("/traffic/an-answer-begins-after-what-the-caller-has",
		  test_an_answer_begins_after_what_the_caller_has),
	UNIT_TEST("/traffic/a-counter-that-jumps-to-the-end-is-a-high-rate",
		  test_a_counter_that_jumps_to_the_end_is_a_high_rate),
	UNIT_TEST("/traffic/no-two-samples-have-the-same-mark",
		  test_no_two_samples_have_the_same_mark),
	UNIT_TEST("/traffic/ten-minutes-are-kept", test_ten_minutes_are_kept),
	UNIT_TEST("/traffic/many-ports-share-the-memory", test_many_ports_share_the_memory),
	UNIT_TEST("/traffic/ports-without-number-are-not-taken-without-end",
		  test_ports_without_number_are_not_taken_without_end),
	UNIT_TEST("/traffic/a-device-that-left-is-forgotten", test_a_device_that_left_is_forgotten),
	UNIT_TEST("/traffic/users-are-processes-with-queue-pairs",
		  test_users_are_processes_with_queue_pairs),
	UNIT_TEST("/traffic/queue-pairs-that-cannot-be-listed-are-not-none",
		  test_queue_pairs_that_cannot_be_listed_are_not_none),
	UNIT_TEST("/traffic/a-device-that-failed-adds-nothing",
		  test_a_device_that_failed_adds_nothing),
	{ 0 },
};
