/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/address.h>

#include <arpa/inet.h>
#include <rdmad/error.h>
#include <rdmad/network.h>
#include <sys/socket.h>

#include "../support/unit.h"

static void test_addresses_are_read_and_written(void)
{
	static const struct {
		const char *text, *written; /* NULL: malformed */
		guint8 family, prefix;
	} cases[] = {
		{ "192.0.2.7", "192.0.2.7", AF_INET, 32 },
		{ "192.0.2.7/24", "192.0.2.7/24", AF_INET, 24 },
		{ "0.0.0.0/0", "0.0.0.0/0", AF_INET, 0 },
		{ "192.0.2.7/32", "192.0.2.7", AF_INET, 32 },
		{ "2001:db8::7/64", "2001:db8::7/64", AF_INET6, 64 },
		{ "2001:DB8:0::7", "2001:db8::7", AF_INET6, 128 },
		{ "::/0", "::/0", AF_INET6, 0 },
		{ "192.0.2.7/33" },
		{ "2001:db8::/129" },
		{ "192.0.2.7/" },
		{ "192.0.2.7/+1" },
		{ "192.0.2.7/-1" },
		{ "192.0.2.7/256" },
		{ "192.0.2.7/4294967320" },
		{ "192.0.2.7/24 " },
		{ "192.0.2.7 /24" },
		{ "192.0.2.7/24/24" },
		{ "192.0.2" },
		{ "192.0.2.7.8" },
		{ "fe80::1%eth0" },
		{ "fe80::1%eth0/64" },
		{ "" },
		{ "/24" },
		{ "1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		char text[RDMAD_IP_TEXT];
		RdmadIp ip;

		g_test_message("%s", cases[i].text);
		g_assert_cmpint(rdmad_ip_parse(cases[i].text, &ip, &error), ==,
				cases[i].written != NULL);
		if (error)
			g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
		g_assert_cmpuint(ip.family, ==, cases[i].family);
		g_assert_cmpuint(ip.prefix, ==, cases[i].prefix);
		g_assert_cmpstr(rdmad_ip_text(&ip, FALSE, text), ==,
				cases[i].written ? cases[i].written : "");
	}
}

static void test_the_text_of_a_network_has_the_prefix_of_a_host(void)
{
	static const struct {
		const char *text, *again;
	} cases[] = {
		{ "192.0.2.7/24", "192.0.2.7/24" },
		{ "192.0.2.7", "192.0.2.7/32" },
		{ "2001:DB8::7", "2001:db8::7/128" },
		{ "::/0", "::/0" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *again = NULL;
		RdmadIp ip;

		g_assert_true(rdmad_ip_parse(cases[i].text, &ip, NULL));
		again = rdmad_ip_format(&ip);
		g_assert_cmpstr(again, ==, cases[i].again);
	}
}

static void test_a_network_holds_its_hosts_and_no_others(void)
{
	static const struct {
		const char *ip, *network;
		gboolean in;
	} cases[] = {
		{ "192.0.2.7/24", "192.0.2.0/24", TRUE },
		{ "192.0.2.7", "192.0.2.9/24", TRUE },
		{ "192.0.3.7", "192.0.2.0/24", FALSE },
		{ "192.0.2.129", "192.0.2.0/25", FALSE },
		{ "192.0.2.127", "192.0.2.0/25", TRUE },
		{ "192.0.2.7", "0.0.0.0/0", TRUE },
		{ "2001:db8::7", "0.0.0.0/0", FALSE },
		{ "2001:db8::7", "2001:db8::/64", TRUE },
		{ "2001:db8:0:1::7", "2001:db8::/64", FALSE },
		{ "192.0.2.7", "192.0.2.7", TRUE },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		RdmadIp ip, network;

		g_assert_true(rdmad_ip_parse(cases[i].ip, &ip, NULL));
		g_assert_true(rdmad_ip_parse(cases[i].network, &network, NULL));
		g_test_message("%s in %s", cases[i].ip, cases[i].network);
		g_assert_cmpint(rdmad_ip_in(&ip, &network), ==, cases[i].in);
	}
}

static void test_gids_are_addresses(void)
{
	static const struct {
		const char *gid, *address;
		gboolean unicast, link_local;
	} cases[] = {
		{ "::ffff:10.0.0.1", "10.0.0.1", TRUE, FALSE },
		{ "::ffff:192.0.2.1", "192.0.2.1", TRUE, FALSE }, /* documentation: labs use it */
		{ "::ffff:100.64.0.1", "100.64.0.1", TRUE, FALSE },
		{ "::ffff:169.253.255.255", "169.253.255.255", TRUE, FALSE },
		{ "::ffff:169.254.33.7", "169.254.33.7", TRUE, TRUE },
		{ "::ffff:169.255.0.0", "169.255.0.0", TRUE, FALSE },
		{ "::ffff:0.0.0.0", "0.0.0.0", FALSE, FALSE },
		{ "::ffff:0.1.2.3", "0.1.2.3", FALSE, FALSE },
		{ "::ffff:127.0.0.1", "127.0.0.1", FALSE, FALSE },
		{ "::ffff:224.0.0.1", "224.0.0.1", FALSE, FALSE },
		{ "::ffff:255.255.255.255", "255.255.255.255", FALSE, FALSE },
		{ "2001:db8::1", "2001:db8::1", TRUE, FALSE },
		{ "fd00::1", "fd00::1", TRUE, FALSE }, /* unique local: routable */
		{ "fec0::1", "fec0::1", TRUE, FALSE }, /* site-local, of old */
		{ "fe80::1", "fe80::1", TRUE, TRUE },
		{ "fe80:0:0:1::1", "fe80:0:0:1::1", TRUE, TRUE },
		{ "febf::1", "febf::1", TRUE, TRUE },
		{ "::", "::", FALSE, FALSE },
		{ "::1", "::1", FALSE, FALSE },
		{ "::2", "::2", TRUE, FALSE },
		{ "::fffe:10.0.0.1", "::fffe:a00:1", TRUE, FALSE },
		{ "ff02::1", "ff02::1", FALSE, FALSE },
		{ "ff0e::ffff:e000:1", "ff0e::ffff:e000:1", FALSE, FALSE },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		char text[RDMAD_IP_TEXT];
		guint8 raw[16];
		RdmadIp ip;

		g_assert_cmpint(inet_pton(AF_INET6, cases[i].gid, raw), ==, 1);
		ip = rdmad_ip_of_gid(raw);
		g_test_message("%s", cases[i].gid);
		g_assert_cmpstr(rdmad_ip_text(&ip, FALSE, text), ==, cases[i].address);
		g_assert_cmpint(rdmad_ip_is_unicast(&ip), ==, cases[i].unicast);
		g_assert_cmpint(rdmad_ip_is_link_local(&ip), ==, cases[i].link_local);
	}
}

static void test_link_layer_addresses_have_six_or_twenty_bytes(void)
{
	static const struct {
		const char *text;
		guint8 length;
	} cases[] = {
		{ "0c:42:a1:00:00:01", 6 },
		{ "80:00:00:48:fe:80:00:00:00:00:00:00:0c:42:a1:03:00:65:43:21", 20 },
		{ "0c:42:a1:00:00", 0 },
		{ "0c:42:a1:00:00:1", 0 },
		{ "0c-42-a1-00-00-01", 0 },
		{ "0c:42:a1:00:00:01:", 0 },
		{ "0c:42:a1:00:00:0g", 0 },
		{ "", 0 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		char text[RDMAD_MAC_TEXT];
		RdmadMac mac;

		g_test_message("%s", cases[i].text);
		g_assert_cmpint(rdmad_mac_parse(cases[i].text, &mac), ==, cases[i].length != 0);
		g_assert_cmpuint(mac.length, ==, cases[i].length);
		g_assert_cmpstr(rdmad_mac_format(&mac, text), ==, mac.length ? cases[i].text : "");
	}
}

static void test_names_that_the_kernel_refuses_or_expands_are_no_names(void)
{
	static const struct {
		const char *name;
		gboolean good;
	} cases[] = {
		{ "eth1", TRUE },
		{ "enp3s0f0v1.100", TRUE },
		{ "123456789012345", TRUE },
		{ "a-_+=@", TRUE },
		{ "1234567890123456", FALSE },
		{ "", FALSE },
		{ ".", FALSE },
		{ "..", FALSE },
		{ "a/b", FALSE },
		{ "a:b", FALSE },
		{ "a b", FALSE },
		{ "a\tb", FALSE },
		{ "a%d", FALSE },
		{ "%", FALSE },
		{ "a\nb", FALSE },
		{ "a\x01"
		  "b",
		  FALSE },
	};

	g_assert_false(rdmad_interface_name_is_valid(NULL));
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_test_message("\"%s\"", cases[i].name);
		g_assert_cmpint(rdmad_interface_name_is_valid(cases[i].name), ==, cases[i].good);
	}
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/address/read-and-written", test_addresses_are_read_and_written),
	UNIT_TEST("/address/format", test_the_text_of_a_network_has_the_prefix_of_a_host),
	UNIT_TEST("/address/network", test_a_network_holds_its_hosts_and_no_others),
	UNIT_TEST("/address/gid", test_gids_are_addresses),
	UNIT_TEST("/address/mac", test_link_layer_addresses_have_six_or_twenty_bytes),
	UNIT_TEST("/address/interface-name",
		  test_names_that_the_kernel_refuses_or_expands_are_no_names),
	{ 0 },
};
