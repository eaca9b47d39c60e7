/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/if_addr.h>
#include <sys/socket.h>

#include "pod.h"
#include "../support/ip.h"

static void test_addresses_are_what_they_were_set_to(Fixture *f, gconstpointer data)
{
	const RdmadAddress wanted[] = {
		{ .ip = ip("192.0.2.7/24"), .broadcast = ip("192.0.2.255") },
		{ .ip = ip("198.51.100.1/25"), .flags = IFA_F_NOPREFIXROUTE, .metric = 50 },
		{ .ip = ip("2001:db8::7/64"), .flags = IFA_F_NODAD | IFA_F_NOPREFIXROUTE },
		{ .ip = ip("2001:db8:1::1/64"),
		  .flags = IFA_F_NODAD,
		  .valid_s = 3000,
		  .preferred_s = 2000 },
		{ .ip = ip("203.0.113.1/32"), .peer = ip("203.0.113.2/32") },
	};

	for (gsize i = 0; f->ready && i < G_N_ELEMENTS(wanted); i++) {
		RdmadAddress address = wanted[i];
		g_autoptr(GPtrArray) list = NULL;
		g_autoptr(GError) error = NULL;
		const RdmadAddress *found = NULL;

		address.ifindex = f->nic->ifindex;
		g_assert_true(rdmad_address_add(f->host_net, &address, &error));
		g_assert_no_error(error);
		g_assert_false(rdmad_address_add(f->host_net, &address, &error));
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY);
		g_assert_true(rdmad_address_replace(f->host_net, &address, NULL));
		list = rdmad_addresses_list(f->host_net, f->nic->ifindex, NULL);
		for (guint k = 0; k < list->len; k++)
			if (rdmad_ip_equal(&((RdmadAddress *)list->pdata[k])->ip, &address.ip))
				found = list->pdata[k];
		g_assert_nonnull(found);
		g_assert_cmpuint(found->flags & address.flags, ==, address.flags);
		g_assert_cmpuint(found->metric, ==, address.metric);
		g_assert_true(rdmad_ip_equal(&found->broadcast, &address.broadcast));
		g_assert_true(rdmad_ip_equal(&found->peer, &address.peer));
		g_assert_cmpint(found->valid_s == 0, ==, address.valid_s == 0);
		g_assert_cmpuint(found->valid_s, <=, address.valid_s);
		g_assert_true(rdmad_address_delete(f->host_net, found, NULL));
		g_clear_error(&error);
		g_assert_false(rdmad_address_delete(f->host_net, &address, &error));
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
	}
}

static void test_an_address_keeps_label_and_lifetimes(Fixture *f, gconstpointer data)
{
	RdmadAddress address = {
		.ip = ip("192.0.2.7/24"), .valid_s = 5000, .preferred_s = 4000, .label = "nic:x"
	};
	g_autoptr(GPtrArray) listed = NULL;
	g_autoptr(GError) error = NULL;
	const RdmadAddress *now;

	if (!f->ready)
		return;
	address.ifindex = f->nic->ifindex;
	rdmad_address_add(f->host_net, &address, &error);
	g_assert_no_error(error);
	address.ip = ip("192.0.3.7/24");
	address.flags = IFA_F_DEPRECATED;
	rdmad_address_add(f->host_net, &address, &error);
	g_assert_no_error(error);
	listed = rdmad_addresses_list(f->host_net, f->nic->ifindex, &error);
	for (guint i = 0, of = 0; i < listed->len; i++) {
		now = listed->pdata[i];
		if (now->ip.family != AF_INET)
			continue;
		g_assert_cmpstr(now->label, ==, "nic:x");
		g_assert_cmpuint(now->valid_s, >, 4900);
		g_assert_cmpint((now->flags & IFA_F_DEPRECATED) != 0, ==, of++ == 1);
	}
}

static void test_neighbours_come_and_go(Fixture *f, gconstpointer data)
{
	const RdmadIp v4 = ip("192.0.2.9"), v6 = ip("2001:db8::9");
	const RdmadIp *const both[] = { &v4, &v6 };

	for (gsize i = 0; f->ready && i < G_N_ELEMENTS(both); i++) {
		g_autoptr(GError) error = NULL;

		rdmad_neighbour_replace(f->host_net, f->nic->ifindex, both[i], "02:00:00:00:00:09",
					&error);
		g_assert_no_error(error);
		g_assert_true(rdmad_neighbour_delete(f->host_net, f->nic->ifindex, both[i], NULL));
		g_assert_false(
			rdmad_neighbour_delete(f->host_net, f->nic->ifindex, both[i], &error));
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
	}
}

static void test_neighbours_are_listed_by_link(Fixture *f, gconstpointer data)
{
	const RdmadIp v4 = ip("192.0.2.9"), v6 = ip("2001:db8::9");
	const RdmadMac mac = { 6, { 2, 0, 0, 0, 0, 9 } };
	g_autoptr(GPtrArray) listed = NULL, of_loopback = NULL;
	g_autoptr(GError) error = NULL;

	if (!f->ready)
		return;
	rdmad_neighbour_replace(f->host_net, f->nic->ifindex, &v4, "02:00:00:00:00:09", &error);
	g_assert_no_error(error);
	rdmad_neighbour_replace(f->host_net, f->nic->ifindex, &v6, "02:00:00:00:00:09", &error);
	g_assert_no_error(error);
	listed = rdmad_neighbours_list(f->host_net, f->nic->ifindex, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(listed->len, ==, 2);
	for (guint i = 0; i < listed->len; i++) {
		const RdmadNeighbour *neighbour = listed->pdata[i];

		g_assert_true(rdmad_ip_equal(&neighbour->ip, &v4) ||
			      rdmad_ip_equal(&neighbour->ip, &v6));
		g_assert_true(rdmad_mac_equal(&neighbour->mac, &mac));
	}
	of_loopback = rdmad_neighbours_list(f->host_net, 1, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(of_loopback->len, ==, 0);
}

#define TEST(name) TEST_WITH_POD("addresses", name)

const UnitTest unit_tests[] = {
	TEST(addresses_are_what_they_were_set_to),
	TEST(an_address_keeps_label_and_lifetimes),
	TEST(neighbours_come_and_go),
	TEST(neighbours_are_listed_by_link),
	{ 0 },
};
