/* SPDX-License-Identifier: Apache-2.0 */
#include "rail.h"

#include <arpa/inet.h>
#include <rdmad/address.h>
#include <rdmad/config.h>
#include <string.h>

#include "gid.h"

/* A queue pair has 8 bits for the index. */
#define GID_INDEX_MAX 255u

static const struct {
	const char *name, *text;
} RAIL_REASONS[] = {
	[NCCL_RAIL_SELECTED] = { "selected", "selected" },
	[NCCL_RAIL_NO_NIC] = { "no-nic", "a management device, which reaches no other node" },
	[NCCL_RAIL_OTHER_PORT] = { "other-port", "another port of its device was allocated" },
	[NCCL_RAIL_NOT_GRANTED] = { "not-granted", "the container cannot open it" },
	[NCCL_RAIL_FATAL] = { "fatal", "its driver gave the device up" },
	[NCCL_RAIL_PORT_DOWN] = { "port-down", "the port is not active" },
	[NCCL_RAIL_IWARP] = { "iwarp", "iWARP: NCCL needs RoCE or InfiniBand" },
	[NCCL_RAIL_NO_VERBS] = { "link-layer", "neither Ethernet nor InfiniBand" },
	[NCCL_RAIL_DATA_DIRECT] = { "data-direct", "NCCL finds the Data Direct device itself" },
	[NCCL_RAIL_EXCLUDED] = { "excluded", "excluded by the configuration" },
	[NCCL_RAIL_OTHER_LINK_LAYER] = { "other-link-layer",
					 "not the link layer that is configured" },
	[NCCL_RAIL_STORAGE] = { "storage", "in a storage subnet" },
	[NCCL_RAIL_DEFAULT_ROUTE] = { "default-route", "its interface has the default route" },
	[NCCL_RAIL_FAR_FROM_GPU] = { "far-from-gpu", "farther from the GPUs than others" },
	[NCCL_RAIL_SAME_GID] = { "same-gid", "the same GID as another port: one bond" },
	[NCCL_RAIL_NO_GID] = { "no-gid", "no GID that can be used" },
	[NCCL_RAIL_NOT_IN_SUBSET] = { "not-in-subset", "no setting fits it and the others" },
};
G_STATIC_ASSERT(G_N_ELEMENTS(RAIL_REASONS) == NCCL_RAIL_REASONS);

static const char *const GID_REASONS[] = {
	[NCCL_GID_USABLE] = "usable",
	[NCCL_GID_NOT_V2] = "RoCE v1",
	[NCCL_GID_UNREADABLE_TYPE] = "its type cannot be read",
	[NCCL_GID_NOT_UNICAST] = "not the address of an interface",
	[NCCL_GID_LINK_LOCAL] = "link-local: not routable",
	[NCCL_GID_FOREIGN] = "address of another network namespace",
	[NCCL_GID_OTHER_FAMILY] = "not the address family that is configured",
	[NCCL_GID_OTHER_SUBNET] = "not in the subnets that are configured",
	[NCCL_GID_INDEX_TOO_LARGE] = "index above 255: a queue pair takes 8 bits",
};

const char *nccl_rail_reason_name(NcclRailReason reason)
{
	return RAIL_REASONS[reason].name;
}

const char *nccl_rail_reason_text(NcclRailReason reason)
{
	return RAIL_REASONS[reason].text;
}

const char *nccl_gid_reason_text(NcclGidReason reason)
{
	return GID_REASONS[reason];
}

/* ---- GIDs ---- */

/* Not what NCCL takes for link-local, which is fe80::/64 alone. */
static gboolean gid_is_link_local(const RdmadGid *gid)
{
	const RdmadIp ip = rdmad_ip_of_gid(gid->raw);

	return rdmad_ip_is_link_local(&ip);
}

static gboolean family_fits(const NcclPolicy *policy, int family)
{
	switch (policy->family) {
	case NCCL_FAMILY_AUTO:
		return TRUE;
	case NCCL_FAMILY_IPV4:
		return family == AF_INET;
	case NCCL_FAMILY_IPV6:
		return family == AF_INET6;
	}
	g_assert_not_reached();
}

static gboolean subnet_fits(const NcclPolicy *policy, const guint8 raw[16])
{
	return !policy->subnets || policy->subnets->len == 0 ||
	       nccl_policy_ranges_have(policy->subnets, raw);
}

NcclGidReason nccl_rail_judge_gid(const NcclView *view, const NcclPolicy *policy,
				  const RdmadGid *gid)
{
	const RdmadIp ip = rdmad_ip_of_gid(gid->raw);

	if (gid->type == RDMAD_GID_UNKNOWN)
		return NCCL_GID_UNREADABLE_TYPE;
	if (gid->type != RDMAD_GID_ROCE_V2)
		return NCCL_GID_NOT_V2;
	if (!rdmad_ip_is_unicast(&ip))
		return NCCL_GID_NOT_UNICAST;
	if (rdmad_ip_is_link_local(&ip) && !policy->allow_link_local)
		return NCCL_GID_LINK_LOCAL;
	if (!nccl_view_owns(view, gid))
		return NCCL_GID_FOREIGN;
	if (!family_fits(policy, nccl_gid_family(gid->raw)))
		return NCCL_GID_OTHER_FAMILY;
	if (!subnet_fits(policy, gid->raw))
		return NCCL_GID_OTHER_SUBNET;
	if (gid->index > GID_INDEX_MAX)
		return NCCL_GID_INDEX_TOO_LARGE;
	return NCCL_GID_USABLE;
}

/* Returns a rank; lower is better: routable, IPv4, of the port's own interface and not a VLAN's,
 * then by index. */
static guint gid_rank(const RdmadPort *port, const RdmadGid *gid)
{
	const gboolean link_local = gid_is_link_local(gid);
	const gboolean ipv6 = nccl_gid_family(gid->raw) != AF_INET;
	const gboolean vlan = port->netdev && g_strcmp0(port->netdev, gid->netdev) != 0;

	return (link_local << 18) + (ipv6 << 17) + (vlan << 16) + gid->index;
}

static const RdmadGid *best_gid(const NcclView *view, const NcclPolicy *policy,
				const RdmadPort *port)
{
	const RdmadGid *best = NULL;

	for (guint i = 0; i < port->n_gids; i++) {
		const RdmadGid *gid = &port->gids[i];

		if (nccl_rail_judge_gid(view, policy, gid) == NCCL_GID_USABLE &&
		    (!best || gid_rank(port, gid) < gid_rank(port, best)))
			best = gid;
	}
	return best;
}

/* ---- ports ---- */

/* Returns the reason that excludes the port under any policy. */
static NcclRailReason port_judge(const NcclViewDevice *entry, const RdmadPort *port)
{
	const RdmadDevice *device = entry->device;

	if (rdmad_device_role(device) != RDMAD_ROLE_NIC)
		return NCCL_RAIL_NO_NIC;
	if (nccl_view_leaves_out(entry, port))
		return NCCL_RAIL_OTHER_PORT;
	if (!entry->granted)
		return NCCL_RAIL_NOT_GRANTED;
	if (device->fatal)
		return NCCL_RAIL_FATAL;
	if (device->node_type == RDMAD_NODE_RNIC)
		return NCCL_RAIL_IWARP;
	if (port->link_layer == RDMAD_LINK_LAYER_UNKNOWN || device->node_type != RDMAD_NODE_CA)
		return NCCL_RAIL_NO_VERBS;
	if (g_str_has_suffix(device->name, "_dma"))
		return NCCL_RAIL_DATA_DIRECT;
	if (port->state != RDMAD_PORT_ACTIVE)
		return NCCL_RAIL_PORT_DOWN;
	return NCCL_RAIL_SELECTED;
}

static gboolean link_layer_fits(const NcclPolicy *policy, RdmadLinkLayer layer)
{
	return policy->link_layer == NCCL_LINK_AUTO ||
	       (policy->link_layer == NCCL_LINK_INFINIBAND) ==
		       (layer == RDMAD_LINK_LAYER_INFINIBAND);
}

static gboolean port_is_storage(const NcclView *view, const NcclPolicy *policy,
				const RdmadPort *port)
{
	for (guint i = 0; i < port->n_gids; i++)
		if (nccl_view_owns(view, &port->gids[i]) &&
		    nccl_policy_ranges_have(policy->storage_subnets, port->gids[i].raw))
			return TRUE;
	return FALSE;
}

static gboolean port_has_default_route(const NcclView *view, const RdmadDevice *device,
				       const RdmadPort *port)
{
	char *const *names = view->default_netdevs;

	return (port->netdev && g_strv_contains((const char *const *)names, port->netdev)) ||
	       (device->bond && g_strv_contains((const char *const *)names, device->bond));
}

/* Returns the reason of the policy.  The default route does not exclude an allocated port. */
static NcclRailReason port_filter(const NcclView *view, const NcclPolicy *policy,
				  const RdmadDevice *device, const RdmadPort *port)
{
	if (!rdmad_config_patterns_match(policy->devices, device->name))
		return NCCL_RAIL_EXCLUDED;
	if (!link_layer_fits(policy, port->link_layer))
		return NCCL_RAIL_OTHER_LINK_LAYER;
	if (port_is_storage(view, policy, port))
		return NCCL_RAIL_STORAGE;
	if (!view->allocated && !policy->use_default_route &&
	    port_has_default_route(view, device, port))
		return NCCL_RAIL_DEFAULT_ROUTE;
	return NCCL_RAIL_SELECTED;
}

static NcclRail rail_make(const NcclView *view, const NcclPolicy *policy,
			  const NcclViewDevice *entry, const RdmadPort *port)
{
	NcclRail rail = { .device = entry->device, .port = port };

	rail.gpu = rdmad_nearest_gpu(entry->device, view->gpus, &rail.distance);
	rail.reason = port_judge(entry, port);
	if (rail.reason == NCCL_RAIL_SELECTED)
		rail.reason = port_filter(view, policy, entry->device, port);
	if (rail.reason == NCCL_RAIL_SELECTED && port->link_layer == RDMAD_LINK_LAYER_ETHERNET) {
		rail.gid = best_gid(view, policy, port);
		rail.reason = rail.gid ? NCCL_RAIL_SELECTED : NCCL_RAIL_NO_GID;
	}
	return rail;
}

/* ---- all ports ---- */

/* Each slave of a bond may be a device with the bond's GIDs. */
static void drop_same_gids(GArray *rails)
{
	for (guint i = 0; i < rails->len; i++) {
		const NcclRail *first = &g_array_index(rails, NcclRail, i);

		for (guint j = i + 1; first->gid && j < rails->len; j++) {
			NcclRail *other = &g_array_index(rails, NcclRail, j);

			if (other->reason == NCCL_RAIL_SELECTED && other->gid &&
			    !gid_is_link_local(first->gid) &&
			    !memcmp(first->gid->raw, other->gid->raw, 16)) {
				other->reason = NCCL_RAIL_SAME_GID;
				other->gid = NULL;
			}
		}
	}
}

/* Compute ports are near GPUs; if no port is, distance does not exclude any. */
static void drop_far(GArray *rails, RdmadDistance farthest)
{
	gboolean near = FALSE;

	for (guint i = 0; i < rails->len; i++) {
		const NcclRail *rail = &g_array_index(rails, NcclRail, i);

		near = near || (rail->reason == NCCL_RAIL_SELECTED && rail->gpu >= 0 &&
				rail->distance <= farthest);
	}
	for (guint i = 0; near && i < rails->len; i++) {
		NcclRail *rail = &g_array_index(rails, NcclRail, i);

		if (rail->reason == NCCL_RAIL_SELECTED && rail->distance > farthest)
			rail->reason = NCCL_RAIL_FAR_FROM_GPU;
	}
}

static int rail_compare(gconstpointer a, gconstpointer b, gpointer data)
{
	const NcclRail *x = a, *y = b;
	const NcclView *view = data;

	if ((x->reason == NCCL_RAIL_SELECTED) != (y->reason == NCCL_RAIL_SELECTED))
		return x->reason == NCCL_RAIL_SELECTED ? -1 : 1;
	if (x->device != y->device)
		return rdmad_nics_compare(x->device, y->device, view->gpus);
	return (int)x->port->number - (int)y->port->number;
}

GArray *nccl_rails_choose(const NcclView *view, const NcclPolicy *policy)
{
	GArray *rails = g_array_new(FALSE, FALSE, sizeof(NcclRail));

	for (guint i = 0; i < view->devices->len; i++) {
		const NcclViewDevice *entry = nccl_view_device(view, i);

		for (guint p = 0; p < entry->device->n_ports; p++) {
			const NcclRail rail =
				rail_make(view, policy, entry, &entry->device->ports[p]);

			g_array_append_val(rails, rail);
		}
	}
	drop_same_gids(rails);
	if (!view->allocated)
		drop_far(rails, policy->gpu_distance);
	g_array_sort_with_data(rails, rail_compare, (gpointer)view);
	return rails;
}
