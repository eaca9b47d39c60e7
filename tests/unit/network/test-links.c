/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>

#include "pod.h"

#define ALTNAMES 495u

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
	expect_created(f->host_net, (RdmadLinkSpec){ .kind = "veth",
						     .name = "veth0",
						     .mac = "02:00:00:00:00:07",
						     .peer = "eth0",
						     .peer_netns = f->pod });
	here = expect_link(f->host_net, "veth0");
	there = expect_link(f->pod_net, "eth0");
	g_assert_cmpstr(here->mac, ==, "02:00:00:00:00:07");
	g_assert_cmpint(here->parent, ==, there->ifindex);
	g_assert_cmpuint(here->max_mtu, ==, 65535);
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
	expect_created(f->host_net, (RdmadLinkSpec){ .kind = "veth", .name = "v0", .peer = "v1" });
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

/* The most names that the kernel takes: the message of the link is longer than a datagram of a
 * dump. */
static void test_a_link_with_hundreds_of_names_is_read_at_once(Fixture *f, gconstpointer data)
{
	/* Cannot be opened again, like the socket in a pod. */
	const int socket_in_pod = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	g_autoptr(RdmadNetwork) net = rdmad_network_adopt(socket_in_pod, NULL);
	g_autoptr(GPtrArray) all = NULL;
	g_autoptr(RdmadLink) link = NULL;
	g_autoptr(GError) error = NULL;

	for (guint i = 0; f->ready && i < ALTNAMES; i++) {
		g_autofree char *name = g_strdup_printf("%0127u", i);

		g_assert_true(
			rdmad_link_set_altname(f->host_net, f->nic->ifindex, name, TRUE, NULL));
	}
	if (!f->ready)
		return;
	all = rdmad_links_list(net, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(all->len, ==, 3);
	link = rdmad_link_get_index(net, f->nic->ifindex, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(g_strv_length(link->altnames), ==, ALTNAMES);
}

static void test_a_link_without_ipv6_is_known(Fixture *f, gconstpointer data)
{
	const char *const values[] = { "1", "0" };

	for (guint i = 0; f->ready && i < G_N_ELEMENTS(values); i++) {
		const RdmadSysctl sysctl = { "net/ipv6/conf/nic0/disable_ipv6", values[i] };
		g_autoptr(RdmadLink) link = NULL;

		g_assert_true(rdmad_sysctls_write(0, &sysctl, 1, NULL));
		link = expect_link(f->host_net, "nic0");
		g_assert_cmpint(link->ipv6_off, ==, values[i][0] == '1');
	}
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

		expect_created(f->host_net, (RdmadLinkSpec){ .kind = "macvlan",
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

#define TEST(name) TEST_WITH_POD("links", name)

const UnitTest unit_tests[] = {
	TEST(a_link_is_made_in_the_other_namespace),
	TEST(a_veth_pair_has_an_end_in_each),
	TEST(what_is_wrong_is_refused_and_makes_nothing),
	TEST(the_kernel_s_own_words_are_in_the_error),
	TEST(a_link_goes_to_the_pod_and_comes_back),
	TEST(altnames_come_and_go),
	TEST(a_link_with_hundreds_of_names_is_read_at_once),
	TEST(a_link_without_ipv6_is_known),
	TEST(many_links_go_at_once),
	TEST(a_function_that_has_none_refuses_virtual_ones),
	{ 0 },
};
