/* SPDX-License-Identifier: Apache-2.0 */
/* Whether rdmad may configure a NIC. */
#include <string.h>

#include "nic/planner.h"

#define TYPE_UNICAST  1	   /* RTN_UNICAST */
#define TERWAY_TABLE  1000 /* plus the index of the interface: plugin/driver/utils of Terway */
#define TERWAY_IPVLAN "ipvl_"

gboolean erdma_route_is_default(const RdmadRoute *route)
{
	return route->to.prefix == 0 && route->table == RDMAD_ROUTE_TABLE_MAIN &&
	       route->type == TYPE_UNICAST;
}

gboolean erdma_route_is_of(const RdmadRoute *route, int ifindex)
{
	return route->n_hops == 1 && route->hops[0].ifindex == ifindex;
}

/* ---- other managers ---- */

static gboolean is_excluded(const ErdmaPlanInput *in, const RdmadLink *link)
{
	const char *const names[] = { link->name, in->match->device, link->mac, in->match->pci };

	for (char **pattern = in->settings->exclude; pattern && *pattern; pattern++)
		if (erdma_nic_is_named(*pattern, names, G_N_ELEMENTS(names)))
			return TRUE;
	return FALSE;
}

/* Terway has a table for the interface, with or without rules, or an ipvlan for its pods. */
static gboolean is_of_terway(const ErdmaView *view, const RdmadLink *link)
{
	const guint table = TERWAY_TABLE + (guint)link->ifindex;

	for (guint i = 0; i < view->rules->len; i++) {
		const RdmadRule *rule = view->rules->pdata[i];

		if (rule->table == table && rule->protocol != ERDMA_PROTOCOL)
			return TRUE;
	}
	for (guint i = 0; i < view->routes->len; i++) {
		const RdmadRoute *route = view->routes->pdata[i];

		if (route->table == table && erdma_route_is_of(route, link->ifindex) &&
		    route->protocol != ERDMA_PROTOCOL)
			return TRUE;
	}
	for (guint i = 0; i < view->links->len; i++) {
		const RdmadLink *other = view->links->pdata[i];

		if (other->parent == link->ifindex && g_strcmp0(other->kind, "ipvlan") == 0 &&
		    g_str_has_prefix(other->name, TERWAY_IPVLAN))
			return TRUE;
	}
	return FALSE;
}

static gboolean is_foreign(const ErdmaView *view, const RdmadLink *link, char **reason)
{
	const RdmadLink *master = link->master ? erdma_view_link(view, link->master) : NULL;

	if (link->master)
		*reason =
			g_strdup_printf("it is part of %s", master ? master->name : "another link");
	else if (is_of_terway(view, link))
		*reason =
			g_strdup("Terway uses it: exclude it from Terway by an ENI filter, or here "
				 "by nics.exclude");
	return *reason != NULL;
}

/* ---- the primary NIC ---- */

#define NO_ROUTE G_MAXUINT64

static gboolean is_managed(const ErdmaPlanInput *in, int ifindex)
{
	for (guint i = 0; i < in->managed->len; i++)
		if (g_array_index(in->managed, int, i) == ifindex)
			return TRUE;
	return FALSE;
}

/* Returns the lowest metric of the default routes, not made by rdmad, of one link, or of all others
 * that rdmad does not manage: a DHCP client may add such a route to a managed NIC. */
static guint64 default_metric(const ErdmaPlanInput *in, int ifindex, gboolean others)
{
	guint64 lowest = NO_ROUTE;

	for (guint i = 0; i < in->view->routes->len; i++) {
		const RdmadRoute *route = in->view->routes->pdata[i];

		if (!erdma_route_is_default(route) || route->protocol == ERDMA_PROTOCOL)
			continue;
		for (guint hop = 0; hop < route->n_hops; hop++) {
			const int of = route->hops[hop].ifindex;

			if (others ? of != ifindex && !is_managed(in, of) : of == ifindex)
				lowest = MIN(lowest, route->metric);
		}
	}
	return lowest;
}

static gboolean default_is_first(const ErdmaPlanInput *in, int ifindex)
{
	const guint64 own = default_metric(in, ifindex, FALSE);

	return own != NO_ROUTE && own <= default_metric(in, ifindex, TRUE);
}

static gboolean may_ask(const ErdmaPlanInput *in)
{
	return !in->metadata_failed && (in->settings->address_from == ERDMA_ADDRESS_AUTO ||
					in->settings->address_from == ERDMA_ADDRESS_METADATA);
}

/* Returns whether both the link and another eRDMA NIC, whose default route takes precedence, may be
 * the primary one. */
static gboolean has_rival(const ErdmaPlanInput *in, int ifindex)
{
	if (default_metric(in, ifindex, FALSE) == NO_ROUTE)
		return FALSE;
	for (guint i = 0; i < in->matches->len; i++) {
		const ErdmaMatch *match = in->matches->pdata[i];

		if (match->ifindex && match->ifindex != ifindex &&
		    !is_managed(in, match->ifindex) && default_is_first(in, match->ifindex))
			return TRUE;
	}
	return FALSE;
}

/* Judges a NIC by its default route: the primary NIC's takes precedence.  A route that does may
 * also come from a DHCP client, so such a NIC counts as the primary one until the settings or the
 * metadata service name that. */
static ErdmaNicState judge_by_default_route(const ErdmaPlanInput *in, const RdmadLink *link,
					    char **reason)
{
	const gboolean is_first = default_is_first(in, link->ifindex);
	const gboolean others_have_route = default_metric(in, link->ifindex, TRUE) != NO_ROUTE;
	const gboolean is_behind = !is_first && others_have_route;

	if (is_behind && !has_rival(in, link->ifindex))
		return ERDMA_NIC_READY;
	if (is_first && !others_have_route) {
		*reason = g_strdup("it has the only default route");
		return ERDMA_NIC_PRIMARY;
	}
	if (may_ask(in)) {
		*reason = g_strdup("the primary NIC is not known yet");
		return ERDMA_NIC_METADATA;
	}
	if (is_behind)
		return ERDMA_NIC_READY;
	if (is_first) {
		*reason = g_strdup("its default route is the first of several: name the primary "
				   "NIC by nics.primary if it is another one");
		return ERDMA_NIC_PRIMARY;
	}
	*reason = g_strdup("no interface has a default route, so the primary NIC is not known: "
			   "name it by nics.primary, or \"none\"");
	return ERDMA_NIC_REFUSED;
}

static gboolean has_mac(const RdmadLink *link, const RdmadMac *mac)
{
	RdmadMac own;

	return link->mac && rdmad_mac_parse(link->mac, &own) && rdmad_mac_equal(&own, mac);
}

/* A MAC that no link has comes from the machine of which this one is a copy. */
static gboolean mac_is_present(const ErdmaView *view, const RdmadMac *mac)
{
	for (guint i = 0; i < view->links->len && mac->length; i++)
		if (has_mac(view->links->pdata[i], mac))
			return TRUE;
	return FALSE;
}

/* Returns FALSE if no primary NIC is named, or no link has that name. */
static gboolean primary_is_named(const ErdmaPlanInput *in, const RdmadLink *link, gboolean *is_it)
{
	const char *name = in->settings->primary;
	const RdmadLink *named;

	*is_it = FALSE;
	if (name) {
		named = erdma_view_link_named(in->view, name);
		*is_it = named && named->ifindex == link->ifindex;
		if (named || g_str_equal(name, "none"))
			return TRUE;
	}
	*is_it = has_mac(link, &in->primary_mac);
	return mac_is_present(in->view, &in->primary_mac);
}

gboolean erdma_nic_is_primary(const ErdmaPlanInput *in, const RdmadLink *link)
{
	gboolean is_it;

	if (primary_is_named(in, link, &is_it))
		return is_it;
	return !is_managed(in, link->ifindex) && default_is_first(in, link->ifindex);
}

static ErdmaNicState judge(const ErdmaPlanInput *in, const RdmadLink *link, char **reason)
{
	const ErdmaNicAddresses *entry = erdma_nic_static(in->settings, in->match);
	gboolean is_it;

	if (primary_is_named(in, link, &is_it)) {
		if (is_it)
			*reason = g_strdup("it is the primary NIC");
		return is_it ? ERDMA_NIC_PRIMARY : ERDMA_NIC_READY;
	}
	if (in->done || (entry && entry->addresses->len))
		return ERDMA_NIC_READY;
	return judge_by_default_route(in, link, reason);
}

ErdmaNicState erdma_plan_owner(const ErdmaPlanInput *in, const RdmadLink *link, char **reason)
{
	if (!in->settings->manage) {
		*reason = g_strdup("nics.manage is false");
		return ERDMA_NIC_EXCLUDED;
	}
	if (is_excluded(in, link)) {
		*reason = g_strdup("nics.exclude names it");
		return ERDMA_NIC_EXCLUDED;
	}
	return is_foreign(in->view, link, reason) ? ERDMA_NIC_FOREIGN : judge(in, link, reason);
}
