/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/if_addr.h>

#include "fixture.h"
#include "plan/plan.h"
#include "support/ip.h"
#include "support/unit.h"

/*
 * A host with a management NIC and a RoCE NIC with two addresses and a route to the other rails,
 * its virtual function, an InfiniBand NIC; a pod behind eth0.
 */
typedef struct {
	CniView *host, *pod;
	RdmadDevice *roce, *vf, *ib;
	CniSettings *settings;
	CniRequest *request;
	GPtrArray *entries;
	CniResult *ipam;
	CniPlanInput input;
	CniChoice choice;
} World;

static CniViewLink *link_add(CniView *view, guint32 index, const char *name, const char *mac)
{
	CniViewLink link = { .index = index, .name = g_strdup(name), .mtu = 4200, .up = TRUE };

	rdmad_mac_parse(mac, &link.mac);
	g_array_append_val(view->links, link);
	return &g_array_index(view->links, CniViewLink, view->links->len - 1);
}

static void address_add(CniView *view, const char *link, const char *text, guint32 flags)
{
	const RdmadStepAddress address = { .link = g_strdup(link), .ip = ip(text), .flags = flags };

	g_array_append_val(view->addresses, address);
}

static RdmadStepRoute *route_add(CniView *view, const char *link, const char *to,
				 const char *gateway, guint32 protocol)
{
	CniViewRoute route = { .route = { .link = g_strdup(link),
					  .to = ip(to),
					  .table = RDMAD_ROUTE_TABLE_MAIN,
					  .type = RDMAD_ROUTE_UNICAST,
					  .protocol = protocol },
			       .hops = 1 };

	if (gateway)
		route.route.gateway = ip(gateway);
	g_array_append_val(view->routes, route);
	return &g_array_index(view->routes, CniViewRoute, view->routes->len - 1).route;
}

static CniView *host_view(void)
{
	CniView *view = cni_view_new();
	const RdmadStepSysctl sysctl = { .path = g_strdup("net/ipv4/conf/ens1f0/rp_filter"),
					 .value = g_strdup("1") };
	const RdmadStepNeighbour neighbour = { .link = g_strdup("ens1f0"),
					       .ip = ip("192.0.2.99"),
					       .mac = { 6, { 0x0c, 0x42, 0xa1, 0, 0, 0x98 } } };
	const CniViewVf vf = { .pf_index = 7,
			       .pf = g_strdup("ens1f0"),
			       .vf = 0,
			       .pci = g_strdup("0000:3b:00.2"),
			       .state = { .set = 0xff & ~RDMAD_STEP_VF_RATE,
					  .spoof_check = TRUE } };
	CniViewLink *nic;

	link_add(view, 2, "eno1", "0c:42:a1:00:00:99");
	nic = link_add(view, 7, "ens1f0", "0c:42:a1:00:00:01");
	nic->altnames = g_strdupv((char *[]){ (char *)"enp59s0f0", (char *)"rail0", NULL });
	nic->max_mtu = 9000;
	nic->pci = g_strdup("0000:3b:00.0");
	link_add(view, 11, "ens1f0v0", "0c:42:a1:00:00:02");
	link_add(view, 12, "ib0", "80:00:00:48:fe:80:00:00:00:00:00:00:0c:42:a1:03:00:65:43:21");
	address_add(view, "eno1", "198.51.100.7/24", 0x80);
	address_add(view, "ens1f0", "192.0.2.10/24", 0x80);
	address_add(view, "ens1f0", "2001:db8::10/64", 0x80);
	address_add(view, "ens1f0", "2001:db8::aaaa/64", IFA_F_TEMPORARY);
	address_add(view, "ens1f0", "fe80::1/64", 0x80);
	route_add(view, "eno1", "0.0.0.0/0", "198.51.100.1", 16);
	route_add(view, "ens1f0", "203.0.113.0/24", "192.0.2.1", 16);
	route_add(view, "ens1f0", "192.0.2.0/24", NULL, RDMAD_ROUTE_BY_KERNEL);
	route_add(view, "ens1f0", "2001:db8:f::/48", "fe80::99", RDMAD_ROUTE_BY_ADVERTISEMENT);
	g_array_append_val(view->sysctls, sysctl);
	g_array_append_val(view->neighbours, neighbour);
	g_array_append_val(view->vfs, vf);
	return view;
}

static CniView *pod_view(void)
{
	CniView *view = cni_view_new();
	const RdmadStepSysctl sysctl = { .path = g_strdup("net/ipv4/conf/all/rp_filter"),
					 .value = g_strdup("1") };

	view->has_ipv6 = view->may_have_ipv6 = TRUE;
	link_add(view, 1, "lo", "00:00:00:00:00:00");
	link_add(view, 2, "eth0", "0a:00:00:00:00:01");
	address_add(view, "eth0", "10.0.0.5/24", 0x80);
	route_add(view, "eth0", "0.0.0.0/0", "10.0.0.1", 16);
	g_array_append_val(view->sysctls, sysctl);
	return view;
}

static CniResult *ipam_result(const char *text)
{
	g_autoptr(GError) error = NULL;
	json_t *json = rdmad_json_parse(text, strlen(text), 8, &error);
	CniResult *result = cni_result_parse(json, CNI_1_1_0, &error);

	g_assert_no_error(error);
	json_decref(json);
	return result;
}

typedef struct {
	const char *policy; /* keys of the network in rdmad.conf */
	const char *mode;
	const char *keys;  /* of the request */
	const char *entry; /* of the annotation */
	const char *ipam;
	void (*change)(World *world);
	int code; /* 0: `expected` is in the plan; else in the message */
	const char *expected;
} Case;

static const RdmadDevice *device_of(World *world, CniMode mode)
{
	return mode == CNI_MODE_SRIOV	? world->vf
	       : mode == CNI_MODE_IPOIB ? world->ib
					: world->roce;
}

static void world_make(World *world, const Case *row)
{
	g_autofree char *text = g_strdup_printf("networks = ( { name = \"n\"; %s } );",
						row->policy ? row->policy : "");
	g_autofree char *entries = g_strdup_printf("[%s]", row->entry ? row->entry : "");
	g_autoptr(GError) error = NULL;

	*world = (World){ .host = host_view(), .pod = pod_view() };
	world->roce = fixture_device("0000:3b:00.0", "mlx5_0", "ens1f0");
	world->vf = fixture_device("0000:3b:00.2", "mlx5_2", "ens1f0v0");
	world->vf->pci_role = RDMAD_PCI_VF;
	world->ib = fixture_device("0000:86:00.0", "mlx5_3", "ib0");
	world->settings = fixture_settings(text, &error);
	g_assert_no_error(error);
	world->request = fixture_request(row->keys);
	world->entries = cni_annotation_parse(entries, &error);
	g_assert_no_error(error);
	world->ipam = row->ipam ? ipam_result(row->ipam) : NULL;
	world->choice = (CniChoice){ .policy = world->settings->policies->pdata[0],
				     .mode = cni_mode_parse(row->mode),
				     .ifname = (char *)"eth1",
				     .entry = row->entry ? world->entries->pdata[0] : NULL };
	world->choice.device = device_of(world, world->choice.mode);
	world->choice.netdev = world->choice.device->ports[0].netdev;
	world->input = (CniPlanInput){ .settings = world->settings,
				       .request = world->request,
				       .choice = &world->choice,
				       .host = world->host,
				       .pod = world->pod,
				       .ipam = world->ipam };
	if (row->change)
		row->change(world);
}

static void world_clear(World *world)
{
	cni_view_free(world->host);
	cni_view_free(world->pod);
	rdmad_device_unref(world->roce);
	rdmad_device_unref(world->vf);
	rdmad_device_unref(world->ib);
	cni_settings_unref(world->settings);
	cni_request_free(world->request);
	g_ptr_array_unref(world->entries);
	cni_result_free(world->ipam);
}

/* ---- changes of the world ---- */

static CniViewLink *nic(World *world, const char *name)
{
	return (CniViewLink *)cni_view_link(world->host, name);
}

static void pod_has_eth1(World *world)
{
	link_add(world->pod, 3, "eth1", "0a:00:00:00:00:02");
}

static void nic_is_gone(World *world)
{
	g_free(nic(world, "ens1f0")->name);
	g_array_index(world->host->links, CniViewLink, 1).name = g_strdup("renamed");
}

static void nic_is_in_a_bond(World *world)
{
	nic(world, "ens1f0")->master = 20;
}

static void nic_is_a_bond(World *world)
{
	nic(world, "ens1f0")->kind = g_strdup("bond");
}

static void nic_is_down(World *world)
{
	nic(world, "ens1f0")->up = FALSE;
	nic(world, "ib0")->up = FALSE;
}

static void nic_has_the_default_route(World *world)
{
	route_add(world->host, "ens1f0", "0.0.0.0/0", "192.0.2.1", 16);
}

static void nic_has_a_later_default_route(World *world)
{
	route_add(world->host, "ens1f0", "0.0.0.0/0", "192.0.2.1", 237)->metric = 200;
}

static void advertise(World *world, const char *link, guint32 metric)
{
	route_add(world->host, link, "::/0", "fe80::99", RDMAD_ROUTE_BY_ADVERTISEMENT)->metric =
		metric;
}

static void nic_has_the_first_advertised_default_route(World *world)
{
	advertise(world, "ens1f0", 1024);
	advertise(world, "eno1", 1025);
}

static void nic_has_the_only_default_route_of_ipv6(World *world)
{
	advertise(world, "ens1f0", 1024);
	g_array_index(world->host->routes, CniViewRoute, world->host->routes->len - 1).hops = 2;
}

static void no_default_route_of_ipv4(World *world)
{
	g_array_remove_index(world->host->routes, 0);
}

static void other_link_has_the_later_advertised_one(World *world)
{
	nic_has_the_first_advertised_default_route(world);
	no_default_route_of_ipv4(world);
}

static void nic_has_the_only_default_route(World *world)
{
	advertise(world, "ens1f0", 1024);
	no_default_route_of_ipv4(world);
	/* Of no use. */
	route_add(world->host, "eno1", "::/0", NULL, RDMAD_ROUTE_BY_KERNEL)->type = 7;
	route_add(world->host, "eno1", "::/0", "fe80::1", RDMAD_ROUTE_BY_ADVERTISEMENT)->table =
		100;
}

static void other_default_route_moves_too(World *world)
{
	other_link_has_the_later_advertised_one(world);
	nic(world, "eno1")->moves = TRUE;
}

static void nic_has_a_default_route_of_ipv6_by_hand(World *world)
{
	route_add(world->host, "ens1f0", "::/0", "fe80::99", 4)->metric = 1024;
	advertise(world, "ens1f0", 512);
	advertise(world, "eno1", 1025);
}

static void nic_has_one_by_hand_behind_an_advertised_one(World *world)
{
	route_add(world->host, "ens1f0", "::/0", "fe80::99", 4)->metric = 1026;
	advertise(world, "ens1f0", 512);
	advertise(world, "eno1", 1025);
}

static void route_has_two_hops(World *world)
{
	g_array_index(world->host->routes, CniViewRoute, 1).hops = 2;
}

static void route_is_partial(World *world)
{
	g_array_index(world->host->routes, CniViewRoute, 1).partial = TRUE;
}

static void advertised_route_is_partial(World *world)
{
	g_array_index(world->host->routes, CniViewRoute, 3).partial = TRUE;
}

static void upper_add(World *world, const char *kind)
{
	CniViewLink *upper = link_add(world->host, 30, "upper0", "02:00:00:00:00:07");

	upper->kind = g_strdup(kind);
	upper->parent = 7;
}

static void nic_has_a_vlan(World *world)
{
	upper_add(world, "vlan");
}

static void nic_has_a_macvlan(World *world)
{
	upper_add(world, "macvlan");
}

static void nic_has_an_ipvlan(World *world)
{
	upper_add(world, "ipvlan");
}

static void nic_has_no_address(World *world)
{
	g_array_set_size(world->host->addresses, 1);
}

static void pod_has_no_ipv6(World *world)
{
	world->pod->has_ipv6 = world->pod->may_have_ipv6 = FALSE;
}

static void pod_has_ipv6_off(World *world)
{
	world->pod->has_ipv6 = FALSE;
}

static void pod_has_rail0(World *world)
{
	link_add(world->pod, 3, "rail0", "0a:00:00:00:00:02");
}

static void rdma_is_exclusive(World *world)
{
	world->input.rdma_exclusive = TRUE;
}

static void gids_are_few(World *world)
{
	world->input.gids = (CniGids){ .capacity = 16, .used = 13, .each = 2 };
}

static void nic_has_many_routes(World *world)
{
	g_array_set_size(world->host->routes, 0);
	for (guint i = 0; i <= RDMAD_STEP_LIST_MAX; i++)
		route_add(world->host, "ens1f0", "203.0.113.0/24", "192.0.2.1", 16);
}

static void table_is_used(World *world)
{
	route_add(world->pod, "eth0", "10.1.0.0/16", NULL, 4)->table = 1000;
	world->input.number = 1;
}

static void pod_has_no_default_route(World *world)
{
	g_array_set_size(world->pod->routes, 0);
}

static void vf_has_no_guid(World *world)
{
	g_free(world->vf->node_guid);
	world->vf->node_guid = g_strdup("0000:0000:0000:0000");
}

static void vf_has_no_pf(World *world)
{
	g_array_set_size(world->host->vfs, 0);
}

static void vf_is_none(World *world)
{
	world->vf->pci_role = RDMAD_PCI_PLAIN;
}

static void device_is_infiniband(World *world)
{
	world->choice.device = world->ib;
	world->choice.netdev = "ib0";
	world->input.rdma_exclusive = TRUE;
}

static void device_is_roce(World *world)
{
	world->choice.device = world->roce;
	world->choice.netdev = "ens1f0";
}

/* The host selects this table by a rule for the NIC's addresses. */
static void host_has_a_table(World *world)
{
	route_add(world->host, "ens1f0", "10.0.0.0/8", "192.0.2.1", 4)->table = 201;
	route_add(world->host, "ens1f0", "203.0.113.0/24", "192.0.2.99", 4)->table = 201;
}

/* ---- plans ---- */

#define IPAM4 "{\"ips\":[{\"address\":\"192.0.2.7/24\",\"gateway\":\"192.0.2.1\"}]}"
#define IPS4  ",\"runtimeConfig\":{\"ips\":[\"192.0.2.7/24\"]}"

/* `expected` are parts of the plan's JSON, in their order, with '|' between them. */
static const Case cases[] = {
	/* ---- shared: made in the pod by one message, with an address of its own ---- */
	{ NULL, "shared", NULL, NULL, IPAM4,
	  .expected =
		  "[{\"step\":\"link-create\",\"in\":\"pod\",\"kind\":\"macvlan\",\"parent_index\":"
		  "7,"
		  "\"parent\":\"ens1f0\",\"name\":\"eth1\",\"mode\":\"bridge\",\"mac\":|,\"mtu\":"
		  "4200},"
		  "|eth1/arp_ignore\",\"value\":\"1\"}|eth1/arp_announce\",\"value\":\"2\"}"
		  "|eth1/rp_filter\",\"value\":\"2\"}"
		  "|{\"step\":\"address\",\"in\":\"pod\",\"goes_with_link\":true,\"link\":\"eth1\","
		  "\"ip\":\"192.0.2.7/24\"}|\"up\":\"on\"}|\"step\":\"wait-link\""
		  "|\"to\":\"192.0.2.0/24\",\"source\":\"192.0.2.7\",\"table\":1000,\"scope\":253,"
		  "|\"to\":\"0.0.0.0/0\",\"gateway\":\"192.0.2.1\",\"table\":1000"
		  "|{\"step\":\"rule\",\"in\":\"pod\",\"family\":4,\"priority\":20000,\"table\":"
		  "1000,"
		  "\"from\":\"192.0.2.7\"}"
		  "|\"to\":\"203.0.113.0/24\",\"gateway\":\"192.0.2.1\",\"table\":1000"
		  "|\"to\":\"203.0.113.0/24\",\"gateway\":\"192.0.2.1\",\"table\":254"
		  "|{\"step\":\"announce\",\"in\":\"pod\",\"link\":\"eth1\",\"ip\":\"192.0.2.7\","
		  "\"count\":2}"
		  "|{\"step\":\"wait-gid\",\"in\":\"host\",\"device\":\"mlx5_0\",\"port\":1,"
		  "\"link\":"
		  "\"eth1\",\"ip\":\"192.0.2.7\",\"timeout_ms\":5000}"
		  "|{\"step\":\"rdma-bind\",\"in\":\"pod\",\"device\":\"mlx5_0\",\"port\":1,\"ip\":"
		  "\"192.0.2.7\"}]" },
	/* 10.0.0.0/8 has the pod's own network and Services behind eth0. */
	{ NULL, "shared", NULL, NULL, IPAM4, .change = host_has_a_table,
	  .expected = "\"to\":\"10.0.0.0/8\",\"gateway\":\"192.0.2.1\",\"table\":1000|!\"to\":"
		      "\"10.0.0.0/8\",\"gateway\":\"192.0.2.1\",\"table\":254|!192.0.2.99" },
	{ "policy_routing = false;", "shared", NULL, NULL, IPAM4, .change = host_has_a_table,
	  .expected = "\"to\":\"203.0.113.0/24\"|!10.0.0.0/8" },
	{ NULL, "shared-multi", IPS4, .expected = "\"kind\":\"macvlan\"|\"ip\":\"192.0.2.7/24\"" },
	{ "link = \"ipvlan\";", "shared", NULL, NULL, IPAM4,
	  .expected = "\"kind\":\"ipvlan\",|\"name\":\"eth1\",\"mode\":\"l2\",\"mtu\":4200}|eth1/"
		      "rp_filter\","
		      "\"value\":\"2\"" },
	{ "link = \"ipvlan\"; ipvlan_mode = \"l3\";", "shared", NULL, NULL, IPAM4,
	  .expected = "\"mode\":\"l3\",|eth1/rp_filter\",\"value\":\"0\"}|all/"
		      "rp_filter\",\"value\":\"0\","
		      "\"before\":\"1\"}" },
	{ "rp_filter = \"off\";", "shared", NULL, NULL, IPAM4,
	  .expected = "eth1/rp_filter\",\"value\":\"0\"}|all/rp_filter\",\"value\":\"0\"" },
	{ NULL, "shared", IPS4 ",\"mtu\":1500", .expected = "\"mtu\":1500}" },
	{ "mtu = 2000;", "shared", IPS4, .expected = "\"mtu\":2000}" },
	{ NULL, "shared",
	  ",\"runtimeConfig\":{\"mac\":\"02:00:00:00:00:05\",\"ips\":[\"192.0.2.7/24\"]}",
	  .expected = "\"mac\":\"02:00:00:00:00:05\"" },
	/* IPv6 as well, without detection of duplicates. */
	{ NULL, "shared", ",\"runtimeConfig\":{\"ips\":[\"2001:db8::7/64\"]}",
	  .expected =
		  "net/ipv6/conf/eth1/disable_ipv6\",\"value\":\"0\"|accept_ra\",\"value\":\"0\"|"
		  "\"ip\":\"2001:db8::7/64\",\"flags\":2}|\"to\":\"2001:db8::/64\",|\"gateway\":"
		  "\"fe80::99\",\"table\":1000|\"family\":6,\"priority\":20000,\"table\":1000,"
		  "\"from\":\"2001:db8::7\"}" },
	{ NULL, "shared", ",\"runtimeConfig\":{\"ips\":[\"2001:db8::7/64\"]}",
	  .change = pod_has_ipv6_off,
	  .expected = "net/ipv6/conf/eth1/disable_ipv6\",\"value\":\"0\"|"
		      "\"ip\":\"2001:db8::7/64\"" },
	{ NULL, "exclusive", ",\"runtimeConfig\":{\"ips\":[\"2001:db8::7/64\"]}",
	  .change = pod_has_ipv6_off,
	  .expected = "net/ipv6/conf/eth1/disable_ipv6\",\"value\":\"0\"|"
		      "\"ip\":\"2001:db8::7/64\"" },
	{ NULL, "shared-multi", ",\"runtimeConfig\":{\"ips\":[\"2001:db8::7/64\"]}",
	  .change = pod_has_ipv6_off,
	  .expected = "net/ipv6/conf/eth1/disable_ipv6\",\"value\":\"0\"|"
		      "\"ip\":\"2001:db8::7/64\"" },
	{ NULL, "sriov", ",\"runtimeConfig\":{\"ips\":[\"2001:db8::7/64\"]}",
	  .change = pod_has_ipv6_off,
	  .expected = "net/ipv6/conf/eth1/disable_ipv6\",\"value\":\"0\"|"
		      "\"ip\":\"2001:db8::7/64\"" },
	{ "dad = true;", "shared", ",\"runtimeConfig\":{\"ips\":[\"2001:db8::7/64\"]}",
	  .expected = "\"ip\":\"2001:db8::7/64\"}|\"addresses\":true,\"timeout_ms\":5000}" },
	/* The annotation names addresses and routes. */
	{ NULL, "shared", NULL,
	  "{\"deviceConf\":{\"ips\":[\"192.0.2.8/24\"]},\"traffic\":{\"routes\":{\"extraRoutes\":[{"
	  "\"dst\":\"198.18.0.0/15\",\"gw\":\"192.0.2.2\"},{\"dst\":\"0.0.0.0/0\"}],\"default\":"
	  "true}}}",
	  .expected =
		  "\"ip\":\"192.0.2.8/24\"|\"to\":\"198.18.0.0/15\",\"gateway\":\"192.0.2.2\","
		  "\"table\":1000|\"to\":\"198.18.0.0/15\",\"gateway\":\"192.0.2.2\",\"table\":254"
		  "|\"to\":\"0.0.0.0/0\",\"gateway\":\"192.0.2.1\",\"table\":254" },
	/* The default route of eth0 is replaced, and restored later. */
	{ "default_route = true;", "shared", NULL, NULL, IPAM4,
	  .expected = "{\"step\":\"route\",\"in\":\"pod\",\"link\":\"eth0\",\"to\":\"0.0.0.0/0\","
		      "\"gateway\":\"10.0.0.1\",\"table\":254,\"type\":1,\"protocol\":16,"
		      "\"remove\":true}|{\"step\":\"route\",\"in\":\"pod\",\"link\":\"eth1\","
		      "\"to\":\"0.0.0.0/0\",\"gateway\":\"192.0.2.1\",\"table\":254" },
	{ NULL, "shared", IPS4, "{\"traffic\":{\"routes\":{\"default\":true}}}",
	  .expected = "\"remove\":true}|\"gateway\":\"192.0.2.1\",\"table\":254" },
	/* The pod keeps its default route; a route with a table in IPAM's result goes there. */
	{ NULL, "shared", NULL, NULL,
	  "{\"ips\":[{\"address\":\"192.0.2.7/"
	  "24\",\"gateway\":\"192.0.2.1\"}],\"routes\":[{\"dst\":"
	  "\"0.0.0.0/0\"},{\"dst\":\"198.18.0.0/15\",\"table\":77,\"mtu\":1400}]}",
	  .expected =
		  "\"gateway\":\"192.0.2.1\",\"table\":1000|\"to\":\"198.18.0.0/15\",\"gateway\":"
		  "\"192.0.2.1\",\"table\":77,|\"mtu\":1400|!\"to\":\"0.0.0.0/0\",\"gateway\":"
		  "\"192.0.2.1\",\"table\":254" },
	{ NULL, "shared", NULL, NULL,
	  "{\"ips\":[{\"address\":\"192.0.2.7/"
	  "24\",\"gateway\":\"192.0.2.1\"}],\"routes\":[{\"dst\":"
	  "\"0.0.0.0/0\"}]}",
	  pod_has_no_default_route,
	  .expected = "\"to\":\"0.0.0.0/0\",\"gateway\":\"192.0.2.1\","
		      "\"table\":254" },
	/* A gateway outside the address's network; another one is not expected on the link. */
	{ "default_route = true;", "shared", NULL, NULL,
	  "{\"ips\":[{\"address\":\"198.51.100.50/32\",\"gateway\":\"198.51.100.1\"}],\"routes\":[{"
	  "\"dst\":\"198.18.0.0/15\"},{\"dst\":\"198.20.0.0/15\",\"gw\":\"198.51.100.2\"}]}",
	  .expected = "\"gateway\":\"198.51.100.1\",\"table\":1000,|\"onlink\":true|"
		      "\"to\":\"198.18.0.0/15\",\"gateway\":\"198.51.100.1\",\"table\":254,|"
		      "\"onlink\":true|\"to\":\"198.20.0.0/15\",\"gateway\":\"198.51.100.2\","
		      "\"table\":254,\"type\":1,\"protocol\":4}|\"to\":\"0.0.0.0/0\",\"gateway\":"
		      "\"198.51.100.1\",\"table\":254,|\"onlink\":true" },
	{ "policy_routing = false; routes = false; announce = false; wait_gid = false; prove = "
	  "false;",
	  "shared", IPS4,
	  .expected = "\"up\":\"on\"}|!\"rule\"|!\"route\"|!\"announce\"|!wait-gid|!bind" },
	{ NULL, "shared", IPS4, .change = table_is_used,
	  .expected = "\"table\":1002|!\"table\":1001" },
	{ "addresses = \"none\";", "shared", NULL,
	  .expected = "\"up\":\"on\"}|!\"rule\"|!\"address\"" },
	/* ---- refusals of shared ---- */
	{ NULL, "shared", NULL, .code = CNI_ERROR_ADDRESS, .expected = "eth1 gets no address" },
	{ NULL, "shared", IPS4, .change = pod_has_eth1, .code = CNI_ERROR_EXISTS,
	  .expected = "the pod has an interface eth1 already" },
	{ NULL, "shared", IPS4, .change = nic_is_gone, .code = CNI_ERROR_DEVICE,
	  .expected = "is not in the host" },
	{ NULL, "shared", IPS4, .change = nic_is_in_a_bond, .code = CNI_ERROR_DEVICE,
	  .expected = "in a bond or bridge" },
	{ NULL, "shared", IPS4, .change = nic_is_down, .code = CNI_ERROR_DEVICE,
	  .expected = "ens1f0 is down" },
	{ NULL, "shared", IPS4, .change = device_is_infiniband, .code = CNI_ERROR_DEVICE,
	  .expected = "use mode ipoib" },
	{ NULL, "shared", IPS4, .change = nic_has_an_ipvlan, .code = CNI_ERROR_HELD,
	  .expected = "upper0 of the host is ipvlan on ens1f0, and macvlan cannot be beside it" },
	{ "link = \"ipvlan\";", "shared", IPS4, .change = nic_has_a_macvlan, .code = CNI_ERROR_HELD,
	  .expected = "ipvlan cannot be beside it" },
	{ "macvlan_mode = \"passthru\";", "shared", IPS4, .change = nic_has_a_macvlan,
	  .code = CNI_ERROR_HELD, .expected = "passthru cannot be beside it" },
	{ NULL, "shared", IPS4, .change = nic_has_a_macvlan, .expected = "link-create" },
	{ NULL, "shared", IPS4 ",\"mtu\":9000", .code = CNI_ERROR_CONFIG,
	  .expected = "mtu: 9000 is above the 4200 of ens1f0" },
	{ "link = \"ipvlan\";", "shared",
	  ",\"runtimeConfig\":{\"mac\":\"02:00:00:00:00:05\",\"ips\":[\"192.0.2.7/24\"]}",
	  .code = CNI_ERROR_CONFIG, .expected = "an ipvlan has the address of its NIC" },
	{ NULL, "shared",
	  ",\"runtimeConfig\":{\"mac\":\"03:00:00:00:00:05\",\"ips\":[\"192.0.2.7/24\"]}",
	  .code = CNI_ERROR_CONFIG, .expected = "one of a group" },
	{ NULL, "shared", ",\"runtimeConfig\":{\"ips\":[\"10.0.0.5/24\"]}",
	  .code = CNI_ERROR_ADDRESS, .expected = "10.0.0.5 is on eth0 of the pod already" },
	{ NULL, "shared", ",\"runtimeConfig\":{\"ips\":[\"192.0.2.10/24\"]}",
	  .code = CNI_ERROR_ADDRESS, .expected = "192.0.2.10 is the host's own, on ens1f0" },
	{ NULL, "shared", ",\"runtimeConfig\":{\"ips\":[\"224.0.0.1/24\"]}",
	  .code = CNI_ERROR_ADDRESS, .expected = "224.0.0.1 is not an interface address" },
	{ NULL, "exclusive", NULL, .change = nic_has_many_routes, .code = CNI_ERROR_DEVICE,
	  .expected = "ens1f0 has 1025 routes: more than 1024 are not written down" },
	{ NULL, "shared", ",\"runtimeConfig\":{\"ips\":[\"192.0.2.7/24\",\"192.0.2.7/24\"]}",
	  .code = CNI_ERROR_ADDRESS, .expected = "192.0.2.7 is given twice" },
	{ NULL, "shared", ",\"runtimeConfig\":{\"ips\":[\"2001:db8::7/64\"]}",
	  .change = pod_has_no_ipv6, .code = CNI_ERROR_ADDRESS, .expected = "the pod has no IPv6" },
	{ NULL, "shared", IPS4, .change = gids_are_few, .code = CNI_ERROR_RDMA,
	  .expected = "the GID table of mlx5_0 has 16 entries, 13 in use, and eth1 needs 4" },
	/* ---- exclusive: the NIC with what it has, and all that is to be given back ---- */
	{ NULL, "exclusive", NULL,
	  .expected =
		  "[{\"step\":\"link-move\",\"in\":\"host\",\"index\":7,\"host_name\":\"ens1f0\","
		  "\"pod_name\":\"eth1\",\"pci\":\"0000:3b:00.0\",\"kind\":\"\",\"altnames\":["
		  "\"enp59s0f0\","
		  "\"rail0\"],\"mtu\":4200,\"mac\":\"0c:42:a1:00:00:01\",\"up\":true,\"is_marked\":"
		  "true,\"addresses\":"
		  "[{"
		  "\"ip\":\"192.0.2.10/24\"},{\"ip\":\"2001:db8::10/64\"}],\"routes\":[{\"to\":"
		  "\"203.0.113.0/24\",\"gateway\":\"192.0.2.1\",\"table\":254,\"type\":1,"
		  "\"protocol\":16}],\"neighbours\":[|\"sysctls\":[{\"path\":"
		  "\"net/ipv4/conf/ens1f0/rp_filter\",\"value\":\"1\"}]},"
		  "|\"ip\":\"192.0.2.10/24\"}|\"ip\":\"2001:db8::10/"
		  "64\",\"flags\":2}|\"up\":\"on\"}"
		  "|\"from\":\"192.0.2.10\"}|\"from\":\"2001:db8::10\"}"
		  "|\"to\":\"203.0.113.0/24\",\"gateway\":\"192.0.2.1\",\"table\":254"
		  "|\"step\":\"neighbour\"|\"step\":\"wait-gid\",\"in\":\"host\"|!rdma-move" },
	{ NULL, "exclusive", NULL, .change = rdma_is_exclusive,
	  .expected = "link-move|{\"step\":\"rdma-move\",\"in\":\"host\",\"index\":3,\"host_name\":"
		      "\"mlx5_0\",\"node_guid\":\"0c42a10300654321\",\"pci\":\"0000:3b:00.0\"}|"
		      "\"step\":\"wait-gid\",\"in\":\"pod\"" },
	/* The interface of an InfiniBand device is recreated in the namespace of the device. */
	{ NULL, "exclusive", IPS4, .change = device_is_infiniband,
	  .expected = "rdma-move|link-move|!wait-gid|!\"announce\"" },
	{ NULL, "exclusive", NULL, NULL, IPAM4,
	  .expected =
		  "link-move|\"step\":\"address\",\"in\":\"pod\",\"goes_with_link\":true,\"link\":"
		  "\"eth1\",\"ip\":\"192.0.2.7/24\"}|!\"from\":\"192.0.2.10\"" },
	{ NULL, "exclusive", NULL, .change = pod_has_rail0,
	  .expected =
		  "[{\"step\":\"altname\",\"in\":\"host\",\"link\":\"ens1f0\",\"name\":\"rail0\","
		  "\"remove\":true}|link-move" },
	{ NULL, "exclusive", ",\"mtu\":9000,\"runtimeConfig\":{\"mac\":\"02:00:00:00:00:05\"}",
	  .expected = "link-move|{\"step\":\"link-set\",\"in\":\"pod\",\"goes_with_link\":true,"
		      "\"link\":"
		      "\"eth1\",\"mtu\":9000,\"mac\":\"02:00:00:00:00:05\"}" },
	{ "last_way = true;", "exclusive", NULL, .change = nic_has_the_default_route,
	  .expected = "link-move|\"to\":\"0.0.0.0/0\"" },
	/* Module erdma adds such routes. */
	{ NULL, "exclusive", NULL, .change = nic_has_a_later_default_route,
	  .expected = "link-move|\"gateway\":\"192.0.2.1\",\"table\":254,\"metric\":200,\"type\":1,"
		      "\"protocol\":237" },
	{ NULL, "exclusive", NULL, .change = gids_are_few, .expected = "link-move" },
	{ NULL, "exclusive", NULL, .change = advertised_route_is_partial, .expected = "link-move" },
	{ NULL, "exclusive", NULL, .change = nic_has_the_first_advertised_default_route,
	  .expected = "link-move" },
	{ NULL, "exclusive", NULL, .change = nic_has_the_only_default_route_of_ipv6,
	  .expected = "link-move" },
	{ NULL, "exclusive", NULL, .change = other_link_has_the_later_advertised_one,
	  .expected = "link-move" },
	{ NULL, "exclusive", NULL, .change = nic_has_one_by_hand_behind_an_advertised_one,
	  .expected = "link-move" },
	/* ---- refusals of exclusive ---- */
	{ NULL, "exclusive", NULL, .change = nic_has_the_default_route, .code = CNI_ERROR_DEVICE,
	  .expected = "ens1f0 has the host's default route" },
	{ NULL, "exclusive", NULL, .change = nic_has_the_only_default_route,
	  .code = CNI_ERROR_DEVICE, .expected = "ens1f0 has the host's default route" },
	{ NULL, "exclusive", NULL, .change = other_default_route_moves_too,
	  .code = CNI_ERROR_DEVICE, .expected = "ens1f0 has the host's default route" },
	{ NULL, "exclusive", NULL, .change = nic_has_a_default_route_of_ipv6_by_hand,
	  .code = CNI_ERROR_DEVICE, .expected = "ens1f0 has the host's default route" },
	{ NULL, "exclusive", NULL, .change = route_has_two_hops, .code = CNI_ERROR_DEVICE,
	  .expected = "one of several hops of the host's route to 203.0.113.0/24" },
	{ NULL, "exclusive", NULL, .change = route_is_partial, .code = CNI_ERROR_DEVICE,
	  .expected = "the host's route to 203.0.113.0/24, not all attributes of which" },
	{ NULL, "exclusive", NULL, .change = nic_is_in_a_bond, .code = CNI_ERROR_DEVICE,
	  .expected = "in a bond or bridge" },
	{ NULL, "exclusive", NULL, .change = nic_is_a_bond, .code = CNI_ERROR_DEVICE,
	  .expected = "is a bond" },
	{ NULL, "exclusive", NULL, .change = nic_has_a_vlan, .code = CNI_ERROR_HELD,
	  .expected = "upper0 (vlan) of the host stands on ens1f0" },
	{ NULL, "exclusive", NULL, .change = nic_has_no_address, .code = CNI_ERROR_ADDRESS,
	  .expected = "and the NIC has none itself" },
	{ NULL, "exclusive", ",\"mtu\":9001", .code = CNI_ERROR_CONFIG,
	  .expected = "mtu: 9001 is above the 9000" },
	{ NULL, "exclusive",
	  ",\"runtimeConfig\":{\"mac\":\"02:00:00:00:00:05\",\"ips\":[\"192.0.2.7/24\"]}",
	  .change = device_is_infiniband, .code = CNI_ERROR_CONFIG,
	  .expected = "whose address cannot be set" },
	/* ---- SR-IOV: through the PF, then moved ---- */
	{ NULL, "sriov", IPS4, .expected = "[{\"step\":\"link-move\",|\"index\":11|!vf-set" },
	{ NULL, "sriov",
	  IPS4 ",\"vlan\":100,\"vlanQoS\":3,\"spoofchk\":\"off\",\"trust\":\"on\",\"link_state\":"
	       "\"enable\"",
	  .expected =
		  "[{\"step\":\"vf-set\",\"in\":\"host\",\"pf_index\":7,\"pf\":\"ens1f0\",\"pci\":"
		  "\"0000:3b:00.2\",\"wanted\":{\"set\":58,\"vlan\":100,\"qos\":3,"
		  "\"vlan_protocol\":33024,\"trust\":true,\"link_state\":1},\"before\":{\"set\":58,"
		  "\"spoof_check\":true}}|link-move" },
	{ NULL, "sriov",
	  ",\"runtimeConfig\":{\"mac\":\"02:00:00:00:00:05\",\"ips\":[\"192.0.2.7/24\"]}",
	  .expected = "vf-set|\"set\":1,\"mac\":\"02:00:00:00:00:05\"}|link-set" },
	{ NULL, "sriov", IPS4, "{\"deviceConf\":{\"options\":{\"vlanID\":7}}}",
	  .expected = "\"vlan\":7" },
	{ NULL, "sriov", IPS4, .change = vf_has_no_guid,
	  .expected = "\"node_guid\":\"0e42a1fffe000002\",|\"rebind\":true}|link-move" },
	{ NULL, "sriov", IPS4 ",\"max_tx_rate\":1000", .code = CNI_ERROR_DEVICE,
	  .expected = "the driver of ens1f0 does not set a rate of a VF" },
	{ NULL, "sriov", IPS4 ",\"vlan\":1", .change = vf_has_no_pf, .code = CNI_ERROR_DEVICE,
	  .expected = "has no PF in the host" },
	{ NULL, "sriov", IPS4, .change = vf_is_none, .code = CNI_ERROR_DEVICE,
	  .expected = "is not a virtual function" },
	{ NULL, "sriov",
	  ",\"runtimeConfig\":{\"infinibandGUID\":\"0c42a10000654321\",\"ips\":[\"192.0.2.7/24\"]}",
	  .code = CNI_ERROR_CONFIG, .expected = "infinibandGUID: ens1f0v0 is not InfiniBand" },
	/* ---- IPoIB ---- */
	{ NULL, "ipoib", IPS4 ",\"pkey\":\"0x8001\"",
	  .expected = "[{\"step\":\"link-create\",\"in\":\"pod\",\"kind\":\"ipoib\",\"parent_"
		      "index\":12,"
		      "\"parent\":\"ib0\",\"name\":\"eth1\",\"mode\":\"datagram\",\"pkey\":32769,"
		      "\"mtu\":4200}|rdma-bind|!"
		      "wait-gid|!\"announce\"" },
	{ "ipoib_mode = \"connected\";", "ipoib", IPS4, .expected = "\"mode\":\"connected\"," },
	{ NULL, "ipoib", IPS4, .change = device_is_roce, .code = CNI_ERROR_DEVICE,
	  .expected = "ens1f0 is not InfiniBand" },
	{ NULL, "ipoib", IPS4, .change = nic_is_down, .code = CNI_ERROR_DEVICE,
	  .expected = "ib0 is down" },
	{ NULL, "ipoib", IPS4 ",\"mtu\":65520", .code = CNI_ERROR_CONFIG,
	  .expected = "mtu: 65520 is above" },
	{ NULL, "ipoib",
	  ",\"runtimeConfig\":{\"mac\":\"02:00:00:00:00:05\",\"ips\":[\"192.0.2.7/24\"]}",
	  .code = CNI_ERROR_CONFIG, .expected = "cannot be set" },
};

/* The parts must appear in this order; parts after '!' must be absent. */
static void assert_parts(const char *text, const char *expected)
{
	g_auto(GStrv) parts = g_strsplit(expected, "|", 0);
	const char *at = text;

	for (char **part = parts; *part; part++) {
		const char *found = **part == '!' ? strstr(text, *part + 1) : strstr(at, *part);

		if (**part == '!' ? found != NULL : found == NULL)
			g_error("\"%s\" %s\n%s", *part, found ? "is there" : "is not there", text);
		if (**part != '!')
			at = found + strlen(*part);
	}
}

static void test_every_mode_and_every_refusal(void)
{
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(CniPlan) plan = NULL;
		g_autofree char *text = NULL;
		World world;

		world_make(&world, &cases[i]);
		plan = cni_plan_make(&world.input, &error);
		text = plan ? rdmad_steps_to_text(plan->steps) : g_strdup(error->message);
		g_test_message("%u: %s %s %s: %s", i, cases[i].mode, cases[i].policy, cases[i].keys,
			       text);
		g_assert_cmpint(error ? cni_error_code(error) : 0, ==, cases[i].code);
		assert_parts(text, cases[i].expected);
		if (plan) {
			/* A plan can be written to the journal and read back. */
			g_autoptr(GPtrArray) again =
				rdmad_steps_from_text(text, strlen(text), &error);

			g_assert_no_error(error);
			g_assert_cmpuint(again->len, ==, plan->steps->len);
		}
		world_clear(&world);
	}
}

static void test_the_result_tells_the_interface_and_its_addresses(void)
{
	static const Case row = { NULL, "exclusive", NULL, NULL,
				  "{\"ips\":[{\"address\":\"192.0.2.7/24\"}],\"routes\":[{\"dst\":"
				  "\"198.18.0.0/15\"}],\"dns\":{\"domain\":\"x\"}}" };
	g_autoptr(CniPlan) plan = NULL;
	g_autofree char *text = NULL;
	World world;

	world_make(&world, &row);
	plan = cni_plan_make(&world.input, NULL);
	text = cni_result_text(plan->result, CNI_1_1_0);
	g_assert_cmpstr(text, ==,
			"{\"cniVersion\":\"1.1.0\",\"interfaces\":[{\"name\":\"eth1\",\"mac\":"
			"\"0c:42:a1:00:00:01\",\"sandbox\":\"/run/netns/a\",\"mtu\":4200,\"pciID\":"
			"\"0000:3b:00.0\"}],\"ips\":[{\"address\":\"192.0.2.7/24\",\"gateway\":"
			"\"192.0.2.1\",\"interface\":0}],\"routes\":[{\"dst\":\"198.18.0.0/15\"}],"
			"\"dns\":{\"domain\":\"x\"}}");
	world_clear(&world);
}

/* So that links of a killed ADD are recognized. */
static void test_a_virtual_link_has_the_same_address_each_time_and_its_own(void)
{
	static const Case row = { NULL, "shared", IPS4 };
	char macs[3][RDMAD_MAC_TEXT];

	for (guint i = 0; i < 3; i++) {
		g_autoptr(CniPlan) plan = NULL;
		const RdmadStep *step;
		World world;

		world_make(&world, &row);
		world.choice.ifname = (char *)(i < 2 ? "eth1" : "eth2");
		plan = cni_plan_make(&world.input, NULL);
		step = plan->steps->pdata[0];
		g_assert_cmpint(step->create.mac.bytes[0] & 3, ==, 2);
		rdmad_mac_format(&step->create.mac, macs[i]);
		world_clear(&world);
	}
	g_assert_cmpstr(macs[0], ==, macs[1]);
	g_assert_cmpstr(macs[0], !=, macs[2]);
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/plan/table", test_every_mode_and_every_refusal),
	UNIT_TEST("/plan/result", test_the_result_tells_the_interface_and_its_addresses),
	UNIT_TEST("/plan/mac", test_a_virtual_link_has_the_same_address_each_time_and_its_own),
	{ 0 },
};
