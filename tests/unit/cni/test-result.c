/* SPDX-License-Identifier: Apache-2.0 */
#include "result.h"

#include <jansson.h>
#include <rdmad/json.h>
#include <string.h>

#include "error.h"
#include "support/unit.h"

/* One result in the format of each version, as the reference library writes it. */
#define HEAD(version) "{\"cniVersion\":\"" version "\",\"interfaces\":["
#define OLD_LINK      "{\"name\":\"eth1\",\"mac\":\"02:00:00:00:00:01\",\"sandbox\":\"/run/netns/a\"}]"
#define OLD_IPS                                                                                    \
	",\"ips\":[{\"version\":\"4\",\"address\":\"192.0.2.7/24\",\"gateway\":"                   \
	"\"192.0.2.1\",\"interface\":0},{\"version\":\"6\",\"address\":\"2001:db8::7/64\""         \
	",\"interface\":0}]"
#define IPS                                                                                        \
	",\"ips\":[{\"address\":\"192.0.2.7/24\",\"gateway\":\"192.0.2.1\",\"interface\":"         \
	"0},{\"address\":\"2001:db8::7/64\",\"interface\":0}]"
#define OLD_TAIL                                                                                   \
	",\"routes\":[{\"dst\":\"0.0.0.0/0\",\"gw\":\"192.0.2.1\"}],\"dns\":{\"domain\":"          \
	"\"x\"}}"

static const char *const in_version[CNI_N_VERSIONS] = {
	[CNI_0_3_0] = HEAD("0.3.0") OLD_LINK OLD_IPS OLD_TAIL,
	[CNI_0_3_1] = HEAD("0.3.1") OLD_LINK OLD_IPS OLD_TAIL,
	[CNI_0_4_0] = HEAD("0.4.0") OLD_LINK OLD_IPS OLD_TAIL,
	[CNI_1_0_0] = HEAD("1.0.0") OLD_LINK IPS OLD_TAIL,
	[CNI_1_1_0] = HEAD("1.1.0") "{\"name\":\"eth1\",\"mac\":\"02:00:00:00:00:01\",\"sandbox\":"
				    "\"/run/netns/a\",\"mtu\":4200,\"socketPath\":\"/s\",\"pciID\":"
				    "\"0000:3b:00.0\"}]" IPS
				    ",\"routes\":[{\"dst\":\"0.0.0.0/0\",\"gw\":\"192.0.2.1\","
				    "\"mtu\":1500,\"advmss\":1460,\"priority\":100,\"table\":1001,"
				    "\"scope\":0}],\"dns\":{\"domain\":\"x\"}}",
};

static CniResult *parse(const char *text, CniVersion version, GError **error)
{
	json_t *json = rdmad_json_parse(text, strlen(text), 16, NULL);
	CniResult *result = cni_result_parse(json, version, error);

	json_decref(json);
	return result;
}

static void test_the_newest_result_becomes_that_of_any_version(void)
{
	for (CniVersion version = 0; version < CNI_N_VERSIONS; version++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(CniResult) result = parse(in_version[CNI_NEWEST], CNI_0_3_0, &error);
		g_autofree char *text = NULL;

		g_assert_no_error(error);
		text = cni_result_text(result, version);
		g_assert_cmpstr(text, ==, in_version[version]);
	}
}

static void test_a_result_of_any_version_comes_back_as_it_was(void)
{
	for (CniVersion version = 0; version < CNI_N_VERSIONS; version++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(CniResult) result = parse(in_version[version], CNI_0_3_0, &error);
		g_autofree char *text = NULL;

		g_assert_no_error(error);
		text = cni_result_text(result, version);
		g_assert_cmpstr(text, ==, in_version[version]);
	}
}

static void test_a_malformed_result_names_the_place(void)
{
	static const struct {
		const char *text;
		int code;
		const char *message;
	} cases[] = {
		{ "[]", 6, "a result is an object" },
		{ "{\"cniVersion\":\"0.2.0\",\"ip4\":{}}", 1, "a result of version 0.2.0" },
		{ "{\"cniVersion\":7}", 6, "cniVersion: not a string" },
		{ "{\"interfaces\":{}}", 6, "interfaces: not a list" },
		{ "{\"interfaces\":[7]}", 6, "interfaces 1: not an object" },
		{ "{\"interfaces\":[{},{\"name\":7}]}", 6, "interfaces 2: name: not a string" },
		{ "{\"ips\":[{}]}", 6, "ips 1: address: not an address" },
		{ "{\"ips\":[{\"address\":\"192.0.2.7/24\",\"interface\":0}]}", 6,
		  "ips 1: interface: no such interface" },
		{ "{\"ips\":[{\"address\":\"192.0.2.7/24\",\"interface\":-1}]}", 6,
		  "ips 1: interface: not a number" },
		{ "{\"ips\":[{\"address\":\"192.0.2.7/24\",\"gateway\":\"x\"}]}", 6,
		  "ips 1: gateway: not an address" },
		{ "{\"routes\":[{\"dst\":\"0.0.0.0/99\"}]}", 6, "routes 1: dst: not an address" },
		{ "{\"routes\":[{\"dst\":\"0.0.0.0/0\",\"mtu\":\"x\"}]}", 6,
		  "routes 1: mtu: not a number" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(CniResult) result = parse(cases[i].text, CNI_1_0_0, &error);

		g_test_message("%s: %s", cases[i].text, error ? error->message : "good");
		g_assert_null(result);
		g_assert_cmpint(cni_error_code(error), ==, cases[i].code);
		g_assert_true(g_str_has_prefix(error->message, cases[i].message));
	}
}

static void test_lists_are_bounded(void)
{
	g_autoptr(GString) text = g_string_new("{\"interfaces\":[{}");
	g_autoptr(GError) error = NULL;
	g_autoptr(CniResult) result = NULL;

	for (guint i = 0; i < CNI_RESULT_ENTRIES_MAX; i++)
		g_string_append(text, ",{}");
	g_string_append(text, "]}");
	result = parse(text->str, CNI_1_0_0, &error);
	g_assert_error(error, CNI_ERROR, CNI_ERROR_DECODE);
}

static void test_what_ipam_answers_has_no_interfaces(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(CniResult) result =
		parse("{\"ips\":[{\"address\":\"192.0.2.7/24\",\"interface\":null}],\"dns\":{},"
		      "\"routes\":null}",
		      CNI_1_0_0, &error);

	g_assert_no_error(error);
	g_assert_cmpint(g_array_index(result->ips, CniIp, 0).interface, ==, -1);
	g_assert_null(result->dns);
}

static void test_ours_follows_what_was_there_in_a_chain(void)
{
	g_autoptr(CniResult) result = parse(
		"{\"interfaces\":[{\"name\":\"veth1\"},{\"name\":\"eth0\",\"sandbox\":\"/a\"}],"
		"\"ips\":[{\"address\":\"198.51.100.7/24\",\"interface\":1}]}",
		CNI_1_0_0, NULL);
	g_autoptr(CniResult) own = parse(in_version[CNI_1_0_0], CNI_1_0_0, NULL);
	g_autofree char *text = NULL;

	cni_result_merge(result, own);
	text = cni_result_text(result, CNI_1_0_0);
	g_assert_cmpstr(text, ==,
			HEAD("1.0.0") "{\"name\":\"veth1\"},{\"name\":\"eth0\",\"sandbox\":\"/"
				      "a\"}," OLD_LINK
				      ",\"ips\":[{\"address\":\"198.51.100.7/24\",\"interface\":1},"
				      "{\"address\":\"192.0.2.7/24\",\"gateway\":\"192.0.2.1\","
				      "\"interface\":2},{\"address\":\"2001:db8::7/"
				      "64\",\"interface\":2}]" OLD_TAIL);
}

static void test_an_error_is_json_whatever_its_message_holds(void)
{
	g_autoptr(GError) own = g_error_new(CNI_ERROR, CNI_ERROR_DEVICE, "no \"mlx5_0\"\n\xff");
	g_autoptr(GError) foreign = g_error_new(G_FILE_ERROR, 7, "x");
	g_autofree char *text = cni_error_text(own, CNI_0_4_0);
	g_autofree char *other = cni_error_text(foreign, CNI_1_1_0);

	g_assert_cmpstr(text, ==,
			"{\"cniVersion\":\"0.4.0\",\"code\":100,\"msg\":\"no "
			"\\\"mlx5_0\\\"\\n\xef\xbf\xbd\"}");
	g_assert_cmpstr(other, ==, "{\"cniVersion\":\"1.1.0\",\"code\":999,\"msg\":\"x\"}");
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/result/down", test_the_newest_result_becomes_that_of_any_version),
	UNIT_TEST("/result/round-trip", test_a_result_of_any_version_comes_back_as_it_was),
	UNIT_TEST("/result/malformed", test_a_malformed_result_names_the_place),
	UNIT_TEST("/result/bounds", test_lists_are_bounded),
	UNIT_TEST("/result/ipam", test_what_ipam_answers_has_no_interfaces),
	UNIT_TEST("/result/merge", test_ours_follows_what_was_there_in_a_chain),
	UNIT_TEST("/result/error", test_an_error_is_json_whatever_its_message_holds),
	{ 0 },
};
