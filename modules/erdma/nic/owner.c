/* SPDX-License-Identifier: Apache-2.0 */
/* Whose NIC it is. */
#include <string.h>

#include "nic/planner.h"

#define TYPE_UNICAST	1    /* RTN_UNICAST */
#define TERWAY_TABLE	1000 /* and the index of the interface: plugin/driver/utils of Terway */
#define TERWAY_IPVLAN	"ipvl_"

gboolean erdma_route_is_default(const RdmadRoute *route)
{
	return route->to.prefix == 0 && route->table == RDMAD_ROUTE_TABLE_MAIN &&
	       route->type == TYPE_UNICAST;
}

gboolean erdma_route_is_of(const RdmadRoute *route, int ifindex)
{
	return route->n_hops == 1 && route->hops[0].ifindex == ifindex;
}

/* ---- somebody else's ---- */

static gboolean is_excluded(const ErdmaPlanInput *in, const RdmadLink *link)
{
	const char *const names[] = { link->name, in->match->device, link->mac, in->match->pci };

	for (char **pattern = in->settings->exclude; pattern && *pattern; pattern++)
		if (erdma_nic_is_named(*pattern, names, G_N_ELEMENTS(names)))
			return TRUE;
	return FALSE;
}

/* A table of the interface's own, with or without rules to it, or an ipvlan for its pods. */
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
		*reason = g_strdup_printf("it is part of %s", master ? master->name : "another link");
	else if (is_of_terway(view, link))
		*reason = g_strdup("Terway uses it: exclude it from Terway by an ENI filter, or here "
				   "by nics.exclude");
	return *reason != NULL;
}

/* ---- the primary NIC ---- */

static gboolean has_default_route(const ErdmaView *view, int ifindex)
{
	for (guint i = 0; i < view->routes->len; i++) {
		const RdmadRoute *route = view->routes->pdata[i];

		if (!erdma_route_is_default(route) || route->protocol == ERDMA_PROTOCOL)
			continue;
		for (guint hop = 0; hop < route->n_hops; hop++)
			if (!ifindex || route->hops[hop].ifindex == ifindex)
				return TRUE;
	}
	return FALSE;
}

/* Another one than the link's own. */
static const RdmadLink *other_with_default_route(const ErdmaView *view, const RdmadLink *link)
{
	for (guint i = 0; i < view->links->len; i++) {
		const RdmadLink *other = view->links->pdata[i];

		if (other->ifindex != link->ifindex && has_default_route(view, other->ifindex))
			return other;
	}
	return NULL;
}

static gboolean may_ask(const ErdmaPlanInput *in)
{
	return !in->metadata_failed && (in->settings->address_from == ERDMA_ADDRESS_AUTO ||
					in->settings->address_from == ERDMA_ADDRESS_METADATA);
}

/* By its default route.  One that nobody can tell from the primary NIC counts as such. */
static ErdmaNicState judge_by_route(const ErdmaPlanInput *in, const RdmadLink *link, char **reason)
{
	const RdmadLink *other = other_with_default_route(in->view, link);
	const gboolean has_one = has_default_route(in->view, link->ifindex);

	if (!has_one && other)
		return ERDMA_NIC_READY;
	if (has_one && !other) {
		*reason = g_strdup("it has the only default route");
		return ERDMA_NIC_PRIMARY;
	}
	if (may_ask(in)) {
		*reason = g_strdup("the primary NIC is not known yet");
		return ERDMA_NIC_METADATA;
	}
	if (!has_one) {
		*reason = g_strdup("no interface has a default route, so the primary NIC is not "
				   "known: name it by nics.primary, or \"none\"");
		return ERDMA_NIC_REFUSED;
	}
	*reason = g_strdup_printf("it has a default route as %s has: name the primary NIC by "
				  "nics.primary",
				  other->name);
	return ERDMA_NIC_PRIMARY;
}

/* FALSE: nobody named it, or there is none of that name. */
static gboolean primary_is_named(const ErdmaPlanInput *in, const RdmadLink *link, gboolean *is_it)
{
	const char *name = in->settings->primary;
	const RdmadLink *named;
	RdmadMac mac = { 0 };

	*is_it = FALSE;
	if (name) {
		named = erdma_view_link_named(in->view, name);
		*is_it = named && named->ifindex == link->ifindex;
		if (named || g_str_equal(name, "none"))
			return TRUE;
	}
	if (!in->primary_mac.length)
		return FALSE;
	*is_it = link->mac && rdmad_mac_parse(link->mac, &mac) &&
		 rdmad_mac_equal(&mac, &in->primary_mac);
	return TRUE;
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
	return judge_by_route(in, link, reason);
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
