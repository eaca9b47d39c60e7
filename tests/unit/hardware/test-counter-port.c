/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <glib/gstdio.h>
#include <rdmad/device.h>
#include <rdmad/sysroot.h>

#include "hardware/counters/port.h"
#include "hardware/device.h"
#include "hardware/netlink/rdma.h"
#include "failing-calls.h"
#include "machine.h"
#include "../support/clock.h"
#include "../support/unit.h"

#define PORT_DIR "sys/class/infiniband/mlx5_0/ports/1"
#define HW	 PORT_DIR "/hw_counters"

/* Whether the kernel has statistics: returned by a wrapper (ld's --wrap). */
static gboolean kernel_knows;

int __real_rdmad_nldev_get_statistics(RdmadNetlink *nl, guint device, guint port,
				      RdmadNldevCounterFunc fn, gpointer data);
int __wrap_rdmad_nldev_get_statistics(RdmadNetlink *nl, guint device, guint port,
				      RdmadNldevCounterFunc fn, gpointer data);

int __wrap_rdmad_nldev_get_statistics(RdmadNetlink *nl, guint device, guint port,
				      RdmadNldevCounterFunc fn, gpointer data)
{
	if (!kernel_knows)
		return __real_rdmad_nldev_get_statistics(nl, device, port, fn, data);
	g_assert_cmpuint(port, ==, 1);
	fn("out_of_sequence", 5, data);
	return 0;
}

/* A port, and a socket whose other side does not know RDMA: each request returns EOPNOTSUPP. */
typedef struct {
	TestMachine *machine;
	RdmadDevice *dev;
	RdmadNetlink *ignorant;
	RdmadBackoff *backoff;
	RdmadCounterPort port;
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	now_us = 1;
	kernel_knows = FALSE;
	f->machine = test_machine_new_empty();
	f->dev = rdmad_device_new("mlx5_0", "mlx5_0");
	f->dev->index = 0;
	f->ignorant = rdmad_netlink_open(NETLINK_ROUTE, &error);
	g_assert_no_error(error);
	f->backoff = rdmad_backoff_new();
	rdmad_counter_port_init(&f->port, f->dev, 1);
}

static void teardown(Fixture *f, gconstpointer data)
{
	rdmad_counter_port_clear(&f->port);
	rdmad_backoff_unref(f->backoff);
	rdmad_netlink_close(f->ignorant);
	rdmad_device_unref(f->dev);
	test_machine_free(f->machine);
}

static void put(const Fixture *f, const char *path, const char *value)
{
	test_machine_put(f->machine, path, value, -1);
}

static RdmadReadingBuilder begin(const Fixture *f)
{
	RdmadReadingBuilder builder = {
		.root = f->machine->root,
		.dev = f->dev,
		.rdma = f->ignorant,
		.backoff = f->backoff,
		.clock = fake_clock,
	};

	rdmad_reading_builder_init(&builder);
	return builder;
}

/* Returns the driver's counters: "name=value;", or "!errno;" for all of them. */
static char *read_hw(Fixture *f)
{
	g_auto(RdmadReadingBuilder) builder = begin(f);
	g_autoptr(RdmadReading) reading = NULL;
	GString *text = g_string_new(NULL);

	rdmad_counter_port_read_hw(&f->port, &builder);
	reading = rdmad_reading_builder_finish(&builder);
	for (guint i = 0; i < reading->n_counters; i++) {
		const RdmadCounter *c = &reading->counters[i];

		if (c->errnum)
			g_string_append_printf(text, "%s!%s;", c->name ? c->name : "",
					       g_strerror(c->errnum));
		else
			g_string_append_printf(text, "%s=%" G_GUINT64_FORMAT ";", c->name,
					       c->value);
	}
	return g_string_free(text, FALSE);
}

static void assert_hw(Fixture *f, const char *expected)
{
	g_autofree char *text = read_hw(f);

	g_assert_cmpstr(text, ==, expected);
}

static void test_files_are_read_where_netlink_has_no_counters(Fixture *f, gconstpointer data)
{
	put(f, HW "/lifespan", "10\n");
	put(f, HW "/out_of_sequence", "3\n");
	assert_hw(f, "lifespan=10;out_of_sequence=3;");
	g_assert_cmpint(f->port.hw_files_us, >, now_us);
	assert_hw(f, "lifespan=10;out_of_sequence=3;");
}

/* The failure may have been temporary, and one request is much cheaper than many files. */
static void test_netlink_is_asked_again_after_a_minute(Fixture *f, gconstpointer data)
{
	put(f, HW "/out_of_sequence", "3\n");
	assert_hw(f, "out_of_sequence=3;");
	kernel_knows = TRUE;
	now_us += RDMAD_COUNTER_AGAIN_US - 1;
	assert_hw(f, "out_of_sequence=3;");
	now_us++;
	assert_hw(f, "out_of_sequence=5;");
}

static void test_netlink_has_all_but_the_setting_beside_them(Fixture *f, gconstpointer data)
{
	kernel_knows = TRUE;
	assert_hw(f, "out_of_sequence=5;");
	assert_hw(f, "out_of_sequence=5;");
	put(f, HW "/lifespan", "10\n");
	now_us += RDMAD_COUNTER_AGAIN_US;
	assert_hw(f, "lifespan=10;out_of_sequence=5;");
	put(f, HW "/lifespan", "20\n");
	assert_hw(f, "lifespan=10;out_of_sequence=5;");
	now_us += RDMAD_COUNTER_AGAIN_US;
	assert_hw(f, "lifespan=20;out_of_sequence=5;");
}

static void test_an_unreadable_setting_is_reported(Fixture *f, gconstpointer data)
{
	kernel_knows = TRUE;
	put(f, HW "/lifespan", "N/A\n");
	assert_hw(f, "lifespan!Bad message;out_of_sequence=5;");
	put(f, HW "/lifespan", "10\n");
	assert_hw(f, "lifespan!Bad message;out_of_sequence=5;");
	now_us += RDMAD_BACKOFF_FIRST_US;
	assert_hw(f, "lifespan=10;out_of_sequence=5;");
}

/* Otherwise a new failure would get the long back-off of old ones. */
static void test_a_source_that_recovered_has_a_short_back_off_again(Fixture *f, gconstpointer data)
{
	put(f, HW "/out_of_sequence", "refused\n");
	assert_hw(f, "!Operation not supported;");
	now_us += RDMAD_BACKOFF_FIRST_US;
	assert_hw(f, "!Operation not supported;");
	now_us += 2 * RDMAD_BACKOFF_FIRST_US;
	kernel_knows = TRUE;
	assert_hw(f, "out_of_sequence=5;");
	kernel_knows = FALSE;
	assert_hw(f, "!Operation not supported;");
	kernel_knows = TRUE;
	now_us += RDMAD_BACKOFF_FIRST_US;
	assert_hw(f, "out_of_sequence=5;");
}

static void test_a_port_without_counters_has_not_failed(Fixture *f, gconstpointer data)
{
	assert_hw(f, "");
	put(f, HW "/out_of_sequence", "3\n");
	now_us += RDMAD_COUNTER_AGAIN_US;
	assert_hw(f, "out_of_sequence=3;");
}

/* The driver logs one line for all counters, and then none. */
static void test_a_failing_driver_is_reported_once_for_all_counters(Fixture *f, gconstpointer data)
{
	put(f, HW "/lifespan", "10\n");
	put(f, HW "/out_of_buffer", "refused\n");
	put(f, HW "/out_of_sequence", "refused\n");
	assert_hw(f, "!Operation not supported;");
	put(f, HW "/out_of_buffer", "1\n");
	put(f, HW "/out_of_sequence", "2\n");
	now_us += RDMAD_BACKOFF_FIRST_US - 1;
	assert_hw(f, "!Operation not supported;");
	now_us++;
	assert_hw(f, "lifespan=10;out_of_buffer=1;out_of_sequence=2;");
}

/* mlx5's other counters are fresh for some milliseconds only after this one was read.  The first
 * file that is opened fails, after the directory was opened twice, for its files and for its
 * names. */
static void test_the_counter_that_makes_the_others_cheap_is_read_first(Fixture *f,
								       gconstpointer data)
{
	static const char *const names[] = { "duplicate_request", "lifespan", "rx_write_requests" };
	g_auto(RdmadReadingBuilder) builder = begin(f);
	const RdmadCounter *counters;

	builder.rdma = NULL;
	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *path = g_build_filename(HW, names[i], NULL);

		put(f, path, "1\n");
	}
	fault.count = 0;
	fault.at = 3;
	fault.errnum = EIO;
	rdmad_counter_port_read_hw(&f->port, &builder);
	fault.at = 0;
	counters = (const RdmadCounter *)(void *)builder.counters->data;
	g_assert_cmpuint(builder.counters->len, ==, G_N_ELEMENTS(names));
	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		g_assert_cmpstr(counters[i].name, ==, names[i]);
		g_assert_cmpint(counters[i].errnum, ==, i == 2 ? EIO : 0);
	}
}

/* Makes a directory with one counter, and turns netlink off. */
static void put_first(Fixture *f)
{
	f->port.hw_files_us = G_MAXINT64;
	put(f, HW "/a", "1\n");
	test_machine_settle(f->machine, HW);
}

/* The calls of a reading: the first opens the directory, the second lists it.  A counter is added
 * before, which the time of the directory shows with `is_changed`. */
static const struct {
	gboolean is_known, is_changed;
	guint at;
	int errnum;
	const char *failed;
	gint64 again_us; /* time until the directory is listed again */
} listings[] = {
	{ TRUE, FALSE, 2, EMFILE, "a=1;", 0 },
	{ TRUE, FALSE, 2, ENFILE, "a=1;", 0 },
	{ TRUE, FALSE, 2, ENOMEM, "a=1;", 0 },
	{ TRUE, FALSE, 2, EIO, "a=1;", 0 },
	{ TRUE, FALSE, 2, EPERM, "a=1;", 0 },
	{ TRUE, TRUE, 2, EMFILE, "!Too many open files;", 0 },
	{ TRUE, TRUE, 2, EIO, "!Input/output error;", RDMAD_BACKOFF_FIRST_US },
	{ FALSE, TRUE, 2, ENFILE, "!Too many open files in system;", 0 },
	{ FALSE, TRUE, 2, ENOMEM, "!Cannot allocate memory;", RDMAD_BACKOFF_FIRST_US },
	{ TRUE, FALSE, 1, EMFILE, "!Too many open files;", 0 },
	{ TRUE, FALSE, 2, EACCES, "!Permission denied;", RDMAD_COUNTER_AGAIN_US },
	{ TRUE, FALSE, 2, ENOENT, "", RDMAD_COUNTER_AGAIN_US },
};

static void assert_failed(Fixture *f, guint at, int errnum, const char *expected)
{
	fault.count = 0;
	fault.at = at;
	fault.errnum = errnum;
	assert_hw(f, expected);
	fault.at = 0;
}

static void test_a_listing_that_failed_once_is_no_fact(Fixture *f, gconstpointer data)
{
	for (gsize i = 0; i < G_N_ELEMENTS(listings); i++) {
		teardown(f, NULL);
		setup(f, NULL);
		put_first(f);
		if (listings[i].is_known)
			assert_hw(f, "a=1;");
		put(f, HW "/b", "2\n");
		if (!listings[i].is_changed)
			test_machine_settle(f->machine, HW);
		now_us += RDMAD_COUNTER_AGAIN_US;
		assert_failed(f, listings[i].at, listings[i].errnum, listings[i].failed);
		now_us += listings[i].again_us;
		assert_hw(f, "a=1;b=2;");
	}
}

/* The process may have no descriptor for several readings. */
static void test_names_outlive_readings_that_opened_nothing(Fixture *f, gconstpointer data)
{
	put_first(f);
	assert_hw(f, "a=1;");
	now_us += RDMAD_COUNTER_AGAIN_US;
	assert_failed(f, 1, EMFILE, "!Too many open files;");
	assert_failed(f, 2, EMFILE, "a=1;");
	assert_failed(f, 2, EMFILE, "a=1;");
}

/* The names are of the directory before, also in later readings. */
static void test_names_do_not_outlive_their_directory(Fixture *f, gconstpointer data)
{
	put_first(f);
	assert_hw(f, "a=1;");
	put(f, HW "/b", "2\n");
	assert_failed(f, 2, EMFILE, "!Too many open files;");
	assert_failed(f, 2, EMFILE, "!Too many open files;");
	assert_hw(f, "a=1;b=2;");
}

static RdmadPortReading read_state(Fixture *f, int state, int phys_state)
{
	const RdmadNldevPort known = { .number = 1, .state = state, .phys_state = phys_state };
	g_auto(RdmadReadingBuilder) builder = begin(f);

	rdmad_counter_port_read_state(&f->port, &builder, &known);
	return g_array_index(builder.ports, RdmadPortReading, 0);
}

static void test_a_rate_is_read_when_the_state_changes_or_after_a_minute(Fixture *f,
									 gconstpointer data)
{
	put(f, PORT_DIR "/rate", "400 Gb/sec (4X NDR)\n");
	g_assert_cmpint(read_state(f, RDMAD_PORT_ACTIVE, 5).rate_mbps, ==, 400000);
	put(f, PORT_DIR "/rate", "100 Gb/sec (4X EDR)\n");
	g_assert_cmpint(read_state(f, RDMAD_PORT_ACTIVE, 5).rate_mbps, ==, 400000);
	g_assert_cmpint(read_state(f, RDMAD_PORT_DOWN, 2).rate_mbps, ==, 100000);
	put(f, PORT_DIR "/rate", "200 Gb/sec (4X HDR)\n");
	g_assert_cmpint(read_state(f, RDMAD_PORT_DOWN, 3).rate_mbps, ==, 200000);
	put(f, PORT_DIR "/rate", "10 Gb/sec (4X SDR)\n");
	now_us += RDMAD_COUNTER_AGAIN_US;
	g_assert_cmpint(read_state(f, RDMAD_PORT_DOWN, 3).rate_mbps, ==, 10000);
}

static void test_a_rate_that_cannot_be_read_once_is_read_again(Fixture *f, gconstpointer data)
{
	put(f, PORT_DIR "/rate", "400 Gb/sec (4X NDR)\n");
	fault.path = PORT_DIR "/rate";
	fault.errnum = EMFILE;
	g_assert_cmpint(read_state(f, RDMAD_PORT_ACTIVE, 5).rate_mbps, ==, RDMAD_UNKNOWN);
	fault.path = NULL;
	g_assert_cmpint(read_state(f, RDMAD_PORT_ACTIVE, 5).rate_mbps, ==, 400000);
	put(f, PORT_DIR "/rate", "100 Gb/sec (4X EDR)\n");
	now_us += RDMAD_COUNTER_AGAIN_US;
	fault.path = PORT_DIR "/rate";
	g_assert_cmpint(read_state(f, RDMAD_PORT_ACTIVE, 5).rate_mbps, ==, 400000);
	g_assert_cmpint(read_state(f, RDMAD_PORT_DOWN, 2).rate_mbps, ==, RDMAD_UNKNOWN);
	fault.path = NULL;
	g_assert_cmpint(read_state(f, RDMAD_PORT_ACTIVE, 5).rate_mbps, ==, 100000);
}

static void test_a_state_that_netlink_has_not_is_read_from_files(Fixture *f, gconstpointer data)
{
	static const int states[] = { RDMAD_UNKNOWN, 6, 255 };

	put(f, PORT_DIR "/state", "4: ACTIVE\n");
	put(f, PORT_DIR "/phys_state", "5: LinkUp\n");
	for (guint i = 0; i < G_N_ELEMENTS(states); i++) {
		const RdmadPortReading reading = read_state(f, states[i], 0);

		g_assert_cmpint(reading.state, ==, RDMAD_PORT_ACTIVE);
		g_assert_cmpint(reading.phys_state, ==, 5);
		g_assert_cmpint(reading.rate_mbps, ==, RDMAD_UNKNOWN);
	}
	g_assert_cmpint(read_state(f, RDMAD_PORT_DOWN, 9).phys_state, ==, RDMAD_UNKNOWN);
}

static void test_a_rate_beside_files_is_not_read_each_time_either(Fixture *f, gconstpointer data)
{
	put(f, PORT_DIR "/state", "4: ACTIVE\n");
	put(f, PORT_DIR "/phys_state", "5: LinkUp\n");
	put(f, PORT_DIR "/rate", "400 Gb/sec (4X NDR)\n");
	g_assert_cmpint(read_state(f, RDMAD_UNKNOWN, 0).rate_mbps, ==, 400000);
	put(f, PORT_DIR "/rate", "100 Gb/sec (4X EDR)\n");
	g_assert_cmpint(read_state(f, RDMAD_UNKNOWN, 0).rate_mbps, ==, 400000);
	put(f, PORT_DIR "/state", "1: DOWN\n");
	g_assert_cmpint(read_state(f, RDMAD_UNKNOWN, 0).rate_mbps, ==, 100000);
}

#define TEST(name)                                                                                 \
	UNIT_FIXTURE_TEST("/counter-port/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(files_are_read_where_netlink_has_no_counters),
	TEST(netlink_is_asked_again_after_a_minute),
	TEST(netlink_has_all_but_the_setting_beside_them),
	TEST(an_unreadable_setting_is_reported),
	TEST(a_source_that_recovered_has_a_short_back_off_again),
	TEST(a_port_without_counters_has_not_failed),
	TEST(a_failing_driver_is_reported_once_for_all_counters),
	TEST(the_counter_that_makes_the_others_cheap_is_read_first),
	TEST(a_listing_that_failed_once_is_no_fact),
	TEST(names_outlive_readings_that_opened_nothing),
	TEST(names_do_not_outlive_their_directory),
	TEST(a_rate_is_read_when_the_state_changes_or_after_a_minute),
	TEST(a_state_that_netlink_has_not_is_read_from_files),
	TEST(a_rate_that_cannot_be_read_once_is_read_again),
	TEST(a_rate_beside_files_is_not_read_each_time_either),
	{ 0 },
};
