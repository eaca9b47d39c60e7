/* SPDX-License-Identifier: Apache-2.0 */
#include "settings.h"

#include <rdmad/error.h>
#include <string.h>

#include "config/config-private.h"
#include "view-text.h"
#include "support/unit.h"

static void test_bad(void)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "version = \"3.1\";", "\"3.1\" is not a NCCL version" },
		{ "version = \"2\";", "\"2\" is not a NCCL version" },
		{ "version = \"2.27x\";", "is not a NCCL version" },
		{ "version = 2;", "version" },
		{ "network = \"node\";", "network" },
		{ "link_layer = \"iwarp\";", "link_layer" },
		{ "traffic_class = 256;", "traffic_class" },
		{ "service_level = 16;", "service_level" },
		{ "pkey_index = -2;", "pkey_index" },
		{ "qps_per_connection = 0;", "qps_per_connection" },
		{ "qps_per_connection = 129;", "qps_per_connection" },
		{ "cross_nic = 3;", "cross_nic" },
		{ "net_gdr_level = \"NODE\";", "net_gdr_level" },
		{ "subnets = \"10.0.0.0/33\";", "\"10.0.0.0/33\" is not an address range" },
		{ "storage_subnets = ( \"10.0.0.0/8\", \"x\" );", "\"x\" is not an address range" },
		{ "devices = \"!\";", "matches no name" },
		{ "siblings = \"mpi\";", "must be \"ucx\"" },
		{ "socket_ifname = \"eth0 \";", "characters" },
		{ "socket_ifname = \"'\";", "characters" },
		{ "gid_index = 3;", "gid_index" },
		{ "env_plugin = \"libnccl-env.so\";", "libnccl-env.so: not an absolute path" },
		{ "env_plugin = \"/nowhere/libnccl-env.so\";", "No such file" },
		{ "env_plugin = \"/dev/null\";", "/dev/null: not a file" },
		{ "env_plugin = \"/etc/passwd\";", "/etc/passwd: not a shared object" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *whole = g_strdup_printf("nccl = { %s };", cases[i].text);
		g_autoptr(GError) error = NULL;
		g_autoptr(RdmadConfig) config =
			rdmad_config_load_text("test.conf", whole, strlen(whole), &error);

		g_assert_no_error(error);
		g_assert_null(nccl_settings_parse(
			rdmad_config_child(rdmad_config_root(config), "nccl"), &error));
		g_test_message("%s: %s", cases[i].text, error->message);
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG);
		g_assert_nonnull(strstr(error->message, cases[i].message));
		g_assert_nonnull(strstr(error->message, "test.conf:1"));
	}
}

static void test_versions(void)
{
	static const struct {
		const char *text;
		guint from, to;
		gboolean warns;
	} cases[] = {
		{ "any", NCCL_OLDEST, NCCL_NEWEST, FALSE },
		{ "2.27", 27, 27, FALSE },
		{ "2.27.3", 27, 27, FALSE },
		{ "2.18.3-1+cuda12.1", 18, 18, FALSE },
		{ "2.17", NCCL_OLDEST, NCCL_OLDEST, TRUE },
		{ "2.33.1", NCCL_NEWEST, NCCL_NEWEST, TRUE },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text = g_strdup_printf("version = \"%s\";", cases[i].text);
		g_autoptr(NcclSettings) settings = settings_from_text(text);

		g_assert_cmpuint(settings->versions.from, ==, cases[i].from);
		g_assert_cmpuint(settings->versions.to, ==, cases[i].to);
		g_assert_cmpint(settings->version_warning != NULL, ==, cases[i].warns);
	}
}

/* Without a group, the defaults of the policy are those of rdmad-nccl-env. */
static void test_defaults(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(NcclSettings) settings = nccl_settings_parse(NULL, &error);
	g_auto(NcclPolicy) policy;

	nccl_policy_init(&policy);
	g_assert_no_error(error);
	g_assert_cmpstr(settings->policy.socket_ifname, ==, policy.socket_ifname);
	g_assert_cmpint(settings->policy.gpu_distance, ==, policy.gpu_distance);
	g_assert_cmpint(settings->policy.tc, ==, policy.tc);
	g_assert_cmpint(settings->policy.sl, ==, policy.sl);
	g_assert_cmpint(settings->policy.pkey, ==, policy.pkey);
	g_assert_cmpint(settings->policy.qps_per_connection, ==, policy.qps_per_connection);
	g_assert_cmpint(settings->policy.cross_nic, ==, policy.cross_nic);
	g_assert_null(settings->policy.net_gdr_level);
	g_assert_null(settings->policy.topo_file);
	g_assert_false(settings->host_network);
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/settings/what is wrong is named with its line", test_bad),
	UNIT_TEST("/settings/versions", test_versions),
	UNIT_TEST("/settings/defaults", test_defaults),
	{ 0 },
};
