/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses, routes, rules and sysctls of every NIC whose link is in the pod
 *
 * Each NIC has its own routing table, selected by rules for traffic from its addresses, so that
 * several NICs work in one subnet, and answers ARP for its own addresses only.  The main table gets
 * the routes to particular networks; it gets a default route only if one is requested, or if the
 * pod has none.
 */
#include "plan/planner.h"

#include <linux/if_addr.h>
#include <sys/socket.h>

#define ANNOUNCEMENTS 2u

/* ---- sysctls ---- */

static void sysctl_add(Planner *planner, const char *family, const char *link, const char *key,
		       const char *value)
{
	const gboolean own = g_str_equal(link, planner->name);
	g_autofree char *path = g_strdup_printf("net/%s/conf/%s/%s", family, link, key);
	const char *before = own ? NULL : cni_view_sysctl(planner->input->pod, path);
	RdmadStep *step;

	/* A sysctl of the whole namespace is skipped if it needs no change or its value cannot be
	 * restored. */
	if (!own && (!before || g_str_equal(before, value)))
		return;
	step = planner_step(planner, RDMAD_STEP_SYSCTL, RDMAD_STEP_IN_POD);
	step->sysctl.path = g_steal_pointer(&path);
	step->sysctl.value = g_strdup(value);
	step->sysctl.before = g_strdup(before);
	step->goes_with_link = own;
}

gboolean planner_has_family(const Planner *planner, int family)
{
	for (guint i = 0; i < planner->addresses->len; i++)
		if (g_array_index(planner->addresses, PlannerAddress, i).ip.family == family)
			return TRUE;
	return FALSE;
}

/* An ipvlan in mode l3 or l3s gets no broadcasts and routes by itself, so answers come back by
 * another path. */
static gboolean rp_filter_is_off(const Planner *planner)
{
	return planner->policy->rp_filter == CNI_RP_FILTER_OFF ||
	       (!planner_moves_nic(planner) && planner->nic->mac.length == 6 &&
		planner->policy->link == CNI_LINK_IPVLAN && planner->policy->ipvlan_mode != 0);
}

static void sysctls_add(Planner *planner)
{
	const gboolean off = rp_filter_is_off(planner);

	sysctl_add(planner, "ipv4", planner->name, "arp_ignore", "1");
	sysctl_add(planner, "ipv4", planner->name, "arp_announce", "2");
	sysctl_add(planner, "ipv4", planner->name, "rp_filter", off ? "0" : "2");
	/* The kernel uses the larger of this value and the link's. */
	if (off)
		sysctl_add(planner, "ipv4", "all", "rp_filter", "0");
	if (!planner_has_family(planner, AF_INET6))
		return;
	sysctl_add(planner, "ipv6", planner->name, "disable_ipv6", "0");
	sysctl_add(planner, "ipv6", planner->name, "accept_ra", "0");
	sysctl_add(planner, "ipv6", planner->name, "keep_addr_on_down", "1");
}

/* ---- addresses ---- */

static void address_add(Planner *planner, const PlannerAddress *address)
{
	RdmadStep *step = planner_step(planner, RDMAD_STEP_ADDRESS, RDMAD_STEP_IN_POD);

	step->address.link = g_strdup(planner->name);
	step->address.ip = address->ip;
	if (address->ip.family == AF_INET6 && !planner->policy->dad)
		step->address.flags = IFA_F_NODAD;
	step->goes_with_link = TRUE;
}

static void up_add(Planner *planner)
{
	RdmadStep *step = planner_step(planner, RDMAD_STEP_LINK_SET, RDMAD_STEP_IN_POD);

	step->link.link = g_strdup(planner->name);
	step->link.up = RDMAD_STEP_ON;
	step->goes_with_link = TRUE;
}

static void wait_add(Planner *planner)
{
	const gboolean dad = planner->policy->dad && planner_has_family(planner, AF_INET6);
	const guint64 timeout_ms = planner->input->settings->carrier_timeout_ms;
	RdmadStep *step;

	if (!timeout_ms && !dad)
		return;
	step = planner_step(planner, RDMAD_STEP_WAIT_LINK, RDMAD_STEP_IN_POD);
	step->wait.link = g_strdup(planner->name);
	step->wait.carrier = timeout_ms != 0;
	step->wait.addresses = dad;
	step->wait.timeout_ms = (guint32)MAX(timeout_ms, dad ? 5000u : 0);
	step->wait.may_fail = !planner->policy->carrier && !dad;
}

/* ---- routes ---- */

static RdmadStep *route_put(Planner *planner, const RdmadStepRoute *route, guint32 table)
{
	RdmadStep *step = planner_step(planner, RDMAD_STEP_ROUTE, RDMAD_STEP_IN_POD);

	step->route = *route;
	step->route.link = g_strdup(planner->name);
	step->route.table = table;
	step->route.type = RDMAD_ROUTE_UNICAST;
	step->route.protocol =
		step->route.protocol ? step->route.protocol : RDMAD_ROUTE_BY_ADMINISTRATOR;
	if (!rdmad_ip_is_set(&route->gateway) && route->to.family == AF_INET && !route->scope)
		step->route.scope = RDMAD_ROUTE_SCOPE_LINK;
	step->goes_with_link = TRUE;
	return step;
}

/* Returns TRUE if a default route is requested, which then replaces the pod's. */
static gboolean takes_default(const Planner *planner)
{
	const CniAnnotationEntry *entry = planner->input->choice->entry;

	return planner->policy->default_route || (entry && entry->default_route);
}

static gboolean wants_default(const Planner *planner, int family)
{
	return takes_default(planner) || !cni_view_has_default_route(planner->input->pod, family);
}

/* The pod's default route is removed, because the kernel keeps one default route of each metric.
 * Returns whether the pod had one. */
static gboolean pod_default_remove(Planner *planner, int family)
{
	const GArray *routes = planner->input->pod->routes;
	gboolean had = FALSE;

	for (guint i = 0; i < routes->len; i++) {
		const RdmadStepRoute *route = &g_array_index(routes, CniViewRoute, i).route;
		RdmadStep *step;

		if (route->to.prefix || route->to.family != family ||
		    route->table != RDMAD_ROUTE_TABLE_MAIN)
			continue;
		step = planner_step(planner, RDMAD_STEP_ROUTE, RDMAD_STEP_IN_POD);
		step->route = *route;
		step->route.link = g_strdup(route->link);
		step->route.remove = TRUE;
		had = TRUE;
	}
	return had;
}

/* Returns whether the plan has a route to `to` in a table. */
static gboolean has_route(const Planner *planner, const RdmadIp *to, guint32 table)
{
	for (guint i = 0; i < planner->plan->steps->len; i++) {
		const RdmadStep *step = planner->plan->steps->pdata[i];

		if (step->kind == RDMAD_STEP_ROUTE && step->route.table == table &&
		    rdmad_ip_equal(&step->route.to, to))
			return TRUE;
	}
	return FALSE;
}

static RdmadIp gateway_for(const Planner *planner, int family)
{
	for (guint i = 0; i < planner->addresses->len; i++) {
		const PlannerAddress *address =
			&g_array_index(planner->addresses, PlannerAddress, i);

		if (address->ip.family == family && rdmad_ip_is_set(&address->gateway))
			return address->gateway;
	}
	return (RdmadIp){ 0 };
}

/* A gateway outside the network of its address is resolved on the link nevertheless. */
static gboolean needs_onlink(const PlannerAddress *address)
{
	return !rdmad_ip_in(&address->gateway, &address->ip) &&
	       !rdmad_ip_is_link_local(&address->gateway);
}

static gboolean gateway_needs_onlink(const Planner *planner, const RdmadIp *gateway)
{
	for (guint i = 0; i < planner->addresses->len; i++) {
		const PlannerAddress *address =
			&g_array_index(planner->addresses, PlannerAddress, i);

		if (rdmad_ip_equal(&address->gateway, gateway))
			return needs_onlink(address);
	}
	return FALSE;
}

/* Adds a route to the NIC's own table and to the main table; `table` not 0: to that table only. */
static void route_add(Planner *planner, RdmadStepRoute route, guint32 table)
{
	const guint32 own = planner->plan->table;
	gboolean replaces;

	route.to = rdmad_ip_network(&route.to);
	if (!rdmad_ip_is_set(&route.gateway))
		route.gateway = gateway_for(planner, route.to.family);
	if (rdmad_ip_is_set(&route.gateway) && gateway_needs_onlink(planner, &route.gateway))
		route.onlink = TRUE;
	if (table) {
		route_put(planner, &route, table);
		return;
	}
	if (own && !has_route(planner, &route.to, own))
		route_put(planner, &route, own);
	if ((!route.to.prefix && !wants_default(planner, route.to.family)) ||
	    has_route(planner, &route.to, RDMAD_ROUTE_TABLE_MAIN))
		return;
	replaces = !route.to.prefix && pod_default_remove(planner, route.to.family);
	/* The undo removes the route before it adds the pod's, which the kernel rejects
	 * otherwise. */
	route_put(planner, &route, RDMAD_ROUTE_TABLE_MAIN)->goes_with_link = !replaces;
}

static void ipam_routes_add(Planner *planner)
{
	const CniResult *ipam = planner->input->ipam;

	for (guint i = 0; ipam && i < ipam->routes->len; i++) {
		const CniRoute *route = &g_array_index(ipam->routes, CniRoute, i);
		const RdmadStepRoute step = {
			.to = route->to,
			.gateway = route->gateway,
			.mtu = route->mtu,
			.advmss = route->advmss,
			.metric = route->priority > 0 ? (guint32)route->priority : 0,
			.scope = route->scope > 0 ? (guint32)route->scope : 0,
		};

		route_add(planner, step, route->table > 0 ? (guint32)route->table : 0);
	}
}

static void annotation_routes_add(Planner *planner)
{
	const CniAnnotationEntry *entry = planner->input->choice->entry;

	for (guint i = 0; entry && i < entry->routes->len; i++) {
		const CniAnnotationRoute *route =
			&g_array_index(entry->routes, CniAnnotationRoute, i);

		route_add(planner, (RdmadStepRoute){ .to = route->to, .gateway = route->gateway },
			  0);
	}
}

/* Adds the requested default route if neither IPAM nor the annotation has one. */
static void default_route_add(Planner *planner)
{
	static const int families[] = { AF_INET, AF_INET6 };

	for (guint i = 0; takes_default(planner) && i < G_N_ELEMENTS(families); i++) {
		const RdmadIp gateway = gateway_for(planner, families[i]);

		if (rdmad_ip_is_set(&gateway))
			route_add(planner,
				  (RdmadStepRoute){ .to = { .family = families[i] },
						    .gateway = gateway },
				  0);
	}
}

static gboolean is_reachable(const Planner *planner, const RdmadIp *gateway)
{
	for (guint i = 0; i < planner->addresses->len; i++)
		if (rdmad_ip_in(gateway, &g_array_index(planner->addresses, PlannerAddress, i).ip))
			return TRUE;
	return rdmad_ip_is_link_local(gateway);
}

/* Copies the host's routes through the NIC, which lead to the other rails.  A pod in another
 * network than the host does not reach their gateways.  The host selects a table other than the
 * main one by rules, which the pod has only for the NIC's own table. */
static void host_routes_add(Planner *planner, gboolean of_main)
{
	const GArray *routes = planner->input->host->routes;
	const guint32 own = planner->plan->table;

	for (guint i = 0; planner->policy->routes && i < routes->len; i++) {
		const RdmadStepRoute *route = &g_array_index(routes, CniViewRoute, i).route;
		const RdmadStepRoute copy = { .to = route->to,
					      .gateway = route->gateway,
					      .metric = route->metric,
					      .mtu = route->mtu,
					      .onlink = route->onlink };

		if (g_strcmp0(route->link, planner->nic->name) != 0 ||
		    (route->table == RDMAD_ROUTE_TABLE_MAIN) != of_main ||
		    !rdmad_ip_is_set(&route->gateway) || !route->to.prefix ||
		    !planner_has_family(planner, route->to.family) ||
		    !is_reachable(planner, &route->gateway))
			continue;
		if (of_main)
			route_add(planner, copy, 0);
		else if (own && !has_route(planner, &copy.to, own))
			route_put(planner, &copy, own);
	}
}

/* ---- the NIC's own table ---- */

static guint32 table_find(const Planner *planner)
{
	guint skip = planner->input->number;
	guint32 table = (guint32)planner->input->settings->table_base;

	while (cni_view_table_is_used(planner->input->pod, table) || skip--)
		table++;
	return table;
}

static void rule_add(Planner *planner, const PlannerAddress *address)
{
	RdmadStep *step = planner_step(planner, RDMAD_STEP_RULE, RDMAD_STEP_IN_POD);

	step->rule.family = address->ip.family;
	step->rule.from = rdmad_ip_host(&address->ip);
	step->rule.table = planner->plan->table;
	step->rule.priority = (guint32)planner->input->settings->rule_priority;
}

static void connected_add(Planner *planner, const PlannerAddress *address)
{
	RdmadStepRoute route = { .to = rdmad_ip_network(&address->ip),
				 .source = rdmad_ip_host(&address->ip) };

	if (!has_route(planner, &route.to, planner->plan->table))
		route_put(planner, &route, planner->plan->table);
}

static void default_add(Planner *planner, const PlannerAddress *address)
{
	RdmadStepRoute route = { .to = { .family = address->ip.family },
				 .gateway = address->gateway,
				 .onlink = needs_onlink(address) };

	if (rdmad_ip_is_set(&address->gateway) &&
	    !has_route(planner, &route.to, planner->plan->table))
		route_put(planner, &route, planner->plan->table);
}

static void table_add(Planner *planner)
{
	if (!planner->policy->policy_routing || !planner->addresses->len)
		return;
	planner->plan->table = table_find(planner);
	for (guint i = 0; i < planner->addresses->len; i++)
		connected_add(planner, &g_array_index(planner->addresses, PlannerAddress, i));
	for (guint i = 0; i < planner->addresses->len; i++)
		default_add(planner, &g_array_index(planner->addresses, PlannerAddress, i));
	for (guint i = 0; i < planner->addresses->len; i++)
		rule_add(planner, &g_array_index(planner->addresses, PlannerAddress, i));
}

/* Copies the host's permanent entries of a NIC that moves into the pod. */
static void neighbours_add(Planner *planner)
{
	const GArray *all = planner->input->host->neighbours;

	for (guint i = 0; i < all->len; i++) {
		const RdmadStepNeighbour *neighbour = &g_array_index(all, RdmadStepNeighbour, i);
		RdmadStep *step;

		if (!planner_moves_nic(planner) ||
		    g_strcmp0(neighbour->link, planner->nic->name) != 0 ||
		    !planner_has_family(planner, neighbour->ip.family))
			continue;
		step = planner_step(planner, RDMAD_STEP_NEIGHBOUR, RDMAD_STEP_IN_POD);
		step->neighbour = *neighbour;
		step->neighbour.link = g_strdup(planner->name);
		step->goes_with_link = TRUE;
	}
}

/* Switches and neighbours may still have the entries of the pod that used the address before. */
static void announcements_add(Planner *planner)
{
	const gboolean ethernet = planner->nic->mac.length == 6;

	for (guint i = 0; planner->policy->announce && ethernet && i < planner->addresses->len;
	     i++) {
		RdmadStep *step = planner_step(planner, RDMAD_STEP_ANNOUNCE, RDMAD_STEP_IN_POD);

		step->announce.link = g_strdup(planner->name);
		step->announce.ip =
			rdmad_ip_host(&g_array_index(planner->addresses, PlannerAddress, i).ip);
		step->announce.count = ANNOUNCEMENTS;
	}
}

void planner_add_network(Planner *planner)
{
	sysctls_add(planner);
	for (guint i = 0; i < planner->addresses->len; i++)
		address_add(planner, &g_array_index(planner->addresses, PlannerAddress, i));
	up_add(planner);
	wait_add(planner);
	table_add(planner);
	ipam_routes_add(planner);
	annotation_routes_add(planner);
	default_route_add(planner);
	host_routes_add(planner, TRUE);
	host_routes_add(planner, FALSE);
	neighbours_add(planner);
	announcements_add(planner);
}
