/* SPDX-License-Identifier: Apache-2.0 */
/* A NIC that moves into a pod and back, whatever the pod does to it */
#include <jansson.h>
#include <linux/bpf.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "network/network-private.h"
#include "perform-fixture.h"

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

/* The kernel keeps the route of a gateway when the address of its network is removed, and does not
 * take it again: another program has left the NIC in this state. */
static void test_a_route_without_its_network_comes_back(Fixture *f, RdmadStep *step)
{
	twice(f, step, FALSE);
	g_array_index(step->move.addresses, RdmadStepAddress, 0).ip = ip("198.51.100.7/24");
	twice(f, step, TRUE);
	expect_whole(f);
}

/* The kernel takes no route from a tentative address, which an address is as long as there is no
 * carrier. */
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

/* ---- what a pod does to the NIC ---- */

/* Returns the NIC wherever it is: no other link has its other end. */
#define IFF_LOWER_UP (1 << 16)

static RdmadLink *find_nic(const Fixture *f, RdmadNetwork *net)
{
	g_autoptr(GPtrArray) links = rdmad_links_list(net, NULL);

	for (guint i = 0; i < links->len; i++) {
		const RdmadLink *link = links->pdata[i];

		if (g_strcmp0(link->kind, "veth") == 0 && link->parent == f->nic->parent &&
		    (link->parent_netns >= 0) == (net == f->pod_net))
			return g_ptr_array_steal_index(links, i);
	}
	return NULL;
}

static void change(RdmadNetwork *net, int index, RdmadLinkChange change)
{
	g_autoptr(GError) error = NULL;

	rdmad_link_change(net, index, &change, &error);
	g_assert_no_error(error);
}

static void make(RdmadNetwork *net, RdmadLinkSpec spec)
{
	g_autoptr(GError) error = NULL;

	rdmad_link_create(net, &spec, &error);
	g_assert_no_error(error);
}

/* Gives a link what the NIC had in the pod. */
static void disguise(const Fixture *f, const char *name)
{
	const guint32 away = RDMAD_STEP_GROUP_AWAY;
	g_autoptr(RdmadLink) link = expect_link(f->pod_net, name);

	change(f->pod_net, link->ifindex, (RdmadLinkChange){ .name = "eth1", .group = &away });
	rdmad_link_set_altname(f->pod_net, link->ifindex, "enp59s0f0np0", TRUE, NULL);
}

static void strip(const Fixture *f, const RdmadLink *nic)
{
	const guint32 none = 0;

	rdmad_link_set_altname(f->pod_net, nic->ifindex, "enp59s0f0np0", FALSE, NULL);
	change(f->pod_net, nic->ifindex,
	       (RdmadLinkChange){
		       .name = "mine", .mac = "02:00:00:00:00:aa", .group = &none, .mtu = 1500 });
}

static void put_a_veth_in_its_place(const Fixture *f, const RdmadLink *nic)
{
	strip(f, nic);
	make(f->pod_net,
	     (RdmadLinkSpec){ .kind = "veth", .name = "fake", .peer = "end", .mac = f->nic->mac });
	disguise(f, "fake");
}

static void put_a_macvlan_in_its_place(const Fixture *f, const RdmadLink *nic)
{
	strip(f, nic);
	make(f->pod_net, (RdmadLinkSpec){ .kind = "macvlan",
					  .name = "fake",
					  .parent = nic->ifindex,
					  .mode = "private",
					  .mac = f->nic->mac });
	disguise(f, "fake");
}

/* Moves a link through another namespace, where it gets another index. */
static void reindex(const Fixture *f, int index, int other)
{
	rdmad_autofd int nested = namespace_new();
	g_autoptr(RdmadNetwork) net = rdmad_network_open(nested, NULL);
	const RdmadLinkChange away = { .netns = nested };

	change(f->pod_net, index, away);
	change(net, index, (RdmadLinkChange){ .netns = f->pod, .ifindex = other });
}

static void put_a_veth_at_its_index(const Fixture *f, const RdmadLink *nic)
{
	g_autoptr(RdmadLink) fake = NULL;

	strip(f, nic);
	reindex(f, nic->ifindex, 4711);
	make(f->pod_net,
	     (RdmadLinkSpec){ .kind = "veth", .name = "fake", .peer = "end", .mac = f->nic->mac });
	fake = expect_link(f->pod_net, "fake");
	reindex(f, fake->ifindex, nic->ifindex);
	disguise(f, "fake");
}

static void put_it_in_a_bridge(const Fixture *f, const RdmadLink *nic)
{
	const struct ifinfomsg info = { .ifi_family = AF_UNSPEC };
	struct nl_msg *msg = NETWORK_REQUEST(RTM_NEWLINK, NLM_F_CREATE, info);
	struct nlattr *kind;
	g_autoptr(RdmadLink) bridge = NULL;

	strip(f, nic);
	nla_put_string(msg, IFLA_IFNAME, "fake");
	kind = nla_nest_start(msg, IFLA_LINKINFO);
	nla_put_string(msg, IFLA_INFO_KIND, "bridge");
	nla_nest_end(msg, kind);
	g_assert_true(network_change(f->pod_net, msg, NULL, "make a bridge"));
	bridge = expect_link(f->pod_net, "fake");
	msg = network_request(RTM_NEWLINK, 0, &(struct ifinfomsg){ .ifi_index = nic->ifindex },
			      sizeof(info));
	nla_put_u32(msg, IFLA_MASTER, (guint32)bridge->ifindex);
	g_assert_true(network_change(f->pod_net, msg, NULL, "fill the bridge"));
	change(f->pod_net, bridge->ifindex, (RdmadLinkChange){ .mac = f->nic->mac });
	disguise(f, "fake");
}

static void give_it_all_names(const Fixture *f, const RdmadLink *nic)
{
	for (guint i = 0; i < 494; i++) {
		g_autofree char *name = g_strdup_printf("%0127u", i);

		rdmad_link_set_altname(f->pod_net, nic->ifindex, name, TRUE, NULL);
	}
}

/* More than are deleted at once. */
static void make_many_links_on_it(const Fixture *f, const RdmadLink *nic)
{
	for (guint i = 0; i < 1100; i++) {
		g_autofree char *name = g_strdup_printf("m%u", i);

		make(f->pod_net,
		     (RdmadLinkSpec){ .kind = "macvlan", .name = name, .parent = nic->ifindex });
	}
}

static void make_it_promiscuous(const Fixture *f, const RdmadLink *nic)
{
	change(f->pod_net, nic->ifindex,
	       (RdmadLinkChange){ .flags = IFF_PROMISC | IFF_ALLMULTI | IFF_NOARP,
				  .flags_mask =
					  IFF_PROMISC | IFF_ALLMULTI | IFF_NOARP | IFF_MULTICAST });
}

static void make_it_dormant(const Fixture *f, const RdmadLink *nic)
{
	static const guint32 dormant = 1; /* IF_LINK_MODE_DORMANT of linux/if.h */

	change(f->pod_net, nic->ifindex, (RdmadLinkChange){ .link_mode = &dormant });
}

static int program_new(void)
{
	static const struct bpf_insn drop[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = XDP_DROP },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_XDP,
				.insns = (guintptr)drop,
				.insn_cnt = G_N_ELEMENTS(drop),
				.license = (guintptr) "GPL" };

	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

static void drop_its_packets(const Fixture *f, const RdmadLink *nic)
{
	const struct ifinfomsg info = { .ifi_family = AF_UNSPEC, .ifi_index = nic->ifindex };
	rdmad_autofd int program = program_new();
	struct nl_msg *msg;
	struct nlattr *xdp;
	g_autoptr(GError) error = NULL;

	if (program < 0) {
		g_test_skip("no BPF programs here");
		return;
	}
	/* With hardware acceleration of the driver, the MTU is too large. */
	msg = NETWORK_REQUEST(RTM_NEWLINK, 0, info);
	xdp = nla_nest_start(msg, IFLA_XDP);
	nla_put_u32(msg, IFLA_XDP_FD, (guint32)program);
	nla_put_u32(msg, IFLA_XDP_FLAGS, XDP_FLAGS_SKB_MODE);
	nla_nest_end(msg, xdp);
	network_change(f->pod_net, msg, &error, "attach a program");
	g_assert_no_error(error);
}

static void take_its_name_in_the_host(const Fixture *f, const RdmadLink *nic)
{
	rdmad_link_set_altname(f->pod_net, nic->ifindex, "wire", TRUE, NULL);
}

typedef struct {
	const char *name;
	void (*attack)(const Fixture *f, const RdmadLink *nic);
} Attack;

static const Attack attacks[] = {
	{ "a veth in its place", put_a_veth_in_its_place },
	{ "a macvlan in its place", put_a_macvlan_in_its_place },
	{ "a veth at its index", put_a_veth_at_its_index },
	{ "a bridge in its place, with it inside", put_it_in_a_bridge },
	{ "hundreds of names", give_it_all_names },
	{ "a name of the host", take_its_name_in_the_host },
	{ "many links on it", make_many_links_on_it },
	{ "other flags", make_it_promiscuous },
	{ "another link mode", make_it_dormant },
	{ "an XDP program", drop_its_packets },
};

static RdmadStep *known_step(const Fixture *f)
{
	RdmadStep *step = move_step(f);

	step->move.kind = g_strdup("veth");
	step->move.parent = (guint32)f->nic->parent;
	step->move.flags = f->nic->flags;
	return step;
}

static void test_attack(gconstpointer data)
{
	const Attack *row = data;
	Fixture f = { 0 };
	g_autoptr(RdmadStep) step = NULL;
	g_autoptr(RdmadLink) nic = NULL, back = NULL;

	if (!namespace_leave_host())
		return;
	setup(&f);
	step = known_step(&f);
	twice(&f, step, FALSE);
	nic = find_nic(&f, f.pod_net);
	row->attack(&f, nic);
	twice(&f, step, TRUE);
	expect_whole(&f);
	back = find_nic(&f, f.host_net);
	g_assert_cmpstr(back->name, ==, "nic0");
	g_assert_cmpint(back->ifindex, ==, f.nic->ifindex);
	g_assert_cmpuint(g_strv_length(back->altnames), ==, 1);
	g_assert_cmpuint(back->flags & ~(guint)(IFF_RUNNING | IFF_LOWER_UP), ==, f.nic->flags);
	g_assert_cmpuint(back->link_mode, ==, 0);
	g_assert_cmpuint(back->xdp, ==, 0);
	teardown(&f);
}

static void test_a_link_in_a_nested_namespace_comes_back_later(Fixture *f, RdmadStep *step)
{
	rdmad_autofd int nested = namespace_new();
	g_autoptr(RdmadNetwork) net = rdmad_network_open(nested, NULL);
	g_autoptr(RdmadLink) nic = NULL;

	twice(f, step, FALSE);
	nic = find_nic(f, f->pod_net);
	put_a_veth_in_its_place(f, nic);
	change(f->pod_net, nic->ifindex, (RdmadLinkChange){ .netns = nested });
	for (guint i = 0; i < 2; i++) {
		g_autoptr(GError) error = NULL;

		g_assert_false(step_call(f, step, TRUE, &error));
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_GONE);
		g_assert_false(has_link(f->host_net, "nic0"));
	}
	change(net, nic->ifindex, (RdmadLinkChange){ .netns = f->host });
	twice(f, step, TRUE);
	expect_whole(f);
}

/* A virtual link without another end, such as a dummy, whose index is in use in the pod. */
static void test_a_link_is_known_by_index_and_mac(Fixture *f, RdmadStep *step)
{
	g_autoptr(RdmadLink) nic = NULL, eth0 = NULL, other = NULL, back = NULL;
	g_autoptr(GError) error = NULL;

	step->move.parent = 0;
	make(f->pod_net, (RdmadLinkSpec){ .kind = "veth", .name = "eth0", .peer = "end0" });
	eth0 = expect_link(f->pod_net, "eth0");
	other = rdmad_link_get_index(f->pod_net, f->nic->ifindex, NULL);
	if (!other)
		reindex(f, eth0->ifindex, f->nic->ifindex);
	twice(f, step, FALSE);
	twice(f, step, TRUE);
	expect_whole(f);
	back = find_nic(f, f->host_net);
	g_assert_cmpint(back->ifindex, ==, f->nic->ifindex);
	twice(f, step, FALSE);
	nic = find_nic(f, f->pod_net);
	put_a_veth_in_its_place(f, nic);
	g_assert_false(step_call(f, step, TRUE, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_GONE);
	change(f->pod_net, nic->ifindex, (RdmadLinkChange){ .mac = f->nic->mac });
	twice(f, step, TRUE);
	expect_whole(f);
}

/* The mark shows that it is not restored yet; rdmad may end before it is. */
static void test_a_link_whose_mark_the_pod_removed_is_marked_until_it_is_whole(Fixture *f,
									       RdmadStep *step)
{
	const RdmadLinkSpec thief = { .kind = "veth", .name = "nic0", .peer = "nic9" };
	g_autoptr(RdmadLink) nic = NULL, back = NULL, thief_link = NULL;
	g_autoptr(GError) error = NULL;

	twice(f, step, FALSE);
	nic = find_nic(f, f->pod_net);
	strip(f, nic);
	make(f->host_net, thief);
	g_assert_false(step_call(f, step, TRUE, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_GONE);
	back = find_nic(f, f->host_net);
	g_assert_cmpuint(back->group, ==, RDMAD_STEP_GROUP_AWAY);
	thief_link = expect_link(f->host_net, "nic0");
	rdmad_links_delete(f->host_net, &thief_link->ifindex, 1, NULL);
	twice(f, step, TRUE);
	expect_whole(f);
}

static const Case cases[] = {
	{ "a link whose mark the pod removed is marked until it is whole", known_step,
	  test_a_link_whose_mark_the_pod_removed_is_marked_until_it_is_whole },
	{ "a link in a nested namespace comes back later", known_step,
	  test_a_link_in_a_nested_namespace_comes_back_later },
	{ "a link is known by index and MAC", known_step, test_a_link_is_known_by_index_and_mac },
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
};

const UnitTest unit_tests[] = {
	UNIT_CASES("/perform-move/", cases, test_step),
	UNIT_CASES("/perform-move/returns in spite of ", attacks, test_attack),
	{ 0 },
};
