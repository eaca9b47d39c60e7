/* SPDX-License-Identifier: Apache-2.0 */
#include "nic/view.h"

#include <sys/socket.h>

#define TABLE_LOCAL 255

static void link_clear(gpointer link)
{
	rdmad_link_free(link);
}

ErdmaView *erdma_view_new(void)
{
	ErdmaView *view = g_new0(ErdmaView, 1);

	view->links = g_ptr_array_new_with_free_func(link_clear);
	view->addresses = g_ptr_array_new_with_free_func(g_free);
	view->routes = g_ptr_array_new_with_free_func(g_free);
	view->rules = g_ptr_array_new_with_free_func(g_free);
	return view;
}

void erdma_view_free(gpointer data)
{
	ErdmaView *view = data;

	if (!view)
		return;
	g_ptr_array_unref(view->links);
	g_ptr_array_unref(view->addresses);
	g_ptr_array_unref(view->routes);
	g_ptr_array_unref(view->rules);
	g_free(view);
}

/* ---- reading ---- */

/* Takes ownership of `list`.  Returns FALSE if it is NULL. */
static gboolean list_take(GPtrArray *into, GPtrArray *list)
{
	if (!list)
		return FALSE;
	g_ptr_array_extend_and_steal(into, list);
	return TRUE;
}

static gboolean routes_take(ErdmaView *view, RdmadNetwork *net, int family, GError **error)
{
	g_autoptr(GPtrArray) all = rdmad_routes_list(net, family, 0, 0, error);

	for (guint i = 0; all && i < all->len; i++) {
		RdmadRoute *route = all->pdata[i];

		if (route->table != TABLE_LOCAL)
			g_ptr_array_add(view->routes, g_memdup2(route, sizeof(*route)));
	}
	return all != NULL;
}

gpointer erdma_view_look(gpointer input, const RdmadJob *job, GError **error)
{
	static const int families[] = { AF_INET, AF_INET6 };
	g_autoptr(RdmadNetwork) net = rdmad_network_open(0, error);
	g_autoptr(ErdmaView) view = erdma_view_new();

	if (!net || !list_take(view->links, rdmad_links_list(net, error)) ||
	    !list_take(view->addresses, rdmad_addresses_list(net, 0, error)))
		return NULL;
	for (guint i = 0; i < G_N_ELEMENTS(families); i++)
		if (!routes_take(view, net, families[i], error) ||
		    !list_take(view->rules, rdmad_rules_list(net, families[i], error)))
			return NULL;
	return g_steal_pointer(&view);
}

/* ---- lookup ---- */

const RdmadLink *erdma_view_link(const ErdmaView *view, int ifindex)
{
	for (guint i = 0; i < view->links->len; i++) {
		const RdmadLink *link = view->links->pdata[i];

		if (link->ifindex == ifindex)
			return link;
	}
	return NULL;
}

static gboolean link_is_named(const RdmadLink *link, const char *name)
{
	return g_str_equal(link->name, name) ||
	       (link->altnames && g_strv_contains((const char *const *)link->altnames, name)) ||
	       (link->mac && g_ascii_strcasecmp(link->mac, name) == 0);
}

const RdmadLink *erdma_view_link_named(const ErdmaView *view, const char *name)
{
	for (guint i = 0; i < view->links->len; i++)
		if (link_is_named(view->links->pdata[i], name))
			return view->links->pdata[i];
	return NULL;
}
