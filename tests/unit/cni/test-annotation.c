/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"
#include "support/unit.h"

static void test_an_entry_is_read_whole(void)
{
	static const char text[] =
		"[{\"cniConf\":{\"name\":\"other\"}},{\"name\":\"\",\"cniConf\":{\"name\":\"rdma\","
		"\"from\":\"local\"},\"master\":false,\"deviceConf\":{\"ifName\":"
		"\"rail0\","
		"\"ips\":[\"192.0.2.7/24\",\"2001:db8::7/64\"],\"mac\":\"02:00:00:00:00:01\","
		"\"options\":{\"vlanID\":\"100\",\"trunkMac\":\"x\"}},\"traffic\":{\"routes\":{"
		"\"extraRoutes\":[{\"dst\":\"198.51.100.0/24\",\"gw\":\"192.0.2.1\"},{\"dst\":"
		"\"203.0.113.0/24\"}],\"default\":true}}},{}]";
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) entries = cni_annotation_parse(text, &error);
	const CniAnnotationEntry *entry;
	char mac[RDMAD_MAC_TEXT];

	g_assert_no_error(error);
	g_assert_cmpuint(entries->len, ==, 3);
	entry = entries->pdata[0];
	g_assert_cmpstr(entry->ifname, ==, "eth1");
	g_assert_cmpstr(entry->network, ==, "other");
	g_assert_cmpint(entry->vlan, ==, -1);
	entry = entries->pdata[1];
	g_assert_cmpstr(entry->network, ==, "rdma");
	g_assert_cmpstr(entry->ifname, ==, "rail0");
	g_assert_false(entry->is_first);
	g_assert_cmpuint(entry->ips->len, ==, 2);
	g_assert_cmpstr(rdmad_mac_format(&entry->mac, mac), ==, "02:00:00:00:00:01");
	g_assert_cmpint(entry->vlan, ==, 100);
	g_assert_cmpuint(entry->routes->len, ==, 2);
	g_assert_true(entry->default_route);
	g_assert_cmpstr(((CniAnnotationEntry *)entries->pdata[2])->ifname, ==, "eth3");
}

static void test_the_first_entry_may_be_the_pods_first_interface(void)
{
	static const char text[] = "[{\"cniConf\":{\"name\":\"trunk\"},\"master\":true,"
				   "\"deviceConf\":{\"options\":{\"vlanID\":7}}},{},{}]";
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) entries = cni_annotation_parse(text, &error);

	g_assert_no_error(error);
	g_assert_cmpuint(entries->len, ==, 3);
	for (guint i = 0; i < entries->len; i++) {
		const CniAnnotationEntry *entry = entries->pdata[i];
		g_autofree char *name = g_strdup_printf("eth%u", i);

		g_assert_cmpstr(entry->ifname, ==, name);
		g_assert_cmpint(entry->is_first, ==, i == 0);
	}
	g_assert_cmpint(((CniAnnotationEntry *)entries->pdata[0])->vlan, ==, 7);
}

static void test_what_is_wrong_names_entry_and_key(void)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "", "byte 0" },
		{ "{}", "not a list" },
		{ "[7]", "entry 1: not an object" },
		{ "[{},{\"deviceConf\":7}]", "entry 2: deviceConf: not an object" },
		{ "[{\"cniConf\":{\"name\":7}}]", "entry 1: name: not a string" },
		{ "[{\"deviceConf\":{\"ifName\":\"a%d\"}}]", "entry 1: ifName: \"a%d\"" },
		{ "[{\"deviceConf\":{\"ifName\":\"0123456789012345\"}}]", "entry 1: ifName:" },
		{ "[{},{\"deviceConf\":{\"ifName\":\"eth1\"}}]", "entry 2: ifName: entry 1" },
		{ "[{\"deviceConf\":{\"ips\":\"192.0.2.7\"}}]", "entry 1: ips: not a list" },
		{ "[{\"deviceConf\":{\"ips\":[\"192.0.2\"]}}]", "entry 1: ips 1: not an address" },
		{ "[{\"deviceConf\":{\"mac\":\"x\"}}]", "entry 1: mac:" },
		{ "[{\"deviceConf\":{\"options\":{\"vlanID\":4095}}}]", "entry 1: vlanID:" },
		{ "[{\"deviceConf\":{\"options\":{\"vlanID\":\"7x\"}}}]", "entry 1: vlanID:" },
		{ "[{\"deviceConf\":{\"options\":{\"vlanID\":-1}}}]", "entry 1: vlanID:" },
		{ "[{\"deviceConf\":{\"options\":{\"vlanID\":{}}}}]", "entry 1: vlanID:" },
		{ "[{\"traffic\":{\"routes\":{\"extraRoutes\":[{}]}}}]",
		  "entry 1: extraRoutes 1: dst" },
		{ "[{\"traffic\":{\"routes\":{\"extraRoutes\":[{\"dst\":\"::/"
		  "0\",\"gw\":\"x\"}]}}}]",
		  "entry 1: extraRoutes 1: gw" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(GPtrArray) entries = cni_annotation_parse(cases[i].text, &error);

		g_assert_null(entries);
		g_assert_error(error, CNI_ERROR, CNI_ERROR_CONFIG);
		g_test_message("%s", error->message);
		g_assert_nonnull(strstr(error->message, cases[i].message));
	}
}

static void test_there_are_no_more_than_64_entries(void)
{
	g_autoptr(GString) text = g_string_new("[{}");
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) entries = NULL;

	for (guint i = 0; i < CNI_ANNOTATION_ENTRIES_MAX; i++)
		g_string_append(text, ",{}");
	g_string_append_c(text, ']');
	entries = cni_annotation_parse(text->str, &error);
	g_assert_error(error, CNI_ERROR, CNI_ERROR_CONFIG);
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/annotation/whole", test_an_entry_is_read_whole),
	UNIT_TEST("/annotation/first", test_the_first_entry_may_be_the_pods_first_interface),
	UNIT_TEST("/annotation/wrong", test_what_is_wrong_names_entry_and_key),
	UNIT_TEST("/annotation/bounds", test_there_are_no_more_than_64_entries),
	{ 0 },
};
