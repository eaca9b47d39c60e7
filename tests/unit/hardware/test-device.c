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

static void change_up(RdmadDevice *dev)
{
	dev->netdevs[0].up = 1;
}

static void change_pf_link(RdmadDevice *dev)
{
	dev->pf_link = 0;
}

static void change_parent(RdmadDevice *dev)
{
	dev->parent = g_strdup("mlx5_1");
}

static void change_vpd(RdmadDevice *dev)
{
	dev->vpd_model = g_strdup("");
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
		change_up,	change_pf_link, change_parent,	   change_vpd,
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

static void test_a_copy_is_equal_and_shares_nothing(void)
{
	RdmadDevice *from = sample();
	g_autoptr(RdmadDeviceRef) copy = NULL;

	change_parent(from);
	change_vpd(from);
	copy = rdmad_device_copy(from);
	g_assert_true(rdmad_device_equal(copy, from));
	rdmad_device_unref(from);
	g_assert_cmpstr(copy->parent, ==, "mlx5_1");
	g_assert_cmpstr(copy->vpd_model, ==, "");
	g_assert_cmpstr(copy->driver, ==, "mlx5_core");
}

/* ---- what a device is for ---- */

static const struct {
	const char *name, *vpd_model, *parent;
	gboolean verbs;
	RdmadDeviceRole role;
	const char *text;
} roles[] = {
	{ "nic", NULL, NULL, TRUE, RDMAD_ROLE_NIC, NULL },
	{ "nic_without_verbs", NULL, NULL, FALSE, RDMAD_ROLE_NIC, NULL },
	{ "nic_with_data", "", NULL, TRUE, RDMAD_ROLE_NIC, NULL },
	{ "nic_of_a_model", "SW_MNG2", NULL, TRUE, RDMAD_ROLE_NIC, NULL },
	{ "switch", "SW_MNG", NULL, TRUE, RDMAD_ROLE_SWITCH_MANAGEMENT,
	  "it manages the NVSwitches of its board and reaches no other node" },
	{ "switch_without_verbs", "SW_MNG", NULL, FALSE, RDMAD_ROLE_SWITCH_MANAGEMENT,
	  "it manages the NVSwitches of its board and reaches no other node" },
	{ "sub_device", NULL, "mlx5_7", FALSE, RDMAD_ROLE_SUB_DEVICE,
	  "it is a management sub-device of mlx5_7, without verbs" },
	{ "sub_device_with_verbs", NULL, "mlx5_7", TRUE, RDMAD_ROLE_NIC, NULL },
};

static void test_a_device_has_one_role(gconstpointer data)
{
	const __typeof__(roles[0]) *c = data;
	RdmadDevice *dev = sample();
	g_autofree char *text = NULL;

	dev->n_chardevs = c->verbs;
	dev->vpd_model = g_strdup(c->vpd_model);
	dev->parent = g_strdup(c->parent);
	g_assert_cmpint(rdmad_device_role(dev), ==, c->role);
	text = rdmad_device_role_text(dev);
	g_assert_cmpstr(text, ==, c->text);
	if (c->role == RDMAD_ROLE_SUB_DEVICE)
		g_assert_null(rdmad_device_problem(dev, NULL, NULL));
	if (c->role == RDMAD_ROLE_NIC && !c->verbs)
		g_assert_nonnull(strstr(rdmad_device_problem(dev, NULL, NULL), "uverbs"));
	dev->n_chardevs = 1;
	rdmad_device_unref(dev);
}

/* ---- devices at rest ---- */

#define ETHERNET   RDMAD_LINK_LAYER_ETHERNET
#define INFINIBAND RDMAD_LINK_LAYER_INFINIBAND
#define GUID	   "0202:03ff:fe04:0500"
#define NO_GUID	   "0000:0000:0000:0000"
#define REST	   "its interface is not set up"
#define REST_IB	   "it has no GUID yet"
#define DOWN	   "no port of it is active"
#define PF_DOWN	   "the link of its physical function is down"

static const struct {
	const char *name;
	RdmadLinkLayer layer;
	RdmadPciRole pci;
	int state, phys_state, up, pf_link;
	const char *guid;
	gboolean port_guid;
	const char *problem, *rest;
} rests[] = {
	{ "vf_in_use", ETHERNET, RDMAD_PCI_VF, 4, 5, 1, 1, GUID, TRUE, NULL, NULL },
	{ "vf", ETHERNET, RDMAD_PCI_VF, 1, 3, 0, 1, GUID, TRUE, NULL, REST },
	{ "vf_without_guid", ETHERNET, RDMAD_PCI_VF, 1, 3, 0, 1, NO_GUID, TRUE, NULL, REST },
	{ "vf_in_a_machine", ETHERNET, RDMAD_PCI_VF, 1, 3, 0, -1, GUID, TRUE, NULL, REST },
	{ "vf_that_does_not_say", ETHERNET, RDMAD_PCI_VF, 1, -1, 0, 1, GUID, TRUE, NULL, REST },
	{ "vf_by_netlink", ETHERNET, RDMAD_PCI_VF, 1, 0, 0, 1, GUID, TRUE, NULL, REST },
	{ "vf_that_is_set_up", ETHERNET, RDMAD_PCI_VF, 1, 3, 1, 1, GUID, TRUE, DOWN, NULL },
	{ "vf_without_interface", ETHERNET, RDMAD_PCI_VF, 1, 3, -1, 1, GUID, TRUE, DOWN, NULL },
	{ "vf_that_polls", ETHERNET, RDMAD_PCI_VF, 1, 2, 0, 1, GUID, TRUE, DOWN, NULL },
	{ "vf_that_recovers", ETHERNET, RDMAD_PCI_VF, 1, 6, 0, 1, GUID, TRUE, DOWN, NULL },
	{ "vf_of_a_pf_without_link", ETHERNET, RDMAD_PCI_VF, 1, 3, 0, 0, GUID, TRUE, PF_DOWN,
	  NULL },
	{ "vf_set_up_of_such_a_pf", ETHERNET, RDMAD_PCI_VF, 1, 3, 1, 0, GUID, TRUE, PF_DOWN, NULL },
	{ "vf_unreadable", ETHERNET, RDMAD_PCI_VF, -1, 3, 0, 1, GUID, TRUE, DOWN, NULL },
	{ "vf_in_init", ETHERNET, RDMAD_PCI_VF, 2, 3, 0, 1, GUID, TRUE, DOWN, NULL },
	{ "sf", ETHERNET, RDMAD_PCI_PLAIN, 1, 3, 0, 1, GUID, TRUE, NULL, REST },
	{ "sf_of_a_pf_without_link", ETHERNET, RDMAD_PCI_PLAIN, 1, 3, 0, 0, GUID, TRUE, PF_DOWN,
	  NULL },
	{ "pf", ETHERNET, RDMAD_PCI_PF, 1, 3, 0, -1, GUID, TRUE, NULL, REST },
	{ "nic", ETHERNET, RDMAD_PCI_PLAIN, 1, 3, 0, -1, GUID, TRUE, NULL, REST },
	{ "nic_without_cable", ETHERNET, RDMAD_PCI_PLAIN, 1, 3, 1, -1, GUID, TRUE, DOWN, NULL },
	{ "ib_vf", INFINIBAND, RDMAD_PCI_VF, 1, 5, 0, 1, NO_GUID, TRUE, NULL, REST_IB },
	{ "ib_vf_without_port_guid", INFINIBAND, RDMAD_PCI_VF, 1, 5, 1, 1, GUID, FALSE, NULL,
	  REST_IB },
	{ "ib_vf_with_guids", INFINIBAND, RDMAD_PCI_VF, 1, 5, 0, 1, GUID, TRUE, DOWN, NULL },
	{ "ib_vf_of_a_pf_without_link", INFINIBAND, RDMAD_PCI_VF, 1, 5, 0, 0, NO_GUID, FALSE,
	  PF_DOWN, NULL },
	{ "ib_vf_active_without_guid", INFINIBAND, RDMAD_PCI_VF, 4, 5, 0, 1, NO_GUID, TRUE, NULL,
	  NULL },
	{ "ib_pf_without_guid", INFINIBAND, RDMAD_PCI_PF, 1, 3, 0, -1, NO_GUID, FALSE, DOWN, NULL },
	{ "ib_nic_whose_ipoib_is_down", INFINIBAND, RDMAD_PCI_PLAIN, 1, 3, 0, -1, GUID, TRUE, DOWN,
	  NULL },
};

static RdmadDevice *device_of_rest(const __typeof__(rests[0]) *c)
{
	RdmadDevice *dev = sample();
	RdmadPort *port = &dev->ports[0];

	dev->pci_role = c->pci;
	dev->pf_link = c->pf_link;
	dev->node_guid = g_strdup(c->guid);
	port->link_layer = c->layer;
	port->state = c->state;
	port->phys_state = c->phys_state;
	port->gids[0].raw[0] = 0xfe;
	port->gids[0].raw[15] = c->port_guid;
	dev->netdevs[0].up = c->up;
	dev->netdevs[0].carrier = c->state == RDMAD_PORT_ACTIVE ? 1 : RDMAD_UNKNOWN;
	return dev;
}

static void test_a_device_that_nobody_set_up_is_at_rest(gconstpointer data)
{
	const __typeof__(rests[0]) *c = data;
	RdmadDevice *dev = device_of_rest(c);

	g_assert_cmpstr(rdmad_device_problem(dev, NULL, NULL), ==, c->problem);
	g_assert_cmpstr(rdmad_device_rest(dev, NULL, NULL), ==, c->rest);
	dev->fatal = TRUE;
	g_assert_nonnull(rdmad_device_problem(dev, NULL, NULL));
	g_assert_null(rdmad_device_rest(dev, NULL, NULL));
	rdmad_device_unref(dev);
}

static gboolean is_second(const RdmadDevice *dev, const RdmadPort *port, gconstpointer data)
{
	return port->number == 2;
}

static void test_only_ports_that_count_are_at_rest(void)
{
	RdmadDevice *dev = device_of_rest(&rests[1]);

	dev->ports = g_renew(RdmadPort, dev->ports, 2);
	dev->ports[1] = (RdmadPort){ .number = 2, .state = RDMAD_PORT_ACTIVE, .phys_state = 5 };
	dev->n_ports = 2;
	g_assert_null(rdmad_device_rest(dev, NULL, NULL));
	g_assert_null(rdmad_device_problem(dev, NULL, NULL));
	dev->ports[1].state = RDMAD_PORT_DOWN;
	g_assert_cmpstr(rdmad_device_rest(dev, NULL, NULL), ==, REST);
	g_assert_null(rdmad_device_rest(dev, is_second, NULL));
	g_assert_cmpstr(rdmad_device_problem(dev, is_second, NULL), ==, DOWN);
	dev->ports[0].state = RDMAD_PORT_ACTIVE;
	dev->ports[0].phys_state = RDMAD_PHYS_LINK_UP;
	g_assert_null(rdmad_device_problem(dev, NULL, NULL));
	g_assert_cmpstr(rdmad_device_problem(dev, is_second, NULL), ==,
			"none of its selected ports is active");
	rdmad_device_unref(dev);
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
	TEST(a_copy_is_equal_and_shares_nothing),
	UNIT_CASES("/device/has_one_role/", roles, test_a_device_has_one_role),
	UNIT_CASES("/device/at_rest/", rests, test_a_device_that_nobody_set_up_is_at_rest),
	TEST(only_ports_that_count_are_at_rest),
	TEST(references_are_counted),
	TEST(problems_are_bounded),
	TEST(parts_are_found_by_name_and_kind),
	{ 0 },
};
