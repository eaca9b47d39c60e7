/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if_arp.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/if_ether.h>
#include <netinet/ip6.h>
#include <poll.h>

#include "network/network-private.h"
#include "perform-fixture.h"

/* ---- a link of the pod's own ---- */

static RdmadStep *create_step(const Fixture *f)
{
	RdmadStep *step = rdmad_step_new(RDMAD_STEP_LINK_CREATE, RDMAD_STEP_IN_POD);

	step->create.kind = g_strdup("macvlan");
	step->create.parent_index = (guint32)f->nic->ifindex;
	step->create.parent = g_strdup("nic0");
	step->create.name = g_strdup("eth1");
	g_assert_true(rdmad_mac_parse("02:00:00:00:00:07", &step->create.mac));
	return step;
}

static void test_a_virtual_link_is_made_and_removed(Fixture *f, RdmadStep *step)
{
	twice(f, step, FALSE);
	g_assert_true(has_link(f->pod_net, "eth1"));
	twice(f, step, TRUE);
	g_assert_false(has_link(f->pod_net, "eth1"));
}

static void test_a_link_of_a_stranger_stays(Fixture *f, RdmadStep *step)
{
	const RdmadLinkSpec stranger = { .kind = "veth", .name = "eth1", .peer = "eth9" };
	g_autoptr(GError) error = NULL;

	g_assert_true(rdmad_link_create(f->pod_net, &stranger, NULL));
	g_assert_false(step_call(f, step, FALSE, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY);
	twice(f, step, TRUE);
	g_assert_true(has_link(f->pod_net, "eth1"));
}

static void test_a_parent_under_another_name_is_refused(Fixture *f, RdmadStep *step)
{
	g_autoptr(GError) error = NULL;

	g_free(step->create.parent);
	step->create.parent = g_strdup("nic7");
	g_assert_false(step_call(f, step, FALSE, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_GONE);
}

/* Executes a plan in the database's format, twice. */
static void do_texts(const Fixture *f, const char *const *texts, guint n)
{
	for (guint i = 0; i < n; i++) {
		g_autofree char *text = g_strdup_printf("[%s]", texts[i]);
		g_autoptr(GError) error = NULL;
		g_autoptr(GPtrArray) plan = rdmad_steps_from_text(text, strlen(text), &error);

		g_assert_no_error(error);
		twice(f, plan->pdata[0], FALSE);
	}
}

static void test_what_a_link_carries_is_set_twice(Fixture *f, RdmadStep *step)
{
	static const char *const steps[] = {
		"{\"step\":\"link-set\",\"in\":\"pod\",\"link\":\"eth1\",\"up\":\"on\"}",
		"{\"step\":\"address\",\"in\":\"pod\",\"link\":\"eth1\",\"ip\":\"198.51.100.7/"
		"24\"}",
		"{\"step\":\"sysctl\",\"in\":\"pod\",\"path\":\"net/ipv4/conf/eth1/rp_filter\","
		"\"value\":\"2\"}",
		"{\"step\":\"route\",\"in\":\"pod\",\"link\":\"eth1\",\"to\":\"198.51.100.0/24\","
		"\"table\":1000,\"scope\":253,\"type\":1,\"protocol\":4}",
		"{\"step\":\"route\",\"in\":\"pod\",\"link\":\"eth1\",\"to\":\"0.0.0.0/0\","
		"\"gateway\":\"198.51.100.1\",\"table\":1000,\"type\":1,\"protocol\":4}",
		"{\"step\":\"rule\",\"in\":\"pod\",\"family\":4,\"priority\":20000,\"table\":1000,"
		"\"from\":\"198.51.100.7\"}",
		"{\"step\":\"announce\",\"in\":\"pod\",\"link\":\"eth1\",\"ip\":\"198.51.100.7\","
		"\"count\":1}",
	};

	twice(f, step, FALSE);
	for (guint i = 0; i < G_N_ELEMENTS(steps); i++) {
		g_autofree char *text = g_strdup_printf("[%s]", steps[i]);
		g_autoptr(GError) error = NULL;
		g_autoptr(GPtrArray) plan = rdmad_steps_from_text(text, strlen(text), &error);

		g_assert_no_error(error);
		twice(f, plan->pdata[0], FALSE);
		if (i)
			twice(f, plan->pdata[0], TRUE);
		twice(f, plan->pdata[0], FALSE);
	}
	g_assert_cmpuint(count_addresses(f->pod_net, "eth1"), ==, 1);
}

/* As a module without a pod does; steps of a pod get RDMAD_ERROR_GONE. */
static void test_the_host_alone_is_configured_without_a_pod(Fixture *f, RdmadStep *step)
{
	static const char *const steps[] = {
		"{\"step\":\"link-set\",\"in\":\"host\",\"link\":\"nic0\",\"mtu\":4200}",
		"{\"step\":\"address\",\"in\":\"host\",\"link\":\"nic0\",\"ip\":\"198.51.100.7/"
		"24\","
		"\"metric\":777,\"valid_s\":3600,\"preferred_s\":1800}",
		"{\"step\":\"route\",\"in\":\"host\",\"link\":\"nic0\",\"to\":\"0.0.0.0/0\","
		"\"gateway\":\"198.51.100.1\",\"table\":254,\"metric\":778,\"protocol\":237}",
		"{\"step\":\"route\",\"in\":\"host\",\"link\":\"nic0\",\"to\":\"0.0.0.0/0\","
		"\"gateway\":\"198.51.100.2\",\"table\":254,\"metric\":778,\"protocol\":237,"
		"\"replace\":true}",
		"{\"step\":\"rule\",\"in\":\"host\",\"family\":4,\"priority\":20000,\"table\":1000,"
		"\"from\":\"198.51.100.7\",\"protocol\":237}",
		"{\"step\":\"rule\",\"in\":\"host\",\"family\":4,\"priority\":20000,\"table\":1000,"
		"\"from\":\"198.51.100.7\",\"protocol\":237,\"remove\":true}",
		"{\"step\":\"address\",\"in\":\"host\",\"link\":\"nic0\",\"ip\":\"192.0.2.7/24\","
		"\"remove\":true}",
	};
	g_autoptr(GError) gone = NULL;

	g_clear_pointer(&f->pod_net, rdmad_network_close);
	rdmad_clear_fd(&f->pod);
	do_texts(f, steps, G_N_ELEMENTS(steps));
	g_assert_cmpuint(count_addresses(f->host_net, "nic0"), ==, 1);
	g_assert_cmpuint(count_routes(f->host_net, 777), ==, 1);
	g_assert_cmpuint(count_routes(f->host_net, 778), ==, 1);
	g_assert_false(step_call(f, step, FALSE, &gone));
	g_assert_error(gone, RDMAD_ERROR, RDMAD_ERROR_GONE);
}

/* ---- a route of the pod's own ---- */

static RdmadStep *route_step(const Fixture *f)
{
	RdmadStep *step = rdmad_step_new(RDMAD_STEP_ROUTE, RDMAD_STEP_IN_POD);

	step->route = (RdmadStepRoute){ .link = g_strdup("eth0"),
					.to = ip("203.0.113.0/24"),
					.gateway = ip("198.51.100.1"),
					.source = ip("198.51.100.7"),
					.table = RDMAD_ROUTE_TABLE_MAIN,
					.metric = 77,
					.type = RDMAD_ROUTE_UNICAST,
					.protocol = RDMAD_ROUTE_BY_ADMINISTRATOR,
					.remove = TRUE };
	return step;
}

static void address_change(const Fixture *f, int index, const char *before, const char *after)
{
	const RdmadAddress old = { .ifindex = index, .ip = ip(before) };
	const RdmadAddress new = { .ifindex = index, .ip = ip(after) };

	g_assert_true(rdmad_address_delete(f->pod_net, &old, NULL));
	g_assert_true(rdmad_address_add(f->pod_net, &new, NULL));
}

static void test_a_removed_route_returns_if_the_pod_still_has_its_way(Fixture *f, RdmadStep *step)
{
	const RdmadLinkSpec spec = { .kind = "veth", .name = "eth0", .up = TRUE };
	const RdmadLinkChange up = { .up = 1 }, down = { .up = -1 };
	RdmadAddress address = { .ip = ip("198.51.100.7/24") };
	RdmadRoute route, of_lo;
	g_autoptr(RdmadLink) link = NULL;

	g_assert_true(rdmad_link_create(f->pod_net, &spec, NULL));
	link = expect_link(f->pod_net, "eth0");
	address.ifindex = link->ifindex;
	g_assert_true(rdmad_address_add(f->pod_net, &address, NULL));
	route = perform_route(&step->route, link->ifindex);
	g_assert_true(rdmad_route_add(f->pod_net, &route, NULL));
	twice(f, step, FALSE);
	g_assert_cmpuint(count_routes(f->pod_net, 77), ==, 0);
	twice(f, step, TRUE);
	g_assert_cmpuint(count_routes(f->pod_net, 77), ==, 1);
	twice(f, step, FALSE);
	/* Another link has such a route. */
	of_lo = route;
	of_lo.source = (RdmadIp){ 0 };
	of_lo.hops[0] = (RdmadRouteHop){ .ifindex = 1 };
	g_assert_true(rdmad_link_change(f->pod_net, 1, &up, NULL));
	g_assert_true(rdmad_route_add(f->pod_net, &of_lo, NULL));
	twice(f, step, TRUE);
	g_assert_cmpuint(count_routes(f->pod_net, 77), ==, 2);
	g_assert_true(rdmad_route_delete(f->pod_net, &of_lo, NULL));
	g_assert_cmpuint(count_routes(f->pod_net, 77), ==, 1);
	twice(f, step, FALSE);
	/* Without the source, without the network, down, and without the link. */
	address_change(f, link->ifindex, "198.51.100.7/24", "198.51.100.8/24");
	twice(f, step, TRUE);
	address_change(f, link->ifindex, "198.51.100.8/24", "192.0.2.8/24");
	step->route.source = (RdmadIp){ 0 };
	twice(f, step, TRUE);
	g_assert_true(rdmad_link_change(f->pod_net, link->ifindex, &down, NULL));
	twice(f, step, TRUE);
	rdmad_links_delete(f->pod_net, &link->ifindex, 1, NULL);
	twice(f, step, TRUE);
}

static void test_a_route_over_a_link_that_cannot_be_looked_up_fails(Fixture *f, RdmadStep *step)
{
	rdmad_autofd int other = open("/dev/null", O_RDWR | O_CLOEXEC);
	g_autoptr(GError) error = NULL;

	step->route.remove = FALSE;
	g_assert_cmpint(dup2(other, network_socket(f->pod_net)), >=, 0);
	g_assert_false(step_call(f, step, FALSE, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
}

/* ---- what neighbours hear ---- */

static int listener_new(const char *name)
{
	const int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	const struct sockaddr_ll from = { .sll_family = AF_PACKET,
					  .sll_protocol = htons(ETH_P_ALL),
					  .sll_ifindex = (int)if_nametoindex(name) };

	g_assert_cmpint(fd, >=, 0);
	g_assert_cmpint(bind(fd, (const struct sockaddr *)&from, sizeof(from)), ==, 0);
	return fd;
}

/* Returns the address that a packet announces, "" for other packets. */
static const char *announced(const guint8 *packet, gsize size, int protocol,
			     char text[INET6_ADDRSTRLEN])
{
	const struct ether_arp *arp = (gconstpointer)packet;
	const struct ip6_hdr *ip6 = (gconstpointer)packet;
	const struct nd_neighbor_advert *advert = (gconstpointer)(packet + sizeof(*ip6));

	if (protocol == ETH_P_ARP && size >= sizeof(*arp) &&
	    memcmp(arp->arp_spa, arp->arp_tpa, sizeof(arp->arp_spa)) == 0)
		return inet_ntop(AF_INET, arp->arp_spa, text, INET6_ADDRSTRLEN);
	if (protocol == ETH_P_IPV6 && size >= sizeof(*ip6) + sizeof(*advert) &&
	    ip6->ip6_nxt == IPPROTO_ICMPV6 && advert->nd_na_type == ND_NEIGHBOR_ADVERT)
		return inet_ntop(AF_INET6, &advert->nd_na_target, text, INET6_ADDRSTRLEN);
	return "";
}

static void expect_announced(int fd, const char *address)
{
	_Alignas(struct ip6_hdr) guint8 packet[2048];
	char text[INET6_ADDRSTRLEN];
	struct sockaddr_ll from;
	gssize size;

	do {
		socklen_t length = sizeof(from);
		struct pollfd readable = { .fd = fd, .events = POLLIN };

		if (poll(&readable, 1, 10000) != 1)
			g_error("%s is not announced", address);
		size = recvfrom(fd, packet, sizeof(packet), 0, (struct sockaddr *)&from, &length);
		g_assert_cmpint(size, >=, 0);
	} while (strcmp(announced(packet, (gsize)size, ntohs(from.sll_protocol), text), address));
}

/* A moved NIC has its carrier late, after the kernel's arp_notify and ndisc_notify. */
static void test_all_addresses_are_announced_behind_a_late_carrier(Fixture *f, RdmadStep *step)
{
	static const char *const before[] = {
		"{\"step\":\"address\",\"in\":\"pod\",\"link\":\"eth1\",\"ip\":\"198.51.100.7/"
		"24\"}",
		"{\"step\":\"address\",\"in\":\"pod\",\"link\":\"eth1\",\"ip\":\"198.51.100.8/"
		"24\"}",
		"{\"step\":\"address\",\"in\":\"pod\",\"link\":\"eth1\",\"ip\":\"2001:db8::7/64\","
		"\"flags\":2}",
		"{\"step\":\"link-set\",\"in\":\"pod\",\"link\":\"eth1\",\"up\":\"on\"}",
	};
	static const char *const after[] = {
		"{\"step\":\"wait-link\",\"in\":\"pod\",\"link\":\"eth1\",\"carrier\":true,"
		"\"timeout_ms\":10000}",
		"{\"step\":\"announce\",\"in\":\"pod\",\"link\":\"eth1\",\"ip\":\"198.51.100.7\","
		"\"count\":2}",
		"{\"step\":\"announce\",\"in\":\"pod\",\"link\":\"eth1\",\"ip\":\"198.51.100.8\","
		"\"count\":2}",
		"{\"step\":\"announce\",\"in\":\"pod\",\"link\":\"eth1\",\"ip\":\"2001:db8::7\","
		"\"count\":2}",
	};
	g_autoptr(RdmadLink) wire = expect_link(f->host_net, "wire");
	rdmad_autofd int heard = -1;

	rdmad_link_change(f->host_net, wire->ifindex, &(RdmadLinkChange){ .up = -1 }, NULL);
	twice(f, step, FALSE);
	do_texts(f, before, G_N_ELEMENTS(before));
	rdmad_link_change(f->host_net, wire->ifindex, &(RdmadLinkChange){ .up = 1 }, NULL);
	heard = listener_new("wire");
	do_texts(f, after, G_N_ELEMENTS(after));
	expect_announced(heard, "198.51.100.7");
	expect_announced(heard, "198.51.100.8");
	expect_announced(heard, "2001:db8::7");
}

/* ---- waiting for a link ---- */

static RdmadStep *wait_step(const Fixture *f)
{
	RdmadStep *step = rdmad_step_new(RDMAD_STEP_WAIT_LINK, RDMAD_STEP_IN_HOST);

	step->wait.carrier = TRUE;
	step->wait.timeout_ms = 50;
	return step;
}

static void test_a_wait_ends_as_the_link_is(Fixture *f, RdmadStep *step)
{
	static const struct {
		const char *link;
		gboolean may_fail;
		int code; /* -1: it succeeds */
	} waits[] = {
		{ "nic0", FALSE, -1 },
		{ "dark0", FALSE, RDMAD_ERROR_TIMEOUT },
		{ "dark0", TRUE, -1 },
		{ "none0", FALSE, RDMAD_ERROR_NOT_FOUND },
		{ "none0", TRUE, RDMAD_ERROR_NOT_FOUND },
	};
	const RdmadLinkSpec dark = { .kind = "veth", .name = "dark0", .peer = "dark1" };

	g_assert_true(rdmad_link_create(f->host_net, &dark, NULL));
	for (guint i = 0; i < G_N_ELEMENTS(waits); i++) {
		g_autoptr(GError) error = NULL;

		g_test_message("%s%s", waits[i].link, waits[i].may_fail ? ", may fail" : "");
		g_free(step->wait.link);
		step->wait.link = g_strdup(waits[i].link);
		step->wait.may_fail = waits[i].may_fail;
		g_assert_cmpint(step_call(f, step, FALSE, &error), ==, waits[i].code < 0);
		if (waits[i].code >= 0)
			g_assert_error(error, RDMAD_ERROR, waits[i].code);
	}
}

static const Case cases[] = {
	{ "a virtual link is made and removed", create_step,
	  test_a_virtual_link_is_made_and_removed },
	{ "a link of a stranger stays", create_step, test_a_link_of_a_stranger_stays },
	{ "a parent under another name is refused", create_step,
	  test_a_parent_under_another_name_is_refused },
	{ "what a link carries is set twice", create_step, test_what_a_link_carries_is_set_twice },
	{ "the host alone is configured without a pod", create_step,
	  test_the_host_alone_is_configured_without_a_pod },
	{ "a removed route returns if the pod still has its way", route_step,
	  test_a_removed_route_returns_if_the_pod_still_has_its_way },
	{ "a route over a link that cannot be looked up fails", route_step,
	  test_a_route_over_a_link_that_cannot_be_looked_up_fails },
	{ "all addresses are announced behind a late carrier", move_step,
	  test_all_addresses_are_announced_behind_a_late_carrier },
	{ "a wait ends as the link is", wait_step, test_a_wait_ends_as_the_link_is },
};

const UnitTest unit_tests[] = {
	UNIT_CASES("/perform/", cases, test_step),
	{ 0 },
};
