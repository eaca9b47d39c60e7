/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "hardware/device.h"
#include "../support/unit.h"

static RdmadDevice *sample(void)
{
	RdmadDevice *dev = rdmad_device_new("0000:3b:00.0", "mlx5_0");

	dev->driver = g_strdup("mlx5_core");
	dev->pci_path = g_strsplit("pci0000:3a 0000:3a:01.0 0000:3b:00.0", " ", -1);
	dev->ports = g_new0(RdmadPort, 1);
	dev->n_ports = 1;
	dev->ports[0].number = 1;
	dev->ports[0].rate_text = g_strdup("400 Gb/sec (4X NDR)");
	dev->ports[0].netdev = g_strdup("eth0");
	dev->ports[0].gids = g_new0(RdmadGid, 1);
	dev->ports[0].n_gids = 1;
	dev->ports[0].gids[0].netdev = g_strdup("eth0");
	dev->netdevs = g_new0(RdmadNetdev, 1);
	dev->n_netdevs = 1;
	dev->netdevs[0].name = g_strdup("eth0");
	dev->netdevs[0].addresses = g_strsplit("192.0.2.7/24", " ", -1);
	dev->chardevs = g_new0(RdmadChardev, 1);
	dev->n_chardevs = 1;
	dev->chardevs[0].path = g_strdup("/dev/infiniband/uverbs0");
	return dev;
}

static void test_a_new_device_knows_nothing_but_its_names(void)
{
	g_autoptr(RdmadDeviceRef) dev = rdmad_device_new("0000:3b:00.0", "mlx5_\xff");

	g_assert_cmpstr(dev->id, ==, "0000:3b:00.0");
	g_assert_cmpstr(dev->name, ==, "mlx5_\xef\xbf\xbd");
	g_assert_cmpint(dev->numa_node, ==, RDMAD_UNKNOWN);
	g_assert_cmpint(dev->vendor, ==, RDMAD_UNKNOWN);
	g_assert_cmpint(dev->index, ==, RDMAD_UNKNOWN);
	g_assert_cmpuint(g_strv_length(dev->problems), ==, 0);
}

static void change_driver(RdmadDevice *dev)
{
	dev->driver[0] = 'x';
}

static void change_name(RdmadDevice *dev)
{
	dev->name[0] = 'x';
}

static void change_index(RdmadDevice *dev)
{
	dev->index = 3;
}

static void change_vfs(RdmadDevice *dev)
{
	dev->num_vfs = 0;
}

static void change_path(RdmadDevice *dev)
{
	dev->pci_path[1][0] = 'x';
}

static void change_state(RdmadDevice *dev)
{
	dev->ports[0].state = RDMAD_PORT_DOWN;
}

static void change_gid(RdmadDevice *dev)
{
	dev->ports[0].gids[0].raw[15] = 1;
}

static void change_gid_netdev(RdmadDevice *dev)
{
	g_clear_pointer(&dev->ports[0].gids[0].netdev, g_free);
}

static void change_address(RdmadDevice *dev)
{
	dev->netdevs[0].addresses[0][0] = 'x';
}

static void change_carrier(RdmadDevice *dev)
{
	dev->netdevs[0].carrier = 1;
}

static void change_chardev(RdmadDevice *dev)
{
	dev->chardevs[0].minor = 7;
}

static void change_problems(RdmadDevice *dev)
{
	rdmad_device_add_problem(dev, "ports/%d/rate: %s", 1, "Input/output error");
}

static void test_any_change_that_can_be_seen_makes_devices_unequal(void)
{
	static void (*const changes[])(RdmadDevice *) = {
		change_driver,	change_name,	change_index,	   change_vfs,
		change_path,	change_state,	change_gid,	   change_address,
		change_carrier, change_chardev, change_gid_netdev, change_problems,
	};

	for (guint i = 0; i < G_N_ELEMENTS(changes); i++) {
		g_autoptr(RdmadDeviceRef) a = sample();
		RdmadDevice *b = sample();
		g_autoptr(RdmadDeviceRef) b_ref G_GNUC_UNUSED = b;

		g_assert_true(rdmad_device_equal(a, b));
		changes[i](b);
		g_assert_false(rdmad_device_equal(a, b));
		g_assert_false(rdmad_device_equal(b, a));
	}
}

static void test_references_are_counted(void)
{
	const RdmadDevice *dev = sample();

	g_assert_true(rdmad_device_ref(dev) == dev);
	rdmad_device_unref(dev);
	g_assert_cmpstr(dev->name, ==, "mlx5_0");
	rdmad_device_unref(dev);
	rdmad_device_unref(NULL);
}

static void test_problems_are_bounded(void)
{
	RdmadDevice *dev = rdmad_device_new("a", "a");
	g_autoptr(RdmadDeviceRef) dev_ref G_GNUC_UNUSED = dev;

	for (int i = 0; i < 1000; i++)
		rdmad_device_add_problem(dev, "ports/%d: \xff", i);
	g_assert_cmpuint(g_strv_length(dev->problems), ==, 64);
	g_assert_cmpstr(dev->problems[0], ==, "ports/0: \xef\xbf\xbd");
	g_assert_cmpstr(dev->problems[63], ==, "and more");
}

static void test_parts_are_found_by_name_and_kind(void)
{
	g_autoptr(RdmadDeviceRef) dev = sample();

	g_assert_nonnull(rdmad_device_netdev(dev, "eth0"));
	g_assert_null(rdmad_device_netdev(dev, "eth1"));
	g_assert_nonnull(rdmad_device_chardev(dev, RDMAD_CHARDEV_UVERBS));
	g_assert_null(rdmad_device_chardev(dev, RDMAD_CHARDEV_UMAD));
}

#define TEST(name) UNIT_TEST("/device/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(a_new_device_knows_nothing_but_its_names),
	TEST(any_change_that_can_be_seen_makes_devices_unequal),
	TEST(references_are_counted),
	TEST(problems_are_bounded),
	TEST(parts_are_found_by_name_and_kind),
	{ 0 },
};
