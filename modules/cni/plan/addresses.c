/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The addresses of a NIC: from the annotation; else from the IPAM plugin; else from the runtime;
 * else, if the NIC itself moves into the pod, its own.
 */
#include "plan/planner.h"

#include <sys/socket.h>

static void address_add(Planner *planner, RdmadIp ip, RdmadIp gateway)
{
	PlannerAddress address = { ip, gateway };

	if (!rdmad_ip_is_set(&gateway) && planner->policy->routes)
		address.gateway = cni_view_gateway(planner->input->host, planner->nic->name, &ip);
	g_array_append_val(planner->addresses, address);
}

static void take_ipam(Planner *planner)
{
	const CniResult *ipam = planner->input->ipam;

	for (guint i = 0; ipam && i < ipam->ips->len; i++) {
		const CniIp *ip = &g_array_index(ipam->ips, CniIp, i);

		address_add(planner, ip->address, ip->gateway);
	}
}

static void take_list(Planner *planner, const GArray *ips)
{
	for (guint i = 0; i < ips->len; i++)
		address_add(planner, g_array_index(ips, RdmadIp, i), (RdmadIp){ 0 });
}

static void take_own(Planner *planner)
{
	const GArray *all = planner->input->host->addresses;

	for (guint i = 0; i < all->len; i++) {
		const RdmadStepAddress *address = &g_array_index(all, RdmadStepAddress, i);

		if (cni_view_address_is_kept(address, planner->nic->name))
			address_add(planner, address->ip, (RdmadIp){ 0 });
	}
}

/* A duplicate address answers in one of its places, and which one is undefined. */
static gboolean is_in_use(const Planner *planner, const CniView *view, const RdmadIp *ip,
			  const char **link)
{
	const RdmadIp host = rdmad_ip_host(ip);

	for (guint i = 0; i < view->addresses->len; i++) {
		const RdmadStepAddress *other =
			&g_array_index(view->addresses, RdmadStepAddress, i);
		const RdmadIp theirs = rdmad_ip_host(&other->ip);

		*link = other->link;
		if (rdmad_ip_equal(&host, &theirs))
			return TRUE;
	}
	return FALSE;
}

static gboolean address_check(const Planner *planner, guint index, GError **error)
{
	const PlannerAddress *address = &g_array_index(planner->addresses, PlannerAddress, index);
	const RdmadIp host = rdmad_ip_host(&address->ip);
	char text[RDMAD_IP_TEXT];
	const char *link = NULL;

	rdmad_ip_text(&host, FALSE, text);
	if (!rdmad_ip_is_unicast(&address->ip))
		return cni_refuse(error, CNI_ERROR_ADDRESS, "%s is not an interface address", text);
	for (guint i = 0; i < index; i++)
		if (rdmad_ip_equal(&g_array_index(planner->addresses, PlannerAddress, i).ip,
				   &address->ip))
			return cni_refuse(error, CNI_ERROR_ADDRESS, "%s is given twice", text);
	if (is_in_use(planner, planner->input->pod, &address->ip, &link))
		return cni_refuse(error, CNI_ERROR_ADDRESS, "%s is on %s of the pod already", text,
				  link);
	if (!planner_moves_nic(planner) &&
	    is_in_use(planner, planner->input->host, &address->ip, &link))
		return cni_refuse(error, CNI_ERROR_ADDRESS, "%s is the host's own, on %s", text,
				  link);
	if (address->ip.family == AF_INET6 && !planner->input->pod->may_have_ipv6)
		return cni_refuse(error, CNI_ERROR_ADDRESS, "%s: the pod has no IPv6", text);
	return TRUE;
}

gboolean planner_find_addresses(Planner *planner, GError **error)
{
	const CniAnnotationEntry *entry = planner->input->choice->entry;

	if (entry)
		take_list(planner, entry->ips);
	if (!planner->addresses->len)
		take_ipam(planner);
	if (!planner->addresses->len)
		take_list(planner, planner->input->request->ips);
	if (!planner->addresses->len && planner_moves_nic(planner))
		take_own(planner);
	if (!planner->addresses->len && planner->policy->addresses != CNI_ADDRESSES_NONE)
		return cni_refuse(
			error, CNI_ERROR_ADDRESS,
			"%s gets no address: the network has no ipam, the pod names none%s",
			planner->name,
			planner_moves_nic(planner) ? ", and the NIC has none itself" : "");
	for (guint i = 0; i < planner->addresses->len; i++)
		if (!address_check(planner, i, error))
			return FALSE;
	return TRUE;
}

/* A moved NIC had its entries before. */
gboolean planner_check_gids(const Planner *planner, GError **error)
{
	const CniPlanInput *input = planner->input;
	const CniGids *gids = &input->gids;
	/* The link-local address of IPv6 counts too. */
	const gboolean local = input->pod->has_ipv6 || planner_has_family(planner, AF_INET6);
	const guint needed = gids->each * (planner->addresses->len + local);

	if (planner_moves_nic(planner) || !gids->capacity || planner->nic->mac.length != 6 ||
	    gids->used + needed <= gids->capacity)
		return TRUE;
	return cni_refuse(error, CNI_ERROR_RDMA,
			  "the GID table of %s has %u entries, %u in use, and %s needs %u",
			  input->choice->device->name, gids->capacity, gids->used, planner->name,
			  needed);
}
