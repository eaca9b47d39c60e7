/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "hardware/counters/reading.h"
#include "../support/clock.h"
#include "../support/unit.h"

typedef struct {
	RdmadBackoff *backoff;
	RdmadReadingBuilder builder;
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
	f->backoff = rdmad_backoff_new();
	f->builder = (RdmadReadingBuilder){ .backoff = f->backoff, .clock = fake_clock };
	now_us = 1;
	rdmad_reading_builder_init(&f->builder);
}

static void teardown(Fixture *f, gconstpointer data)
{
	rdmad_reading_builder_clear(&f->builder);
	rdmad_backoff_unref(f->backoff);
}

static void add(Fixture *f, RdmadCounterGroup group, guint port, const char *netdev,
		const char *name, guint64 value)
{
	const RdmadCounterKey key = { group, port, netdev, name, FALSE };

	rdmad_reading_builder_add(&f->builder, &key, value);
}

/* One line per counter: "group port netdev name value". */
static void assert_finished(Fixture *f, const char *expected)
{
	g_autoptr(RdmadReading) reading = rdmad_reading_builder_finish(&f->builder);
	g_autoptr(GString) text = g_string_new(NULL);

	for (guint i = 0; i < reading->n_counters; i++) {
		const RdmadCounter *c = &reading->counters[i];

		g_string_append_printf(text, "%d %u %s %s %" G_GUINT64_FORMAT "!%d\n",
				       (int)c->group, c->port, c->netdev ? c->netdev : "-",
				       c->name ? c->name : "*", c->value, c->errnum);
	}
	g_assert_cmpstr(text->str, ==, expected);
}

static void test_a_held_list_lives_as_long_as_the_reading(Fixture *f, gconstpointer data)
{
	static const char *const names[] = { "eth0", "carrier_changes" };
	RdmadNameList *list = rdmad_name_list_new(names, G_N_ELEMENTS(names));
	const RdmadCounterKey key = { .group = RDMAD_COUNTER_LINK,
				      .netdev = list->names[0],
				      .name = list->names[1],
				      .held = TRUE };
	g_autoptr(RdmadReading) reading = NULL;

	rdmad_reading_builder_hold(&f->builder, list);
	rdmad_reading_builder_add(&f->builder, &key, 1);
	rdmad_name_list_unref(list);
	reading = rdmad_reading_builder_finish(&f->builder);
	g_assert_true(reading->counters[0].name == key.name);
	g_assert_cmpstr(reading->counters[0].netdev, ==, "eth0");
	g_assert_cmpstr(reading->counters[0].name, ==, "carrier_changes");
}

static void test_sources_may_add_in_any_order(Fixture *f, gconstpointer data)
{
	add(f, RDMAD_COUNTER_ETHTOOL, 0, "eth1", "rx_prio10_pause", 1);
	add(f, RDMAD_COUNTER_ETHTOOL, 0, "eth1", "rx_prio2_pause", 2);
	add(f, RDMAD_COUNTER_LINK, 0, "eth1", "carrier_changes", 3);
	add(f, RDMAD_COUNTER_ETHTOOL, 0, "eth0", "rx_prio2_pause", 4);
	add(f, RDMAD_COUNTER_PORT, 2, NULL, "symbol_error", 5);
	add(f, RDMAD_COUNTER_PORT, 1, NULL, "symbol_error", 6);
	add(f, RDMAD_COUNTER_PORT, 1, NULL, NULL, 7);
	add(f, RDMAD_COUNTER_DEVICE, 0, NULL, "cmds", 8);
	assert_finished(f, "0 1 - * 7!0\n"
			   "0 1 - symbol_error 6!0\n"
			   "0 2 - symbol_error 5!0\n"
			   "2 0 - cmds 8!0\n"
			   "3 0 eth1 carrier_changes 3!0\n"
			   "6 0 eth0 rx_prio2_pause 4!0\n"
			   "6 0 eth1 rx_prio2_pause 2!0\n"
			   "6 0 eth1 rx_prio10_pause 1!0\n");
}

static void test_a_name_that_a_driver_has_twice_counts_once(Fixture *f, gconstpointer data)
{
	add(f, RDMAD_COUNTER_HW, 1, NULL, "b", 1);
	add(f, RDMAD_COUNTER_HW, 1, NULL, "a", 2);
	add(f, RDMAD_COUNTER_HW, 1, NULL, "b", 3);
	add(f, RDMAD_COUNTER_HW, 2, NULL, "b", 4);
	add(f, RDMAD_COUNTER_HW, 1, NULL, "b", 5);
	assert_finished(f, "1 1 - a 2!0\n"
			   "1 1 - b 1!0\n"
			   "1 2 - b 4!0\n");
}

static void test_names_are_the_readings_own(Fixture *f, gconstpointer data)
{
	char netdev[] = "eth0", name[] = "rx_prio0_pause";

	add(f, RDMAD_COUNTER_ETHTOOL, 0, netdev, name, 1);
	netdev[0] = name[0] = 'X';
	assert_finished(f, "6 0 eth0 rx_prio0_pause 1!0\n");
}

/* A failure may take long: the back-off starts at its end. */
static void test_a_failure_is_held_from_when_it_was_seen(Fixture *f, gconstpointer data)
{
	const RdmadCounterKey key = { RDMAD_COUNTER_PORT, 1, NULL, "VL15_dropped" };

	g_assert_true(rdmad_reading_builder_may_read(&f->builder, &key));
	now_us += 8 * G_USEC_PER_SEC;
	rdmad_reading_builder_add_result(&f->builder, &key, 0, EIO);
	g_assert_false(f->builder.missing);
	assert_finished(f, "0 1 - VL15_dropped 0!5\n");

	now_us += RDMAD_BACKOFF_FIRST_US - 1;
	rdmad_reading_builder_init(&f->builder);
	g_assert_false(rdmad_reading_builder_may_read(&f->builder, &key));
	assert_finished(f, "0 1 - VL15_dropped 0!5\n");

	now_us++;
	rdmad_reading_builder_init(&f->builder);
	g_assert_true(rdmad_reading_builder_may_read(&f->builder, &key));
	assert_finished(f, "");
}

#define TEST(name) UNIT_FIXTURE_TEST("/reading/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(a_held_list_lives_as_long_as_the_reading),	  TEST(sources_may_add_in_any_order),
	TEST(a_name_that_a_driver_has_twice_counts_once), TEST(names_are_the_readings_own),
	TEST(a_failure_is_held_from_when_it_was_seen),	  { 0 },
};
