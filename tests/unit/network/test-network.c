/* SPDX-License-Identifier: Apache-2.0 */
/* Uses the running kernel, in two namespaces of the test, one of which represents the host */
#include <arpa/inet.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <rdmad/error.h>
#include <rdmad/network.h>
#include <string.h>

#include "hardware/netlink/rdma.h"
#include "hardware/sysroot.h"
#include "namespace.h"
#include "network/network-private.h"
#include "../support/ip.h"
#include "../support/unit.h"

typedef struct {
	gboolean ready;
	int pod;
	RdmadNetwork *host_net, *pod_net;
	RdmadLink *nic; /* on the host */
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
	const RdmadLinkSpec spec = {
		.kind = "veth", .name = "nic0", .peer = "wire", .mtu = 9000, .up = TRUE
	};
	g_autoptr(GError) error = NULL;

	if (!namespace_leave_host())
		return;
	f->pod = namespace_new();
	f->host_net = rdmad_network_open(0, &error);
	g_assert_no_error(error);
	f->pod_net = rdmad_network_open(f->pod, &error);
	g_assert_no_error(error);
	rdmad_link_create(f->host_net, &spec, &error);
	g_assert_no_error(error);
	f->nic = rdmad_link_get(f->host_net, "nic0", &error);
	g_assert_no_error(error);
	/* Without the other end, there is no carrier. */
	g_assert_true(rdmad_link_change(f->host_net, f->nic->parent, &(RdmadLinkChange){ .up = 1 },
					NULL));
	f->ready = TRUE;
}

static void teardown(Fixture *f, gconstpointer data)
{
	if (!f->ready)
		return;
	rdmad_link_free(f->nic);
	rdmad_network_close(f->host_net);
	rdmad_network_close(f->pod_net);
	close(f->pod);
}

static void expect_no_link(RdmadNetwork *net, const char *name)
{
	g_autoptr(GError) error = NULL;

	g_assert_null(rdmad_link_get(net, name, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
	g_assert_cmpint(rdmad_network_errnum(net), ==, ENODEV);
}

static void create(RdmadNetwork *net, RdmadLinkSpec spec)
{
	g_autoptr(GError) error = NULL;

	rdmad_link_create(net, &spec, &error);
	g_assert_no_error(error);
}

/* ---- links ---- */

static void test_a_link_is_made_in_the_other_namespace(Fixture *f, gconstpointer data)
{
	static const struct {
		const char *kind, *mode;
		guint vlan;
	} cases[] = {
		{ "macvlan", NULL, 0 },
		{ "macvlan", "private", 0 },
		{ "vlan", NULL, 100 },
		{ "ipvlan", "l3", 0 },
	};

	rdmad_autofd int own G_GNUC_UNUSED = rdmad_netns_open_own(NULL, NULL);

	for (gsize i = 0; f->ready && i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(RdmadLink) link = NULL;
		int number = -2;

		const RdmadLinkSpec spec = { .kind = cases[i].kind,
					     .mode = cases[i].mode,
					     .vlan = cases[i].vlan,
					     .name = "eth1",
					     .parent = f->nic->ifindex,
					     .netns = f->pod,
					     .mtu = 1400,
					     .up = TRUE };
		g_autoptr(GError) error = NULL;

		rdmad_link_create(f->host_net, &spec, &error);
		if (rdmad_network_errnum(f->host_net) == EOPNOTSUPP) {
			g_test_message("this kernel has no %s", cases[i].kind);
			continue;
		}
		g_assert_no_error(error);
		link = expect_link(f->pod_net, "eth1");
		g_assert_cmpstr(link->kind, ==, cases[i].kind);
		g_assert_cmpint(link->parent, ==, f->nic->ifindex);
		g_assert_true(rdmad_network_netns_number(
			f->pod_net, rdmad_netns_open_own(NULL, NULL), &number, NULL));
		g_assert_cmpint(number, >=, 0);
		g_assert_cmpint(link->parent_netns, ==, number);
		g_assert_cmpuint(link->mtu, ==, 1400);
		g_assert_true(link->up);
		expect_no_link(f->host_net, "eth1");
		g_assert_true(rdmad_links_delete(f->pod_net, &link->ifindex, 1, NULL));
		expect_no_link(f->pod_net, "eth1");
	}
}

static void test_a_veth_pair_has_an_end_in_each(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadLink) here = NULL, there = NULL;

	if (!f->ready)
		return;
	create(f->host_net, (RdmadLinkSpec){ .kind = "veth",
					     .name = "veth0",
					     .mac = "02:00:00:00:00:07",
					     .peer = "eth0",
					     .peer_netns = f->pod });
	here = expect_link(f->host_net, "veth0");
	there = expect_link(f->pod_net, "eth0");
	g_assert_cmpstr(here->mac, ==, "02:00:00:00:00:07");
	g_assert_cmpint(here->parent, ==, there->ifindex);
	g_assert_false(there->up);
}

static void test_what_is_wrong_is_refused_and_makes_nothing(Fixture *f, gconstpointer data)
{
	static const struct {
		RdmadLinkSpec spec;
		int code;
		const char *text;
	} cases[] = {
		{ { .kind = "veth", .name = "sixteen-bytes-xx" }, RDMAD_ERROR_INVALID, "name" },
		{ { .kind = "veth", .name = "eth%d" }, RDMAD_ERROR_INVALID, "eth%d" },
		{ { .kind = "veth", .name = ".." }, RDMAD_ERROR_INVALID, "name" },
		{ { .kind = "veth", .name = "" }, RDMAD_ERROR_INVALID, "name" },
		{ { .kind = "veth", .name = "a b" }, RDMAD_ERROR_INVALID, "name" },
		{ { .kind = "veth", .name = "nic0" }, RDMAD_ERROR_BUSY, "nic0 (veth)" },
		{ { .kind = "veth", .name = "d", .mac = "02:00:" }, RDMAD_ERROR_INVALID, "02:00:" },
		{ { .kind = "veth", .name = "d", .mac = "02-00" }, RDMAD_ERROR_INVALID, "02-00" },
		{ { .kind = "bridge", .name = "d" }, RDMAD_ERROR_INVALID, "bridge" },
		{ { .kind = "macvlan", .name = "d", .mode = "l2" }, RDMAD_ERROR_INVALID, "l2" },
		{ { .kind = "macvlan", .name = "d", .parent = 99999 }, RDMAD_ERROR_NOT_FOUND, "d" },
		{ { .kind = "vlan", .name = "d", .parent = 1 }, RDMAD_ERROR_INVALID, "VLAN id 0" },
		{ { .kind = "vlan", .name = "d", .vlan = 4095 }, RDMAD_ERROR_INVALID, "4095" },
		{ { .kind = "veth", .name = "d", .peer = "e/f" }, RDMAD_ERROR_INVALID, "e/f" },
	};

	for (gsize i = 0; f->ready && i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GPtrArray) links = NULL;
		g_autoptr(GError) error = NULL;

		g_assert_false(rdmad_link_create(f->host_net, &cases[i].spec, &error));
		g_assert_error(error, RDMAD_ERROR, cases[i].code);
		g_assert_nonnull(strstr(error->message, cases[i].text));
		links = rdmad_links_list(f->host_net, NULL);
		g_assert_cmpuint(links->len, ==, 3); /* lo, nic0 and its other end */
	}
}

static void test_the_kernel_s_own_words_are_in_the_error(Fixture *f, gconstpointer data)
{
	const RdmadLinkSpec spec = { .kind = "macvlan", .name = "m", .parent = 1 };
	const RdmadLinkChange small = { .mtu = 10 };
	g_autoptr(GError) error = NULL;

	if (!f->ready)
		return;
	g_assert_false(rdmad_link_create(f->host_net, &spec, &error));
	g_clear_error(&error);
	create(f->host_net, (RdmadLinkSpec){ .kind = "veth", .name = "v0", .peer = "v1" });
	{
		g_autoptr(RdmadLink) veth = expect_link(f->host_net, "v0");

		g_assert_false(rdmad_link_change(f->host_net, veth->ifindex, &small, &error));
		g_assert_nonnull(strstr(error->message, "mtu less than device minimum"));
	}
}

static void test_a_link_goes_to_the_pod_and_comes_back(Fixture *f, gconstpointer data)
{
	rdmad_autofd int own = rdmad_netns_open_own(NULL, NULL);
	const RdmadLinkChange there = { .netns = f->pod, .name = "eth1", .ifindex = 77 };
	const RdmadLinkChange up = { .up = 1, .mtu = 1300, .mac = "02:00:00:00:00:11" };
	const RdmadLinkChange back = { .netns = own, .name = "nic0" };
	g_autoptr(RdmadLink) link = NULL, returned = NULL;
	g_autoptr(GError) error = NULL;

	if (!f->ready)
		return;
	g_assert_true(rdmad_link_change(f->host_net, f->nic->ifindex, &there, &error));
	g_assert_no_error(error);
	expect_no_link(f->host_net, "nic0");
	g_assert_true(rdmad_link_change(f->pod_net, 77, &up, &error));
	link = expect_link(f->pod_net, "eth1");
	g_assert_cmpint(link->ifindex, ==, 77);
	g_assert_true(link->up);
	g_assert_cmpuint(link->mtu, ==, 1300);
	g_assert_cmpstr(link->mac, ==, "02:00:00:00:00:11");
	g_assert_true(rdmad_link_change(f->pod_net, 77, &back, &error));
	returned = expect_link(f->host_net, "nic0");
	expect_no_link(f->pod_net, "eth1");
}

static void test_altnames_come_and_go(Fixture *f, gconstpointer data)
{
	const char *const name = "a-name-that-is-longer-than-an-interface-s";
	g_autoptr(RdmadLink) link = NULL, after = NULL;
	g_autoptr(GError) error = NULL;

	if (!f->ready)
		return;
	g_assert_true(rdmad_link_set_altname(f->host_net, f->nic->ifindex, name, TRUE, &error));
	link = expect_link(f->host_net, name);
	g_assert_cmpstr(link->name, ==, "nic0");
	g_assert_cmpuint(g_strv_length(link->altnames), ==, 1);
	g_assert_cmpstr(link->altnames[0], ==, name);
	g_assert_true(rdmad_link_set_altname(f->host_net, f->nic->ifindex, name, FALSE, &error));
	after = expect_link(f->host_net, "nic0");
	g_assert_cmpuint(g_strv_length(after->altnames), ==, 0);
}

static void test_many_links_go_at_once(Fixture *f, gconstpointer data)
{
	g_autoptr(GPtrArray) left = NULL;
	g_autoptr(GError) error = NULL;
	int ifindexes[21];

	if (!f->ready)
		return;
	for (guint i = 0; i < 20; i++) {
		g_autofree char *name = g_strdup_printf("m%u", i);
		g_autoptr(RdmadLink) link = NULL;

		create(f->host_net, (RdmadLinkSpec){ .kind = "macvlan",
						     .name = name,
						     .parent = f->nic->ifindex });
		link = expect_link(f->host_net, name);
		ifindexes[i] = link->ifindex;
	}
	ifindexes[20] = 99999; /* removed already */
	g_assert_true(rdmad_links_delete(f->host_net, ifindexes, 21, &error));
	g_assert_no_error(error);
	left = rdmad_links_list(f->host_net, NULL);
	g_assert_cmpuint(left->len, ==, 3);
	/* Succeeds again, with nothing to delete. */
	g_assert_true(rdmad_links_delete(f->host_net, ifindexes, 21, &error));
	g_assert_true(rdmad_links_delete(f->host_net, ifindexes, 1, &error));
	g_assert_true(rdmad_links_delete(f->host_net, ifindexes, 0, &error));
}

static void test_a_function_that_has_none_refuses_virtual_ones(Fixture *f, gconstpointer data)
{
	const RdmadVf vf = { .number = 0, .mac = (char *)"02:00:00:00:00:01" };
	const RdmadVf bad = { .mac = (char *)"02:00", .vlan = 5000 };
	g_autoptr(GError) error = NULL;

	if (!f->ready)
		return;
	g_assert_false(rdmad_vf_set(f->host_net, 99999, &vf, RDMAD_VF_MAC, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
	g_clear_error(&error);
	g_assert_false(rdmad_vf_set(f->host_net, f->nic->ifindex, &bad, RDMAD_VF_MAC, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
	g_clear_error(&error);
	g_assert_false(rdmad_vf_set(f->host_net, f->nic->ifindex, &bad, RDMAD_VF_VLAN, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
}

static gboolean take_no_more(const struct nlmsghdr *msg, gpointer data)
{
	return FALSE;
}

static void test_a_socket_that_is_opened_again_is_where_it_was(Fixture *f, gconstpointer data)
{
	const struct ifinfomsg info = { .ifi_family = AF_UNSPEC };
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadLink) link = NULL;

	if (!f->ready)
		return;
	create(f->pod_net, (RdmadLinkSpec){ .kind = "veth", .name = "only-here" });
	/* The rest of this response is never read, so the socket cannot be used again. */
	g_assert_null(network_read(f->pod_net, NETWORK_REQUEST(RTM_GETLINK, NLM_F_DUMP, info),
				   take_no_more, NULL, g_ptr_array_new(), &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_LIMIT);
	link = expect_link(f->pod_net, "only-here");
	expect_no_link(f->pod_net, "nic0");
}

/* ---- addresses ---- */

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

static void test_texts_of_addresses(void)
{
	static const struct {
		const char *text, *again;
	} cases[] = {
		{ "192.0.2.7/24", "192.0.2.7/24" },
		{ "192.0.2.7", "192.0.2.7/32" },
		{ "2001:DB8::7", "2001:db8::7/128" },
		{ "::/0", "::/0" },
		{ "192.0.2.7/33", NULL },
		{ "192.0.2.7/-1", NULL },
		{ "192.0.2.7/", NULL },
		{ "192.0.2", NULL },
		{ "", NULL },
		{ "2001:db8::7/129", NULL },
		{ "/24", NULL },
		{ "192.0.2.7/24/24", NULL },
		{ "fe80::1%eth0/64", NULL },
		{ "192.0.2.7 /24", NULL },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		g_autofree char *again = NULL;
		RdmadIp parsed;

		if (!cases[i].again) {
			g_assert_false(rdmad_ip_parse(cases[i].text, &parsed, &error));
			g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
			continue;
		}
		g_assert_true(rdmad_ip_parse(cases[i].text, &parsed, &error));
		again = rdmad_ip_format(&parsed);
		g_assert_cmpstr(again, ==, cases[i].again);
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

/* ---- routes ---- */

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

/* ---- sysctls ---- */

static void test_sysctls_are_those_of_the_namespace(Fixture *f, gconstpointer data)
{
	const RdmadSysctl set[] = { { "net/ipv4/conf/eth0.100/arp_ignore", "1" },
				    { "net/ipv4/conf/eth0.100/arp_announce", "2" } };
	const RdmadSysctl missing[] = { { "net/ipv4/conf/eth0.100/no_such", "1" } };
	g_autofree char *inside = NULL, *unchanged = NULL;
	g_autoptr(GError) error = NULL;

	if (!f->ready)
		return;
	create(f->host_net, (RdmadLinkSpec){ .kind = "veth", .name = "eth0.100" });
	create(f->pod_net, (RdmadLinkSpec){ .kind = "veth", .name = "eth0.100" });
	unchanged = rdmad_sysctl_read(0, set[0].name, NULL);
	g_assert_cmpstr(unchanged, ==, "0");
	g_assert_true(rdmad_sysctls_write(f->pod, set, G_N_ELEMENTS(set), &error));
	inside = rdmad_sysctl_read(f->pod, set[1].name, &error);
	g_assert_cmpstr(inside, ==, "2");
	g_free(unchanged);
	unchanged = rdmad_sysctl_read(0, set[1].name, NULL);
	g_assert_cmpstr(unchanged, ==, "0");
	g_assert_false(rdmad_sysctls_write(f->pod, missing, 1, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
}

static void test_sysctls_are_restored_where_they_differ(Fixture *f, gconstpointer data)
{
	const RdmadSysctl set[] = { { "net/ipv4/conf/eth0.100/no_such", "1" },
				    { "net/ipv4/conf/eth0.100/arp_ignore", "1" },
				    /* A value that cannot be written, but is set already. */
				    { "net/ipv4/conf/eth0.100/mc_forwarding", "0" } };
	g_autofree char *now = NULL;
	g_autoptr(GError) error = NULL;
	g_auto(GStrv) names = NULL;

	if (!f->ready)
		return;
	create(f->pod_net, (RdmadLinkSpec){ .kind = "veth", .name = "eth0.100" });
	rdmad_sysctls_restore(f->pod, set, G_N_ELEMENTS(set), &error);
	g_assert_no_error(error);
	now = rdmad_sysctl_read(f->pod, set[1].name, &error);
	g_assert_cmpstr(now, ==, "1");
	names = rdmad_sysctls_list(f->pod, "net/ipv4/conf/eth0.100", &error);
	g_assert_no_error(error);
	g_assert_true(g_strv_contains((const char *const *)names, "arp_ignore"));
	g_assert_null(rdmad_sysctls_list(0, "net/ipv4/conf/eth0.100", &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
}

static gboolean sysfs_look(gpointer data, GError **error)
{
	g_autoptr(RdmadSysroot) sysfs = rdmad_sysroot_new_sysfs(error);

	*(gboolean *)data = sysfs && rdmad_sysroot_exists(sysfs, "class/net/only-here/mtu");
	return sysfs != NULL;
}

static void test_sysfs_shows_the_namespace_of_its_thread(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;
	gboolean seen = FALSE;

	if (!f->ready)
		return;
	create(f->pod_net, (RdmadLinkSpec){ .kind = "veth", .name = "only-here" });
	rdmad_netns_call(f->pod, sysfs_look, &seen, &error);
	g_assert_no_error(error);
	g_assert_true(seen);
	sysfs_look(&seen, &error);
	g_assert_no_error(error);
	g_assert_false(seen);
	g_assert_false(g_file_test("/sys/class/net/only-here", G_FILE_TEST_EXISTS));
}

static void test_names_that_are_no_sysctl_are_refused(void)
{
	static const char *const names[] = {
		"",
		"net/",
		"net//ipv4",
		"net/../kernel/core_pattern",
		"net/./ipv4",
		"/net/ipv4",
		"kernel/core_pattern",
		"net/ipv4/conf/../../..",
		"net/ipv4/..",
		"../proc/uptime",
		"net/ipv4/ip_forward/",
	};

	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		const RdmadSysctl sysctl = { names[i], "1" };
		g_autoptr(GError) error = NULL;

		g_assert_null(rdmad_sysctl_read(0, names[i], &error));
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
		g_clear_error(&error);
		g_assert_false(rdmad_sysctls_write(0, &sysctl, 1, &error));
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
	}
}

/* ---- RDMA ---- */

static void test_a_device_that_is_not_there_is_not_moved(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	if (!f->ready)
		return;
	g_assert_false(rdmad_rdma_move(0, "mlx5_99", f->pod, &error));
	g_assert_nonnull(error);
	g_assert_true(g_str_has_prefix(error->message, "cannot move RDMA device mlx5_99: "));
	g_clear_error(&error);
	g_assert_false(rdmad_rdma_move(f->pod, "mlx5_99", 0, &error));
	g_assert_nonnull(error);
}

/* A real device, as in the lab; in shared mode, every namespace shows it. */
static void test_a_device_that_cannot_move_stays_with_the_reason(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadNetlink) nl = rdmad_netlink_open(NETLINK_RDMA, NULL);
	g_autoptr(GPtrArray) devices = nl ? rdmad_nldev_get_devices(nl, NULL) : NULL;
	g_autoptr(GPtrArray) after = NULL;
	g_autoptr(GError) error = NULL;
	const RdmadNldevDevice *device;

	if (!f->ready || !devices || devices->len == 0) {
		g_test_skip("no RDMA device");
		return;
	}
	device = devices->pdata[0];
	g_assert_cmpstr(rdmad_rdma_netns_mode(NULL), ==, "shared");
	g_assert_false(rdmad_rdma_move(0, device->name, f->pod, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	g_assert_nonnull(strstr(error->message, "not supported"));
	after = rdmad_nldev_get_devices(nl, NULL);
	g_assert_cmpuint(after->len, ==, devices->len);
}

#define TEST(name) UNIT_FIXTURE_TEST("/network/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(a_link_is_made_in_the_other_namespace),
	TEST(a_veth_pair_has_an_end_in_each),
	TEST(what_is_wrong_is_refused_and_makes_nothing),
	TEST(the_kernel_s_own_words_are_in_the_error),
	TEST(a_link_goes_to_the_pod_and_comes_back),
	TEST(altnames_come_and_go),
	TEST(many_links_go_at_once),
	TEST(a_function_that_has_none_refuses_virtual_ones),
	TEST(a_socket_that_is_opened_again_is_where_it_was),
	TEST(addresses_are_what_they_were_set_to),
	TEST(neighbours_come_and_go),
	TEST(neighbours_are_listed_by_link),
	TEST(an_address_keeps_label_and_lifetimes),
	TEST(sysctls_are_restored_where_they_differ),
	TEST(sysfs_shows_the_namespace_of_its_thread),
	TEST(routes_are_what_they_were_set_to),
	TEST(a_gateway_behind_a_link_route_is_found),
	TEST(routes_are_listed_by_link),
	TEST(rules_are_what_they_were_set_to),
	TEST(sysctls_are_those_of_the_namespace),
	TEST(a_device_that_is_not_there_is_not_moved),
	TEST(a_device_that_cannot_move_stays_with_the_reason),
	UNIT_TEST("/network/texts_of_addresses", test_texts_of_addresses),
	UNIT_TEST("/network/names_that_are_no_sysctl_are_refused",
		  test_names_that_are_no_sysctl_are_refused),
	{ 0 },
};
