/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <rdmad/device.h>

#include "hardware/netlink/route.h"
#include "netlink-message.h"
#include "../support/unit.h"

static void link_message(Message *msg, guint flags)
{
	const struct ifinfomsg info = { .ifi_index = 4, .ifi_flags = flags };
	const guint8 mac[] = { 0x0c, 0x42, 0xa1, 0, 0, 0xff };

	message_init(msg, RTM_NEWLINK, &info, sizeof(info));
	message_add_text(msg, IFLA_IFNAME, "eth4");
	message_add_attr(msg, IFLA_ADDRESS, mac, sizeof(mac));
	message_add_u32(msg, IFLA_MTU, 9000);
	message_add_attr(msg, IFLA_PARENT_DEV_NAME, "0000:18:00.0", 13);
	message_add_u32(msg, IFLA_MASTER, 9);
	message_add_u8(msg, IFLA_OPERSTATE, 6);
	message_add_u8(msg, IFLA_CARRIER, 1);
	message_add_u32(msg, IFLA_CARRIER_CHANGES, 12);
}

static void test_a_link_has_all_that_is_known_of_it(void)
{
	g_autoptr(RdmadLink) link = NULL;
	Message msg;

	link_message(&msg, IFF_UP);
	link = rdmad_route_parse_link(&msg.hdr);
	g_assert_nonnull(link);
	g_assert_cmpint(link->ifindex, ==, 4);
	g_assert_cmpstr(link->name, ==, "eth4");
	g_assert_cmpstr(link->mac, ==, "0c:42:a1:00:00:ff");
	g_assert_cmpuint(link->mtu, ==, 9000);
	g_assert_cmpint(link->master, ==, 9);
	g_assert_cmpstr(link->parent_device, ==, "0000:18:00.0");
	g_assert_cmpstr(link->operstate, ==, "up");
	g_assert_cmpint(link->carrier, ==, 1);
	g_assert_cmpint(link->carrier_changes, ==, 12);
}

static void test_an_interface_that_is_down_has_no_known_carrier(void)
{
	g_autoptr(RdmadLink) link = NULL;
	Message msg;

	link_message(&msg, 0);
	link = rdmad_route_parse_link(&msg.hdr);
	g_assert_cmpint(link->carrier, ==, RDMAD_UNKNOWN);
}

static void test_an_operstate_of_a_later_kernel_is_not_guessed(void)
{
	g_autoptr(RdmadLink) link = NULL;
	const struct ifinfomsg info = { .ifi_index = 4 };
	Message msg;

	message_init(&msg, RTM_NEWLINK, &info, sizeof(info));
	message_add_text(&msg, IFLA_IFNAME, "eth4");
	message_add_u8(&msg, IFLA_OPERSTATE, 200);
	link = rdmad_route_parse_link(&msg.hdr);
	g_assert_nonnull(link);
	g_assert_null(link->operstate);
}

typedef struct {
	int family;
	guint8 prefix;
	const char *address;
	gsize size;	  /* size of the attribute */
	const char *text; /* NULL: no address */
} AddressCase;

static const AddressCase address_cases[] = {
	{ AF_INET, 24, "192.0.2.7", 4, "192.0.2.7/24" },
	{ AF_INET6, 64, "2001:db8::7", 16, "2001:db8::7/64" },
	{ AF_INET6, 128, "fe80::1", 16, "fe80::1/128" },
	{ AF_INET, 33, "192.0.2.7", 4, NULL },
	{ AF_INET, 24, "192.0.2.7", 2, NULL },
	{ AF_INET6, 64, "2001:db8::7", 4, NULL },
	{ AF_UNIX, 24, "192.0.2.7", 4, NULL },
};

static void check_address(const AddressCase *c)
{
	g_autofree RdmadAddress *found = NULL;
	g_autofree char *text = NULL;
	const struct ifaddrmsg info = { .ifa_family = c->family,
					.ifa_prefixlen = c->prefix,
					.ifa_index = 3 };
	guint8 raw[16] = { 0 };
	Message msg;

	inet_pton(strchr(c->address, ':') ? AF_INET6 : AF_INET, c->address, raw);
	message_init(&msg, RTM_NEWADDR, &info, sizeof(info));
	message_add_attr(&msg, IFA_ADDRESS, raw, c->size);
	found = rdmad_route_parse_address(&msg.hdr);
	text = found ? rdmad_ip_format(&found->ip) : NULL;
	g_assert_cmpstr(text, ==, c->text);
}

static void test_addresses_are_text_or_left_out(void)
{
	for (guint i = 0; i < G_N_ELEMENTS(address_cases); i++)
		check_address(&address_cases[i]);
}

static void test_of_a_point_to_point_link_the_own_end_counts(void)
{
	g_autofree RdmadAddress *found = NULL;
	g_autofree char *text = NULL;
	const struct ifaddrmsg info = { .ifa_family = AF_INET, .ifa_prefixlen = 32 };
	const guint8 other[] = { 192, 0, 2, 1 }, own[] = { 192, 0, 2, 2 };
	Message msg;

	message_init(&msg, RTM_NEWADDR, &info, sizeof(info));
	message_add_attr(&msg, IFA_ADDRESS, other, sizeof(other));
	message_add_attr(&msg, IFA_LOCAL, own, sizeof(own));
	found = rdmad_route_parse_address(&msg.hdr);
	g_assert_nonnull(found);
	text = rdmad_ip_format(&found->ip);
	g_assert_cmpstr(text, ==, "192.0.2.2/32");
}

static void test_a_message_without_its_fixed_part_is_left_out(void)
{
	g_autoptr(RdmadLink) link = NULL;
	Message msg;

	message_init(&msg, RTM_NEWLINK, NULL, 0);
	link = rdmad_route_parse_link(&msg.hdr);
	g_assert_null(link);
}

static Message link_event(guint16 type, guint8 family)
{
	const struct ifinfomsg info = { .ifi_family = family, .ifi_index = 4 };
	Message msg;

	message_init(&msg, type, &info, sizeof(info));
	message_add_attr(&msg, IFLA_IFNAME, "eth4", sizeof("eth4"));
	return msg;
}

static Message address_message(guint16 type, guint ifindex)
{
	const struct ifaddrmsg info = { .ifa_family = AF_INET6, .ifa_index = ifindex };
	Message msg;

	message_init(&msg, type, &info, sizeof(info));
	return msg;
}

static void test_a_notification_names_its_interface(void)
{
	const struct ifinfomsg no_name = { .ifi_index = 4 };
	const struct rtmsg route = { .rtm_family = AF_INET };
	/* -1: about none. */
	struct {
		Message msg;
		int ifindex;
		const char *name;
		gboolean removed;
	} cases[] = {
		{ .ifindex = 4, .name = "eth4" },
		{ address_message(RTM_NEWADDR, 7), 7, NULL },
		{ address_message(RTM_DELADDR, 7), 7, NULL },
		{ address_message(RTM_NEWADDR, 0), -1, NULL },
		{ address_message(RTM_DELLINK, 0), -1, NULL },
		{ .ifindex = -1 },
		{ .ifindex = -1 },
		{ .ifindex = -1 },
		{ link_event(RTM_DELLINK, AF_UNSPEC), 4, "eth4", TRUE },
		{ link_event(RTM_NEWLINK, AF_BRIDGE), 4, NULL, FALSE },
		{ link_event(RTM_DELLINK, AF_BRIDGE), 4, NULL, FALSE },
	};

	link_message(&cases[0].msg, IFF_UP);
	message_init(&cases[5].msg, RTM_NEWLINK, &no_name, sizeof(no_name));
	message_init(&cases[6].msg, RTM_NEWROUTE, &route, sizeof(route));
	message_init(&cases[7].msg, RTM_NEWADDR, NULL, 0);
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		const char *bytes = cases[i].msg.bytes;
		const gsize size = cases[i].msg.hdr.nlmsg_len;
		RdmadRouteEvent event, cut;

		g_test_message("case %u", i);
		g_assert_cmpint(rdmad_route_parse_event(bytes, size, &event), ==,
				cases[i].ifindex > 0);
		if (cases[i].ifindex > 0)
			g_assert_cmpint(event.ifindex, ==, cases[i].ifindex);
		g_assert_cmpstr(event.link ? event.link->name : NULL, ==, cases[i].name);
		g_assert_cmpint(event.removed, ==, cases[i].removed);
		g_clear_pointer(&event.link, rdmad_link_free);
		/* A part of it, or more than it. */
		g_assert_false(rdmad_route_parse_event(bytes, size - 4, &cut));
		g_assert_false(rdmad_route_parse_event(bytes, size + 4, &cut));
		g_assert_false(rdmad_route_parse_event(bytes, 8, &cut));
	}
}

#define TEST(name) UNIT_TEST("/netlink-route/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(a_link_has_all_that_is_known_of_it),
	TEST(an_interface_that_is_down_has_no_known_carrier),
	TEST(an_operstate_of_a_later_kernel_is_not_guessed),
	TEST(addresses_are_text_or_left_out),
	TEST(of_a_point_to_point_link_the_own_end_counts),
	TEST(a_message_without_its_fixed_part_is_left_out),
	TEST(a_notification_names_its_interface),
	{ 0 },
};
