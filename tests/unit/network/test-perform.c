/* SPDX-License-Identifier: Apache-2.0 */
/* Executes steps on the running kernel, in two namespaces of the test, one of which represents the
 * host */
#include <arpa/inet.h>
#include <jansson.h>
#include <linux/if_addr.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if_arp.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/if_ether.h>
#include <netinet/ip6.h>
#include <poll.h>
#include <rdmad/error.h>
#include <string.h>
#include <sys/ioctl.h>

#include "hardware/sysroot.h"
#include "namespace.h"
#include "network/network-private.h"
#include "network/perform.h"
#include "../support/ip.h"
#include "../support/unit.h"

typedef struct {
	int host, pod;
	RdmadNetwork *host_net, *pod_net;
	RdmadSysroot *root;
	RdmadLink *nic;
	int never;
} Fixture;

static gboolean has_link(RdmadNetwork *net, const char *name)
{
	g_autoptr(RdmadLink) link = rdmad_link_get(net, name, NULL);

	return link != NULL;
}

static guint count_addresses(RdmadNetwork *net, const char *name)
{
	g_autoptr(RdmadLink) link = expect_link(net, name);
	g_autoptr(GPtrArray) all = rdmad_addresses_list(net, link->ifindex, NULL);
	guint n = 0;

	for (guint i = 0; i < all->len; i++)
		n += !rdmad_ip_is_link_local(&((RdmadAddress *)all->pdata[i])->ip);
	return n;
}

static guint count_routes(RdmadNetwork *net, guint metric)
{
	g_autoptr(GPtrArray) all = rdmad_routes_list(net, AF_UNSPEC, 0, 0, NULL);
	guint n = 0;

	for (guint i = 0; i < all->len; i++)
		n += ((RdmadRoute *)all->pdata[i])->metric == metric;
	return n;
}

static void make_nic(Fixture *f)
{
	const RdmadLinkSpec spec = {
		.kind = "veth", .name = "nic0", .peer = "wire", .mtu = 9000, .up = TRUE
	};
	g_autoptr(GError) error = NULL;
	RdmadAddress address = { .ip = ip("192.0.2.7/24") };

	rdmad_link_create(f->host_net, &spec, &error);
	g_assert_no_error(error);
	f->nic = expect_link(f->host_net, "nic0");
	rdmad_link_change(f->host_net, f->nic->parent, &(RdmadLinkChange){ .up = 1 }, &error);
	address.ifindex = f->nic->ifindex;
	rdmad_address_add(f->host_net, &address, &error);
	g_assert_no_error(error);
	rdmad_link_set_altname(f->host_net, f->nic->ifindex, "enp59s0f0np0", TRUE, &error);
	g_assert_no_error(error);
}

static void setup(Fixture *f)
{
	f->host = rdmad_netns_open_own(NULL, NULL);
	f->pod = namespace_new();
	f->host_net = rdmad_network_open(f->host, NULL);
	f->pod_net = rdmad_network_open(f->pod, NULL);
	f->root = rdmad_sysroot_new(NULL, NULL);
	make_nic(f);
}

static void teardown(Fixture *f)
{
	rdmad_link_free(f->nic);
	rdmad_network_close(f->host_net);
	if (f->pod_net)
		rdmad_network_close(f->pod_net);
	rdmad_sysroot_free(f->root);
	close(f->host);
	if (f->pod >= 0)
		close(f->pod);
}

/* ---- on a thread in the pod, as the executor does it ---- */

typedef struct {
	const Fixture *f;
	const RdmadStep *step;
	gboolean undo;
} Call;

static PerformContext context(const Fixture *f, PerformLink *last)
{
	return (PerformContext){ .host = f->host_net,
				 .pod = f->pod_net,
				 .host_fd = f->host,
				 .pod_fd = f->pod,
				 .root = f->root,
				 .last = last,
				 .cancelled = &f->never };
}

static gboolean call_run(gpointer data, GError **error)
{
	const Call *call = data;
	PerformLink last = { 0 };
	const PerformContext ctx = context(call->f, &last);
	int result;

	return call->undo ? perform_undo(&ctx, call->step, error)
			  : perform_do(&ctx, call->step, &result, error);
}

static gboolean step_call(const Fixture *f, const RdmadStep *step, gboolean undo, GError **error)
{
	Call call = { f, step, undo };

	return f->pod >= 0 ? rdmad_netns_call(f->pod, call_run, &call, error)
			   : call_run(&call, error);
}

static void twice(const Fixture *f, const RdmadStep *step, gboolean undo)
{
	for (guint i = 0; i < 2; i++) {
		g_autoptr(GError) error = NULL;

		step_call(f, step, undo, &error);
		g_assert_no_error(error);
	}
}

#define GROUP 42 /* of the NIC in the host */

static RdmadStep *move_step(const Fixture *f)
{
	RdmadStep *step = rdmad_step_new(RDMAD_STEP_LINK_MOVE, RDMAD_STEP_IN_HOST);
	const RdmadStepAddress address = { .ip = ip("192.0.2.7/24") };
	const RdmadStepRoute route = { .to = ip("203.0.113.0/24"),
				       .gateway = ip("192.0.2.1"),
				       .table = RDMAD_ROUTE_TABLE_MAIN,
				       .metric = 77,
				       .type = RDMAD_ROUTE_UNICAST,
				       .protocol = RDMAD_ROUTE_BY_ADMINISTRATOR };
	const RdmadStepSysctl sysctl = { .path = g_strdup("net/ipv4/conf/nic0/arp_ignore"),
					 .value = g_strdup("1") };

	step->move.index = (guint32)f->nic->ifindex;
	step->move.host_name = g_strdup("nic0");
	step->move.pod_name = g_strdup("eth1");
	step->move.altnames = g_strdupv((char *[]){ (char *)"enp59s0f0np0", NULL });
	step->move.mtu = 9000;
	g_assert_true(rdmad_mac_parse(f->nic->mac, &step->move.mac));
	step->move.up = TRUE;
	step->move.group = GROUP;
	step->move.is_marked = TRUE;
	step->move.addresses = rdmad_step_addresses_new();
	g_array_append_val(step->move.addresses, address);
	step->move.routes = rdmad_step_routes_new();
	g_array_append_val(step->move.routes, route);
	step->move.sysctls = rdmad_step_sysctls_new();
	g_array_append_val(step->move.sysctls, sysctl);
	return step;
}

static void expect_whole(const Fixture *f)
{
	g_autoptr(RdmadLink) link = expect_link(f->host_net, "nic0");
	g_autofree char *arp_ignore =
		rdmad_sysctl_read(f->host, "net/ipv4/conf/nic0/arp_ignore", NULL);

	g_assert_cmpstr(link->mac, ==, f->nic->mac);
	g_assert_cmpuint(link->mtu, ==, 9000);
	g_assert_true(link->up);
	g_assert_cmpuint(link->group, ==, GROUP);
	g_assert_cmpstr(link->altnames[0], ==, "enp59s0f0np0");
	g_assert_cmpuint(count_addresses(f->host_net, "nic0"), ==, 1);
	g_assert_cmpuint(count_routes(f->host_net, 77), ==, 1);
	g_assert_cmpstr(arp_ignore, ==, "1");
}

/* ---- a NIC that moves ---- */

static void test_a_moved_link_comes_back_whole(Fixture *f, RdmadStep *step)
{
	twice(f, step, FALSE);
	g_assert_false(has_link(f->host_net, "nic0"));
	g_assert_true(has_link(f->pod_net, "eth1"));
	twice(f, step, TRUE);
	g_assert_false(has_link(f->pod_net, "eth1"));
	expect_whole(f);
}

static void test_a_link_that_a_container_changed_comes_back_whole(Fixture *f, RdmadStep *step)
{
	g_autoptr(RdmadLink) link = NULL;

	twice(f, step, FALSE);
	link = expect_link(f->pod_net, "eth1");
	rdmad_link_change(f->pod_net, link->ifindex,
			  &(RdmadLinkChange){ .name = "other", .mtu = 1500, .up = 1 }, NULL);
	rdmad_link_set_altname(f->pod_net, link->ifindex, "enp59s0f0np0", FALSE, NULL);
	twice(f, step, TRUE);
	expect_whole(f);
}

/* The kernel keeps the route of a gateway when the address of its network is removed, and does not take it
 * again: another program has left the NIC in this state. */
static void test_a_route_without_its_network_comes_back(Fixture *f, RdmadStep *step)
{
	twice(f, step, FALSE);
	g_array_index(step->move.addresses, RdmadStepAddress, 0).ip = ip("198.51.100.7/24");
	twice(f, step, TRUE);
	expect_whole(f);
}

/* The kernel takes no route from a tentative address, which an address is as long as there is no carrier. */
static void test_a_route_from_an_ipv6_address_comes_back(Fixture *f, RdmadStep *step)
{
	const RdmadLinkChange down = { .up = -1 };
	RdmadStepRoute *route = &g_array_index(step->move.routes, RdmadStepRoute, 0);
	g_autoptr(RdmadLink) wire = expect_link(f->host_net, "wire");
	g_autoptr(GPtrArray) addresses = NULL;
	guint n = 0;

	g_array_index(step->move.addresses, RdmadStepAddress, 0).ip = ip("2001:db8::7/64");
	route->to = ip("2001:db8:f::/48");
	route->gateway = ip("2001:db8::1");
	route->source = ip("2001:db8::7");
	twice(f, step, FALSE);
	g_assert_true(rdmad_link_change(f->host_net, wire->ifindex, &down, NULL));
	twice(f, step, TRUE);
	expect_whole(f);
	addresses = rdmad_addresses_list(f->host_net, f->nic->ifindex, NULL);
	for (guint i = 0; i < addresses->len; i++)
		n += (((RdmadAddress *)addresses->pdata[i])->flags & IFA_F_NODAD) != 0;
	g_assert_cmpuint(n, ==, 0);
}

static void test_a_link_of_another_device_is_not_the_nic(Fixture *f, RdmadStep *step)
{
	g_autoptr(GError) error = NULL;

	twice(f, step, FALSE);
	step->move.parent_device = g_strdup("0000:3b:00.0");
	g_assert_false(step_call(f, step, TRUE, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_GONE);
	g_assert_true(has_link(f->pod_net, "eth1"));
}

/* The kernel rejects the name after it has moved the link. */
static void test_a_name_that_is_taken_does_not_lose_the_link(Fixture *f, RdmadStep *step)
{
	const RdmadLinkSpec stranger = { .kind = "veth", .name = "eth1", .peer = "eth9" };
	g_autoptr(GError) error = NULL;

	g_assert_true(rdmad_link_create(f->pod_net, &stranger, NULL));
	g_assert_false(step_call(f, step, FALSE, &error));
	g_clear_error(&error);
	step_call(f, step, TRUE, &error);
	g_assert_no_error(error);
	expect_whole(f);
	g_assert_true(has_link(f->pod_net, "eth1"));
}

static void test_a_name_that_the_host_gave_away_keeps_the_link_in_the_host(Fixture *f,
									   RdmadStep *step)
{
	const RdmadLinkSpec thief = { .kind = "veth", .name = "nic0", .peer = "nic9" };
	g_autoptr(RdmadLink) link = NULL;
	g_autoptr(GError) error = NULL;

	twice(f, step, FALSE);
	g_assert_true(rdmad_link_create(f->host_net, &thief, NULL));
	g_assert_false(step_call(f, step, TRUE, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_GONE);
	g_assert_false(has_link(f->pod_net, "eth1"));
	link = expect_link(f->host_net, "nic0");
	rdmad_links_delete(f->host_net, &link->ifindex, 1, NULL);
	twice(f, step, TRUE);
	expect_whole(f);
}

static void test_a_name_that_a_container_added_does_not_keep_the_link(Fixture *f, RdmadStep *step)
{
	g_autoptr(RdmadLink) link = NULL;

	twice(f, step, FALSE);
	link = expect_link(f->pod_net, "eth1");
	g_assert_true(rdmad_link_set_altname(f->pod_net, link->ifindex, "wire", TRUE, NULL));
	twice(f, step, TRUE);
	expect_whole(f);
}

static void test_an_alternative_name_that_the_host_gave_away_does_not_keep_the_link(Fixture *f,
										    RdmadStep *step)
{
	g_autoptr(RdmadLink) wire = expect_link(f->host_net, "wire");

	twice(f, step, FALSE);
	g_assert_true(
		rdmad_link_set_altname(f->host_net, wire->ifindex, "enp59s0f0np0", TRUE, NULL));
	twice(f, step, TRUE);
	g_assert_true(has_link(f->host_net, "nic0"));
}

/* The end of rdmad came before the move, in the undo, or after the namespace had ended. */
static void test_a_link_in_the_host_is_restored_if_it_was_away(Fixture *f, RdmadStep *step)
{
	static const struct {
		gboolean is_marked;
		guint32 group;
		int up;
		RdmadLinkChange change; /* by a program of the pod */
		gboolean was_down;
		guint addresses;
	} links[] = {
		{ TRUE, GROUP, 1, .addresses = 0 },
		{ TRUE, RDMAD_STEP_GROUP_AWAY, 1, .addresses = 1 },
		{ TRUE, GROUP, -1, .addresses = 1 },
		{ FALSE, GROUP, 1, .addresses = 1 }, /* the record of an earlier version */
		{ TRUE, GROUP, -1, .was_down = TRUE, .addresses = 0 },
		{ TRUE, GROUP, -1, { .name = "net1" }, .was_down = TRUE, .addresses = 1 },
		{ TRUE, GROUP, -1, { .mtu = 1500 }, .was_down = TRUE, .addresses = 1 },
	};
	const RdmadAddress address = { .ifindex = f->nic->ifindex, .ip = ip("192.0.2.7/24") };

	for (guint i = 0; i < G_N_ELEMENTS(links); i++) {
		const RdmadLinkChange change = { .group = &links[i].group, .up = links[i].up };
		g_autoptr(RdmadLink) link = NULL;
		g_autoptr(GError) error = NULL;

		g_test_message("link %u", i);
		rdmad_address_delete(f->host_net, &address, NULL);
		rdmad_link_change(f->host_net, f->nic->ifindex, &change, &error);
		g_assert_no_error(error);
		rdmad_link_change(f->host_net, f->nic->ifindex, &links[i].change, &error);
		g_assert_no_error(error);
		step->move.is_marked = links[i].is_marked;
		step->move.up = !links[i].was_down;
		twice(f, step, TRUE);
		g_assert_cmpuint(count_addresses(f->host_net, "nic0"), ==, links[i].addresses);
		link = expect_link(f->host_net, "nic0");
		g_assert_cmpuint(link->group, ==, GROUP);
	}
}

static void test_a_link_that_is_nowhere_is_gone(Fixture *f, RdmadStep *step)
{
	g_autoptr(GError) error = NULL;

	rdmad_links_delete(f->host_net, &f->nic->ifindex, 1, NULL);
	g_assert_false(step_call(f, step, TRUE, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_GONE);
}

/* JSON has no other text, but a pod may give its links any name. */
static void test_an_error_with_a_name_that_is_not_utf_8_is_reported(Fixture *f, RdmadStep *step)
{
	const RdmadLinkSpec thief = { .kind = "veth", .name = "nic0", .peer = "nic9" };
	const RdmadLinkChange down = { .up = -1 };
	const struct ifreq name = { .ifr_name = "nic0", .ifr_newname = "x\377" };
	rdmad_autofd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	g_autoptr(GPtrArray) steps = g_ptr_array_new();
	g_autofree char *text = NULL;
	PerformLink last = { 0 };
	const PerformContext ctx = context(f, &last);
	json_t *answer = json_object();
	PerformPlan *plan;

	g_assert_true(rdmad_link_change(f->host_net, f->nic->ifindex, &down, NULL));
	g_assert_cmpint(ioctl(fd, SIOCSIFNAME, &name), ==, 0);
	g_assert_true(rdmad_link_create(f->host_net, &thief, NULL));
	g_ptr_array_add(steps, step);
	text = rdmad_steps_to_text(steps);
	plan = perform_plan_new(RDMAD_EXECUTE_UNDO, text, NULL);
	while (perform_plan_next(plan, &ctx))
		;
	perform_plan_report(plan, answer);
	g_assert_cmpuint(json_array_size(json_object_get(answer, "reports")), ==, 1);
	g_assert_true(json_is_string(json_object_get(answer, "error")));
	perform_plan_free(plan);
	json_decref(answer);
}

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

typedef struct {
	const char *name;
	RdmadStep *(*step)(const Fixture *f);
	void (*test)(Fixture *f, RdmadStep *step);
} Case;

static const Case cases[] = {
	{ "a moved link comes back whole", move_step, test_a_moved_link_comes_back_whole },
	{ "a link that a container changed comes back whole", move_step,
	  test_a_link_that_a_container_changed_comes_back_whole },
	{ "a link of another device is not the NIC", move_step,
	  test_a_link_of_another_device_is_not_the_nic },
	{ "a route without its network comes back", move_step,
	  test_a_route_without_its_network_comes_back },
	{ "a route from an IPv6 address comes back", move_step,
	  test_a_route_from_an_ipv6_address_comes_back },
	{ "a name that is taken does not lose the link", move_step,
	  test_a_name_that_is_taken_does_not_lose_the_link },
	{ "a name that the host gave away keeps the link in the host", move_step,
	  test_a_name_that_the_host_gave_away_keeps_the_link_in_the_host },
	{ "a name that a container added does not keep the link", move_step,
	  test_a_name_that_a_container_added_does_not_keep_the_link },
	{ "an alternative name that the host gave away does not keep the link", move_step,
	  test_an_alternative_name_that_the_host_gave_away_does_not_keep_the_link },
	{ "a link in the host is restored if it was away", move_step,
	  test_a_link_in_the_host_is_restored_if_it_was_away },
	{ "an error with a name that is not UTF-8 is reported", move_step,
	  test_an_error_with_a_name_that_is_not_utf_8_is_reported },
	{ "a link that is nowhere is gone", move_step, test_a_link_that_is_nowhere_is_gone },
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

static void test_step(gconstpointer data)
{
	const Case *row = data;
	Fixture f = { 0 };
	g_autoptr(RdmadStep) step = NULL;

	if (!namespace_leave_host())
		return;
	setup(&f);
	step = row->step(&f);
	row->test(&f, step);
	teardown(&f);
}

const UnitTest unit_tests[] = {
	UNIT_CASES("/perform/", cases, test_step),
	{ 0 },
};
