/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/device.h"
#include "../support/unit.h"

static void test_names_are_ordered_as_people_count(void)
{
	static const char *const ordered[] = {
		"",
		"0000:18:00.0",
		"0000:1a:00.0",
		"0000:3b:00.0",
		"0000:3b:00.2",
		"0000:3b:0a.0",
		"0000:9a:00.0",
		"0000:ba:00.0",
		"0000:c0:00.0",
		"0001:18:00.0",
		"000a:18:00.0",
		"0010:18:00.0",
		"10000:01:00.0",
		"mlx5_0",
		"mlx5_02",
		"mlx5_2",
		"mlx5_2a",
		"mlx5_10",
		"mlx5_18446744073709551616",
		"mlx5_18446744073709551617",
		"rxe",
		"rxe0",
		"\xff",
	};

	for (guint i = 0; i < G_N_ELEMENTS(ordered); i++)
		for (guint j = 0; j < G_N_ELEMENTS(ordered); j++) {
			const int order = rdmad_natural_compare(ordered[i], ordered[j]);

			if (i == j)
				g_assert_cmpint(order, ==, 0);
			else
				g_assert_cmpint(order < 0, ==, i < j);
		}
}

static void test_a_gid_has_eight_groups(void)
{
	const guint8 raw[16] = { 0xfe, 0x80, 0,	   0,	 0,    0,    0,	   0,
				 0x0e, 0x42, 0xa1, 0xff, 0xfe, 0x65, 0x43, 0x21 };
	char text[40];

	rdmad_gid_format(raw, text);
	g_assert_cmpstr(text, ==, "fe80:0000:0000:0000:0e42:a1ff:fe65:4321");
}

static void test_a_mac_address_is_found_in_a_guid(void)
{
	static const struct {
		const char *guid, *mac; /* NULL: the GUID is not derived from a MAC */
	} cases[] = {
		{ "0216:3eff:fe01:020a", "00163e01020a" },
		{ "0016:3eff:fe01:020a", "02163e01020a" },
		{ "ffff:ffff:feff:ffff", "fdffffffffff" },
		{ "0c42:a103:0065:4321", NULL },
		{ "0216:3eff:fd01:020a", NULL },
		{ "0216:3eff:fe01", NULL },
		{ "0216:3eff:fe01:020a:", NULL },
		{ "0216:3eff:fe01:020a:1", NULL },
		{ "0216:3eff:fe01:020g", NULL },
		{ "0000:0000:0000:0000", NULL },
		{ "", NULL },
		{ NULL, NULL },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text = NULL;
		guint8 mac[6];

		if (rdmad_guid_get_mac(cases[i].guid, mac))
			text = g_strdup_printf("%02x%02x%02x%02x%02x%02x", mac[0], mac[1], mac[2],
					       mac[3], mac[4], mac[5]);
		g_assert_cmpstr(text, ==, cases[i].mac);
	}
}

static void test_what_is_not_known_is_called_unknown(void)
{
	g_assert_cmpstr(rdmad_port_state_name(RDMAD_PORT_ACTIVE), ==, "active");
	g_assert_cmpstr(rdmad_port_state_name(RDMAD_UNKNOWN), ==, "unknown");
	g_assert_cmpstr(rdmad_port_state_name(99), ==, "unknown");
	g_assert_cmpstr(rdmad_link_layer_name(RDMAD_LINK_LAYER_ETHERNET), ==, "ethernet");
	g_assert_cmpstr(rdmad_link_layer_name(RDMAD_LINK_LAYER_UNKNOWN), ==, "unknown");
	g_assert_cmpstr(rdmad_gid_type_name(RDMAD_GID_ROCE_V2), ==, "RoCE v2");
	g_assert_cmpstr(rdmad_node_type_name(RDMAD_NODE_RNIC), ==, "rnic");
	g_assert_cmpstr(rdmad_node_type_name((RdmadNodeType)99), ==, "unknown");
}

#define TEST(name) UNIT_TEST("/device-names/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(names_are_ordered_as_people_count),
	TEST(a_mac_address_is_found_in_a_guid),
	TEST(a_gid_has_eight_groups),
	TEST(what_is_not_known_is_called_unknown),
	{ 0 },
};
