/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <glib/gstdio.h>
#include <rdmad/device.h>
#include <rdmad/error.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/work.h"
#include "hardware/counters/directory.h"
#include "hardware/counters/reader.h"
#include "hardware/device.h"
#include "hardware/scan/scan.h"
#include "machine.h"
#include "../support/clock.h"
#include "../support/unit.h"

#define PORT_DIR   "sys/class/infiniband/mlx5_0/ports/1"
#define COUNTERS   PORT_DIR "/counters"
#define HW	   PORT_DIR "/hw_counters"
#define DEVICE_DIR "sys/class/infiniband/mlx5_0/hw_counters"

/* One device with one port, in its own directory. */
typedef struct {
	TestMachine *machine;
	RdmadDevice *dev;
	RdmadCounterReader *reader;
	gint reads; /* atomic: progress of the worker */
} Fixture;

static char *full_path(const Fixture *f, const char *path)
{
	return g_build_filename(f->machine->dir, path, NULL);
}

static void put(const Fixture *f, const char *path, const char *value, gssize len)
{
	test_machine_put(f->machine, path, value, len);
}

static RdmadDevice *make_device(const char *name)
{
	RdmadDevice *dev = rdmad_device_new(name, name);

	dev->ports = g_new0(RdmadPort, 1);
	dev->n_ports = 1;
	dev->ports[0].number = 1;
	return dev;
}

static void setup(Fixture *f, gconstpointer data)
{
	now_us = 1;
	f->machine = test_machine_new_empty();
	put(f, PORT_DIR "/state", "4: ACTIVE\n", -1);
	put(f, PORT_DIR "/phys_state", "5: LinkUp\n", -1);
	put(f, PORT_DIR "/rate", "400 Gb/sec (4X NDR)\n", -1);
	f->dev = make_device("mlx5_0");
	f->reader = rdmad_counter_reader_new(f->machine->root, f->dev, RDMAD_READ_COUNTERS);
	rdmad_counter_reader_set_clock(f->reader, fake_clock);
}

static void teardown(Fixture *f, gconstpointer data)
{
	rdmad_counter_reader_unref(f->reader);
	rdmad_device_unref(f->dev);
	test_machine_free(f->machine);
}

static RdmadReading *read_device(const Fixture *f)
{
	g_autoptr(GError) error = NULL;
	RdmadReading *reading = rdmad_counter_reader_read(f->reader, NULL, &error);

	g_assert_no_error(error);
	return reading;
}

/* Returns one line per counter, "port/1 symbol_error=3"; "!errno" in place of a value. */
static char *dump(const RdmadReading *reading)
{
	static const char *const groups[] = { "port",  "hw",  "device", "link",
					      "pause", "fec", "ethtool" };
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < reading->n_counters; i++) {
		const RdmadCounter *c = &reading->counters[i];

		g_string_append_printf(text, "%s/%u %s", groups[c->group], c->port,
				       c->name ? c->name : "*");
		if (c->errnum)
			g_string_append_printf(text, "!%s\n", g_strerror(c->errnum));
		else
			g_string_append_printf(text, "=%" G_GUINT64_FORMAT "\n", c->value);
	}
	return g_string_free(text, FALSE);
}

static void assert_counters(const Fixture *f, const char *expected)
{
	g_autoptr(RdmadReading) reading = read_device(f);
	g_autofree char *text = dump(reading);

	g_assert_cmpstr(text, ==, expected);
}

static const RdmadCounter *find(const RdmadReading *reading, RdmadCounterGroup group,
				const char *name)
{
	for (guint i = 0; i < reading->n_counters; i++)
		if (reading->counters[i].group == group &&
		    !g_strcmp0(reading->counters[i].name, name))
			return &reading->counters[i];
	return NULL;
}

static void test_counters_come_by_group_port_and_name(Fixture *f, gconstpointer data)
{
	put(f, DEVICE_DIR "/cmds_err", "7\n", -1);
	put(f, HW "/rx_write_requests", "5\n", -1);
	put(f, HW "/rx_prio10_x", "4\n", -1);
	put(f, HW "/rx_prio9_x", "3\n", -1);
	put(f, HW "/lifespan", "10\n", -1);
	put(f, COUNTERS "/symbol_error", "1\n", -1);
	put(f, COUNTERS "/VL15_dropped", "0\n", -1);
	put(f, PORT_DIR "/counters_ext/port_rcv_data_64", "2\n", -1);
	assert_counters(f, "port/1 VL15_dropped=0\n"
			   "port/1 port_rcv_data_64=2\n"
			   "port/1 symbol_error=1\n"
			   "hw/1 lifespan=10\n"
			   "hw/1 rx_prio9_x=3\n"
			   "hw/1 rx_prio10_x=4\n"
			   "hw/1 rx_write_requests=5\n"
			   "device/0 cmds_err=7\n");
}

static void test_a_device_without_counters_has_its_state(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadReading) reading = read_device(f);

	g_assert_cmpuint(reading->n_counters, ==, 0);
	g_assert_cmpuint(reading->n_ports, ==, 1);
	g_assert_cmpuint(reading->ports[0].number, ==, 1);
	g_assert_cmpint(reading->ports[0].state, ==, RDMAD_PORT_ACTIVE);
	g_assert_cmpint(reading->ports[0].phys_state, ==, 5);
	g_assert_cmpint(reading->ports[0].rate_mbps, ==, 400000);
	g_assert_cmpint(reading->time_us, ==, now_us);
}

static void test_a_state_that_cannot_be_read_is_unknown(Fixture *f, gconstpointer data)
{
	g_autofree char *rate = full_path(f, PORT_DIR "/rate");
	g_autoptr(RdmadReading) reading = NULL;

	put(f, PORT_DIR "/state", "ACTIVE\n", -1);
	g_assert_cmpint(g_unlink(rate), ==, 0);
	reading = read_device(f);
	g_assert_cmpint(reading->ports[0].state, ==, RDMAD_UNKNOWN);
	g_assert_cmpint(reading->ports[0].phys_state, ==, 5);
	g_assert_cmpint(reading->ports[0].rate_mbps, ==, RDMAD_UNKNOWN);
}

static void test_values_are_read_again_each_time(Fixture *f, gconstpointer data)
{
	put(f, COUNTERS "/port_rcv_data", "1\n", -1);
	assert_counters(f, "port/1 port_rcv_data=1\n");
	put(f, COUNTERS "/port_rcv_data", "18446744073709551615\n", -1);
	assert_counters(f, "port/1 port_rcv_data=18446744073709551615\n");
}

/* Each beside a valid counter, which it must not affect. */
static void test_an_invalid_number_is_reported_and_is_not_zero(Fixture *f, gconstpointer data)
{
	g_autofree char *huge = g_strnfill(5000, '1');
	const struct {
		const char *raw;
		gssize len;
	} table[] = {
		{ "", 0 },
		{ "\n", -1 },
		{ "N/A (no PMA)\n", -1 },
		{ "-1\n", -1 },
		{ "+1\n", -1 },
		{ " 1\n", -1 },
		{ "1 2\n", -1 },
		{ "0x10\n", -1 },
		{ "18446744073709551616\n", -1 },
		{ "99999999999999999999999\n", -1 },
		{ "1\0002\n", 4 },
		{ "\xff\xfe", -1 },
		{ "1.5\n", -1 },
		{ huge, -1 },
	};

	put(f, COUNTERS "/good", "3\n", -1);
	for (guint i = 0; i < G_N_ELEMENTS(table); i++) {
		g_autoptr(RdmadReading) reading = NULL;

		/* A source that failed is not queried again at once. */
		now_us += 3600 * (gint64)G_USEC_PER_SEC;
		put(f, COUNTERS "/bad", table[i].raw, table[i].len);
		reading = read_device(f);
		g_assert_cmpuint(reading->n_counters, ==, 2);
		g_assert_cmpint(find(reading, RDMAD_COUNTER_PORT, "bad")->errnum, ==, EBADMSG);
		g_assert_cmpuint(find(reading, RDMAD_COUNTER_PORT, "good")->value, ==, 3);
	}
}

static void test_what_is_no_file_is_not_followed_and_holds_nobody(Fixture *f, gconstpointer data)
{
	g_autofree char *fifo = full_path(f, COUNTERS "/fifo");
	g_autofree char *link = full_path(f, COUNTERS "/link");
	g_autofree char *dir = full_path(f, COUNTERS "/directory");

	put(f, COUNTERS "/good", "3\n", -1);
	put(f, "secret", "42\n", -1);
	g_assert_cmpint(mkfifo(fifo, 0600), ==, 0);
	g_assert_cmpint(symlink("/secret", link), ==, 0);
	g_assert_cmpint(g_mkdir(dir, 0755), ==, 0);
	assert_counters(f, "port/1 directory!Is a directory\n"
			   "port/1 fifo!Bad message\n"
			   "port/1 good=3\n"
			   "port/1 link!Too many levels of symbolic links\n");
}

static void test_a_directory_that_is_a_file_fails_alone(Fixture *f, gconstpointer data)
{
	put(f, COUNTERS, "no directory", -1);
	put(f, HW "/good", "3\n", -1);
	assert_counters(f, "port/1 *!Not a directory\nhw/1 good=3\n");
}

static void test_a_directory_of_thousands_is_refused_whole(Fixture *f, gconstpointer data)
{
	put(f, HW "/good", "3\n", -1);
	for (guint i = 0; i < RDMAD_COUNTERS_MAX; i++) {
		g_autofree char *path = g_strdup_printf(COUNTERS "/c%u", i);

		put(f, path, "1\n", -1);
	}
	{
		g_autoptr(RdmadReading) reading = read_device(f);

		g_assert_cmpuint(reading->n_counters, ==, RDMAD_COUNTERS_MAX + 1);
	}
	put(f, COUNTERS "/one_more", "1\n", -1);
	now_us += 60 * G_USEC_PER_SEC;
	assert_counters(f, "port/1 *!Argument list too long\nhw/1 good=3\n");
}

static void test_a_failed_counter_is_skipped_and_read_later(Fixture *f, gconstpointer data)
{
	put(f, COUNTERS "/bad", "N/A\n", -1);
	put(f, COUNTERS "/good", "3\n", -1);
	assert_counters(f, "port/1 bad!Bad message\nport/1 good=3\n");
	/* Readable again, but not read yet. */
	put(f, COUNTERS "/bad", "1\n", -1);
	now_us += 10 * G_USEC_PER_SEC - 1;
	assert_counters(f, "port/1 bad!Bad message\nport/1 good=3\n");
	now_us += 1;
	assert_counters(f, "port/1 bad=1\nport/1 good=3\n");
}

/* Makes a directory listable or not. */
static void set_listable(const Fixture *f, gboolean listable)
{
	g_autofree char *path = full_path(f, COUNTERS);
	g_autofree char *aside = full_path(f, "aside");

	if (listable) {
		g_assert_cmpint(g_unlink(path), ==, 0);
		g_assert_cmpint(g_rename(aside, path), ==, 0);
	} else {
		g_assert_cmpint(g_rename(path, aside), ==, 0);
		put(f, COUNTERS, "no directory", -1);
	}
}

static void test_a_group_that_came_back_is_new_to_failing(Fixture *f, gconstpointer data)
{
	put(f, COUNTERS "/good", "3\n", -1);
	set_listable(f, FALSE);
	assert_counters(f, "port/1 *!Not a directory\n");
	now_us += RDMAD_BACKOFF_FIRST_US;
	assert_counters(f, "port/1 *!Not a directory\n");
	now_us += 2 * RDMAD_BACKOFF_FIRST_US;
	set_listable(f, TRUE);
	assert_counters(f, "port/1 good=3\n");
	set_listable(f, FALSE);
	assert_counters(f, "port/1 *!Not a directory\n");
	set_listable(f, TRUE);
	now_us += RDMAD_BACKOFF_FIRST_US;
	assert_counters(f, "port/1 good=3\n");
}

static void test_a_renewed_reader_knows_what_failed(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadCounterReader) old = f->reader;

	put(f, COUNTERS "/bad", "N/A\n", -1);
	assert_counters(f, "port/1 bad!Bad message\n");
	put(f, COUNTERS "/bad", "1\n", -1);
	f->reader = rdmad_counter_reader_renew(old, f->dev);
	assert_counters(f, "port/1 bad!Bad message\n");
	now_us += 10 * G_USEC_PER_SEC;
	assert_counters(f, "port/1 bad=1\n");
}

static void test_names_are_listed_again(Fixture *f, gconstpointer data)
{
	g_autofree char *a = full_path(f, COUNTERS "/a");

	put(f, COUNTERS "/a", "1\n", -1);
	assert_counters(f, "port/1 a=1\n");
	put(f, COUNTERS "/b", "2\n", -1);
	put(f, HW "/c", "3\n", -1);
	now_us += 60 * G_USEC_PER_SEC;
	assert_counters(f, "port/1 a=1\nport/1 b=2\nhw/1 c=3\n");
	g_assert_cmpint(g_unlink(a), ==, 0);
	assert_counters(f, "port/1 b=2\nhw/1 c=3\n");
}

static void test_a_removed_counter_causes_a_new_listing(Fixture *f, gconstpointer data)
{
	g_autofree char *a = full_path(f, COUNTERS "/a");

	put(f, COUNTERS "/a", "1\n", -1);
	put(f, COUNTERS "/b", "2\n", -1);
	test_machine_settle(f->machine, COUNTERS);
	assert_counters(f, "port/1 a=1\nport/1 b=2\n");
	g_assert_cmpint(g_unlink(a), ==, 0);
	put(f, COUNTERS "/c", "3\n", -1);
	test_machine_settle(f->machine, COUNTERS);
	assert_counters(f, "port/1 b=2\n");
	assert_counters(f, "port/1 b=2\nport/1 c=3\n");
}

static void test_a_replaced_directory_is_listed_again(Fixture *f, gconstpointer data)
{
	g_autofree char *here = full_path(f, COUNTERS);
	g_autofree char *there = full_path(f, "old");

	put(f, COUNTERS "/a", "1\n", -1);
	test_machine_settle(f->machine, COUNTERS);
	assert_counters(f, "port/1 a=1\n");
	g_assert_cmpint(g_rename(here, there), ==, 0);
	put(f, COUNTERS "/a", "1\n", -1);
	put(f, COUNTERS "/b", "2\n", -1);
	test_machine_settle(f->machine, COUNTERS);
	assert_counters(f, "port/1 a=1\nport/1 b=2\n");
}

static void test_a_removed_device_is_not_listed(Fixture *f, gconstpointer data)
{
	g_autofree char *from = full_path(f, "sys/class/infiniband/mlx5_0");
	g_autofree char *to = full_path(f, "sys/class/infiniband/renamed");
	g_autoptr(GError) error = NULL;

	put(f, COUNTERS "/a", "1\n", -1);
	assert_counters(f, "port/1 a=1\n");
	g_assert_cmpint(g_rename(from, to), ==, 0);
	g_assert_null(rdmad_counter_reader_read(f->reader, NULL, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_GONE);
	g_assert_cmpstr(error->message, ==, "mlx5_0: the device has left");
	/* It is added again. */
	g_assert_cmpint(g_rename(to, from), ==, 0);
	now_us += 60 * G_USEC_PER_SEC;
	assert_counters(f, "port/1 a=1\n");
}

/* A worker that begins after the cancellation. */
static gpointer read_when_cancelled(gpointer input, const RdmadJob *job, GError **error)
{
	Fixture *f = input;
	g_autoptr(GError) local = NULL;

	g_atomic_int_set(&f->reads, 1);
	while (!rdmad_job_cancelled(job))
		g_usleep(1000);
	g_assert_null(rdmad_counter_reader_read(f->reader, job, &local));
	g_assert_error(local, RDMAD_ERROR, RDMAD_ERROR_CANCELLED);
	g_atomic_int_set(&f->reads, 2);
	return NULL;
}

static void test_a_cancelled_reading_stops(Fixture *f, gconstpointer data)
{
	static const RdmadJobClass klass = { .name = "read", .run = read_when_cancelled };
	RdmadLoop *loop = rdmad_loop_new();
	RdmadWorkers *workers = rdmad_workers_new(loop, 1, NULL);
	RdmadJob *job;

	put(f, COUNTERS "/a", "1\n", -1);
	job = rdmad_work_submit(workers, NULL, &klass, f, 0, NULL, NULL);
	while (!g_atomic_int_get(&f->reads))
		g_usleep(1000);
	rdmad_job_cancel(job);
	rdmad_workers_free(workers);
	rdmad_loop_free(loop);
	g_assert_cmpint(f->reads, ==, 2);
	assert_counters(f, "port/1 a=1\n");
}

static void read_all_of(const char *name, const char *first)
{
	g_autoptr(TestMachine) machine = test_machine_new(name, NULL);
	g_autoptr(RdmadScan) scan = rdmad_scan_sysfs(machine->root, NULL);

	g_assert_nonnull(scan);
	for (guint i = 0; i < scan->devices->len; i++) {
		const RdmadDevice *dev = scan->devices->pdata[i];
		g_autoptr(RdmadCounterReader) reader = rdmad_counter_reader_new(
			machine->root, dev, RDMAD_READ_COUNTERS | RDMAD_READ_NETDEVS);
		g_autoptr(GError) error = NULL;
		g_autoptr(RdmadReading) reading = rdmad_counter_reader_read(reader, NULL, &error);

		/* A name that was not UTF-8 was made valid, so its file is not found. */
		if (strstr(dev->name, "\xef\xbf\xbd")) {
			g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_GONE);
			continue;
		}
		g_assert_no_error(error);
		g_assert_cmpuint(reading->n_ports, ==, dev->n_ports);
		if (i == 0 && first)
			g_assert_cmpuint(find(reading, RDMAD_COUNTER_HW, first)->errnum, ==, 0);
	}
}

static void test_recorded_machines_are_read(void)
{
	read_all_of("gpu-8rail", "rx_write_requests");
	read_all_of("sriov", "rx_write_requests");
	read_all_of("broken", NULL);
}

#define TEST(name)                                                                                 \
	UNIT_FIXTURE_TEST("/counter-reader/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(counters_come_by_group_port_and_name),
	TEST(a_device_without_counters_has_its_state),
	TEST(a_state_that_cannot_be_read_is_unknown),
	TEST(values_are_read_again_each_time),
	TEST(an_invalid_number_is_reported_and_is_not_zero),
	TEST(what_is_no_file_is_not_followed_and_holds_nobody),
	TEST(a_directory_that_is_a_file_fails_alone),
	TEST(a_directory_of_thousands_is_refused_whole),
	TEST(a_failed_counter_is_skipped_and_read_later),
	TEST(a_group_that_came_back_is_new_to_failing),
	TEST(a_renewed_reader_knows_what_failed),
	TEST(names_are_listed_again),
	TEST(a_removed_counter_causes_a_new_listing),
	TEST(a_replaced_directory_is_listed_again),
	TEST(a_removed_device_is_not_listed),
	TEST(a_cancelled_reading_stops),
	UNIT_TEST("/counter-reader/recorded_machines_are_read", test_recorded_machines_are_read),
	{ 0 },
};
