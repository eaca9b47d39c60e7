/* SPDX-License-Identifier: Apache-2.0 */
/* Configurations that cannot be imported are rejected with the place */
#include <rdmad/error.h>
#include <string.h>

#include "cli/import/import.h"
#include "../support/unit.h"

typedef struct {
	const char *text; /* with ' for " */
	const char *message;
} Bad;

static void assert_refused(const char *text, gsize size, const char *message)
{
	const RdmadImportOptions options = { .file = "x" };
	g_autoptr(GPtrArray) notes = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GError) error = NULL;
	g_autofree char *config = rdmad_import_convert(text, size, &options, notes, &error);

	g_assert_null(config);
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
	if (!strstr(error->message, message))
		g_error("\"%s\" instead of \"%s\"", error->message, message);
}

static void assert_all_refused(const Bad *bad)
{
	for (; bad->text; bad++) {
		g_autofree char *text = g_strdelimit(g_strdup(bad->text), "'", '"');

		assert_refused(text, strlen(text), bad->message);
	}
}

static void test_broken_json_has_line_and_column(void)
{
	static const Bad bad[] = {
		{ "{'configList': [\n {,}\n]}", "x:2:3: string or '}' expected" },
		{ "{'mode': 'hca'", "x:1:14: '}' expected" },
		{ "{'mode': 'hca', 'mode': 'hca'}", "x:1:22: duplicate object key" },
		{ "{'mode': 'hca'} x", "x:1:17: end of file expected" },
		{ "{'mode': 'h\\u0000'}", "x:1:18: \\u0000 is not allowed" },
		{ NULL },
	};

	assert_all_refused(bad);
}

static void test_broken_yaml_has_line_and_column(void)
{
	static const Bad bad[] = {
		{ "a: [1, 2\nb: 3\n", "x:2:2: did not find expected ',' or ']'" },
		{ "a: &x 1\nb: *x\n", "x:2:4: aliases are not supported" },
		{ "a: 1\na: 2\n", "x:2:1: this key is here twice" },
		{ "? [a]\n: 1\n", "x:1:3: a key that is not a string" },
		{ "a: 'x\\0y'\n", "x:1:4: a text with a NUL" },
		{ "{{ .Values.config }}\n", "x:" },
		{ "\tx", "x:1:1: found character that cannot start any token" },
		{ NULL },
	};

	assert_all_refused(bad);
}

static void test_broken_json_in_a_config_map_has_the_place_in_it(void)
{
	static const Bad bad[] = {
		{ "kind: ConfigMap\nmetadata: { name: m }\ndata:\n  c.json: |\n    {\n      nope\n",
		  "x: m/c.json:2:6: string or '}' expected" },
		{ "kind: ConfigMap\ndata:\n  c: |\n    {'mode': 'HCA!'}\n",
		  "x: ConfigMap/c: mode: \"HCA!\" is neither" },
		{ NULL },
	};

	assert_all_refused(bad);
}

static void test_other_files_are_said_to_be_no_configuration(void)
{
	static const Bad bad[] = {
		{ "", "x: neither configList, resourceList or mode" },
		{ "just words", "x: neither configList" },
		{ "{'a': 1}", "x: neither configList" },
		{ "[1]", "x: neither configList" },
		{ "kind: Pod\n", "x: neither configList" },
		{ "kind: DaemonSet\nspec: { template: { spec: { containers: [7, { command: x }] } "
		  "} }\n",
		  "x: neither configList" },
		{ "kind: ConfigMap\ndata: 7\n", "x: neither configList" },
		{ "kind: ConfigMap\ndata:\n  a: '{}'\n", "x: neither configList" },
		{ "{'configList': []}", "x: no resource in it that rdmad could offer" },
		{ "{'kind': 'ConfigMap', 'data': {'n1': '{\\'mode\\': \\'hca\\'}',"
		  " 'n2': '{\\'mode\\': \\'hca\\'}'}}",
		  "several keys, choose with --key: n1 n2" },
		{ NULL },
	};

	assert_all_refused(bad);
}

static void test_bad_pools_of_the_shared_plugin_have_their_path(void)
{
	static const Bad bad[] = {
		{ "{'configList': 7}",
		  "x: configList: this is a whole number, and should be a list" },
		{ "{'configList': [7]}",
		  "configList[0]: this is a whole number, and should be an object" },
		{ "{'periodicUpdateInterval': -1, 'configList': []}",
		  "periodicUpdateInterval: -1 is negative" },
		{ "{'configList': [{'rdmaHcaMax': 1, 'devices': ['a']}]}",
		  "configList[0]: resourceName is missing" },
		{ "{'configList': [{'resourceName': 'a'}]}",
		  "configList[0]: neither selectors nor devices" },
		{ "{'configList': [{'resourceName': 'a', 'devices': ['a'],"
		  " 'selectors': {'ifNames': ['b']}}]}",
		  "configList[0]: only one of devices and selectors" },
		{ "{'configList': [{'resourceName': 'a', 'rdmaHcaMax': '1'}]}",
		  "configList[0].rdmaHcaMax: this is a string, and should be a whole number" },
		{ "{'configList': [{'resourceName': 'a', 'rdmaHcaMax': 1.5}]}",
		  "configList[0].rdmaHcaMax: this is a number with a fraction" },
		{ "{'configList': [{'resourceName': 'a', 'rdmaHcaMax': -1}]}",
		  "configList[0].rdmaHcaMax: -1 is negative" },
		{ "{'configList': [{'resourceName': ['a']}]}",
		  "configList[0].resourceName: this is a list, and should be a string" },
		{ "{'configList': [{'resourceName': 'a', 'rdmaHcaMax': 1, 'devices': ['x']},"
		  " {'resourceName': 'a', 'rdmaHcaMax': 1, 'devices': ['y']}]}",
		  "configList[1]: \"rdma/a\" is the name of configList[0] already" },
		{ NULL },
	};

	assert_all_refused(bad);
}

static void test_bad_selectors_have_their_path(void)
{
	static const Bad bad[] = {
		{ "'vendors': '15b3'", ".vendors: this is a string, and should be a list" },
		{ "'vendors': [1]", ".vendors[0]: this is a whole number" },
		{ "'vendors': ['15b3', '']", ".vendors[1]: \"\" is not a PCI id" },
		{ "'deviceIDs': ['10177']", ".deviceIDs[0]: \"10177\" is not a PCI id" },
		{ "'deviceIDs': ['xyzw']", ".deviceIDs[0]: \"xyzw\" is not a PCI id" },
		{ "'ifNames': ['']", ".ifNames[0]: \"\" should have 1 to 128" },
		{ "'ifNames': ['a b']", ".ifNames[0]: \"a b\" has a blank" },
		{ "'ifNames': ['!']", ".ifNames[0]: \"!\" should have" },
		{ "'linkTypes': ['ethernet']", ".linkTypes[0]: \"ethernet\" is not a link" },
		{ NULL },
	};

	for (guint i = 0; bad[i].text; i++) {
		g_autofree char *json =
			g_strdup_printf("{'configList': [{'resourceName': 'b', 'rdmaHcaMax': 1,"
					" 'selectors': {%s}}]}",
					bad[i].text);
		g_autofree char *message =
			g_strconcat("x: configList[0].selectors", bad[i].message, NULL);

		g_strdelimit(json, "'", '"');
		assert_refused(json, strlen(json), message);
	}
}

static void test_bad_pools_of_the_sriov_plugin_have_their_path(void)
{
	static const Bad bad[] = {
		{ "'selectors': 'x'",
		  "resourceList[0].selectors: this is a string, and should be an object" },
		{ "'selectors': [[]]",
		  "resourceList[0].selectors[0]: this is a list, and should be an object" },
		{ "'excludeTopology': 'yes'",
		  "excludeTopology: this is a string, and should be true or false" },
		{ "'deviceType': 'disk', 'selectors': {}", "deviceType \"disk\" is neither" },
		{ "'x': 1", "resourceList[0]: selectors are missing" },
		{ "'selectors': {'isRdma': 1}", ".isRdma: this is a whole number" },
		{ "'selectors': {'pciAddresses': ['3b:00.0']}",
		  "[0]: \"3b:00.0\" is not a PCI address" },
		{ "'selectors': {'pciAddresses': ['0000:3b:00.8']}", "is not a PCI address" },
		{ "'selectors': {'pfNames': ['#1']}", "[0]: \"#1\" is not an interface" },
		{ "'selectors': {'pfNames': ['p#']}", "\"p#\" is not an interface" },
		{ "'selectors': {'pfNames': ['p#3-1']}", "\"p#3-1\" is not an interface" },
		{ "'selectors': {'pfNames': ['p#1-2-3']}", "\"p#1-2-3\" is not an interface" },
		{ "'selectors': {'pfNames': ['p#1,,2']}", "\"p#1,,2\" is not an interface" },
		{ "'selectors': {'pfNames': ['p#99999999999']}", "is not an interface" },
		{ "'selectors': {'pKeys': ['0x1']}", "[0]: \"0x1\" is not a P_Key" },
		{ "'selectors': {'acpiIndexes': ['x']}", "[0]: \"x\" is not a number" },
		{ "'selectors': {'vendors': ['15b3'], 'Vendors': ['15b3']}",
		  "Vendors: this key is here twice" },
		{ "'selectors': {'rootDevices': ['ens1f0#1']}",
		  "is not a PCI address with functions" },
		{ "'resourcePrefix': 'UPPER', 'selectors': {'isRdma': true}",
		  "\"UPPER/a\" is not a resource name" },
		{ "'resourcePrefix': 'kubernetes.io', 'selectors': {'isRdma': true}",
		  "\"kubernetes.io/a\" is not a resource name" },
		{ "'resourcePrefix': 'a/b', 'selectors': {'isRdma': true}",
		  "\"a/b/a\" is not a resource name" },
		{ NULL },
	};

	for (guint i = 0; bad[i].text; i++) {
		g_autofree char *json = g_strdup_printf(
			"{'resourceList': [{'resourceName': 'a', %s}]}", bad[i].text);

		g_strdelimit(json, "'", '"');
		assert_refused(json, strlen(json), bad[i].message);
	}
}

static void test_bad_modes_are_refused(void)
{
	static const Bad bad[] = {
		{ "{'mode': 'x'}", "x: mode: \"x\" is neither \"hca\" nor \"sriov\"" },
		{ "{'mode': 1}", "x: mode: this is a whole number" },
		{ "{'mode': 'sriov'}", "x: pfNetdevices: mode \"sriov\" needs" },
		{ "{'mode': 'sriov', 'pfNetdevices': 'ib0'}", "x: pfNetdevices: this is a string" },
		{ NULL },
	};

	assert_all_refused(bad);
}

static void test_sizes_are_bounded(void)
{
	g_autofree char *large = g_strnfill(RDMAD_IMPORT_MAX + 1, ' ');
	g_autoptr(GString) deep = g_string_new("a: ");
	g_autoptr(GString) many = g_string_new("{\"configList\": [");
	g_autoptr(GString) values = g_string_new("{\"mode\": \"sriov\", \"pfNetdevices\": [\"a\"");

	assert_refused(large, RDMAD_IMPORT_MAX + 1, "larger than 1 MiB");
	for (guint i = 0; i < 100; i++)
		g_string_append_c(deep, '[');
	assert_refused(deep->str, deep->len, "nested too deeply");
	for (guint i = 0; i < 8192; i++)
		g_string_append_printf(values, ",\"a%u\"", i);
	g_string_append(values, "]}");
	assert_refused(values->str, values->len,
		       "pfNetdevices: more values than rdmad.conf allows");
	for (guint i = 0; i < 65; i++)
		g_string_append_printf(many,
				       "%s{\"resourceName\": \"a%u\", \"rdmaHcaMax\": 1, "
				       "\"devices\": [\"ib0\"]}",
				       i ? "," : "", i);
	g_string_append(many, "]}");
	assert_refused(many->str, many->len, "configList[64]: more than 64 resources");
}

static void test_a_key_that_no_config_map_has_is_told_with_those_it_has(void)
{
	static const char text[] = "kind: ConfigMap\ndata: { a: '{}', b: 'x' }\n";
	const RdmadImportOptions options = { .file = "x", .key = "c" };
	g_autoptr(GPtrArray) notes = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GError) error = NULL;

	g_assert_null(rdmad_import_convert(text, strlen(text), &options, notes, &error));
	g_assert_cmpstr(error->message, ==, "x: no ConfigMap with the key \"c\"; there are: a b");
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/import-errors/broken-json-has-line-and-column",
		  test_broken_json_has_line_and_column),
	UNIT_TEST("/import-errors/broken-yaml-has-line-and-column",
		  test_broken_yaml_has_line_and_column),
	UNIT_TEST("/import-errors/broken-json-in-a-config-map-has-the-place-in-it",
		  test_broken_json_in_a_config_map_has_the_place_in_it),
	UNIT_TEST("/import-errors/other-files-are-said-to-be-no-configuration",
		  test_other_files_are_said_to_be_no_configuration),
	UNIT_TEST("/import-errors/bad-pools-of-the-shared-plugin-have-their-path",
		  test_bad_pools_of_the_shared_plugin_have_their_path),
	UNIT_TEST("/import-errors/bad-selectors-have-their-path",
		  test_bad_selectors_have_their_path),
	UNIT_TEST("/import-errors/bad-pools-of-the-sriov-plugin-have-their-path",
		  test_bad_pools_of_the_sriov_plugin_have_their_path),
	UNIT_TEST("/import-errors/bad-modes-are-refused", test_bad_modes_are_refused),
	UNIT_TEST("/import-errors/sizes-are-bounded", test_sizes_are_bounded),
	UNIT_TEST("/import-errors/a-key-that-no-config-map-has-is-told-with-those-it-has",
		  test_a_key_that_no_config_map_has_is_told_with_those_it_has),
	{ 0 },
};
