/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"
#include "../support/refused.h"
#include "../support/unit.h"

static void test_no_configuration_is_one_shared_resource_of_1000(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(PluginSettings) settings = plugin_settings_parse(NULL, &error);
	ResourceSettings *resource;
	g_autoptr(RdmadDeviceRef) dev = fixture_device("0000:3b:00.0", "mlx5_0", 0);
	g_autoptr(RdmadDeviceRef) portless = rdmad_device_new("efa0", "efa0");

	g_assert_no_error(error);
	g_assert_cmpuint(settings->resources->len, ==, 1);
	resource = settings->resources->pdata[0];
	g_assert_cmpstr(resource->name, ==, "rdma/hca");
	g_assert_cmpint(resource->mode, ==, MODE_SHARED);
	g_assert_cmpint(resource->count, ==, 1000);
	g_assert_true(selector_takes(&resource->selector, dev));
	g_assert_false(selector_takes(&resource->selector, portless));
}

static void test_every_option_is_read(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(PluginSettings) settings = fixture_settings(
		"registration = \"legacy\"; socket_prefix = \"other\"; health_delay = \"250ms\"; "
		"forget_delay = 5; device_info_dir = \"/x/dp\"; cdi_dir = \"\"; resources = ( { "
		"name = "
		"\"example.com/Rail_0\"; count = 63; "
		"count_per = \"device\"; ignore_health = true; umad = true; issm = true; ucm = "
		"true; "
		"permissions = \"rwm\"; expose = \"pool\"; ids = \"name\"; numa = false; "
		"busy_pfs = true; shared_with = \"c/d\"; }, { name = \"a/b\"; mode = "
		"\"exclusive\"; "
		"selectors = { names = \"a\"; }; }, { name = \"c/d\"; mode = \"shared-multi\"; "
		"multi_count = 4; mode_from = \"label:mode\"; } );",
		&error);
	ResourceSettings *first, *second, *third;

	g_assert_no_error(error);
	g_assert_cmpint(settings->registration, ==, REGISTRATION_LEGACY);
	g_assert_cmpstr(settings->socket_prefix, ==, "other");
	g_assert_cmpuint(settings->health_delay_ms, ==, 250);
	g_assert_cmpuint(settings->forget_delay_ms, ==, 5000);
	g_assert_cmpstr(settings->device_info_dir, ==, "/x/dp");
	g_assert_cmpstr(settings->cdi_dir, ==, "");
	first = settings->resources->pdata[0];
	second = settings->resources->pdata[1];
	third = settings->resources->pdata[2];
	g_assert_cmpint(first->count, ==, 63);
	g_assert_cmpint(first->expose, ==, EXPOSE_POOL);
	g_assert_cmpint(first->ids, ==, IDS_NAME);
	g_assert_true(first->busy_pfs && !first->numa);
	g_assert_cmpstr(first->shared_with[0], ==, "c/d");
	g_assert_cmpint(third->mode, ==, MODE_SHARED_MULTI);
	g_assert_cmpint(third->multi_count, ==, 4);
	g_assert_cmpstr(third->mode_from, ==, "label:mode");
	g_assert_cmpint(first->count_per, ==, COUNT_PER_DEVICE);
	g_assert_true(first->umad && first->issm && first->ucm && first->ignore_health);
	g_assert_cmpstr(first->permissions, ==, "rwm");
	g_assert_cmpint(second->mode, ==, MODE_EXCLUSIVE);
}

static void test_defaults_are_for_resources_that_do_not_say_otherwise(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(PluginSettings) settings = fixture_settings(
		"defaults = { expose = \"pool\"; permissions = \"rwm\"; }; resources = ( "
		"{ name = \"a/b\"; permissions = \"r\"; }, "
		"{ name = \"c/d\"; mode = \"exclusive\"; selectors = { names = \"x\"; }; } );",
		&error);
	g_autoptr(PluginSettings) alone =
		fixture_settings("defaults = { expose = \"pool\"; };", NULL);
	const ResourceSettings *first, *second;

	g_assert_no_error(error);
	first = settings->resources->pdata[0];
	second = settings->resources->pdata[1];
	g_assert_cmpint(first->expose, ==, EXPOSE_POOL);
	g_assert_cmpstr(first->permissions, ==, "r");
	g_assert_cmpstr(second->permissions, ==, "rwm");
	first = alone->resources->pdata[0];
	g_assert_cmpint(first->expose, ==, EXPOSE_POOL);
}

typedef struct {
	const char *name, *text, *message;
} BadCase;

static const BadCase BAD[] = {
	{ "an unknown key", "registratoin = \"auto\";", "registration" },
	{ "an unknown way", "registration = \"both\";", "registration" },
	{ "an empty list", "resources = ( );", "default" },
	{ "nccl_hca beside another resource",
	  "resources = ( { name = \"a/b\"; nccl_hca = true; selectors = { names = \"x\"; }; }, "
	  "{ name = \"a/c\"; selectors = { names = \"y\"; }; } );",
	  "single resource" },
	{ "nccl_hca of interfaces that are to come",
	  "resources = ( { name = \"a/b\"; mode = \"shared-multi\"; nccl_hca = true; } );",
	  "not for shared-multi" },
	{ "a resource without a name", "resources = ( { mode = \"shared\"; } );", "name" },
	{ "a name without a slash", "resources = ( { name = \"hca\"; } );", "slash" },
	{ "two slashes", "resources = ( { name = \"a/b/c\"; } );", "after the slash" },
	{ "nothing after the slash", "resources = ( { name = \"rdma/\"; } );", "after the slash" },
	{ "nothing before the slash", "resources = ( { name = \"/hca\"; } );", "before the slash" },
	{ "a domain in capitals", "resources = ( { name = \"RDMA/hca\"; } );", "before the slash" },
	{ "a domain that ends in a dash", "resources = ( { name = \"rdma-/hca\"; } );",
	  "before the slash" },
	{ "a name that begins with a dot", "resources = ( { name = \"rdma/.hca\"; } );",
	  "after the slash" },
	{ "a name of 64 characters",
	  "resources = ( { name = "
	  "\"a/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"; } );",
	  "after the slash" },
	{ "kubernetes.io", "resources = ( { name = \"kubernetes.io/hca\"; } );", "kubernetes.io" },
	{ "below kubernetes.io", "resources = ( { name = \"rdma.kubernetes.io/hca\"; } );",
	  "kubernetes.io" },
	{ "a quota's name", "resources = ( { name = \"requests.rdma/hca\"; } );", "quotas" },
	{ "the same name twice", "resources = ( { name = \"a/b\"; }, { name = \"a/b\"; } );",
	  "there already" },
	{ "names that give one environment variable",
	  "resources = ( { name = \"a.b/c-d\"; }, { name = \"a/b.c_d\"; } );",
	  "\"a.b/c-d\" and \"a/b.c_d\"" },
	{ "a name that is the information of another",
	  "resources = ( { name = \"a/b_info\"; }, { name = \"a/b\"; } );",
	  "environment variable" },
	{ "a directory that is relative", "device_info_dir = \"dp\";", "absolute" },
	{ "permissions that CDI does not give",
	  "resources = ( { name = \"a/b\"; cdi = \"on\"; permissions = \"rwm\"; } );", "CDI" },
	{ "no slot", "resources = ( { name = \"a/b\"; count = 0; } );", "count" },
	{ "more slots than one message carries",
	  "resources = ( { name = \"a/b\"; count = 32769; } );", "count" },
	{ "a count for exclusive",
	  "resources = ( { name = \"a/b\"; mode = \"exclusive\"; count = 2; } );",
	  "one slot a device" },
	{ "all devices for exclusive",
	  "resources = ( { name = \"a/b\"; mode = \"exclusive\"; expose = \"pool\"; } );",
	  "one container alone" },
	{ "a count for shared-multi",
	  "resources = ( { name = \"a/b\"; mode = \"shared-multi\"; count = 2; } );",
	  "multi_count" },
	{ "two resources of the same devices",
	  "resources = ( { name = \"a/b\"; selectors = { names = \"x\"; }; }, "
	  "{ name = \"c/d\"; selectors = { names = \"x\"; }; } );",
	  "c/d and a/b select the same devices" },
	{ "sharing with an exclusive one",
	  "resources = ( { name = \"a/b\"; mode = \"exclusive\"; }, "
	  "{ name = \"c/d\"; shared_with = \"a/b\"; } );",
	  "unless one is exclusive" },
	{ "sharing with nobody", "resources = ( { name = \"a/b\"; shared_with = \"c/d\"; } );",
	  "not another resource" },
	{ "sharing with oneself", "resources = ( { name = \"a/b\"; shared_with = \"a/b\"; } );",
	  "not another resource" },
	{ "an exclusive one that shares",
	  "resources = ( { name = \"a/b\"; mode = \"exclusive\"; shared_with = \"c/d\"; }, "
	  "{ name = \"c/d\"; } );",
	  "shares its devices with no other" },
	{ "a default for what is each resource's own", "defaults = { mode = \"exclusive\"; };",
	  "unknown key" },
	{ "an unknown mode", "resources = ( { name = \"a/b\"; mode = \"both\"; } );", "mode" },
	{ "an unknown selector",
	  "resources = ( { name = \"a/b\"; selectors = { name = \"x\"; }; } );", "names" },
	{ "an empty pattern",
	  "resources = ( { name = \"a/b\"; selectors = { names = \"!\"; }; } );", "pattern" },
	{ "a vendor by its name",
	  "resources = ( { name = \"a/b\"; selectors = { vendors = \"Mellanox\"; }; } );", "15b3" },
	{ "a misspelt link layer",
	  "resources = ( { name = \"a/b\"; selectors = { link_layers = \"eternet\"; }; } );",
	  "ethernet" },
	{ "a range with a hole in it",
	  "resources = ( { name = \"a/b\"; selectors = { pf_names = \"ens1f0#0-\"; }; } );",
	  "ens1f0#0-3,7" },
	{ "a range that runs backwards",
	  "resources = ( { name = \"a/b\"; selectors = { pf_names = \"ens1f0#3-0\"; }; } );",
	  "from 0 to" },
	{ "a range of nothing",
	  "resources = ( { name = \"a/b\"; selectors = { root_devices = \"#1\"; }; } );",
	  "from 0 to" },
	{ "a NUMA node in words",
	  "resources = ( { name = \"a/b\"; selectors = { numa_nodes = \"first\"; }; } );",
	  "not a number" },
	{ "a state that no port has",
	  "resources = ( { name = \"a/b\"; selectors = { port_states = \"up\"; }; } );", "active" },
	{ "an exclusion inside an exclusion",
	  "resources = ( { name = \"a/b\"; selectors = { exclude = { exclude = { }; }; }; } );",
	  "unknown key" },
	{ "odd permissions", "resources = ( { name = \"a/b\"; permissions = \"rx\"; } );",
	  "letters" },
	{ "a socket prefix with a slash", "socket_prefix = \"../x\";", "prefix" },
	{ "too long a delay", "health_delay = \"2h\";", "health_delay" },
};

static void test_bad(gconstpointer data)
{
	const BadCase *bad = data;
	g_autoptr(GError) error = NULL;
	g_autoptr(PluginSettings) settings = fixture_settings(bad->text, &error);

	g_assert_null(settings);
	assert_refused(error, bad->message);
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/settings/no configuration is one shared resource of 1000",
		  test_no_configuration_is_one_shared_resource_of_1000),
	UNIT_TEST("/settings/every option is read", test_every_option_is_read),
	UNIT_TEST("/settings/defaults are for resources that do not say otherwise",
		  test_defaults_are_for_resources_that_do_not_say_otherwise),
	UNIT_CASES("/settings/refuses ", BAD, test_bad),
	{ 0 },
};
