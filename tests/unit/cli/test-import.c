/* SPDX-License-Identifier: Apache-2.0 */
/* Configurations of other plugins as rdmad.conf: exact output for the files in tests/import, and
 * single rules */
#include <string.h>

#include "cli/import/import.h"
#include "config/config-private.h"
#include "../support/unit.h"

static char *convert(const char *text, const RdmadImportOptions *options, GPtrArray *notes)
{
	g_autoptr(GError) error = NULL;
	char *config = rdmad_import_convert(text, strlen(text), options, notes, &error);

	g_assert_no_error(error);
	return config;
}

/* Converts a text with ' instead of ", for legibility. */
static char *convert_quoted(const char *text, GPtrArray *notes)
{
	const RdmadImportOptions options = { .file = "x.json" };
	g_autofree char *json = g_strdelimit(g_strdup(text), "'", '"');

	return convert(json, &options, notes);
}

static GPtrArray *notes_new(void)
{
	return g_ptr_array_new_with_free_func(g_free);
}

static void assert_note(const GPtrArray *notes, const char *note)
{
	for (guint i = 0; i < notes->len; i++)
		if (strstr(notes->pdata[i], note))
			return;
	g_error("no note \"%s\" among %u", note, notes->len);
}

static char *read_text(const char *name)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *path = g_build_filename(IMPORT_DIR, name, NULL);
	char *text = NULL;

	g_file_get_contents(path, &text, NULL, &error);
	g_assert_no_error(error);
	return text;
}

/* ---- whole files ---- */

static void test_file(gconstpointer data)
{
	const RdmadImportOptions options = { .file = data };
	g_autofree char *stem = g_strndup(data, strcspn(data, "."));
	g_autofree char *expected_name = g_strconcat(stem, ".conf", NULL);
	g_autofree char *text = read_text(data);
	g_autofree char *expected = read_text(expected_name);
	g_autoptr(GPtrArray) notes = notes_new();
	g_autofree char *config = convert(text, &options, notes);
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadConfig) loaded = NULL;

	g_assert_cmpstr(config, ==, expected);
	loaded = rdmad_config_load_text("x.conf", config, strlen(config), &error);
	g_assert_no_error(error);
	for (guint i = 0; i < notes->len; i++) {
		g_autofree char *comment = g_strconcat("# ", notes->pdata[i], "\n", NULL);

		g_assert_nonnull(strstr(config, comment));
	}
}

/* ---- names and counts ---- */

#define SHARED(pools_) "{'configList': [" pools_ "]}"
#define SRIOV(pools_)  "{'resourceList': [" pools_ "]}"
#define RDMA	       "'selectors': {'isRdma': true, 'pfNames': ['p0']}"

static void test_the_resource_prefix_of_the_command_line_is_a_default(void)
{
	static const char quoted[] =
		SRIOV("{'resourceName': 'a', " RDMA "},"
		      "{'resourceName': 'b', 'resourcePrefix': 'nvidia.com', 'isRdma': true,"
		      " 'selectors': {'pfNames': ['p1']}}");
	const RdmadImportOptions options = { .file = "x.json", .prefix = "openshift.io" };
	g_autofree char *json = g_strdelimit(g_strdup(quoted), "'", '"');
	g_autoptr(GPtrArray) notes = notes_new();
	g_autofree char *config = convert(json, &options, notes);

	g_assert_nonnull(strstr(config, "\"openshift.io/a\""));
	g_assert_nonnull(strstr(config, "\"nvidia.com/b\""));
	g_assert_cmpuint(notes->len, ==, 0);
}

static void test_a_pool_without_slots_is_left_out(void)
{
	g_autoptr(GPtrArray) notes = notes_new();
	g_autofree char *config = convert_quoted(
		SHARED("{'resourceName': 'none', 'devices': ['ib0']},"
		       "{'resourceName': 'some', 'rdmaHcaMax': 1, 'devices': ['ib0']}"),
		notes);

	g_assert_null(strstr(config, "rdma/none"));
	g_assert_nonnull(strstr(config, "rdma/some"));
	assert_note(notes, "configList[0]: rdmaHcaMax is 0 or absent");
}

static void test_more_slots_than_rdmad_has_are_its_most(void)
{
	g_autoptr(GPtrArray) notes = notes_new();
	g_autofree char *config = convert_quoted(
		SHARED("{'resourceName': 'a', 'rdmaHcaMax': 100000, 'devices': ['ib0']}"), notes);

	g_assert_nonnull(strstr(config, "count = 32768;"));
	assert_note(notes, "configList[0].rdmaHcaMax: 32768 is the most");
}

static void test_pools_that_cannot_meet_are_not_shared(void)
{
	static const struct {
		const char *a, *b;
		gboolean shared;
	} cases[] = {
		{ "'ifNames': ['ib0']", "'ifNames': ['ib1']", FALSE },
		{ "'ifNames': ['ib0', 'ib1']", "'ifNames': ['ib1']", TRUE },
		{ "'vendors': ['15b3']", "'drivers': ['mlx5_core']", TRUE },
		{ "'vendors': ['15b3'], 'linkTypes': ['ether']",
		  "'vendors': ['15b3'], 'linkTypes': ['infiniband']", FALSE },
		{ "'deviceIDs': ['1017']", "'vendors': ['15b3']", TRUE },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GPtrArray) notes = notes_new();
		g_autofree char *json = g_strdup_printf(
			SHARED("{'resourceName': 'a', 'rdmaHcaMax': 1, 'selectors': {%s}},"
			       "{'resourceName': 'b', 'rdmaHcaMax': 1, 'selectors': {%s}}"),
			cases[i].a, cases[i].b);
		g_autofree char *config = convert_quoted(json, notes);

		g_assert_cmpint(strstr(config, "shared_with = \"rdma/a\"") != NULL, ==,
				cases[i].shared);
		g_assert_cmpint(strstr(config, "shared_with = \"rdma/b\"") != NULL, ==,
				cases[i].shared);
	}
}

/* ---- how the plugins read JSON ---- */

static void test_null_and_empty_lists_are_absent_and_case_is_no_matter(void)
{
	g_autoptr(GPtrArray) notes = notes_new();
	g_autofree char *config = convert_quoted(
		"{'ConfigList': [{'resourcename': 'a', 'RDMAHCAMAX': 7, 'devices': null,"
		" 'selectors': {'ifNames': ['ib0'], 'vendors': [], 'drivers': null}}]}",
		notes);

	g_assert_nonnull(strstr(config, "count = 7;"));
	g_assert_null(strstr(config, "vendors"));
	g_assert_cmpuint(notes->len, ==, 0);
}

static void test_wildcards_mean_more_to_rdmad(void)
{
	g_autoptr(GPtrArray) notes = notes_new();
	g_autofree char *config = convert_quoted(
		SHARED("{'resourceName': 'a', 'rdmaHcaMax': 1, 'devices': ['ib*']}"), notes);

	g_assert_nonnull(strstr(config, "\"ib*\""));
	assert_note(notes, "mind: configList[0].devices[0]: a pattern for rdmad");
}

static void test_what_older_versions_had_beside_the_selectors_counts(void)
{
	g_autoptr(GPtrArray) notes = notes_new();
	g_autofree char *config =
		convert_quoted(SRIOV("{'resourceName': 'a', 'isRdma': true,"
				     " 'selectors': {'linkTypes': ['infiniband']}}"),
			       notes);

	g_assert_nonnull(strstr(config, "\"intel.com/a\""));
	g_assert_nonnull(strstr(config, "link_layers = \"infiniband\""));
}

static void test_selectors_of_the_other_device_type_are_not_looked_at(void)
{
	g_autoptr(GPtrArray) notes = notes_new();
	g_autofree char *config = convert_quoted(
		SRIOV("{'resourceName': 'a', 'selectors': {'isRdma': true, 'auxTypes': ['sf']}},"
		      "{'resourceName': 'b', 'deviceType': 'auxNetDevice', 'selectors':"
		      " {'isRdma': true, 'pciAddresses': ['0000:3b:00.0'], 'pKeys': ['0x8001']}}"),
		notes);

	g_assert_null(strstr(config, "\"sf\""));
	g_assert_null(strstr(config, "pci_addresses = "));
	g_assert_null(strstr(config, "pkeys = "));
	assert_note(notes, "resourceList[0].selectors: auxTypes is for deviceType auxNetDevice");
	assert_note(notes, "resourceList[1].selectors: pciAddresses is not for deviceType");
	assert_note(notes, "resourceList[1].selectors: pKeys is not for deviceType");
}

static void test_a_second_pool_of_the_same_devices_is_left_out(void)
{
	g_autoptr(GPtrArray) notes = notes_new();
	g_autofree char *config = convert_quoted(
		SRIOV("{'resourceName': 'a', " RDMA "}, {'resourceName': 'b', " RDMA "}"), notes);

	g_assert_nonnull(strstr(config, "\"intel.com/a\""));
	g_assert_null(strstr(config, "\"intel.com/b\""));
	assert_note(notes, "resourceList[1]: resourceList[0] takes the same devices before it");
}

static void test_a_user_s_text_stays_text(void)
{
	g_autoptr(GPtrArray) notes = notes_new();
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadConfig) loaded = NULL;
	g_autofree char *config = convert_quoted(
		SHARED("{'resourceName': 'a', 'rdmaHcaMax': 1, 'devices': ['i\\'b\\\\0;#@'],"
		       " 'x\\nmodules = { bad = { }; };': 1}"),
		notes);

	loaded = rdmad_config_load_text("x.conf", config, strlen(config), &error);
	g_assert_no_error(error);
	g_assert_nonnull(strstr(config, "netdevs = \"i\\\"b\\\\0;#@\";"));
	g_assert_null(strstr(config, "\nmodules = { bad"));
}

/* ---- ConfigMaps ---- */

#define MAP(data_)  "{'kind': 'ConfigMap', 'metadata': {'name': 'm'}, 'data': {" data_ "}}"
#define NODE(name_) "'node-" name_ "': '{\\'mode\\': \\'hca\\'}'"

static void test_one_key_of_a_config_map_is_chosen(void)
{
	const RdmadImportOptions options = { .file = "x.json", .key = "node-b" };
	g_autofree char *json = g_strdelimit(g_strdup(MAP(NODE("a") ", " NODE("b"))), "'", '"');
	g_autoptr(GPtrArray) notes = notes_new();
	g_autofree char *config = convert(json, &options, notes);

	g_assert_nonnull(strstr(config, "# m/node-b: mode"));
	g_assert_null(strstr(config, "node-a"));
}

static void test_config_maps_of_two_plugins_become_one_file(void)
{
	static const char text[] = "kind: ConfigMap\n"
				   "metadata: { name: one }\n"
				   "data:\n"
				   "  config.json: '{\"mode\": \"hca\"}'\n"
				   "  notes.txt: not JSON\n"
				   "---\n"
				   "kind: ConfigMapList\n"
				   "items:\n"
				   "- kind: ConfigMap\n"
				   "  metadata: { name: two }\n"
				   "  data:\n"
				   "    config.json: '{\"configList\": [{\"resourceName\": \"b\",\n"
				   "      \"rdmaHcaMax\": 2, \"devices\": [\"ib0\"]}]}'\n";
	const RdmadImportOptions options = { .file = "x.yaml" };
	g_autoptr(GPtrArray) notes = notes_new();
	g_autofree char *config = convert(text, &options, notes);

	g_assert_nonnull(strstr(config, "# one/config.json: mode\n\t\t\t\tname = \"rdma/hca\""));
	g_assert_nonnull(
		strstr(config, "# two/config.json: configList[0]\n\t\t\t\tname = \"rdma/b\""));
}

/* ---- the agent of the eRDMA controller ---- */

static void test_the_parameters_of_the_erdma_add_on_need_no_group(void)
{
	g_autoptr(GPtrArray) notes = notes_new();
	g_autofree char *config =
		convert_quoted("{'preferDriver': 'ofed', 'allocateAllDevices': true,"
			       " 'enableWebhook': true}",
			       notes);

	g_assert_nonnull(strstr(config, "prefer_driver = \"ofed\""));
	g_assert_nonnull(strstr(config, "expose = \"pool\""));
	g_assert_cmpuint(notes->len, ==, 2);
	assert_note(notes, "a missing driver is not downloaded");
	assert_note(notes, "not carried over: enableWebhook: rdmad needs no init container");
}

typedef struct {
	const char *name, *container, *driver, *expose;
} Arguments;

static const Arguments arguments[] = {
	{ "words", "'command': ['/a', '--prefer-driver', 'ofed']", "ofed", "device" },
	{ "equals", "'args': ['--prefer-driver=compat', '--allocate-all-devices=true']", "compat",
	  "pool" },
	{ "one-dash", "'args': ['-prefer-driver', 'ofed', '-allocate-all-devices']", "ofed",
	  "pool" },
	{ "false", "'args': ['--allocate-all-devices=false', '--prefer-driver=ofed']", "ofed",
	  "device" },
	{ "both-lists", "'command': ['/a', '--prefer-driver'], 'args': ['default']", "default",
	  "device" },
	{ "none", "'command': ['/usr/local/bin/agent'], 'args': [7]", "auto", "device" },
	{ "no-value", "'command': ['/a', '--prefer-driver']", "auto", "device" },
};

static void test_arguments_of_the_erdma_agent(gconstpointer data)
{
	const Arguments *given = data;
	g_autofree char *text =
		g_strdup_printf("{'kind': 'DaemonSet', 'metadata': {'name': 'erdma-agent'},"
				" 'spec': {'template': {'spec': {'containers': [{%s}]}}}}",
				given->container);
	g_autofree char *driver = g_strdup_printf("prefer_driver = \"%s\"", given->driver);
	g_autofree char *expose = g_strdup_printf("expose = \"%s\"", given->expose);
	g_autoptr(GPtrArray) notes = notes_new();
	g_autofree char *config = convert_quoted(text, notes);

	g_assert_nonnull(strstr(config, driver));
	g_assert_nonnull(strstr(config, expose));
}

#define FILE_TEST(name) UNIT_DATA_TEST("/import/file/" name, name, test_file)

const UnitTest unit_tests[] = {
	FILE_TEST("mode-hca.yaml"),
	FILE_TEST("mode-sriov.json"),
	FILE_TEST("nic-cluster-policy.yaml"),
	FILE_TEST("erdma-values.yaml"),
	FILE_TEST("cello-configmap.yaml"),
	FILE_TEST("erdma-local.yaml"),
	FILE_TEST("erdma-configmap.yaml"),
	FILE_TEST("erdma-daemonset.yaml"),
	UNIT_TEST("/import/the-parameters-of-the-erdma-add-on-need-no-group",
		  test_the_parameters_of_the_erdma_add_on_need_no_group),
	UNIT_CASES("/import/arguments-of-the-erdma-agent/", arguments,
		   test_arguments_of_the_erdma_agent),
	FILE_TEST("rails-a-and-b.json"),
	FILE_TEST("shared-configmap.yaml"),
	FILE_TEST("shared-example.json"),
	FILE_TEST("sriov-configmap.yaml"),
	FILE_TEST("sriov-every-key.json"),
	FILE_TEST("sriov-list.json"),
	UNIT_TEST("/import/the-resource-prefix-of-the-command-line-is-a-default",
		  test_the_resource_prefix_of_the_command_line_is_a_default),
	UNIT_TEST("/import/a-pool-without-slots-is-left-out",
		  test_a_pool_without_slots_is_left_out),
	UNIT_TEST("/import/more-slots-than-rdmad-has-are-its-most",
		  test_more_slots_than_rdmad_has_are_its_most),
	UNIT_TEST("/import/pools-that-cannot-meet-are-not-shared",
		  test_pools_that_cannot_meet_are_not_shared),
	UNIT_TEST("/import/null-and-empty-lists-are-absent-and-case-is-no-matter",
		  test_null_and_empty_lists_are_absent_and_case_is_no_matter),
	UNIT_TEST("/import/wildcards-mean-more-to-rdmad", test_wildcards_mean_more_to_rdmad),
	UNIT_TEST("/import/what-older-versions-had-beside-the-selectors-counts",
		  test_what_older_versions_had_beside_the_selectors_counts),
	UNIT_TEST("/import/selectors-of-the-other-device-type-are-not-looked-at",
		  test_selectors_of_the_other_device_type_are_not_looked_at),
	UNIT_TEST("/import/a-second-pool-of-the-same-devices-is-left-out",
		  test_a_second_pool_of_the_same_devices_is_left_out),
	UNIT_TEST("/import/a-user-s-text-stays-text", test_a_user_s_text_stays_text),
	UNIT_TEST("/import/one-key-of-a-config-map-is-chosen",
		  test_one_key_of_a_config_map_is_chosen),
	UNIT_TEST("/import/config-maps-of-two-plugins-become-one-file",
		  test_config_maps_of_two_plugins_become_one_file),
	{ 0 },
};
