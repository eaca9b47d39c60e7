/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/device.h>

#include "hardware/scan/value.h"
#include "../support/unit.h"

typedef struct {
	const char *text;
	gboolean good;
	gint64 value;
} Case;

static void check_int(gboolean (*parse)(const char *, gpointer), const Case *table, guint n)
{
	for (guint i = 0; i < n; i++) {
		int value = 77;

		g_test_message("\"%s\"", table[i].text);
		g_assert_cmpint(parse(table[i].text, &value), ==, table[i].good);
		g_assert_cmpint(value, ==, table[i].good ? table[i].value : 77);
	}
}

static void test_states_are_numbers_before_a_colon(void)
{
	static const Case table[] = {
		{ "4: ACTIVE", TRUE, RDMAD_PORT_ACTIVE },
		{ "1: DOWN", TRUE, RDMAD_PORT_DOWN },
		{ "0: NOP", TRUE, RDMAD_PORT_NOP },
		{ "5: ACTIVE_DEFER", TRUE, RDMAD_PORT_ACTIVE_DEFER },
		{ "4:", TRUE, 4 },
		{ "6: NEW", FALSE, 0 },
		{ "", FALSE, 0 },
		{ "ACTIVE", FALSE, 0 },
		{ "4 ACTIVE", FALSE, 0 },
		{ "-1: DOWN", FALSE, 0 },
		{ "+4: ACTIVE", FALSE, 0 },
		{ " 4: ACTIVE", FALSE, 0 },
		{ "4294967300: ACTIVE", FALSE, 0 },
		{ "18446744073709551620: ACTIVE", FALSE, 0 },
	};
	static const Case phys[] = {
		{ "5: LinkUp", TRUE, 5 },
		{ "0: <unknown>", TRUE, RDMAD_UNKNOWN },
		{ "8: x", FALSE, 0 },
	};

	check_int(rdmad_sysfs_port_state, table, G_N_ELEMENTS(table));
	check_int(rdmad_sysfs_phys_state, phys, G_N_ELEMENTS(phys));
}

static void test_rates_are_megabits(void)
{
	static const Case table[] = {
		{ "400 Gb/sec (4X NDR)", TRUE, 400000 },
		{ "2.5 Gb/sec (1X SDR)", TRUE, 2500 },
		{ "56 Gb/sec (4X FDR)", TRUE, 56000 },
		{ "10 Gb/sec (1X FDR10)", TRUE, 10000 },
		{ "800 Gb/sec (8X NDR)", TRUE, 800000 },
		{ "0 Gb/sec", TRUE, 0 },
		{ "0 GB/sec", TRUE, 0 },
		{ "0.0 GB/sec (1X SDR)", TRUE, 0 },
		{ "0", TRUE, 0 },
		{ "0x", FALSE, 0 },
		{ "0.5 GB/sec", FALSE, 0 },
		{ "100 GB/sec", FALSE, 0 },
		{ "1000001 Gb/sec", FALSE, 0 },
		{ "99999999999999999999 Gb/sec", FALSE, 0 },
		{ "2.55 Gb/sec", FALSE, 0 },
		{ "2. Gb/sec", FALSE, 0 },
		{ ".5 Gb/sec", FALSE, 0 },
		{ "-2 Gb/sec", FALSE, 0 },
		{ "400", FALSE, 0 },
		{ "400 Mb/sec", FALSE, 0 },
		{ "", FALSE, 0 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(table); i++) {
		gint64 value = 77;

		g_test_message("\"%s\"", table[i].text);
		g_assert_cmpint(rdmad_sysfs_rate(table[i].text, &value), ==, table[i].good);
		g_assert_cmpint(value, ==, table[i].good ? table[i].value : 77);
	}
}

static void test_an_interface_is_up_by_its_flags(void)
{
	static const Case table[] = {
		{ "0x1003", TRUE, 1 }, { "0x1002", TRUE, 0 },	    { "0x0", TRUE, 0 },
		{ "0x1", TRUE, 1 },    { "0x51043", TRUE, 1 },	    { "0xffffffff", TRUE, 1 },
		{ "1003", FALSE, 0 },  { "0x100000003", FALSE, 0 }, { "0x", FALSE, 0 },
		{ "", FALSE, 0 },      { "up", FALSE, 0 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(table); i++) {
		int value = 77;

		g_assert_cmpint(rdmad_sysfs_is_up(table[i].text, &value), ==, table[i].good);
		g_assert_cmpint(value, ==, table[i].good ? table[i].value : 77);
	}
}

static void test_identifiers_are_hexadecimal_of_16_bits(void)
{
	static const Case table[] = {
		{ "0x15b3", TRUE, 0x15b3 }, { "0x0", TRUE, 0 },	  { "0x0000FFFF", TRUE, 0xffff },
		{ "0x10000", FALSE, 0 },    { "15b3", FALSE, 0 }, { "0x", FALSE, 0 },
		{ "0x15b3 ", FALSE, 0 },    { "0x-1", FALSE, 0 }, { "0x000000001", FALSE, 0 },
		{ "", FALSE, 0 },
	};

	check_int(rdmad_sysfs_hex16, table, G_N_ELEMENTS(table));
}

static void test_numbers_and_speeds(void)
{
	static const Case ints[] = {
		{ "0", TRUE, 0 },	    { "-1", TRUE, -1 },	 { "2147483647", TRUE, G_MAXINT },
		{ "2147483648", FALSE, 0 }, { "--1", FALSE, 0 }, { "1 ", FALSE, 0 },
		{ "-", FALSE, 0 },	    { "", FALSE, 0 },
	};
	static const Case speeds[] = {
		{ "400000", TRUE, 400000 },
		{ "-1", TRUE, RDMAD_UNKNOWN },
		{ "4294967295", TRUE, RDMAD_UNKNOWN },
		{ "0", TRUE, RDMAD_UNKNOWN },
		{ "fast", FALSE, 0 },
		{ "-2", FALSE, 0 },
	};

	check_int(rdmad_sysfs_int, ints, G_N_ELEMENTS(ints));
	check_int(rdmad_sysfs_speed, speeds, G_N_ELEMENTS(speeds));
}

static void test_a_node_type_that_is_new_is_unknown(void)
{
	RdmadNodeType type = RDMAD_NODE_CA;

	g_assert_true(rdmad_sysfs_node_type("4: RNIC", &type));
	g_assert_cmpint(type, ==, RDMAD_NODE_RNIC);
	g_assert_true(rdmad_sysfs_node_type("8: <unknown>", &type));
	g_assert_cmpint(type, ==, RDMAD_NODE_UNKNOWN);
	g_assert_false(rdmad_sysfs_node_type("RNIC", &type));
}

static void test_link_layers_are_words(void)
{
	static const Case table[] = {
		{ "InfiniBand", TRUE, RDMAD_LINK_LAYER_INFINIBAND },
		{ "Ethernet", TRUE, RDMAD_LINK_LAYER_ETHERNET },
		{ "Unspecified", TRUE, RDMAD_LINK_LAYER_UNKNOWN },
		{ "ethernet", FALSE, 0 },
		{ "", FALSE, 0 },
	};

	check_int(rdmad_sysfs_link_layer, table, G_N_ELEMENTS(table));
}

static void test_texts_are_printable_and_short(void)
{
	g_autofree char *longest = g_strnfill(RDMAD_SYSFS_TEXT_MAX, 'x');
	g_autofree char *too_long = g_strnfill(RDMAD_SYSFS_TEXT_MAX + 1, 'x');
	g_autofree char *text = NULL;
	char *untouched = NULL;

	g_assert_true(rdmad_sysfs_text(longest, &text));
	g_assert_cmpstr(text, ==, longest);
	g_assert_false(rdmad_sysfs_text(too_long, &untouched));
	g_assert_false(rdmad_sysfs_text("28.39\n.1002", &untouched));
	g_assert_false(rdmad_sysfs_text("\033[2J", &untouched));
	g_assert_true(rdmad_sysfs_text("", &untouched));
	g_assert_null(untouched);
}

static void test_guids_and_gids_are_groups_of_four(void)
{
	static const char *const bad[] = {
		"",
		"fe80",
		"fe80:0000:0000:0000:0e42:a1ff:fe65:432",
		"fe80:0000:0000:0000:0e42:a1ff:fe65:43211",
		"fe80:0000:0000:0000:0e42:a1ff:fe65:432g",
		"fe80:0000:0000:0000:0e42:a1ff:fe65.4321",
		"fe80::0e42:a1ff:fe65:4321:0000:00000000",
	};
	const guint8 expected[16] = { 0xfe, 0x80, 0,	0,    0,    0,	  0,	0,
				      0x0e, 0x42, 0xa1, 0xff, 0xfe, 0x65, 0x43, 0x21 };
	guint8 raw[16] = { 0 };
	g_autofree char *guid = NULL;

	g_assert_true(rdmad_sysfs_gid("fe80:0000:0000:0000:0e42:a1ff:fe65:4321", raw));
	g_assert_cmpmem(raw, 16, expected, 16);
	g_assert_true(rdmad_sysfs_guid("0c42:a103:0065:4321", &guid));
	g_assert_cmpstr(guid, ==, "0c42:a103:0065:4321");
	for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
		char *none = NULL;

		g_assert_false(rdmad_sysfs_gid(bad[i], raw));
		g_assert_false(rdmad_sysfs_guid(bad[i], &none));
		g_assert_null(none);
	}
	g_assert_cmpmem(raw, 16, expected, 16);
}

static void test_mac_addresses_have_six_bytes(void)
{
	static const char *const bad[] = {
		"",
		"0c:42:a1:65:43",
		"0c:42:a1:65:43:2",
		"0c:42:a1:65:43:2g",
		"0c-42-a1-65-43-21",
		"80:00:02:08:fe:80:00:00:00:00:00:00:0c:42:a1:03:00:65:43:21",
	};
	const guint8 expected[6] = { 0x0c, 0x42, 0xa1, 0x65, 0x43, 0x21 };
	guint8 mac[6];

	g_assert_true(rdmad_sysfs_mac("0c:42:a1:65:43:21", mac));
	for (guint i = 0; i < G_N_ELEMENTS(bad); i++)
		g_assert_false(rdmad_sysfs_mac(bad[i], mac));
	g_assert_cmpmem(mac, 6, expected, 6);
}

static void test_device_numbers_have_two_parts(void)
{
	static const char *const bad[] = { "",		"231",	"231:",		":192",
					   "231:192:1", "-1:2", "4294967296:0", "a:b" };
	guint numbers[2] = { 0 };

	g_assert_true(rdmad_sysfs_major_minor("231:192", numbers));
	g_assert_cmpuint(numbers[0], ==, 231);
	g_assert_cmpuint(numbers[1], ==, 192);
	for (guint i = 0; i < G_N_ELEMENTS(bad); i++)
		g_assert_false(rdmad_sysfs_major_minor(bad[i], numbers));
	g_assert_cmpuint(numbers[1], ==, 192);
}

static void test_counters_are_decimal_of_64_bits_and_nothing_else(void)
{
	static const struct {
		const char *text;
		guint64 value;
	} good[] = {
		{ "0", 0 },
		{ "4294967296", 4294967296 },
		{ "0010", 10 },
		{ "18446744073709551615", G_MAXUINT64 },
	};
	static const char *const bad[] = { "",	  "-1",	  "+1",	 " 1",
					   "1 ",  "0x1",  "1.0", "18446744073709551616",
					   "N/A", "1\n2", "1,0", "184467440737095516150" };
	guint64 value = 7;

	for (guint i = 0; i < G_N_ELEMENTS(bad); i++)
		g_assert_false(rdmad_sysfs_counter(bad[i], &value));
	g_assert_cmpuint(value, ==, 7);
	for (guint i = 0; i < G_N_ELEMENTS(good); i++) {
		g_assert_true(rdmad_sysfs_counter(good[i].text, &value));
		g_assert_cmpuint(value, ==, good[i].value);
	}
}

static void test_pci_names_are_distinguished_from_others(void)
{
	static const char *const addresses[] = { "0000:3b:00.0", "10000:e1:1f.7", "ABCD:EF:0a.1" };
	static const char *const bridges[] = { "pci0000:3a", "pci10000:e0" };
	static const char *const others[] = {
		"",
		"3b:00.0",
		"0000:3b:00.8",
		"0000:3b:00",
		"0000:3b:00.0x",
		"0000:3b:0.0",
		"0000:3bb:00.0",
		"pci0000",
		"pci0000:3a:",
		"pci0000:3a:00.0",
		"000g:3b:00.0",
		"mlx5_core.sf.4",
		"000000000:3b:00.0",
	};

	for (guint i = 0; i < G_N_ELEMENTS(addresses); i++) {
		g_assert_true(rdmad_sysfs_is_pci_address(addresses[i]));
		g_assert_false(rdmad_sysfs_is_host_bridge(addresses[i]));
	}
	for (guint i = 0; i < G_N_ELEMENTS(bridges); i++) {
		g_assert_true(rdmad_sysfs_is_host_bridge(bridges[i]));
		g_assert_false(rdmad_sysfs_is_pci_address(bridges[i]));
	}
	for (guint i = 0; i < G_N_ELEMENTS(others); i++) {
		g_assert_false(rdmad_sysfs_is_pci_address(others[i]));
		g_assert_false(rdmad_sysfs_is_host_bridge(others[i]));
	}
}

#define TEST(name) UNIT_TEST("/sysfs-value/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(states_are_numbers_before_a_colon),
	TEST(rates_are_megabits),
	TEST(an_interface_is_up_by_its_flags),
	TEST(identifiers_are_hexadecimal_of_16_bits),
	TEST(numbers_and_speeds),
	TEST(a_node_type_that_is_new_is_unknown),
	TEST(link_layers_are_words),
	TEST(texts_are_printable_and_short),
	TEST(guids_and_gids_are_groups_of_four),
	TEST(mac_addresses_have_six_bytes),
	TEST(device_numbers_have_two_parts),
	TEST(counters_are_decimal_of_64_bits_and_nothing_else),
	TEST(pci_names_are_distinguished_from_others),
	{ 0 },
};
