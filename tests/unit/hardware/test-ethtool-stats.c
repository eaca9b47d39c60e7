/* SPDX-License-Identifier: Apache-2.0 */
/* Uses this kernel's interfaces, and a fake driver whose statistics change (ld's --wrap) */
#include <errno.h>
#include <linux/ethtool.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "hardware/counters/ethtool.h"
#include "hardware/sysroot.h"
#include "../support/unit.h"

/* One relevant statistic with the value 42, at index `at` of `n`. */
static struct {
	gboolean on;
	guint n, at;
	guint changes; /* number of requests after which there is one more */
	guint asked;
} driver;

static int fail_with(int errnum)
{
	errno = errnum;
	return -1;
}

static int give_names(struct ethtool_gstrings *strings)
{
	const guint room = strings->len;

	strings->len = driver.n;
	if (driver.n > room)
		return fail_with(EFAULT);
	for (guint i = 0; i < driver.n; i++)
		snprintf((char *)strings->data + (gsize)i * ETH_GSTRING_LEN, ETH_GSTRING_LEN,
			 i == driver.at ? "rx_prio3_pause" : "rx%u_packets", i);
	return 0;
}

static int give_values(struct ethtool_stats *values)
{
	const guint room = values->n_stats;

	values->n_stats = driver.n;
	if (driver.n > room)
		return fail_with(EFAULT);
	for (guint i = 0; i < driver.n; i++)
		values->data[i] = i == driver.at ? 42 : 7;
	return 0;
}

static int driver_answer(gpointer command)
{
	driver.asked++;
	if (driver.changes > 0 && driver.asked > 1) {
		driver.changes--;
		driver.n++;
	}
	switch (*(guint32 *)command) {
	case ETHTOOL_GSSET_INFO:
		((struct ethtool_sset_info *)command)->data[0] = driver.n;
		return 0;
	case ETHTOOL_GSTRINGS:
		return give_names(command);
	case ETHTOOL_GSTATS:
		return give_values(command);
	default:
		return fail_with(EOPNOTSUPP);
	}
}

int __real_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	struct ifreq *ifr;
	va_list args;

	va_start(args, request);
	ifr = va_arg(args, struct ifreq *);
	va_end(args);
	return driver.on ? driver_answer(ifr->ifr_data) : __real_ioctl(fd, request, ifr);
}

static gboolean anything(const char *name)
{
	return TRUE;
}

static gboolean nothing(const char *name)
{
	return FALSE;
}

static void count(const char *name, guint64 value, gpointer data)
{
	g_assert_cmpuint(strlen(name), <=, RDMAD_ETHTOOL_NAME_SIZE);
	++*(guint *)data;
}

static void test_an_interface_without_statistics_is_an_error(void)
{
	g_autoptr(RdmadEthtoolStats) stats = rdmad_ethtool_stats_new("lo", anything);
	guint n = 0;

	g_assert_cmpint(rdmad_ethtool_stats_read(stats, count, &n), ==, EOPNOTSUPP);
	g_assert_cmpuint(n, ==, 0);
}

static void test_a_missing_interface_is_an_error(void)
{
	g_autoptr(RdmadEthtoolStats) stats = rdmad_ethtool_stats_new("nosuchif0", anything);
	guint n = 0;

	g_assert_cmpint(rdmad_ethtool_stats_read(stats, count, &n), ==, ENODEV);
	g_assert_cmpuint(n, ==, 0);
}

/* Each reading of an interface of this machine has as many names as the first. */
static void test_each_reading_has_the_same_names(void)
{
	g_autoptr(RdmadSysroot) root = rdmad_sysroot_new(NULL, NULL);
	g_auto(GStrv) names = rdmad_sysroot_list(root, "sys/class/net", NULL);

	for (char **name = names; name && *name; name++) {
		g_autoptr(RdmadEthtoolStats) stats = rdmad_ethtool_stats_new(*name, anything);
		g_autoptr(RdmadEthtoolStats) none = rdmad_ethtool_stats_new(*name, nothing);
		guint first = 0, second = 0, unwanted = 0;
		const int errnum = rdmad_ethtool_stats_read(stats, count, &first);

		g_assert_cmpint(rdmad_ethtool_stats_read(stats, count, &second), ==, errnum);
		g_assert_cmpuint(second, ==, first);
		g_assert_cmpint(rdmad_ethtool_stats_read(none, count, &unwanted), ==, errnum);
		g_assert_cmpint(rdmad_ethtool_stats_read(none, count, &unwanted), ==, errnum);
		g_assert_cmpuint(unwanted, ==, 0);
		g_test_message("%s: %u, errno %d", *name, first, errnum);
	}
}

static void take(const char *name, guint64 value, gpointer data)
{
	g_assert_cmpstr(name, ==, "rx_prio3_pause");
	*(guint64 *)data = value;
}

static void assert_read(RdmadEthtoolStats *stats, int errnum, guint64 expected)
{
	guint64 value = 0;

	driver.asked = 0;
	g_assert_cmpint(rdmad_ethtool_stats_read(stats, take, &value), ==, errnum);
	g_assert_cmpuint(value, ==, expected);
}

static RdmadEthtoolStats *driver_start(guint n, guint at)
{
	driver.on = TRUE;
	driver.n = n;
	driver.at = at;
	driver.changes = 0;
	return rdmad_ethtool_stats_new("eth0", rdmad_ethtool_name_matters);
}

static void test_a_value_is_found_where_its_name_is_now(void)
{
	g_autoptr(RdmadEthtoolStats) stats = driver_start(10, 2);

	assert_read(stats, 0, 42);
	driver.at = 7;
	assert_read(stats, 0, 42);
	driver.n = 8;
	assert_read(stats, 0, 42);
	driver.n = 2; /* without the relevant one */
	assert_read(stats, 0, 0);
	driver.n = 20;
	assert_read(stats, 0, 42);
	driver.on = FALSE;
}

static void test_statistics_that_change_while_they_are_read_are_read_again(void)
{
	g_autoptr(RdmadEthtoolStats) stats = driver_start(10, 2);

	driver.changes = 2;
	assert_read(stats, 0, 42);
	driver.changes = G_MAXUINT;
	assert_read(stats, EAGAIN, 0);
	driver.on = FALSE;
}

/* mlx5 has about ninety for each of up to 256 channels, and more for each traffic class. */
static void test_large_drivers_are_read_and_nonsense_is_not(void)
{
	g_autoptr(RdmadEthtoolStats) stats = driver_start(70000, 69999);

	assert_read(stats, 0, 42);
	driver.n = RDMAD_ETHTOOL_NAMES_MAX + 1;
	assert_read(stats, E2BIG, 0);
	g_assert_cmpuint(driver.asked, ==, 1);
	driver.on = FALSE;
}

#define TEST(name) UNIT_TEST("/ethtool-stats/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(an_interface_without_statistics_is_an_error),
	TEST(a_missing_interface_is_an_error),
	TEST(each_reading_has_the_same_names),
	TEST(a_value_is_found_where_its_name_is_now),
	TEST(statistics_that_change_while_they_are_read_are_read_again),
	TEST(large_drivers_are_read_and_nonsense_is_not),
	{ 0 },
};
