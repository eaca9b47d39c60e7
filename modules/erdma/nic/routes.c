/* SPDX-License-Identifier: Apache-2.0 */
/* Routes and rules of one NIC. */
#include <linux/if_addr.h>
#include <string.h>
#include <sys/socket.h>

#include "nic/planner.h"

/* ---- metrics ---- */

static gboolean leads_to(const RdmadRoute *route, const RdmadIp *to)
{
	if (route->family != to->family || route->table != RDMAD_ROUTE_TABLE_MAIN ||
	    route->type != RDMAD_ROUTE_UNICAST)
		return FALSE;
	return to->prefix ? rdmad_ip_equal(&route->to, to) : erdma_route_is_default(route);
}

/* A route of another NIC of this module: the order of the two does not matter.  The primary NIC,
 * which may have an eRDMA device too, is none. */
static gboolean is_of_own_nic(const Planner *planner, const RdmadRoute *route)
{
	const ErdmaPlanInput *in = planner->in;

	if (route->protocol == ERDMA_PROTOCOL)
		return TRUE;
	for (guint i = 0; i < in->matches->len; i++) {
		const ErdmaMatch *match = in->matches->pdata[i];
		const RdmadLink *link =
			match->ifindex ? erdma_view_link(in->view, match->ifindex) : NULL;

		if (link && erdma_route_is_of(route, link->ifindex))
			return !erdma_nic_is_primary(in, link);
	}
	return FALSE;
}

/* Returns whether a route of this metric comes after those of others.  `base`: the lowest metric
 * allowed. */
static gboolean metric_is_valid(const Planner *planner, const RdmadIp *to, guint32 metric,
				guint32 base)
{
	const ErdmaView *view = planner->in->view;

	if (metric < base)
		return FALSE;
	for (guint i = 0; i < view->routes->len; i++) {
		const RdmadRoute *route = view->routes->pdata[i];

		if (!leads_to(route, to) || erdma_route_is_of(route, planner->link->ifindex))
			continue;
		if (is_of_own_nic(planner, route) ? route->metric == metric
						  : route->metric >= metric)
			return FALSE;
	}
	return TRUE;
}

/* Returns the lowest metric that comes after the routes of others. */
static guint64 metric_of_others(const Planner *planner, const RdmadIp *to)
{
	const ErdmaView *view = planner->in->view;
	guint64 highest = 0;

	for (guint i = 0; i < view->routes->len; i++) {
		const RdmadRoute *route = view->routes->pdata[i];

		if (leads_to(route, to) && !erdma_route_is_of(route, planner->link->ifindex) &&
		    !is_of_own_nic(planner, route))
			highest = MAX(highest, (guint64)route->metric + 1);
	}
	return highest;
}

static gboolean metric_is_taken(const Planner *planner, const RdmadIp *to, guint64 metric)
{
	const ErdmaView *view = planner->in->view;

	for (guint i = 0; i < view->routes->len; i++) {
		const RdmadRoute *route = view->routes->pdata[i];

		if (leads_to(route, to) && route->metric == metric &&
		    !erdma_route_is_of(route, planner->link->ifindex))
			return TRUE;
	}
	return FALSE;
}

/* The lowest free metric is used, so that a repaired NIC gets its old metric again, which would
 * otherwise grow with each repair. */
gboolean erdma_plan_metric(Planner *planner, const RdmadIp *to, guint32 *metric)
{
	guint64 next = MAX((guint64)planner->in->settings->metric, metric_of_others(planner, to));
	char text[RDMAD_IP_TEXT];

	while (metric_is_taken(planner, to, next))
		next++;
	*metric = (guint32)next;
	if (next <= G_MAXUINT32)
		return TRUE;
	planner->plan->state = ERDMA_NIC_REFUSED;
	planner->plan->reason = g_strdup_printf("a route to %s has the highest metric there is",
						rdmad_ip_text(to, TRUE, text));
	return FALSE;
}

/* ---- steps ---- */

static void route_fill(const Planner *planner, RdmadStep *step, const RdmadIp *to, guint32 table)
{
	step->route.link = g_strdup(planner->link->name);
	step->route.to = *to;
	step->route.table = table;
	step->route.type = RDMAD_ROUTE_UNICAST;
	step->route.protocol = ERDMA_PROTOCOL;
}

/* The step has every attribute that distinguishes the route from its replacement. */
static void route_remove(Planner *planner, const RdmadRoute *route)
{
	RdmadStep *step = erdma_plan_last(planner, RDMAD_STEP_ROUTE);
	RdmadIp to = route->to;

	to.family = route->family;
	route_fill(planner, step, &to, route->table);
	step->route.gateway = route->hops[0].gateway;
	step->route.metric = route->metric;
	step->route.protocol = route->protocol;
	step->route.remove = TRUE;
}

/* A gateway outside all networks is resolved on the link nevertheless. */
static gboolean needs_onlink(const ErdmaNicNetwork *wanted, const RdmadIp *gateway)
{
	for (guint i = 0; i < wanted->addresses->len; i++)
		if (rdmad_ip_in(gateway, &g_array_index(wanted->addresses, RdmadIp, i)))
			return FALSE;
	return !rdmad_ip_is_link_local(gateway);
}

static void gateway_fill(const Planner *planner, RdmadStep *step, const RdmadIp *gateway)
{
	step->route.gateway = *gateway;
	step->route.onlink = needs_onlink(planner->plan->wanted, gateway);
}

/* ---- the network of an address ---- */

/* Returns NULL if the network has no route. */
static const RdmadRoute *prefix_route(const Planner *planner, const RdmadIp *network)
{
	const ErdmaView *view = planner->in->view;

	for (guint i = 0; i < view->routes->len; i++) {
		const RdmadRoute *route = view->routes->pdata[i];

		if (leads_to(route, network) && !route->hops[0].gateway.family &&
		    erdma_route_is_of(route, planner->link->ifindex))
			return route;
	}
	return NULL;
}

/* The kernel adds the route with the new metric before it removes the old one. */
static gboolean prefix_set_by_address(Planner *planner, const RdmadAddress *address,
				      const RdmadIp *network)
{
	RdmadStep *step;
	guint32 metric;

	if (!erdma_plan_metric(planner, network, &metric))
		return FALSE;
	step = erdma_plan_step(planner, RDMAD_STEP_ADDRESS);
	step->address.link = g_strdup(planner->link->name);
	step->address.ip = address->ip;
	step->address.peer = address->peer;
	step->address.broadcast = address->broadcast;
	step->address.flags = address->flags;
	step->address.scope = address->scope;
	step->address.valid_s = address->valid_s;
	step->address.preferred_s = address->preferred_s;
	step->address.metric = metric;
	return TRUE;
}

/* `old`: the route to replace, or NULL. */
static gboolean prefix_set_by_route(Planner *planner, const RdmadIp *ip, const RdmadIp *network,
				    const RdmadRoute *old)
{
	RdmadStep *step;
	guint32 metric;

	if (!erdma_plan_metric(planner, network, &metric))
		return FALSE;
	step = erdma_plan_step(planner, RDMAD_STEP_ROUTE);
	route_fill(planner, step, network, RDMAD_ROUTE_TABLE_MAIN);
	step->route.scope = ip->family == AF_INET ? RDMAD_ROUTE_SCOPE_LINK : 0;
	step->route.source = rdmad_ip_host(ip);
	step->route.metric = metric;
	if (old)
		route_remove(planner, old);
	return TRUE;
}

static gboolean prefix_is_valid(const Planner *planner, const RdmadIp *network, guint32 metric,
				gboolean ours)
{
	const ErdmaNicSettings *settings = planner->in->settings;

	return (!ours && !settings->lower_routes) ||
	       metric_is_valid(planner, network, metric, ours ? (guint32)settings->metric : 0);
}

gboolean erdma_plan_prefix(Planner *planner, const RdmadAddress *address)
{
	const gboolean ours = erdma_nic_network_set(planner->in->done, &address->ip);
	const gboolean by_kernel = !(address->flags & IFA_F_NOPREFIXROUTE);
	const RdmadIp network = rdmad_ip_network(&address->ip);
	const RdmadRoute *route = prefix_route(planner, &network);

	/* A host address has no network route; the kernel adds the route of a link that is down
	 * with the link. */
	if (network.prefix == rdmad_ip_bits(&network) || address->peer.family)
		return TRUE;
	if (!route && !planner->link->up)
		return !by_kernel || prefix_is_valid(planner, &network, address->metric, ours) ||
		       prefix_set_by_address(planner, address, &network);
	if (!route)
		return prefix_set_by_route(planner, &address->ip, &network, NULL);
	if (prefix_is_valid(planner, &network, route->metric, ours))
		return TRUE;
	return by_kernel && route->protocol == RDMAD_ROUTE_BY_KERNEL
		       ? prefix_set_by_address(planner, address, &network)
		       : prefix_set_by_route(planner, &address->ip, &network, route);
}

/* ---- the default route ---- */

typedef struct {
	const RdmadRoute *own;	    /* made by rdmad, with a valid metric */
	const RdmadRoute *first;    /* of others, with precedence over another interface's */
	gboolean has_valid_foreign; /* a route of others may stay */
	gboolean has_other;	    /* another interface has a default route */
} Defaults;

static gboolean is_foreign_valid(const Planner *planner, const RdmadRoute *route, const RdmadIp *to)
{
	return !planner->in->settings->lower_routes ||
	       metric_is_valid(planner, to, route->metric, 0);
}

static Defaults defaults_find(Planner *planner, const RdmadIp *to)
{
	const ErdmaView *view = planner->in->view;
	const guint32 base = (guint32)planner->in->settings->metric;
	Defaults found = { 0 };

	for (guint i = 0; i < view->routes->len; i++) {
		const RdmadRoute *route = view->routes->pdata[i];

		if (!leads_to(route, to))
			continue;
		if (!erdma_route_is_of(route, planner->link->ifindex))
			found.has_other |= route->protocol != ERDMA_PROTOCOL;
		else if (route->protocol == ERDMA_PROTOCOL && !found.own &&
			 metric_is_valid(planner, to, route->metric, base))
			found.own = route;
		else if (route->protocol != ERDMA_PROTOCOL && is_foreign_valid(planner, route, to))
			found.has_valid_foreign = TRUE;
		else if (route->protocol != ERDMA_PROTOCOL && !found.first)
			found.first = route;
	}
	return found;
}

/* Removes routes with precedence over another interface's, and older ones of rdmad. */
static void defaults_remove(Planner *planner, const RdmadIp *to, const Defaults *found,
			    gboolean wanted)
{
	const ErdmaView *view = planner->in->view;

	for (guint i = 0; i < view->routes->len; i++) {
		const RdmadRoute *route = view->routes->pdata[i];
		const gboolean ours = route->protocol == ERDMA_PROTOCOL;

		if (!leads_to(route, to) || !erdma_route_is_of(route, planner->link->ifindex) ||
		    (wanted && route == found->own))
			continue;
		if (ours || (found->has_other && !is_foreign_valid(planner, route, to)))
			route_remove(planner, route);
		else if (!is_foreign_valid(planner, route, to) && !planner->plan->note)
			planner->plan->note =
				g_strdup("its default route is the only one, and stays");
	}
}

static gboolean default_set(Planner *planner, const RdmadIp *to, const RdmadIp *gateway,
			    const RdmadRoute *own)
{
	RdmadStep *step;
	guint32 metric = own ? own->metric : 0;

	if (own && rdmad_ip_equal(&own->hops[0].gateway, gateway))
		return TRUE;
	if (!own && !erdma_plan_metric(planner, to, &metric))
		return FALSE;
	step = erdma_plan_step(planner, RDMAD_STEP_ROUTE);
	route_fill(planner, step, to, RDMAD_ROUTE_TABLE_MAIN);
	gateway_fill(planner, step, gateway);
	step->route.metric = metric;
	step->route.replace = own != NULL;
	return TRUE;
}

gboolean erdma_plan_default(Planner *planner, int family)
{
	const RdmadIp to = { .family = family };
	const RdmadIp *wanted = &planner->plan->wanted->gateway[family == AF_INET6];
	const Defaults found = defaults_find(planner, &to);
	/* A lowered route is replaced by one after the others. */
	const gboolean lowers = found.first && found.has_other;
	const RdmadIp *gateway = wanted->family ? wanted
				 : lowers	? &found.first->hops[0].gateway
						: NULL;
	const gboolean is_wanted = gateway && gateway->family && !found.has_valid_foreign &&
				   (planner->in->settings->default_route || lowers);

	if (is_wanted && !default_set(planner, &to, gateway, found.own))
		return FALSE;
	defaults_remove(planner, &to, &found, is_wanted);
	return TRUE;
}

/* ---- the NIC's own table and rules ---- */

static guint32 policy_table(const Planner *planner)
{
	return (guint32)planner->in->settings->table_base + (guint32)planner->link->ifindex;
}

static gboolean policy_route_is(const RdmadRoute *route, const RdmadIp *to, const RdmadIp *gateway)
{
	return route->family == to->family && route->to.prefix == to->prefix &&
	       (!to->prefix || rdmad_ip_equal(&route->to, to)) &&
	       rdmad_ip_equal(&route->hops[0].gateway, gateway);
}

static gboolean has_policy_route(const Planner *planner, const RdmadIp *to, const RdmadIp *gateway)
{
	const ErdmaView *view = planner->in->view;

	for (guint i = 0; i < view->routes->len; i++) {
		const RdmadRoute *route = view->routes->pdata[i];

		if (route->table == policy_table(planner) &&
		    erdma_route_is_of(route, planner->link->ifindex) &&
		    policy_route_is(route, to, gateway))
			return TRUE;
	}
	return FALSE;
}

static void policy_route(Planner *planner, const RdmadIp *to, const RdmadIp *gateway,
			 const RdmadIp *source)
{
	RdmadStep *step;

	if (has_policy_route(planner, to, gateway))
		return;
	step = erdma_plan_step(planner, RDMAD_STEP_ROUTE);
	route_fill(planner, step, to, policy_table(planner));
	if (gateway->family)
		gateway_fill(planner, step, gateway);
	else if (to->family == AF_INET)
		step->route.scope = RDMAD_ROUTE_SCOPE_LINK;
	step->route.source = rdmad_ip_host(source);
	/* A route to another gateway may exist. */
	step->route.replace = to->family == AF_INET;
}

static void rule_fill(RdmadStep *step, const Planner *planner, const RdmadIp *from)
{
	step->rule.family = from->family;
	step->rule.priority = (guint32)planner->in->settings->rule_priority;
	step->rule.table = policy_table(planner);
	step->rule.from = rdmad_ip_host(from);
	step->rule.protocol = ERDMA_PROTOCOL;
}

static gboolean rule_is(const RdmadRule *rule, const Planner *planner, const RdmadIp *from)
{
	const RdmadIp host = rdmad_ip_host(from);

	return rule->table == policy_table(planner) &&
	       rule->priority == (guint)planner->in->settings->rule_priority &&
	       rdmad_ip_equal(&rule->from, &host);
}

static void policy_rule(Planner *planner, const RdmadIp *from)
{
	const GPtrArray *rules = planner->in->view->rules;

	for (guint i = 0; i < rules->len; i++)
		if (rule_is(rules->pdata[i], planner, from))
			return;
	rule_fill(erdma_plan_step(planner, RDMAD_STEP_RULE), planner, from);
}

static gboolean rule_is_wanted(const Planner *planner, const RdmadRule *rule)
{
	const GArray *addresses = planner->plan->wanted->addresses;

	for (guint i = 0; i < addresses->len && planner->in->settings->policy_routing; i++)
		if (rule_is(rule, planner, &g_array_index(addresses, RdmadIp, i)))
			return TRUE;
	return FALSE;
}

/* A rule is removed before the table that it selects. */
static void policy_remove(Planner *planner)
{
	const ErdmaView *view = planner->in->view;

	for (guint i = 0; i < view->rules->len; i++) {
		const RdmadRule *rule = view->rules->pdata[i];
		RdmadStep *step;

		if (rule->protocol != ERDMA_PROTOCOL || rule->table != policy_table(planner) ||
		    rule_is_wanted(planner, rule))
			continue;
		step = erdma_plan_last(planner, RDMAD_STEP_RULE);
		rule_fill(step, planner, &rule->from);
		step->rule.priority = rule->priority;
		step->rule.remove = TRUE;
	}
	for (guint i = 0; i < view->routes->len && !planner->in->settings->policy_routing; i++) {
		const RdmadRoute *route = view->routes->pdata[i];

		if (route->protocol == ERDMA_PROTOCOL && route->table == policy_table(planner) &&
		    erdma_route_is_of(route, planner->link->ifindex))
			route_remove(planner, route);
	}
}

void erdma_plan_policy(Planner *planner)
{
	const ErdmaNicNetwork *wanted = planner->plan->wanted;
	const RdmadIp none = { 0 };

	for (guint i = 0; i < wanted->addresses->len && planner->in->settings->policy_routing;
	     i++) {
		const RdmadIp *ip = &g_array_index(wanted->addresses, RdmadIp, i);
		const RdmadIp *gateway = &wanted->gateway[ip->family == AF_INET6];
		const RdmadIp network = rdmad_ip_network(ip), anywhere = { .family = ip->family };

		policy_route(planner, &network, &none, ip);
		if (gateway->family)
			policy_route(planner, &anywhere, gateway, ip);
		policy_rule(planner, ip);
	}
	policy_remove(planner);
}
