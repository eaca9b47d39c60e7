/* SPDX-License-Identifier: Apache-2.0 */
#include "view.h"

#include <linux/if_addr.h>
#include <sys/socket.h>

static void link_clear(gpointer data)
{
	CniViewLink *link = data;

	g_free(link->name);
	g_strfreev(link->altnames);
	g_free(link->kind);
	g_free(link->pci);
	g_free(link->parent_device);
}

static void route_clear(gpointer data)
{
	g_free(((CniViewRoute *)data)->route.link);
}

static void rule_clear(gpointer data)
{
	RdmadStepRule *rule = data;

	g_free(rule->iif);
	g_free(rule->oif);
}

static void vf_clear(gpointer data)
{
	CniViewVf *vf = data;

	g_free(vf->pf);
	g_free(vf->pci);
}

static GArray *list_new(guint size, GDestroyNotify clear)
{
	GArray *list = g_array_new(FALSE, TRUE, size);

	g_array_set_clear_func(list, clear);
	return list;
}

CniView *cni_view_new(void)
{
	CniView *view = g_new0(CniView, 1);

	view->links = list_new(sizeof(CniViewLink), link_clear);
	view->addresses = rdmad_step_addresses_new();
	view->routes = list_new(sizeof(CniViewRoute), route_clear);
	view->rules = list_new(sizeof(RdmadStepRule), rule_clear);
	view->neighbours = rdmad_step_neighbours_new();
	view->sysctls = rdmad_step_sysctls_new();
	view->vfs = list_new(sizeof(CniViewVf), vf_clear);
	return view;
}

void cni_view_free(CniView *view)
{
	if (!view)
		return;
	g_array_unref(view->links);
	g_array_unref(view->addresses);
	g_array_unref(view->routes);
	g_array_unref(view->rules);
	g_array_unref(view->neighbours);
	g_array_unref(view->sysctls);
	g_array_unref(view->vfs);
	g_free(view);
}

const CniViewLink *cni_view_link(const CniView *view, const char *name)
{
	for (guint i = 0; i < view->links->len; i++) {
		const CniViewLink *link = &g_array_index(view->links, CniViewLink, i);

		if (g_str_equal(link->name, name) ||
		    (link->altnames && g_strv_contains((const char *const *)link->altnames, name)))
			return link;
	}
	return NULL;
}

const CniViewVf *cni_view_vf(const CniView *view, const char *pci)
{
	for (guint i = 0; i < view->vfs->len; i++) {
		const CniViewVf *vf = &g_array_index(view->vfs, CniViewVf, i);

		if (g_strcmp0(vf->pci, pci) == 0)
			return vf;
	}
	return NULL;
}

const char *cni_view_sysctl(const CniView *view, const char *path)
{
	for (guint i = 0; i < view->sysctls->len; i++) {
		const RdmadStepSysctl *sysctl = &g_array_index(view->sysctls, RdmadStepSysctl, i);

		if (g_str_equal(sysctl->path, path))
			return sysctl->value;
	}
	return NULL;
}

gboolean cni_view_table_is_used(const CniView *view, guint32 table)
{
	for (guint i = 0; i < view->routes->len; i++)
		if (g_array_index(view->routes, CniViewRoute, i).route.table == table)
			return TRUE;
	for (guint i = 0; i < view->rules->len; i++)
		if (g_array_index(view->rules, RdmadStepRule, i).table == table)
			return TRUE;
	return FALSE;
}

gboolean cni_view_address_is_kept(const RdmadStepAddress *address, const char *link)
{
	return g_strcmp0(address->link, link) == 0 &&
	       !(address->ip.family == AF_INET6 &&
		 (rdmad_ip_is_link_local(&address->ip) || address->flags & IFA_F_TEMPORARY));
}

static gboolean gateway_serves(const RdmadIp *gateway, const RdmadIp *ip)
{
	return gateway->family == ip->family &&
	       (rdmad_ip_in(gateway, ip) || rdmad_ip_is_link_local(gateway));
}

RdmadIp cni_view_gateway(const CniView *view, const char *link, const RdmadIp *ip)
{
	for (guint i = 0; i < view->routes->len; i++) {
		const RdmadStepRoute *route = &g_array_index(view->routes, CniViewRoute, i).route;

		if (g_strcmp0(route->link, link) == 0 && gateway_serves(&route->gateway, ip))
			return route->gateway;
	}
	return (RdmadIp){ 0 };
}

static gboolean is_default_route(const RdmadStepRoute *route, int family)
{
	return route->to.family == family && route->to.prefix == 0 &&
	       route->table == RDMAD_ROUTE_TABLE_MAIN;
}

gboolean cni_view_has_default_route(const CniView *view, int family)
{
	for (guint i = 0; i < view->routes->len; i++)
		if (is_default_route(&g_array_index(view->routes, CniViewRoute, i).route, family))
			return TRUE;
	return FALSE;
}

/* The other links that move into the pod are no way out either. */
static gboolean stays(const CniView *view, const char *link)
{
	const CniViewLink *found = link ? cni_view_link(view, link) : NULL;

	return found && !found->moves;
}

gboolean cni_view_is_way_out(const CniView *view, int family, const char *link)
{
	guint64 own = G_MAXUINT64, others = G_MAXUINT64;
	gboolean advertised = FALSE, has_other = FALSE;

	for (guint i = 0; i < view->routes->len; i++) {
		const RdmadStepRoute *route = &g_array_index(view->routes, CniViewRoute, i).route;
		const gboolean is_own = g_strcmp0(route->link, link) == 0;
		const gboolean is_other = !is_own && stays(view, route->link);

		if (!is_default_route(route, route->to.family) ||
		    route->type != RDMAD_ROUTE_UNICAST)
			continue;
		has_other |= is_other;
		if (route->to.family != family)
			continue;
		if (is_other)
			others = MIN(others, route->metric);
		else if (is_own && route->protocol == RDMAD_ROUTE_BY_ADVERTISEMENT)
			advertised = TRUE;
		else if (is_own)
			own = MIN(own, route->metric);
	}
	return (own != G_MAXUINT64 && own <= others) || (advertised && !has_other);
}
