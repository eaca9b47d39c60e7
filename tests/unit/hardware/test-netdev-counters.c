/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <glib/gstdio.h>
#include <rdmad/device.h>

#include "hardware/device.h"
#include "hardware/counters/ethtool.h"
#include "hardware/counters/netdev.h"
#include "machine.h"
#include "../support/unit.h"

/* Counts ioctls of ethtool (ld's --wrap). */
static guint ioctls;

int __real_rdmad_ethtool_stats_read(RdmadEthtoolStats *stats, RdmadEthtoolStat fn, gpointer data);
int __wrap_rdmad_ethtool_stats_read(RdmadEthtoolStats *stats, RdmadEthtoolStat fn, gpointer data);

int __wrap_rdmad_ethtool_stats_read(RdmadEthtoolStats *stats, RdmadEthtoolStat fn, gpointer data)
{
	ioctls++;
	return __real_rdmad_ethtool_stats_read(stats, fn, data);
}

static gint64 clock_now(void)
{
	return 1;
}

typedef void (*BeforeReading)(RdmadReadingBuilder *builder);

/* Returns readings of a device's interfaces, one per line: "eth0 carrier_changes 7". */
static char *read_after(const RdmadSysroot *root, const RdmadDevice *dev, BeforeReading before)
{
	g_autoptr(RdmadBackoff) backoff = rdmad_backoff_new();
	g_autoptr(RdmadNetdevCounters) netdevs = rdmad_netdev_counters_new(root, dev);
	g_auto(RdmadReadingBuilder)
		builder = { .root = root, .dev = dev, .backoff = backoff, .clock = clock_now };
	GString *text = g_string_new(NULL);
	RdmadReading *reading;

	rdmad_reading_builder_init(&builder);
	if (before)
		before(&builder);
	rdmad_netdev_counters_read(netdevs, &builder);
	reading = rdmad_reading_builder_finish(&builder);
	for (guint i = 0; i < reading->n_counters; i++) {
		const RdmadCounter *counter = &reading->counters[i];

		if (!counter->netdev)
			continue;
		g_assert_cmpuint(counter->port, ==, 0);
		g_string_append_printf(text, "%s %s ", counter->netdev,
				       counter->name ? counter->name : "*");
		if (counter->errnum)
			g_string_append_printf(text, "errno %d\n", counter->errnum);
		else
			g_string_append_printf(text, "%" G_GUINT64_FORMAT "\n", counter->value);
	}
	rdmad_reading_free(reading);
	return g_string_free(text, FALSE);
}

static char *read_all(const RdmadSysroot *root, const RdmadDevice *dev)
{
	return read_after(root, dev, NULL);
}

static void put(const TestMachine *machine, const char *netdev, const char *name, const char *value)
{
	g_autofree char *path = g_build_filename("sys/class/net", netdev, name, NULL);

	test_machine_put(machine, path, value, -1);
}

static RdmadDevice *make_device(const char *port_netdev)
{
	RdmadDevice *dev = rdmad_device_new("mlx5_0", "mlx5_0");

	dev->ports = g_new0(RdmadPort, 1);
	dev->n_ports = 1;
	dev->ports[0].number = 1;
	dev->ports[0].netdev = g_strdup(port_netdev);
	return dev;
}

static void add_netdev(RdmadDevice *dev, const char *name, const char *master)
{
	dev->netdevs = g_renew(RdmadNetdev, dev->netdevs, dev->n_netdevs + 1);
	dev->netdevs[dev->n_netdevs++] = (RdmadNetdev){
		.name = g_strdup(name),
		.master = g_strdup(master),
		.addresses = g_new0(char *, 1),
	};
}

static void test_changes_of_carrier_are_counted(void)
{
	g_autoptr(TestMachine) machine = test_machine_new_empty();
	RdmadDevice *dev = make_device("eth0");
	g_autofree char *text = NULL;

	put(machine, "eth0", "carrier_changes", "7\n");
	put(machine, "eth0", "carrier_up_count", "4\n");
	put(machine, "eth0", "carrier_down_count", "3\n");
	text = read_all(machine->root, dev);
	g_assert_cmpstr(text, ==,
			"eth0 carrier_changes 7\neth0 carrier_down_count 3\n"
			"eth0 carrier_up_count 4\n");
	rdmad_device_unref(dev);
}

/* Older kernels lack some files; a value that is not a number is reported. */
static void test_bad_values_are_reported_and_missing_ones_are_absent(void)
{
	static const struct {
		const char *value, *line;
	} cases[] = {
		{ "4294967295\n", "eth0 carrier_changes 4294967295\n" },
		{ "18446744073709551615", "eth0 carrier_changes 18446744073709551615\n" },
		{ "", "eth0 carrier_changes errno 74\n" },
		{ "-1\n", "eth0 carrier_changes errno 74\n" },
		{ "many\n", "eth0 carrier_changes errno 74\n" },
		{ "18446744073709551616", "eth0 carrier_changes errno 74\n" },
		{ "00000000000000000000000000000000000000001", "eth0 carrier_changes errno 74\n" },
	};

	G_STATIC_ASSERT(EBADMSG == 74);
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(TestMachine) machine = test_machine_new_empty();
		RdmadDevice *dev = make_device("eth0");
		g_autofree char *text = NULL;

		put(machine, "eth0", "carrier_changes", cases[i].value);
		text = read_all(machine->root, dev);
		g_assert_cmpstr(text, ==, cases[i].line);
		rdmad_device_unref(dev);
	}
}

/* Checks which interfaces were read; each has its own counter. */
static void check_interfaces(RdmadDevice *dev, const char *expected)
{
	static const char *const all[] = { "bond0", "eth0", "eth1", "eth0.100", "ib0" };
	g_autoptr(TestMachine) machine = test_machine_new_empty();
	g_autofree char *text = NULL;

	for (gsize i = 0; i < G_N_ELEMENTS(all); i++)
		put(machine, all[i], "carrier_changes", "1");
	text = read_all(machine->root, dev);
	g_assert_cmpstr(text, ==, expected);
	rdmad_device_unref(dev);
}

static void test_the_interface_of_the_port_is_read_not_what_stands_on_it(void)
{
	RdmadDevice *dev = make_device("eth0");

	add_netdev(dev, "eth0", NULL);
	add_netdev(dev, "eth0.100", NULL);
	check_interfaces(dev, "eth0 carrier_changes 1\n");
}

static void test_of_a_bond_all_are_read(void)
{
	RdmadDevice *dev = make_device("bond0");

	dev->bond = g_strdup("bond0");
	add_netdev(dev, "bond0", NULL);
	add_netdev(dev, "eth0", "bond0");
	add_netdev(dev, "eth0.100", NULL);
	add_netdev(dev, "eth1", "bond0");
	check_interfaces(dev, "bond0 carrier_changes 1\neth0 carrier_changes 1\n"
			      "eth1 carrier_changes 1\n");
}

static void test_without_one_of_the_port_those_of_the_device_are_read(void)
{
	RdmadDevice *dev = make_device(NULL);

	add_netdev(dev, "eth1", NULL);
	add_netdev(dev, "no/name", NULL);
	add_netdev(dev, "ib0", NULL);
	check_interfaces(dev, "eth1 carrier_changes 1\nib0 carrier_changes 1\n");
}

/* It may be in the network namespace of a pod now.  The ioctl for such a name would make the kernel
 * run modprobe. */
static void test_a_missing_interface_has_no_counters(void)
{
	g_autoptr(RdmadSysroot) root = rdmad_sysroot_new(NULL, NULL);
	RdmadDevice *dev = make_device("nosuchif0");
	g_autofree char *text = NULL;

	ioctls = 0;
	text = read_all(root, dev);
	g_assert_cmpstr(text, ==, "");
	g_assert_cmpuint(ioctls, ==, 0);
	rdmad_device_unref(dev);
}

/* The loopback interface has no pause, no FEC and no driver statistics. */
static void test_what_a_driver_does_not_have_is_no_failure(void)
{
	g_autoptr(RdmadSysroot) root = rdmad_sysroot_new(NULL, NULL);
	RdmadDevice *dev = make_device("lo");
	g_autofree char *text = NULL;

	ioctls = 0;
	text = read_all(root, dev);
	g_assert_cmpuint(ioctls, ==, 1);
	g_test_message("%s", text);
	g_assert_null(strstr(text, "errno"));
	g_assert_nonnull(strstr(text, "lo carrier_changes "));
	rdmad_device_unref(dev);
}

static void add_port_counter(RdmadReadingBuilder *builder, const char *name, int errnum)
{
	const RdmadCounterKey key = { RDMAD_COUNTER_PORT, 1, NULL, name };

	rdmad_reading_builder_add_result(builder, &key, 1, errnum);
}

static void all_refused(RdmadReadingBuilder *builder)
{
	add_port_counter(builder, "port_rcv_data", EINVAL);
	add_port_counter(builder, "port_xmit_data", EINVAL);
}

static void one_refused(RdmadReadingBuilder *builder)
{
	add_port_counter(builder, "VL15_dropped", EINVAL);
	add_port_counter(builder, "port_xmit_data", 0);
}

static void none_there(RdmadReadingBuilder *builder)
{
	add_port_counter(builder, "port_xmit_data", EOPNOTSUPP);
}

/* The driver would log each attempt and return nothing. */
static void test_where_the_firmware_refuses_the_port_ethtool_is_not_asked(void)
{
	static const struct {
		BeforeReading before;
		gboolean refused;
	} cases[] = { { all_refused, TRUE }, { one_refused, FALSE }, { none_there, FALSE } };
	g_autoptr(RdmadSysroot) root = rdmad_sysroot_new(NULL, NULL);

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		RdmadDevice *dev = make_device("lo");
		g_autofree char *text = read_after(root, dev, cases[i].before);

		g_assert_nonnull(strstr(text, "lo carrier_changes "));
		if (cases[i].refused)
			g_assert_true(g_str_has_suffix(text, "lo * errno 22\nlo * errno 22\n"
							     "lo * errno 22\n"));
		else
			g_assert_null(strstr(text, "errno"));
		rdmad_device_unref(dev);
	}
}

static void test_files_of_an_interface_are_kept_open(void)
{
	g_autoptr(RdmadSysroot) root = rdmad_sysroot_new(NULL, NULL);
	g_autoptr(RdmadBackoff) backoff = rdmad_backoff_new();
	g_autoptr(RdmadFileBudget) budget = rdmad_file_budget_new(8);
	RdmadDevice *dev = make_device("lo");
	RdmadNetdevCounters *netdevs = rdmad_netdev_counters_new(root, dev);

	for (guint round = 0; round < 2; round++) {
		g_auto(RdmadReadingBuilder) builder = { .root = root,
							.dev = dev,
							.backoff = backoff,
							.budget = budget,
							.clock = clock_now };

		rdmad_reading_builder_init(&builder);
		rdmad_netdev_counters_read(netdevs, &builder);
		rdmad_reading_free(rdmad_reading_builder_finish(&builder));
		g_assert_cmpuint(rdmad_file_budget_used(budget), ==, 3);
	}
	rdmad_netdev_counters_free(netdevs);
	g_assert_cmpuint(rdmad_file_budget_used(budget), ==, 0);
	rdmad_device_unref(dev);
}

#define TEST(name) UNIT_TEST("/netdev-counters/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(changes_of_carrier_are_counted),
	TEST(bad_values_are_reported_and_missing_ones_are_absent),
	TEST(the_interface_of_the_port_is_read_not_what_stands_on_it),
	TEST(of_a_bond_all_are_read),
	TEST(without_one_of_the_port_those_of_the_device_are_read),
	TEST(a_missing_interface_has_no_counters),
	TEST(what_a_driver_does_not_have_is_no_failure),
	TEST(where_the_firmware_refuses_the_port_ethtool_is_not_asked),
	TEST(files_of_an_interface_are_kept_open),
	{ 0 },
};
