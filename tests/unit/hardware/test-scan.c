/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every recorded machine, scanned, equals tests/machines/expected/.  After a change that is
 * meant, RDMAD_TEST_UPDATE=1 writes those files again; read the difference before you commit it.
 */
#include <glib/gstdio.h>
#include <rdmad/device.h>
#include <rdmad/error.h>
#include <string.h>
#include <unistd.h>

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

#define FUNCTION "sys/devices/pci0000:17/0000:17:01.0/0000:18:00.0/"
#define VPD                                                                                        \
	"\x82\x1c\x00NVIDIA ConnectX-7 for NVLink\x90>\x00VA7MLX:MN=MLNX:CSKU=V2:UUID=V3:PCI=V0:"  \
	"MODL=CX7:SMDL=SW_MNGRV\x01ux"

static const RdmadDevice *device_named(const RdmadScan *scan, const char *name)
{
	const RdmadDevice *dev = rdmad_scan_find(scan->devices, name, NULL);

	g_assert_nonnull(dev);
	return dev;
}

static void test_a_management_function_is_known_by_its_vital_product_data(void)
{
	g_autoptr(TestMachine) machine = test_machine_new("infiniband", SHORT);
	g_autoptr(RdmadScan) scan = NULL, again = NULL, other = NULL;

	test_machine_put(machine, FUNCTION "vpd", VPD, sizeof(VPD) - 1);
	scan = rdmad_scan_sysfs(machine->root, NULL);
	g_assert_cmpint(rdmad_device_role(device_named(scan, "mlx5_0")), ==,
			RDMAD_ROLE_SWITCH_MANAGEMENT);
	g_assert_cmpint(rdmad_device_role(device_named(scan, "mlx5_1")), ==, RDMAD_ROLE_NIC);
	g_assert_cmpuint(g_strv_length(device_named(scan, "mlx5_1")->problems), ==, 0);

	/* It is read once in the life of a device. */
	test_machine_put(machine, FUNCTION "vpd", "x", 1);
	again = rdmad_scan_sysfs_again(machine->root, scan->devices, NULL, NULL);
	g_assert_cmpint(rdmad_device_role(device_named(again, "mlx5_0")), ==,
			RDMAD_ROLE_SWITCH_MANAGEMENT);
	test_machine_put(machine, FUNCTION "infiniband/mlx5_0/node_guid", "946d:ae03:00d1:1234\n",
			 -1);
	other = rdmad_scan_sysfs_again(machine->root, scan->devices, NULL, NULL);
	g_assert_cmpint(rdmad_device_role(device_named(other, "mlx5_0")), ==, RDMAD_ROLE_NIC);
}

static void test_data_that_cannot_be_read_are_a_problem_and_no_role(void)
{
	g_autoptr(TestMachine) machine = test_machine_new("infiniband", SHORT);
	g_autoptr(RdmadScan) scan = NULL;

	test_machine_put(machine, FUNCTION "vpd/unreadable", "", 0);
	scan = rdmad_scan_sysfs(machine->root, NULL);
	g_assert_cmpint(rdmad_device_role(device_named(scan, "mlx5_0")), ==, RDMAD_ROLE_NIC);
	g_assert_cmpstr(device_named(scan, "mlx5_0")->problems[0], ==, "pci/vpd: Is a directory");
}

/* Adds a second RDMA device to the function of mlx5_0, with a umad file and no uverbs file. */
static void put_sub_device(const TestMachine *machine, const char *name)
{
	static const char *const files[][2] = {
		{ "node_type", "1: CA\n" },
		{ "ports/1/link_layer", "InfiniBand\n" },
		{ "ports/1/state", "4: ACTIVE\n" },
		{ "ports/1/phys_state", "5: LinkUp\n" },
		{ "ports/1/rate", "200 Gb/sec (1X XDR)\n" },
		{ "ports/1/gids/0", "fe80:0000:0000:0000:946d:ae03:00d1:0000\n" },
	};
	g_autofree char *class = g_strconcat(machine->dir, "/sys/class/infiniband/", name, NULL);
	g_autofree char *target = g_strconcat("../../../" FUNCTION "infiniband/", name, NULL);
	g_autofree char *ibdev = g_strconcat(name, "\n", NULL);

	for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *path =
			g_strconcat(FUNCTION "infiniband/", name, "/", files[i][0], NULL);

		test_machine_put(machine, path, files[i][1], -1);
	}
	g_assert_cmpint(symlink(target, class), ==, 0);
	test_machine_put(machine, "sys/class/infiniband_mad/umad91/ibdev", ibdev, -1);
	test_machine_put(machine, "sys/class/infiniband_mad/umad91/dev", "231:91\n", -1);
}

static void test_a_sub_device_has_a_parent_and_takes_no_id_from_it(gconstpointer name)
{
	g_autoptr(TestMachine) machine = test_machine_new("infiniband", SHORT);
	g_autofree char *id = g_strconcat("0000:18:00.0-", (const char *)name, NULL);
	g_autoptr(RdmadScan) scan = NULL, some = NULL;
	g_autoptr(GPtrArray) one = g_ptr_array_new();
	const RdmadDevice *sub;

	put_sub_device(machine, name);
	scan = rdmad_scan_sysfs(machine->root, NULL);
	sub = device_named(scan, name);
	g_assert_cmpint(rdmad_device_role(sub), ==, RDMAD_ROLE_SUB_DEVICE);
	g_assert_cmpstr(sub->parent, ==, "mlx5_0");
	g_assert_cmpstr(sub->id, ==, id);
	g_assert_cmpstr(device_named(scan, "mlx5_0")->id, ==, "0000:18:00.0");
	g_assert_cmpint(rdmad_device_role(device_named(scan, "mlx5_0")), ==, RDMAD_ROLE_NIC);
	g_ptr_array_add(one, (gpointer)sub);
	some = rdmad_scan_sysfs_some(machine->root, one, NULL);
	g_assert_cmpstr(device_named(some, name)->parent, ==, "mlx5_0");
}

static void test_a_device_alone_without_verbs_is_no_sub_device(void)
{
	g_autoptr(TestMachine) machine = test_machine_new("infiniband", SHORT);
	g_autoptr(RdmadScan) scan = NULL;
	const RdmadDevice *dev;

	test_machine_put(machine, "sys/class/infiniband_verbs/uverbs0/ibdev", "mlx5_9\n", -1);
	scan = rdmad_scan_sysfs(machine->root, NULL);
	dev = device_named(scan, "mlx5_0");
	g_assert_cmpint(rdmad_device_role(dev), ==, RDMAD_ROLE_NIC);
	g_assert_nonnull(strstr(rdmad_device_problem(dev, NULL, NULL), "uverbs"));
}

#define PF "sys/class/net/ens1f0np0/"

/* The interface of the physical function of mlx5_2: the attribute that is changed, and the
 * result. */
static const struct {
	const char *name, *file, *value;
	int link;
} links[] = {
	{ "up", PF "carrier", "1\n", 1 },
	{ "no_carrier", PF "carrier", "0\n", 0 },
	{ "unreadable", PF "carrier/unreadable", "", 0 },
	{ "in_a_bond", PF "master/unused", "", 1 },
};

static void test_the_link_of_a_physical_function_is_known(gconstpointer data)
{
	const __typeof__(links[0]) *c = data;
	g_autoptr(TestMachine) machine = test_machine_new("sriov", SHORT);
	g_autofree char *carrier = g_strconcat(machine->dir, "/" PF "carrier", NULL);
	g_autoptr(RdmadScan) scan = NULL;

	g_remove(carrier);
	test_machine_put(machine, c->file, c->value, -1);
	scan = rdmad_scan_sysfs(machine->root, NULL);
	g_assert_cmpint(device_named(scan, "mlx5_2")->pf_link, ==, c->link);
	g_assert_cmpint(device_named(scan, "mlx5_6")->pf_link, ==, 1);
	g_assert_cmpint(device_named(scan, "mlx5_0")->pf_link, ==, RDMAD_UNKNOWN);
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
	UNIT_TEST("/scan/a_management_function_is_known_by_its_vital_product_data",
		  test_a_management_function_is_known_by_its_vital_product_data),
	UNIT_TEST("/scan/data_that_cannot_be_read_are_a_problem_and_no_role",
		  test_data_that_cannot_be_read_are_a_problem_and_no_role),
	UNIT_DATA_TEST("/scan/a_sub_device_has_a_parent", "smi1",
		       test_a_sub_device_has_a_parent_and_takes_no_id_from_it),
	UNIT_DATA_TEST("/scan/a_sub_device_before_its_parent", "ib_smi1",
		       test_a_sub_device_has_a_parent_and_takes_no_id_from_it),
	UNIT_TEST("/scan/a_device_alone_without_verbs_is_no_sub_device",
		  test_a_device_alone_without_verbs_is_no_sub_device),
	UNIT_CASES("/scan/the_link_of_a_physical_function/", links,
		   test_the_link_of_a_physical_function_is_known),
	UNIT_TEST("/scan/many_devices_come_in_the_order_of_their_addresses",
		  test_many_devices_come_in_the_order_of_their_addresses),
	{ 0 },
};
