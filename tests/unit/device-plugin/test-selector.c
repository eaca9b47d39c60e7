/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

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
	{ "its link layer", "link_layers = \"ethernet\";", NULL },
	{ "another link layer", "link_layers = \"infiniband\";", "link_layers" },
	{ "not its link layer", "link_layers = \"!ethernet\";", "link_layers" },
	{ "all keys agree", "names = \"mlx5_*\"; vendors = \"15b3\"; netdevs = \"!eno*\";", NULL },
	{ "one key of two refuses", "names = \"mlx5_*\"; vendors = \"8086\";", "vendors" },
};

static void test_case(gconstpointer data)
{
	const SelectorCase *one = data;
	g_autofree char *text =
		g_strdup_printf("name = \"a/b\"; selectors = { %s };", one->selectors);
	g_autoptr(RdmadResourceSettings) settings = fixture_resource(text);
	g_autoptr(RdmadDeviceRef) dev = fixture_device("0000:3b:00.0", "mlx5_3", 0);

	g_assert_cmpstr(rdmad_selector_refusal(&settings->selector, dev), ==, one->refusal);
}

static void test_what_cannot_be_read_matches_no_pattern(void)
{
	g_autoptr(RdmadResourceSettings) by_driver =
		fixture_resource("name = \"a/b\"; selectors = { drivers = \"*\"; };");
	g_autoptr(RdmadResourceSettings) by_vendor =
		fixture_resource("name = \"a/b\"; selectors = { vendors = \"*\"; };");
	g_autoptr(RdmadResourceSettings) not_intel =
		fixture_resource("name = \"a/b\"; selectors = { vendors = \"!8086\"; };");
	g_autoptr(RdmadDeviceRef) bare = rdmad_device_new("rxe0", "rxe0");

	g_assert_cmpstr(rdmad_selector_refusal(&by_driver->selector, bare), ==, "drivers");
	g_assert_cmpstr(rdmad_selector_refusal(&by_vendor->selector, bare), ==, "vendors");
	g_assert_null(rdmad_selector_refusal(&not_intel->selector, bare));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (guint i = 0; i < G_N_ELEMENTS(CASES); i++) {
		g_autofree char *path = g_strdup_printf("/selector/%s", CASES[i].name);

		g_test_add_data_func(path, &CASES[i], test_case);
	}
	g_test_add_func("/selector/what cannot be read matches no pattern",
			test_what_cannot_be_read_matches_no_pattern);
	return g_test_run();
}
