/* SPDX-License-Identifier: Apache-2.0 */
/* Mode exclusive: the NIC itself moves into the pod, with its RDMA device if the netns mode is
 * exclusive */
#include "plan/planner.h"

#include <linux/if_addr.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* The flags that a user can set, and IFA_F_DEPRECATED, which stands for a lifetime of 0; the others
 * are states. */
#define ADDRESS_FLAGS                                                                              \
	(IFA_F_NODAD | IFA_F_MANAGETEMPADDR | IFA_F_NOPREFIXROUTE | IFA_F_MCAUTOJOIN |             \
	 IFA_F_DEPRECATED)

static gboolean is_of_nic(const Planner *planner, const char *link)
{
	return g_strcmp0(link, planner->nic->name) == 0;
}

/* ---- checks ---- */

static gboolean uppers_check(const Planner *planner, GError **error)
{
	const GArray *links = planner->input->host->links;

	for (guint i = 0; i < links->len; i++) {
		const CniViewLink *link = &g_array_index(links, CniViewLink, i);

		if (link->parent == planner->nic->index && link->index != planner->nic->index)
			return cni_refuse(error, CNI_ERROR_HELD,
					  "%s (%s) of the host stands on %s, and would go with it",
					  link->name, link->kind ? link->kind : "a link",
					  planner->nic->name);
	}
	return TRUE;
}

/* The kernel and router advertisements make their routes again. */
static gboolean route_is_kept(const RdmadStepRoute *route)
{
	return route->protocol != RDMAD_ROUTE_BY_KERNEL &&
	       route->protocol != RDMAD_ROUTE_BY_ADVERTISEMENT &&
	       route->type != RDMAD_ROUTE_LOCAL && route->type != RDMAD_ROUTE_BROADCAST &&
	       route->type != RDMAD_ROUTE_MULTICAST && route->type != RDMAD_ROUTE_ANYCAST;
}

static gboolean route_check(const Planner *planner, const CniViewRoute *route, GError **error)
{
	const char *nic = planner->nic->name;
	char to[RDMAD_IP_TEXT];

	if (!route_is_kept(&route->route))
		return TRUE;
	rdmad_ip_text(&route->route.to, TRUE, to);
	if (route->hops > 1)
		return cni_refuse(error, CNI_ERROR_DEVICE,
				  "%s is one of several hops of the host's route to %s, which "
				  "could not be given back",
				  nic, to);
	return !route->partial ||
	       cni_refuse(error, CNI_ERROR_DEVICE,
			  "%s has the host's route to %s, not all attributes of which could be "
			  "given back",
			  nic, to);
}

static gboolean routes_check(const Planner *planner, GError **error)
{
	const GArray *routes = planner->input->host->routes;

	if (!planner->policy->last_way &&
	    (cni_view_is_way_out(planner->input->host, AF_INET, planner->nic->name) ||
	     cni_view_is_way_out(planner->input->host, AF_INET6, planner->nic->name)))
		return cni_refuse(
			error, CNI_ERROR_DEVICE,
			"%s has the host's default route: without it the node may be out of "
			"reach (last_way = true takes it nevertheless)",
			planner->nic->name);
	for (guint i = 0; i < routes->len; i++) {
		const CniViewRoute *route = &g_array_index(routes, CniViewRoute, i);

		if (is_of_nic(planner, route->route.link) && !route_check(planner, route, error))
			return FALSE;
	}
	return TRUE;
}

static gboolean nic_check(const Planner *planner, GError **error)
{
	const CniViewLink *nic = planner->nic;

	if (nic->master || planner->input->choice->device->bond)
		return cni_refuse(error, CNI_ERROR_DEVICE,
				  "%s is in a bond or bridge of the host, and cannot go alone",
				  nic->name);
	if (nic->kind && g_str_equal(nic->kind, "bond"))
		return cni_refuse(error, CNI_ERROR_DEVICE, "%s is a bond, and stays in the host",
				  nic->name);
	if (nic->max_mtu && planner->mtu > nic->max_mtu)
		return cni_refuse(error, CNI_ERROR_CONFIG, "mtu: %u is above the %u that %s can",
				  planner->mtu, nic->max_mtu, nic->name);
	return uppers_check(planner, error) && routes_check(planner, error);
}

/* ---- the state to restore ---- */

static GArray *addresses_of(const Planner *planner)
{
	const GArray *all = planner->input->host->addresses;
	GArray *kept = rdmad_step_addresses_new();

	for (guint i = 0; i < all->len; i++) {
		RdmadStepAddress address = g_array_index(all, RdmadStepAddress, i);

		if (!cni_view_address_is_kept(&address, planner->nic->name))
			continue;
		address.link = NULL;
		address.flags &= ADDRESS_FLAGS;
		address.label = g_strdup(address.label);
		g_array_append_val(kept, address);
	}
	return kept;
}

/* A gateway is reached by a route without a gateway, so those routes come first. */
static int gateway_compare(gconstpointer a, gconstpointer b)
{
	return rdmad_ip_is_set(&((const RdmadStepRoute *)a)->gateway) -
	       rdmad_ip_is_set(&((const RdmadStepRoute *)b)->gateway);
}

static GArray *routes_of(const Planner *planner)
{
	const GArray *all = planner->input->host->routes;
	GArray *kept = rdmad_step_routes_new();

	for (guint i = 0; i < all->len; i++) {
		RdmadStepRoute route = g_array_index(all, CniViewRoute, i).route;

		if (!is_of_nic(planner, route.link) || !route_is_kept(&route))
			continue;
		route.link = NULL;
		g_array_append_val(kept, route);
	}
	g_array_sort(kept, gateway_compare);
	return kept;
}

static GArray *neighbours_of(const Planner *planner)
{
	const GArray *all = planner->input->host->neighbours;
	GArray *kept = rdmad_step_neighbours_new();

	for (guint i = 0; i < all->len; i++) {
		RdmadStepNeighbour neighbour = g_array_index(all, RdmadStepNeighbour, i);

		if (!is_of_nic(planner, neighbour.link))
			continue;
		neighbour.link = NULL;
		g_array_append_val(kept, neighbour);
	}
	return kept;
}

/* disable_ipv6 comes first, because it makes and removes other sysctls.  addr_gen_mode may need the
 * stable_secret, which changes it. */
static int sysctl_rank(const char *path)
{
	return g_str_has_suffix(path, "/disable_ipv6")	  ? 0
	       : g_str_has_suffix(path, "/stable_secret") ? 1
							  : 2;
}

static int sysctl_compare(gconstpointer a, gconstpointer b)
{
	const char *one = ((const RdmadStepSysctl *)a)->path;
	const char *other = ((const RdmadStepSysctl *)b)->path;
	const int first = sysctl_rank(one) - sysctl_rank(other);

	return first ? first : strcmp(one, other);
}

static GArray *sysctls_of(const Planner *planner)
{
	const GArray *all = planner->input->host->sysctls;
	g_autofree char *part = g_strdup_printf("/%s/", planner->nic->name);
	GArray *kept = rdmad_step_sysctls_new();

	for (guint i = 0; i < all->len; i++) {
		const RdmadStepSysctl *sysctl = &g_array_index(all, RdmadStepSysctl, i);
		const RdmadStepSysctl copy = { .path = g_strdup(sysctl->path),
					       .value = g_strdup(sysctl->value) };

		if (g_strrstr(sysctl->path, part)) {
			g_array_append_val(kept, copy);
			continue;
		}
		g_free(copy.path);
		g_free(copy.value);
	}
	g_array_sort(kept, sysctl_compare);
	return kept;
}

/* ---- steps ---- */

/* The kernel does not move a link whose alternative name is in use in the target namespace. */
static void altnames_add(Planner *planner)
{
	for (char **name = planner->nic->altnames; name && *name; name++) {
		RdmadStep *step;

		if (!cni_view_link(planner->input->pod, *name) &&
		    !g_str_equal(*name, planner->name))
			continue;
		step = planner_step(planner, RDMAD_STEP_ALTNAME, RDMAD_STEP_IN_HOST);
		step->altname.link = g_strdup(planner->nic->name);
		step->altname.name = g_strdup(*name);
		step->altname.remove = TRUE;
	}
}

/* Long lists belong to a router, which is no NIC for a pod. */
static gboolean lists_check(const Planner *planner, const RdmadStepLinkMove *move, GError **error)
{
	const struct {
		const GArray *list;
		const char *name;
	} lists[] = { { move->addresses, "addresses" },
		      { move->routes, "routes" },
		      { move->neighbours, "permanent neighbours" },
		      { move->sysctls, "sysctls" } };

	for (guint i = 0; i < G_N_ELEMENTS(lists); i++)
		if (lists[i].list->len > RDMAD_STEP_LIST_MAX)
			return cni_refuse(error, CNI_ERROR_DEVICE,
					  "%s has %u %s: more than %u are not written down to be "
					  "given back",
					  planner->nic->name, lists[i].list->len, lists[i].name,
					  RDMAD_STEP_LIST_MAX);
	return TRUE;
}

static gboolean move_add(Planner *planner, GError **error)
{
	RdmadStep *step = planner_step(planner, RDMAD_STEP_LINK_MOVE, RDMAD_STEP_IN_HOST);
	const CniViewLink *nic = planner->nic;

	step->move.index = nic->index;
	step->move.host_name = g_strdup(nic->name);
	step->move.pod_name = g_strdup(planner->name);
	step->move.pci = g_strdup(nic->pci);
	step->move.parent_device = g_strdup(nic->parent_device);
	step->move.kind = g_strdup(nic->kind ? nic->kind : "");
	step->move.permanent_mac = nic->permanent_mac;
	step->move.parent = nic->peer;
	step->move.pod_mac = planner->mac;
	step->move.altnames = g_strdupv(nic->altnames);
	step->move.mtu = nic->mtu;
	step->move.mac = nic->mac;
	step->move.up = nic->up;
	step->move.flags = nic->flags;
	step->move.link_mode = nic->link_mode;
	step->move.xdp = nic->xdp;
	/* An undo that failed has left its mark. */
	step->move.group = nic->group == RDMAD_STEP_GROUP_AWAY ? 0 : nic->group;
	step->move.is_marked = TRUE;
	step->move.addresses = addresses_of(planner);
	step->move.routes = routes_of(planner);
	step->move.neighbours = neighbours_of(planner);
	step->move.sysctls = sysctls_of(planner);
	return lists_check(planner, &step->move, error);
}

static guint64 node_guid(const RdmadDevice *dev)
{
	g_auto(GStrv) parts = g_strsplit(dev->node_guid ? dev->node_guid : "", ":", 5);
	g_autofree char *digits = g_strjoinv(NULL, parts);

	return strtoull(digits, NULL, 16);
}

/* In shared netns mode, every namespace sees the device, which stays in place. */
static void rdma_move_add(Planner *planner)
{
	const RdmadDevice *dev = planner->input->choice->device;
	RdmadStep *step;

	if (!planner->input->rdma_exclusive || dev->index == RDMAD_UNKNOWN)
		return;
	step = planner_step(planner, RDMAD_STEP_RDMA_MOVE, RDMAD_STEP_IN_HOST);
	step->rdma.index = (guint32)dev->index;
	step->rdma.host_name = g_strdup(dev->name);
	step->rdma.node_guid = node_guid(dev);
	step->rdma.pci = g_strdup(dev->pci_address);
}

static void set_add(Planner *planner)
{
	RdmadStep *step;

	planner->result_mac = planner->mac.length ? planner->mac : planner->nic->mac;
	planner->result_mtu = planner->mtu ? planner->mtu : planner->nic->mtu;
	if (!planner->mac.length && (!planner->mtu || planner->mtu == planner->nic->mtu))
		return;
	step = planner_step(planner, RDMAD_STEP_LINK_SET, RDMAD_STEP_IN_POD);
	step->link.link = g_strdup(planner->name);
	step->link.mac = planner->mac;
	step->link.mtu = planner->mtu;
	/* The undo of the move restores both. */
	step->goes_with_link = TRUE;
}

static gboolean is_infiniband(const Planner *planner)
{
	return planner->nic->mac.length == 20;
}

gboolean plan_exclusive(Planner *planner, GError **error)
{
	const gboolean infiniband = is_infiniband(planner);

	if (!nic_check(planner, error))
		return FALSE;
	if (infiniband && planner->mac.length)
		return cni_refuse(error, CNI_ERROR_CONFIG,
				  "mac: %s is InfiniBand, whose address cannot be set",
				  planner->nic->name);
	altnames_add(planner);
	/* The interface of an InfiniBand device is made again in the namespace the device moves
	 * to. */
	if (infiniband)
		rdma_move_add(planner);
	if (!move_add(planner, error))
		return FALSE;
	if (!infiniband)
		rdma_move_add(planner);
	set_add(planner);
	return TRUE;
}
