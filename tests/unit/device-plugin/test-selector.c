/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"
#include "../support/unit.h"

typedef struct {
	const char *name, *selectors;
	const char *refusal; /* NULL: selected */
} SelectorCase;

static const SelectorCase CASES[] = {
	{ "no selector takes it", "", NULL },
	{ "its name", "names = \"mlx5_3\";", NULL },
	{ "a glob of its name", "names = \"mlx5_*\";", NULL },
	{ "one of several names", "names = ( \"rxe*\", \"mlx5_3\" );", NULL },
	{ "another name", "names = \"mlx5_4\";", "names" },
	{ "the whole name must match", "names = \"mlx5\";", "names" },
	{ "it is excluded", "names = \"!mlx5_3\";", "names" },
	{ "another is excluded", "names = \"!mlx5_4\";", NULL },
	{ "taken and excluded", "names = ( \"mlx5_*\", \"!*_3\" );", "names" },
	{ "exclusion first", "names = ( \"!*_3\", \"mlx5_*\" );", "names" },
	{ "its driver", "drivers = \"mlx5_core\";", NULL },
	{ "another driver", "drivers = \"bnxt_en\";", "drivers" },
	{ "one of its interfaces", "netdevs = \"vlan-*\";", NULL },
	{ "an interface it has not", "netdevs = \"eno1\";", "netdevs" },
	{ "one of its interfaces is excluded", "netdevs = ( \"eth-*\", \"!vlan-*\" );", "netdevs" },
	{ "its vendor", "vendors = \"15b3\";", NULL },
	{ "its vendor in capitals with 0x", "vendors = \"0x15B3\";", NULL },
	{ "another vendor", "vendors = \"8086\";", "vendors" },
	{ "its device id", "devices = ( \"101d\", \"1021\" );", NULL },
	{ "another device id", "devices = \"101d\";", "devices" },
	{ "a glob of its address", "pci_addresses = \"0000:3B:*\";", NULL },
	{ "another address", "pci_addresses = \"0000:3c:*\";", "pci_addresses" },
	{ "a glob of its GUID", "guids = \"0x0C42a103*\";", NULL },
	{ "its GUID with colons", "guids = \"0c42:a103:0065:4321\";", NULL },
	{ "another GUID", "guids = \"0c42a10300654322\";", "guids" },
	{ "its NUMA node", "numa_nodes = ( \"0\", \"2\" );", NULL },
	{ "another NUMA node", "numa_nodes = \"1\";", "numa_nodes: 0" },
	{ "its bond", "bonds = \"bond*\";", NULL },
	{ "only what is in no bond", "bonds = \"!*\";", "bonds: \"!*\"" },
	{ "an interface of its own as a PF", "pf_names = \"eth-*\";", NULL },
	{ "a range is of virtual functions", "pf_names = \"eth-*#0-7\";", "pf_names" },
	{ "its address as a root device", "root_devices = \"0000:3B:00.0\";", NULL },
	{ "its slot", "acpi_indexes = \"101\";", NULL },
	{ "another slot", "acpi_indexes = \"102\";", "acpi_indexes" },
	{ "no subfunction", "aux_types = \"sf\";", "aux_types: it has none" },
	{ "its P_Key", "pkeys = \"0xFFFF\";", NULL },
	{ "another P_Key", "pkeys = \"8001\";", "pkeys" },
	{ "the state of its port", "port_states = \"active\";", NULL },
	{ "another state", "port_states = \"down\";", "port_states: active" },
	{ "excluded by a group", "names = \"mlx5_*\"; exclude = { netdevs = \"vlan-*\"; };",
	  "exclude: netdevs" },
	{ "excluded by one group of two",
	  "exclude = ( { names = \"mlx5_4\"; }, { numa_nodes = \"0\"; } );", "exclude" },
	{ "an exclusion of which one key does not agree",
	  "exclude = { netdevs = \"vlan-*\"; vendors = \"8086\"; };", NULL },
	{ "its link layer", "link_layers = \"ethernet\";", NULL },
	{ "another link layer", "link_layers = \"infiniband\";", "link_layers" },
	{ "not its link layer", "link_layers = \"!ethernet\";", "link_layers" },
	{ "all keys agree", "names = \"mlx5_*\"; vendors = \"15b3\"; netdevs = \"!eno*\";", NULL },
	{ "one key of two refuses", "names = \"mlx5_*\"; vendors = \"8086\";", "vendors" },
};

/* A refusal begins with the name of the key. */
static void assert_refusal(const Selector *selector, const RdmadDevice *dev, const char *key)
{
	g_autofree char *refusal = selector_refusal(selector, dev);

	g_assert_cmpint(selector_takes(selector, dev), ==, key == NULL);
	if (!key)
		g_assert_null(refusal);
	else if (!refusal || !g_str_has_prefix(refusal, key))
		g_error("\"%s\" does not begin with \"%s\"", refusal, key);
}

static void test_case(gconstpointer data)
{
	const SelectorCase *one = data;
	g_autofree char *text =
		g_strdup_printf("name = \"a/b\"; selectors = { %s };", one->selectors);
	g_autoptr(ResourceSettings) settings = fixture_resource(text);
	g_autoptr(RdmadDevice) dev = fixture_device("0000:3b:00.0", "mlx5_3", 0);

	dev->node_guid = g_strdup("0c42:a103:0065:4321");
	dev->bond = g_strdup("bond0");
	dev->acpi_index = 101;
	dev->ports[0].pkey0 = 0xffff;
	assert_refusal(&settings->selector, dev, one->refusal);
}

static void test_what_cannot_be_read_matches_no_pattern(void)
{
	g_autoptr(ResourceSettings) by_driver =
		fixture_resource("name = \"a/b\"; selectors = { drivers = \"*\"; };");
	g_autoptr(ResourceSettings) by_vendor =
		fixture_resource("name = \"a/b\"; selectors = { vendors = \"*\"; };");
	g_autoptr(ResourceSettings) not_intel =
		fixture_resource("name = \"a/b\"; selectors = { vendors = \"!8086\"; };");
	g_autoptr(RdmadDeviceRef) bare = rdmad_device_new("rxe0", "rxe0");

	assert_refusal(&by_driver->selector, bare, "drivers");
	assert_refusal(&by_vendor->selector, bare, "vendors");
	assert_refusal(&not_intel->selector, bare, NULL);
}

static void test_any_group_of_a_list_takes_it(void)
{
	g_autoptr(ResourceSettings) settings =
		fixture_resource("name = \"a/b\"; selectors = ( { names = \"mlx5_4\"; }, "
				 "{ vendors = \"15b3\"; netdevs = \"eth-*\"; } );");
	g_autoptr(RdmadDeviceRef) taken = fixture_device("0000:3b:00.0", "mlx5_3", 0);
	g_autoptr(RdmadDevice) other = fixture_device("0000:3c:00.0", "mlx5_5", 0);

	assert_refusal(&settings->selector, taken, NULL);
	other->vendor = 0x8086;
	assert_refusal(&settings->selector, other, "selectors[0]: names: mlx5_5");
}

static RdmadDevice *virtual_function(int index)
{
	RdmadDevice *dev = fixture_device("0000:3b:01.2", "mlx5_9", 0);

	dev->pci_role = RDMAD_PCI_VF;
	dev->vf_index = index;
	dev->pf_address = g_strdup("0000:3b:00.0");
	dev->pf_netdevs = g_strsplit("ens1f0,ens1f0np0", ",", -1);
	return dev;
}

static void test_a_range_of_virtual_functions_holds_its_ends(void)
{
	static const gboolean held[] = { TRUE, TRUE, TRUE, TRUE, FALSE, FALSE, FALSE, TRUE, FALSE };
	g_autoptr(ResourceSettings) by_name =
		fixture_resource("name = \"a/b\"; selectors = { pf_names = \"ens1f0#0-3,7\"; };");
	g_autoptr(ResourceSettings) by_root =
		fixture_resource("name = \"a/b\"; selectors = { root_devices = ( \"0000:3c:00.0\", "
				 "\"0000:3B:00.0#0-3,7\" ); };");

	for (guint i = 0; i < G_N_ELEMENTS(held); i++) {
		g_autoptr(RdmadDevice) dev = virtual_function((int)i);

		assert_refusal(&by_name->selector, dev, held[i] ? NULL : "pf_names");
		assert_refusal(&by_root->selector, dev, held[i] ? NULL : "root_devices");
	}
}

static void test_a_subfunction_goes_by_its_type_and_number(void)
{
	g_autoptr(ResourceSettings) settings = fixture_resource(
		"name = \"a/b\"; selectors = { aux_types = \"sf\"; pf_names = \"ens1f0#88\"; };");
	g_autoptr(RdmadDevice) dev = fixture_device("0000:3b:00.0", "mlx5_6", 0);

	dev->aux_name = g_strdup("mlx5_core.sf.4");
	dev->sf_number = 88;
	dev->pf_netdevs = g_strsplit("ens1f0", ",", -1);
	assert_refusal(&settings->selector, dev, NULL);
	dev->sf_number = 89;
	assert_refusal(&settings->selector, dev, "pf_names");
}

static void test_one_port_must_have_all_that_is_asked_of_ports(void)
{
	g_autoptr(ResourceSettings) settings =
		fixture_resource("name = \"a/b\"; selectors = { link_layers = \"infiniband\"; "
				 "port_states = \"active\"; };");
	g_autoptr(RdmadDevice) dev = fixture_device("0000:3b:00.0", "mlx5_3", 0);

	dev->ports = g_renew(RdmadPort, dev->ports, 2);
	dev->ports[1] = (RdmadPort){ .number = 2,
				     .link_layer = RDMAD_LINK_LAYER_INFINIBAND,
				     .state = RDMAD_PORT_DOWN };
	dev->n_ports = 2;
	assert_refusal(&settings->selector, dev, "port_states: down");
	dev->ports[1].state = RDMAD_PORT_ACTIVE;
	assert_refusal(&settings->selector, dev, NULL);
	g_assert_false(selector_takes_port(&settings->selector, dev, &dev->ports[0]));
	g_assert_true(selector_takes_port(&settings->selector, dev, &dev->ports[1]));
}

/* ---- devices that are no NICs ---- */

#define MANAGES "it manages the NVSwitches"

static const struct {
	const char *name, *selectors;
	const char *refusal; /* of a switch's management function; NULL: it is selected */
} switches[] = {
	{ "by everything", "", MANAGES },
	{ "by vendor", "selectors = { vendors = \"15b3\"; };", MANAGES },
	{ "by link layer", "selectors = { link_layers = \"ethernet\"; };", MANAGES },
	{ "by a glob", "selectors = { names = \"mlx5_*\"; };", MANAGES },
	{ "by what it is not", "selectors = { names = \"!mlx5_4\"; };", MANAGES },
	{ "by a glob of addresses", "selectors = { pci_addresses = \"0000:3b:*\"; };", MANAGES },
	{ "by the name of another", "selectors = { names = \"mlx5_4\"; };", "names: mlx5_3" },
	{ "by name", "selectors = { names = ( \"mlx5_4\", \"mlx5_3\" ); };", NULL },
	{ "by name and vendor", "selectors = { names = \"mlx5_3\"; vendors = \"15b3\"; };", NULL },
	{ "by name and another vendor", "selectors = { names = \"mlx5_3\"; vendors = \"8086\"; };",
	  "vendors" },
	{ "by name but excluded",
	  "selectors = { names = \"mlx5_3\"; exclude = { vendors = \"15b3\"; }; };", "exclude" },
	{ "by address", "selectors = { pci_addresses = \"0000:3b:00.0\"; };", NULL },
	{ "by GUID", "selectors = { guids = \"0c42:a103:0065:4321\"; };", NULL },
	{ "by GUID without colons", "selectors = { guids = \"0c42a10300654321\"; };", NULL },
	{ "by interface", "selectors = { netdevs = \"eth-mlx5_3\"; };", NULL },
	{ "by one group of two",
	  "selectors = ( { vendors = \"15b3\"; }, { names = \"mlx5_3\"; } );", NULL },
	{ "by two groups", "selectors = ( { vendors = \"15b3\"; }, { drivers = \"mlx5_core\"; } );",
	  "selectors[0]: " MANAGES },
};

static void test_a_management_function_must_be_named(gconstpointer data)
{
	const __typeof__(switches[0]) *c = data;
	g_autofree char *text = g_strdup_printf("name = \"a/b\"; %s", c->selectors);
	g_autoptr(ResourceSettings) settings = fixture_resource(text);
	g_autoptr(RdmadDevice) dev = fixture_device("0000:3b:00.0", "mlx5_3", 0);

	dev->node_guid = g_strdup("0c42:a103:0065:4321");
	dev->vpd_model = g_strdup("SW_MNG");
	assert_refusal(&settings->selector, dev, c->refusal);
	/* A sub-device is never selected. */
	g_clear_pointer(&dev->vpd_model, g_free);
	dev->parent = g_strdup("mlx5_0");
	dev->chardevs[0].kind = RDMAD_CHARDEV_UMAD;
	g_assert_false(selector_takes(&settings->selector, dev));
}

/* ---- ports of interfaces ---- */

static const struct {
	const char *name, *selectors;
	gboolean first, second;
} port_cases[] = {
	{ "none", "", TRUE, TRUE },
	{ "the second", "selectors = { netdevs = \"ens60d1\"; };", FALSE, TRUE },
	{ "the first", "selectors = { netdevs = \"ens60\"; };", TRUE, FALSE },
	{ "both", "selectors = { netdevs = \"ens60*\"; };", TRUE, TRUE },
	{ "a VLAN", "selectors = { netdevs = \"ens60d1.7\"; };", FALSE, TRUE },
	{ "an interface of no port", "selectors = { netdevs = \"rep0\"; };", TRUE, TRUE },
	{ "one of a port and one of none", "selectors = { netdevs = ( \"rep0\", \"ens60\" ); };",
	  TRUE, FALSE },
	{ "not another", "selectors = { netdevs = \"!eth0\"; };", TRUE, TRUE },
	{ "by the physical function", "selectors = { pf_names = \"ens60d1\"; };", FALSE, TRUE },
	{ "another link layer",
	  "selectors = { netdevs = \"ens60d1\"; link_layers = \"infiniband\"; };", FALSE, FALSE },
	{ "a group for each",
	  "selectors = ( { netdevs = \"ens60d1\"; }, { netdevs = \"ens60\"; } );", TRUE, TRUE },
};

static void test_an_interface_selects_its_port(gconstpointer data)
{
	const __typeof__(port_cases[0]) *c = data;
	static const char *const netdevs[] = { "ens60", "ens60d1", "ens60d1.7", "rep0" };
	g_autofree char *text = g_strdup_printf("name = \"a/b\"; %s", c->selectors);
	g_autoptr(ResourceSettings) settings = fixture_resource(text);
	g_autoptr(RdmadDevice) dev = fixture_device("0000:61:00.0", "mlx4_0", 0);

	g_free(dev->netdevs[0].name);
	g_free(dev->netdevs[1].name);
	dev->netdevs = g_renew(RdmadNetdev, dev->netdevs, 4);
	dev->n_netdevs = 4;
	for (guint i = 0; i < 4; i++)
		dev->netdevs[i] = (RdmadNetdev){ .name = g_strdup(netdevs[i]) };
	dev->ports = g_renew(RdmadPort, dev->ports, 2);
	dev->n_ports = 2;
	dev->ports[0].netdev = g_strdup("ens60");
	dev->ports[1] = (RdmadPort){ .number = 2,
				     .link_layer = RDMAD_LINK_LAYER_ETHERNET,
				     .netdev = g_strdup("ens60d1"),
				     .gids = g_new0(RdmadGid, 1),
				     .n_gids = 1 };
	dev->ports[1].gids[0].netdev = g_strdup("ens60d1.7");
	if (strstr(c->selectors, "link_layers"))
		dev->ports[0].link_layer = RDMAD_LINK_LAYER_INFINIBAND;
	assert_refusal(&settings->selector, dev, NULL);
	g_assert_cmpint(selector_takes_port(&settings->selector, dev, &dev->ports[0]), ==,
			c->first);
	g_assert_cmpint(selector_takes_port(&settings->selector, dev, &dev->ports[1]), ==,
			c->second);
}

const UnitTest unit_tests[] = {
	UNIT_CASES("/selector/a management function is selected ", switches,
		   test_a_management_function_must_be_named),
	UNIT_CASES("/selector/the port of ", port_cases, test_an_interface_selects_its_port),
	UNIT_CASES("/selector/", CASES, test_case),
	UNIT_TEST("/selector/what cannot be read matches no pattern",
		  test_what_cannot_be_read_matches_no_pattern),
	UNIT_TEST("/selector/any group of a list takes it", test_any_group_of_a_list_takes_it),
	UNIT_TEST("/selector/a range of virtual functions holds its ends",
		  test_a_range_of_virtual_functions_holds_its_ends),
	UNIT_TEST("/selector/a subfunction goes by its type and number",
		  test_a_subfunction_goes_by_its_type_and_number),
	UNIT_TEST("/selector/one port must have all that is asked of ports",
		  test_one_port_must_have_all_that_is_asked_of_ports),
	{ 0 },
};
