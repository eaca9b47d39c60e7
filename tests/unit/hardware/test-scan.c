/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every recorded machine, scanned, equals tests/machines/expected/.  After a change that is
 * meant, RDMAD_TEST_UPDATE=1 writes those files again; read the difference before you commit it.
 */
#include <glib/gstdio.h>
#include <rdmad/device.h>
#include <rdmad/error.h>
#include <string.h>

#include "dump.h"
#include "machine.h"
#include "../support/unit.h"

/* Shortens GID tables, whose ends are empty, to save time. */
#define SHORT "LAST=15"

static void test_the_machine_is_seen_as_expected(gconstpointer data)
{
	const char *name = data;
	g_autoptr(TestMachine) machine = test_machine_new(name, SHORT);
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadScan) scan = rdmad_scan_sysfs(machine->root, &error);
	g_autofree char *file = g_strdup_printf("%s/expected/%s.txt", MACHINES_DIR, name);
	g_autofree char *expected = NULL;
	g_autofree char *seen = NULL;

	g_assert_no_error(error);
	seen = test_dump_scan(scan);
	if (g_getenv("RDMAD_TEST_UPDATE"))
		g_assert_true(g_file_set_contents(file, seen, -1, NULL));
	g_assert_true(g_file_get_contents(file, &expected, NULL, NULL));
	g_assert_cmpstr(seen, ==, expected);
}

static void test_a_machine_without_rdma_has_no_devices(void)
{
	g_autoptr(TestMachine) machine = test_machine_new("rails", "RAILS=0");
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadScan) scan = rdmad_scan_sysfs(machine->root, &error);

	g_assert_no_error(error);
	g_assert_cmpuint(scan->devices->len, ==, 0);
	g_assert_cmpuint(scan->gpus->len, ==, 0);
}

static void test_a_root_without_sysfs_is_an_error(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadSysroot) root = rdmad_sysroot_new(MACHINES_DIR, &error);

	g_assert_no_error(error);
	g_assert_null(rdmad_scan_sysfs(root, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
	g_assert_true(g_str_has_prefix(error->message, "sysfs: "));
}

static void test_many_devices_come_in_the_order_of_their_addresses(void)
{
	g_autoptr(TestMachine) machine = test_machine_new("rails", "RAILS=12");
	g_autoptr(RdmadScan) scan = rdmad_scan_sysfs(machine->root, NULL);

	g_assert_cmpuint(scan->devices->len, ==, 12);
	for (guint i = 0; i < scan->devices->len; i++) {
		const RdmadDevice *dev = scan->devices->pdata[i];
		g_autofree char *id = g_strdup_printf("%04x:01:00.0", i);

		g_assert_cmpstr(dev->id, ==, id);
	}
}

static void test_a_machine_that_was_recorded_and_expanded_again_is_the_same(gconstpointer data)
{
	g_autoptr(TestMachine) first = test_machine_new(data, SHORT);
	g_autofree char *record = test_machine_run("record", first->dir, NULL, NULL);
	g_autofree char *file = g_strconcat(first->dir, ".machine", NULL);
	g_autoptr(TestMachine) second = NULL;
	g_autofree char *difference = NULL;

	g_assert_true(g_file_set_contents(file, record, -1, NULL));
	second = test_machine_new(file, NULL);
	g_assert_cmpint(g_unlink(file), ==, 0);
	difference = test_machine_run("compare", first->dir, second->dir, NULL);
	g_assert_cmpstr(difference, ==, "");
}

#define SEEN(name)                                                                                 \
	UNIT_DATA_TEST("/scan/" name "_is_seen_as_expected", name,                                 \
		       test_the_machine_is_seen_as_expected)
#define AGAIN(name)                                                                                \
	UNIT_DATA_TEST("/scan/" name "_is_the_same_when_recorded_again", name,                     \
		       test_a_machine_that_was_recorded_and_expanded_again_is_the_same)

const UnitTest unit_tests[] = {
	SEEN("gpu-8rail"),
	AGAIN("gpu-8rail"),
	SEEN("sriov"),
	AGAIN("sriov"),
	SEEN("infiniband"),
	AGAIN("infiniband"),
	SEEN("bond"),
	AGAIN("bond"),
	SEEN("erdma"),
	AGAIN("erdma"),
	SEEN("erdma-compat"),
	AGAIN("erdma-compat"),
	SEEN("ipv6"),
	AGAIN("ipv6"),
	SEEN("mixed"),
	AGAIN("mixed"),
	SEEN("broken"),
	AGAIN("broken"),
	UNIT_TEST("/scan/a_machine_without_rdma_has_no_devices",
		  test_a_machine_without_rdma_has_no_devices),
	UNIT_TEST("/scan/a_root_without_sysfs_is_an_error", test_a_root_without_sysfs_is_an_error),
	UNIT_TEST("/scan/many_devices_come_in_the_order_of_their_addresses",
		  test_many_devices_come_in_the_order_of_their_addresses),
	{ 0 },
};
