/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <rdmad/error.h>

#include "support/unit.h"

static void test_no_configuration_takes_every_device_as_it_was_allocated(void)
{
	g_autoptr(RdmadDeviceRef) dev = fixture_device("0000:3b:00.0", "mlx5_0", "ens1f0");
	g_autoptr(GError) error = NULL;
	g_autoptr(CniSettings) settings = cni_settings_parse(NULL, &error);
	const CniPolicy *policy;

	g_assert_no_error(error);
	policy = cni_settings_policy(settings, dev, "ens1f0");
	g_assert_cmpstr(policy->name, ==, "default");
	g_assert_cmpint(policy->mode, ==, CNI_MODE_ALLOCATION);
	g_assert_cmpint(policy->link, ==, CNI_LINK_MACVLAN);
	g_assert_true(policy->policy_routing && policy->wait_gid && policy->prove &&
		      policy->announce && policy->routes);
	g_assert_cmpint(settings->table_base, ==, 1000);
}

static void test_every_option_is_read(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(CniSettings) settings = fixture_settings(
		"socket = \"/a/s\"; spool_dir = \"/a/d\"; plugin_path = ( \"/p\" ); "
		"annotation_networks = ( \"rdma\", \"r*\" ); requests = 8; queue = 9; "
		"request_timeout = 60; ipam_timeout = 20; gid_timeout = \"2s\"; "
		"carrier_timeout = 0; table_base = 5000; rule_priority = 10000; networks = ( { "
		"name = \"rails\"; netdevs = \"ens*\"; devices = \"mlx5_*\"; pci_addresses = "
		"\"0000:*\"; mode = \"shared\"; link = \"ipvlan\"; macvlan_mode = \"vepa\"; "
		"ipvlan_mode = \"l3s\"; ipoib_mode = \"connected\"; mtu = 4200; addresses = "
		"\"none\"; rp_filter = \"off\"; routes = false; default_route = true; "
		"policy_routing = false; dad = true; announce = false; carrier = true; wait_gid = "
		"false; prove = false; last_way = true; } );",
		&error);
	const CniPolicy *policy;

	g_assert_no_error(error);
	g_assert_cmpstr(settings->socket, ==, "/a/s");
	g_assert_cmpstr(settings->spool_dir, ==, "/a/d");
	g_assert_cmpstr(settings->plugin_path[0], ==, "/p");
	g_assert_cmpstr(settings->annotation_networks[1], ==, "r*");
	g_assert_cmpint(settings->requests, ==, 8);
	g_assert_cmpint(settings->queue, ==, 9);
	g_assert_cmpuint(settings->request_timeout_ms, ==, 60000);
	g_assert_cmpuint(settings->ipam_timeout_ms, ==, 20000);
	g_assert_cmpuint(settings->gid_timeout_ms, ==, 2000);
	g_assert_cmpuint(settings->carrier_timeout_ms, ==, 0);
	g_assert_cmpint(settings->table_base, ==, 5000);
	g_assert_cmpint(settings->rule_priority, ==, 10000);
	policy = cni_settings_policy_named(settings, "rails");
	g_assert_cmpint(policy->mode, ==, CNI_MODE_SHARED);
	g_assert_cmpint(policy->link, ==, CNI_LINK_IPVLAN);
	g_assert_cmpstr(cni_policy_macvlan_mode(policy), ==, "vepa");
	g_assert_cmpstr(cni_policy_ipvlan_mode(policy), ==, "l3s");
	g_assert_cmpstr(cni_policy_ipoib_mode(policy), ==, "connected");
	g_assert_cmpint(policy->mtu, ==, 4200);
	g_assert_cmpint(policy->addresses, ==, CNI_ADDRESSES_NONE);
	g_assert_cmpint(policy->rp_filter, ==, CNI_RP_FILTER_OFF);
	g_assert_true(policy->default_route && policy->dad && policy->carrier && policy->last_way);
	g_assert_false(policy->routes || policy->policy_routing || policy->announce ||
		       policy->wait_gid || policy->prove);
}

static void test_the_first_network_that_takes_a_nic_has_it(void)
{
	g_autoptr(CniSettings) settings = fixture_settings(
		"networks = ( { name = \"a\"; netdevs = \"ens2*\"; }, { name = \"b\"; netdevs = ( "
		"\"ens*\", \"!ens9*\" ); pci_addresses = \"0000:3b:*\"; }, { name = \"c\"; devices "
		"= "
		"\"mlx5_?\"; } );",
		NULL);
	static const struct {
		const char *id, *name, *netdev, *policy;
	} cases[] = {
		{ "0000:3b:00.0", "mlx5_0", "ens2f0", "a" },
		{ "0000:3b:00.0", "mlx5_0", "ens1f0", "b" },
		{ "0000:5e:00.0", "mlx5_0", "ens1f0", "c" },
		{ "0000:3b:00.0", "mlx5_0", "ens9f0", "c" },
		{ "0000:3b:00.0", "mlx5_10", "ens9f0", "default" },
		{ "rxe0", "rxe0", "ens1f0", "default" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(RdmadDeviceRef) dev =
			fixture_device(cases[i].id, cases[i].name, cases[i].netdev);

		g_assert_cmpstr(cni_settings_policy(settings, dev, cases[i].netdev)->name, ==,
				cases[i].policy);
	}
}

static void test_what_is_wrong_is_told_with_its_place(void)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "socket = \"cni.sock\";", "must be an absolute path" },
		{ "plugin_path = ( \"bin\" );", "must be an absolute path" },
		{ "table_base = 254;", "table_base" },
		{ "rule_priority = 40000;", "rule_priority" },
		{ "ipam_timeout = 90;", "must end before request_timeout" },
		{ "networks = ( { mode = \"shared\"; } );", "name" },
		{ "networks = ( { name = \"A b\"; } );", "a name has lower-case letters" },
		{ "networks = ( { name = \"a\"; }, { name = \"a\"; } );", "is there already" },
		{ "networks = ( { name = \"a\"; mode = \"private\"; } );", "mode" },
		{ "networks = ( { name = \"a\"; mtu = 10; } );", "mtu" },
		{ "networks = ( { name = \"a\"; links = \"ipvlan\"; } );", "link" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(CniSettings) settings = fixture_settings(cases[i].text, &error);

		g_assert_null(settings);
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG);
		g_test_message("%s", error->message);
		g_assert_nonnull(strstr(error->message, "test.conf:1"));
		g_assert_nonnull(strstr(error->message, cases[i].message));
	}
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/settings/defaults",
		  test_no_configuration_takes_every_device_as_it_was_allocated),
	UNIT_TEST("/settings/all", test_every_option_is_read),
	UNIT_TEST("/settings/policy", test_the_first_network_that_takes_a_nic_has_it),
	UNIT_TEST("/settings/wrong", test_what_is_wrong_is_told_with_its_place),
	{ 0 },
};
