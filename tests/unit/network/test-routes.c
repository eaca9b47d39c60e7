/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "pod.h"
#include "../support/ip.h"

static void give_addresses(const Fixture *f)
{
	static const char *const texts[] = { "192.0.2.7/24", "2001:db8::7/64" };

	for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
		const RdmadAddress address = { .ifindex = f->nic->ifindex,
					       .ip = ip(texts[i]),
					       .flags = IFA_F_NODAD };

		g_assert_true(rdmad_address_replace(f->host_net, &address, NULL));
	}
}

static const RdmadRoute *route_find(const GPtrArray *routes, const RdmadRoute *like)
{
	for (guint i = 0; i < routes->len; i++) {
		const RdmadRoute *route = routes->pdata[i];

		if (rdmad_ip_equal(&route->to, &like->to) &&
		    route->type == (like->type ?: RTN_UNICAST))
			return route;
	}
	return NULL;
}

static void test_routes_are_what_they_were_set_to(Fixture *f, gconstpointer data)
{
	const int nic = f->ready ? f->nic->ifindex : 0;
	const RdmadRoute cases[] = {
		{ .family = AF_INET,
		  .to = ip("203.0.113.0/24"),
		  .table = 1000,
		  .n_hops = 1,
		  .hops = { { .ifindex = nic } },
		  .source = ip("192.0.2.7") },
		{ .family = AF_INET,
		  .table = 100,
		  .metric = 7,
		  .mtu = 1280,
		  .n_hops = 1,
		  .hops = { { .ifindex = nic, .gateway = ip("192.0.2.1") } } },
		{ .family = AF_INET,
		  .to = ip("198.51.100.0/24"),
		  .table = 100,
		  .n_hops = 1,
		  .hops = { { .ifindex = nic, .gateway = ip("10.9.9.9"), .onlink = TRUE } } },
		{ .family = AF_INET,
		  .to = ip("198.51.100.128/25"),
		  .table = 100,
		  .n_hops = 2,
		  .hops = { { .ifindex = nic, .gateway = ip("192.0.2.1"), .weight = 1 },
			    { .ifindex = nic, .gateway = ip("192.0.2.2"), .weight = 9 } } },
		{ .family = AF_INET,
		  .to = ip("198.51.100.64/26"),
		  .table = 100,
		  .n_hops = 1,
		  .hops = { { .ifindex = nic, .gateway = ip("2001:db8::1") } } },
		{ .family = AF_INET, .to = ip("10.0.0.0/8"), .table = 100, .type = RTN_BLACKHOLE },
		{ .family = AF_INET6,
		  .to = ip("2001:db8:5::/48"),
		  .table = 100,
		  .metric = 5,
		  .n_hops = 1,
		  .hops = { { .ifindex = nic, .gateway = ip("2001:db8::1") } } },
		{ .family = AF_INET6,
		  .to = ip("2001:db8:6::/48"),
		  .table = 100,
		  .metric = 5,
		  .n_hops = 2,
		  .hops = { { .ifindex = nic, .gateway = ip("2001:db8::1") },
			    { .ifindex = nic, .gateway = ip("2001:db8::2") } } },
		{ .family = AF_INET6,
		  .table = 100,
		  .metric = 5,
		  .n_hops = 1,
		  .hops = { { .ifindex = nic, .gateway = ip("fe80::1") } } },
	};

	if (f->ready)
		give_addresses(f);
	for (gsize i = 0; f->ready && i < G_N_ELEMENTS(cases); i++) {
		const RdmadRoute *route = &cases[i], *found;
		g_autoptr(GPtrArray) list = NULL, after = NULL;
		g_autoptr(GError) error = NULL;

		rdmad_route_add(f->host_net, route, &error);
		g_assert_no_error(error);
		g_assert_false(rdmad_route_add(f->host_net, route, &error));
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY);
		list = rdmad_routes_list(f->host_net, route->family, route->table, 0, NULL);
		found = route_find(list, route);
		g_assert_nonnull(found);
		g_assert_cmpuint(found->table, ==, route->table);
		g_assert_cmpuint(found->mtu, ==, route->mtu);
		g_assert_cmpuint(found->protocol, ==, RTPROT_STATIC);
		g_assert_true(rdmad_ip_equal(&found->source, &route->source));
		if (route->n_hops) {
			g_assert_cmpuint(found->n_hops, ==, route->n_hops);
			g_assert_cmpuint(found->metric, ==, route->metric);
		}
		for (guint k = 0; k < route->n_hops; k++) {
			g_assert_true(
				rdmad_ip_equal(&found->hops[k].gateway, &route->hops[k].gateway));
			g_assert_cmpint(found->hops[k].onlink, ==, route->hops[k].onlink);
			g_assert_cmpuint(found->hops[k].weight, ==, route->hops[k].weight ?: 1);
		}
		/* Values that were read can be set and deleted again. */
		g_clear_error(&error);
		rdmad_route_replace(f->host_net, found, &error);
		g_assert_no_error(error);
		rdmad_route_delete(f->host_net, found, &error);
		g_assert_no_error(error);
		g_assert_false(rdmad_route_delete(f->host_net, route, &error));
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
		after = rdmad_routes_list(f->host_net, route->family, route->table, 0, NULL);
		g_assert_cmpuint(after->len, ==, 0);
	}
}

static void test_a_gateway_behind_a_link_route_is_found(Fixture *f, gconstpointer data)
{
	const int nic = f->ready ? f->nic->ifindex : 0;
	const RdmadRoute link = { .family = AF_INET,
				  .to = ip("203.0.113.0/24"),
				  .n_hops = 1,
				  .hops = { { .ifindex = nic } } };
	const RdmadRoute behind = { .family = AF_INET,
				    .to = ip("198.18.0.0/15"),
				    .n_hops = 1,
				    .hops = { { .ifindex = nic, .gateway = ip("203.0.113.1") } } };
	g_autoptr(GError) error = NULL;

	if (!f->ready)
		return;
	give_addresses(f);
	g_assert_true(rdmad_route_add(f->host_net, &link, &error));
	rdmad_route_add(f->host_net, &behind, &error);
	g_assert_no_error(error);
}

static void test_routes_are_listed_by_link(Fixture *f, gconstpointer data)
{
	g_autoptr(GPtrArray) of_nic = NULL, of_lo = NULL;

	if (!f->ready)
		return;
	give_addresses(f);
	of_nic = rdmad_routes_list(f->host_net, AF_INET, RT_TABLE_MAIN, f->nic->ifindex, NULL);
	of_lo = rdmad_routes_list(f->host_net, AF_INET, RT_TABLE_MAIN, 1, NULL);
	g_assert_cmpuint(of_nic->len, ==, 1);
	g_assert_cmpuint(of_lo->len, ==, 0);
}

/* ---- rules ---- */

static void test_rules_are_what_they_were_set_to(Fixture *f, gconstpointer data)
{
	const RdmadRule cases[] = {
		{ .family = AF_INET, .from = ip("192.0.2.7"), .priority = 20000, .table = 1000 },
		{ .family = AF_INET,
		  .to = ip("10.0.0.0/8"),
		  .priority = 20001,
		  .table = 100,
		  .iif = "nic0",
		  .protocol = RTPROT_STATIC },
		{ .family = AF_INET6, .from = ip("2001:db8::7"), .priority = 20000, .table = 1000 },
		{ .family = AF_INET6, .priority = 20002, .table = 77, .oif = "nic0" },
	};

	for (gsize i = 0; f->ready && i < G_N_ELEMENTS(cases); i++) {
		const RdmadRule *rule = &cases[i], *found = NULL;
		g_autoptr(GPtrArray) list = NULL;
		g_autoptr(GError) error = NULL;

		rdmad_rule_add(f->host_net, rule, &error);
		g_assert_no_error(error);
		g_assert_false(rdmad_rule_add(f->host_net, rule, &error));
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY);
		list = rdmad_rules_list(f->host_net, rule->family, NULL);
		for (guint k = 0; k < list->len; k++)
			if (((RdmadRule *)list->pdata[k])->priority == rule->priority)
				found = list->pdata[k];
		g_assert_nonnull(found);
		g_assert_true(rdmad_ip_equal(&found->from, &rule->from));
		g_assert_true(rdmad_ip_equal(&found->to, &rule->to));
		g_assert_cmpuint(found->table, ==, rule->table);
		g_assert_cmpstr(found->iif, ==, rule->iif);
		g_assert_cmpstr(found->oif, ==, rule->oif);
		g_assert_cmpuint(found->protocol, ==, rule->protocol);
		g_assert_true(rdmad_rule_delete(f->host_net, found, NULL));
		g_clear_error(&error);
		g_assert_false(rdmad_rule_delete(f->host_net, rule, &error));
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
	}
}

#define TEST(name) TEST_WITH_POD("routes", name)

const UnitTest unit_tests[] = {
	TEST(routes_are_what_they_were_set_to),
	TEST(a_gateway_behind_a_link_route_is_found),
	TEST(routes_are_listed_by_link),
	TEST(rules_are_what_they_were_set_to),
	{ 0 },
};
