/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves a link of the host into the pod, and back with all its settings
 *
 * On a move the kernel keeps MTU, link-layer address and alternative names, and drops IP addresses,
 * routes, neighbours and sysctls.  Setting the link down drops its IPv6 addresses already.  When a
 * namespace ends, its NICs return to the host, down and without these settings.
 *
 * The group of the link, which the kernel sets in the message that moves it and keeps until it is set again,
 * shows whether a link in the host was moved: the end of rdmad may have come before.
 */
#include <errno.h>
#include <linux/if_addr.h>
#include <string.h>
#include <sys/socket.h>

#include "network/perform.h"

#define RETURN_MS 2000 /* for the kernel to destroy a namespace */

static gboolean has_mac(const char *text, const RdmadMac *wanted)
{
	RdmadMac mac;

	return text && wanted->length && rdmad_mac_parse(text, &mac) &&
	       rdmad_mac_equal(&mac, wanted);
}

static gboolean is_same(const RdmadStepLinkMove *move, const RdmadLink *link)
{
	return has_mac(link->permanent_mac, &move->mac) || has_mac(link->mac, &move->mac);
}

/* Links of these kinds may have the MAC of the link below. */
static gboolean is_upper(const RdmadLink *link)
{
	static const char *const kinds[] = { "macvlan", "macvtap", "ipvlan", "ipvtap",
					     "vlan",	"bond",	   "bridge", NULL };

	return link->kind && g_strv_contains(kinds, link->kind);
}

static const guint32 group_away = RDMAD_STEP_GROUP_AWAY;

/* The group and the index count more than the MAC and the name, which a pod may have given to another link;
 * the group counts most, because another link of the pod may have the index.  A link of another parent device
 * is not the NIC, whatever the pod has set.  Returns 0 if the link is not the NIC. */
static guint likeness(const RdmadStepLinkMove *move, const RdmadLink *link, const char *name,
		      gboolean any_mac)
{
	const gboolean named = g_str_equal(link->name, name);
	const gboolean indexed = link->ifindex == (int)move->index;
	const gboolean marked = move->is_marked && link->group == group_away;
	const gboolean same = is_same(move, link);

	if (is_upper(link) ||
	    (move->parent_device && g_strcmp0(link->parent_device, move->parent_device)) ||
	    (!same && !(any_mac && indexed && (named || marked))))
		return 0;
	return 1 + 8u * marked + 4u * indexed + 2u * same + named;
}

/* Returns NULL without an error if the link is not in this namespace.  `any_mac` also accepts a
 * link with the same index and the same name or mark: a step or the container may have changed its MAC. */
static RdmadLink *moved_find(RdmadNetwork *net, const RdmadStepLinkMove *move, const char *name,
			     gboolean any_mac, GError **error)
{
	g_autoptr(GPtrArray) links = rdmad_links_list(net, error);
	guint best = 0, at = 0;

	for (guint i = 0; links && i < links->len; i++) {
		const guint score = likeness(move, links->pdata[i], name, any_mac);

		if (score > best) {
			best = score;
			at = i;
		}
	}
	return best ? rdmad_link_get_index(net, ((RdmadLink *)links->pdata[at])->ifindex, error)
		    : NULL;
}

/* ---- into the pod ---- */

static gboolean mark_in_pod(const PerformContext *ctx, const RdmadStepLinkMove *move,
			    const RdmadLink *link, GError **error)
{
	const RdmadLinkChange mark = { .group = &group_away };

	return !move->is_marked || link->group == group_away ||
	       rdmad_link_change(ctx->pod, link->ifindex, &mark, error);
}

static gboolean rename_in_pod(const PerformContext *ctx, const RdmadStepLinkMove *move,
			      const RdmadLink *link, GError **error)
{
	const RdmadLinkChange down = { .up = -1 }, name = { .name = move->pod_name };

	return g_str_equal(link->name, move->pod_name) ||
	       (rdmad_link_change(ctx->pod, link->ifindex, &down, error) &&
		rdmad_link_change(ctx->pod, link->ifindex, &name, error));
}

/* Checks, after a failed move, whether the link is in the pod: the kernel may have moved it
 * under its old name, or an earlier run may have. */
static gboolean move_check(const PerformContext *ctx, const RdmadStepLinkMove *move, GError *why,
			   GError **error)
{
	g_autoptr(GError) unseen = NULL;
	g_autoptr(RdmadLink) link = moved_find(ctx->pod, move, move->pod_name, FALSE, &unseen);

	if (link && mark_in_pod(ctx, move, link, NULL) && rename_in_pod(ctx, move, link, NULL)) {
		g_error_free(why);
		return TRUE;
	}
	g_propagate_error(error, why);
	return FALSE;
}

gboolean perform_move(const PerformContext *ctx, const RdmadStepLinkMove *move, GError **error)
{
	const RdmadLinkChange change = { .name = move->pod_name,
					 .netns = ctx->pod_fd,
					 .group = move->is_marked ? &group_away : NULL };
	GError *why = NULL;
	g_autoptr(RdmadLink) link = moved_find(ctx->host, move, move->host_name, FALSE, &why);

	if (link && rdmad_link_change(ctx->host, link->ifindex, &change, &why))
		return TRUE;
	if (!why)
		g_set_error(&why, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND, "there is no %s in the host",
			    move->host_name);
	return move_check(ctx, move, why, error);
}

/* ---- back to the host ---- */

static gboolean change_host(const PerformContext *ctx, int index, const RdmadLinkChange *change,
			    GError **error)
{
	return rdmad_link_change(ctx->host, index, change, error);
}

/* Whatever has taken the name is the host's business, and not the pod's, which ends. */
static gboolean name_restore(const PerformContext *ctx, const RdmadStepLinkMove *move,
			     const RdmadLink *link, GError **error)
{
	const RdmadLinkChange name = { .name = move->host_name };
	GError *why = NULL;

	if (change_host(ctx, link->ifindex, &name, &why))
		return TRUE;
	if (perform_forgive(&why, RDMAD_ERROR_BUSY))
		g_set_error(&why, RDMAD_ERROR, RDMAD_ERROR_GONE,
			    "the host has another link called %s: the NIC is %s there",
			    move->host_name, link->name);
	g_propagate_error(error, why);
	return FALSE;
}

static gboolean has_other_mac(const RdmadStepLinkMove *move, const RdmadLink *link)
{
	return move->mac.length == 6 && !has_mac(link->mac, &move->mac);
}

static gboolean has_other_mtu(const RdmadStepLinkMove *move, const RdmadLink *link)
{
	return move->mtu && link->mtu != move->mtu;
}

/* The link must be down while its name or its MAC changes. */
static gboolean identity_restore(const PerformContext *ctx, const RdmadStepLinkMove *move,
				 const RdmadLink *link, GError **error)
{
	const gboolean renamed = !g_str_equal(link->name, move->host_name);
	const gboolean changed = has_other_mac(move, link);
	char mac[RDMAD_MAC_TEXT];
	const RdmadLinkChange down = { .up = -1 };
	const RdmadLinkChange own = { .mac = rdmad_mac_format(&move->mac, mac) };
	const RdmadLinkChange mtu = { .mtu = move->mtu };

	if ((renamed || changed) && link->up && !change_host(ctx, link->ifindex, &down, error))
		return FALSE;
	return (!changed || change_host(ctx, link->ifindex, &own, error)) &&
	       (!renamed || name_restore(ctx, move, link, error)) &&
	       (!has_other_mtu(move, link) || change_host(ctx, link->ifindex, &mtu, error));
}

static gboolean altnames_restore(const PerformContext *ctx, const RdmadStepLinkMove *move,
				 const RdmadLink *link, GError **error)
{
	for (char **name = move->altnames; name && *name; name++) {
		GError *why = NULL;

		if (link->altnames && g_strv_contains((const char *const *)link->altnames, *name))
			continue;
		if (!rdmad_link_set_altname(ctx->host, link->ifindex, *name, TRUE, &why) &&
		    !perform_forgive(&why, RDMAD_ERROR_BUSY)) {
			g_propagate_error(error, why);
			return FALSE;
		}
	}
	return TRUE;
}

static gboolean sysctls_restore(const PerformContext *ctx, const RdmadStepLinkMove *move,
				GError **error)
{
	const guint n = move->sysctls ? move->sysctls->len : 0;
	g_autofree RdmadSysctl *values = g_new(RdmadSysctl, n);

	for (guint i = 0; i < n; i++) {
		const RdmadStepSysctl *sysctl = &g_array_index(move->sysctls, RdmadStepSysctl, i);

		values[i] = (RdmadSysctl){ sysctl->path, sysctl->value };
	}
	return !n || rdmad_sysctls_restore(ctx->host_fd, values, n, error);
}

/* The kernel detects duplicates of these addresses, which takes time and a carrier, and takes no route from
 * them until then. */
static gboolean has_dad(const RdmadAddress *address)
{
	return address->ip.family == AF_INET6 && !(address->flags & IFA_F_NODAD);
}

/* No duplicates are detected: the addresses were the NIC's before. */
static gboolean addresses_restore(const PerformContext *ctx, const RdmadStepLinkMove *move,
				  int index, GError **error)
{
	for (guint i = 0; move->addresses && i < move->addresses->len; i++) {
		RdmadAddress address = perform_address(
			&g_array_index(move->addresses, RdmadStepAddress, i), index);

		if (has_dad(&address))
			address.flags |= IFA_F_NODAD;
		if (!rdmad_address_replace(ctx->host, &address, error))
			return FALSE;
	}
	return TRUE;
}

static gboolean flags_restore(const PerformContext *ctx, const RdmadStepLinkMove *move, int index,
			      GError **error)
{
	for (guint i = 0; move->addresses && i < move->addresses->len; i++) {
		const RdmadAddress address = perform_address(
			&g_array_index(move->addresses, RdmadStepAddress, i), index);

		if (has_dad(&address) && !rdmad_address_replace(ctx->host, &address, error))
			return FALSE;
	}
	return TRUE;
}

/* The kernel keeps the route of a gateway when its network's address is removed, but adds it, in such a
 * state, as `onlink` alone. */
static gboolean route_restore(const PerformContext *ctx, RdmadRoute *route, GError **error)
{
	g_autoptr(GError) why = NULL;
	int errnum;

	if (rdmad_route_add(ctx->host, route, &why))
		return TRUE;
	errnum = rdmad_network_errnum(ctx->host);
	if (!rdmad_ip_is_set(&route->hops[0].gateway) || route->hops[0].onlink ||
	    (errnum != ENETUNREACH && errnum != EHOSTUNREACH)) {
		g_propagate_error(error, g_steal_pointer(&why));
		return FALSE;
	}
	route->hops[0].onlink = TRUE;
	return rdmad_route_add(ctx->host, route, error);
}

static gboolean routes_restore(const PerformContext *ctx, const RdmadStepLinkMove *move, int index,
			       GError **error)
{
	for (guint i = 0; move->routes && i < move->routes->len; i++) {
		RdmadRoute route =
			perform_route(&g_array_index(move->routes, RdmadStepRoute, i), index);
		GError *why = NULL;

		if (!route_restore(ctx, &route, &why) && !perform_forgive(&why, RDMAD_ERROR_BUSY)) {
			g_propagate_error(error, why);
			return FALSE;
		}
	}
	return TRUE;
}

static gboolean neighbours_restore(const PerformContext *ctx, const RdmadStepLinkMove *move,
				   int index, GError **error)
{
	for (guint i = 0; move->neighbours && i < move->neighbours->len; i++) {
		const RdmadStepNeighbour *neighbour =
			&g_array_index(move->neighbours, RdmadStepNeighbour, i);
		char mac[RDMAD_MAC_TEXT];

		if (!rdmad_neighbour_replace(ctx->host, index, &neighbour->ip,
					     rdmad_mac_format(&neighbour->mac, mac), error))
			return FALSE;
	}
	return TRUE;
}

/* Comes last: an undo that is interrupted begins again. */
static gboolean group_restore(const PerformContext *ctx, const RdmadStepLinkMove *move,
			      const RdmadLink *link, GError **error)
{
	const RdmadLinkChange change = { .group = &move->group };

	return !move->is_marked || link->group == move->group ||
	       change_host(ctx, link->ifindex, &change, error);
}

/* The kernel rejects routes, but not addresses, of a link that is down. */
static gboolean restore(const PerformContext *ctx, const RdmadStepLinkMove *move,
			const RdmadLink *link, GError **error)
{
	const RdmadLinkChange updown = { .up = move->up ? 1 : -1 };
	const int index = link->ifindex;

	return identity_restore(ctx, move, link, error) &&
	       altnames_restore(ctx, move, link, error) && sysctls_restore(ctx, move, error) &&
	       change_host(ctx, index, &updown, error) &&
	       addresses_restore(ctx, move, index, error) &&
	       (!move->up || routes_restore(ctx, move, index, error)) &&
	       flags_restore(ctx, move, index, error) &&
	       neighbours_restore(ctx, move, index, error) && group_restore(ctx, move, link, error);
}

/* The kernel moves no link with a name that another link of the host has: the pod may have added it.  The
 * restore adds those of the NIC. */
static gboolean altnames_drop(const PerformContext *ctx, const RdmadLink *link, GError **error)
{
	for (char **name = link->altnames; name && *name; name++) {
		GError *why = NULL;

		if (!rdmad_link_set_altname(ctx->pod, link->ifindex, *name, FALSE, &why) &&
		    !perform_forgive(&why, RDMAD_ERROR_NOT_FOUND)) {
			g_propagate_error(error, why);
			return FALSE;
		}
	}
	return TRUE;
}

/* The kernel moves no link above the NIC with it: the pod would use the NIC on.  A failure does not keep the
 * NIC in the pod; `problem` is the first. */
static void uppers_delete(const PerformContext *ctx, const RdmadLink *nic, GError **problem)
{
	g_autoptr(GPtrArray) links = rdmad_links_list(ctx->pod, problem);

	for (guint i = 0; links && i < links->len; i++) {
		const RdmadLink *link = links->pdata[i];

		if (rdmad_link_below(link) == nic->ifindex && link->ifindex != nic->ifindex)
			rdmad_links_delete(ctx->pod, &link->ifindex, 1, *problem ? NULL : problem);
	}
}

/* Another link of the host may have taken the name: then the link returns under a spare name, and
 * the restore reports the conflict. */
static gboolean return_to_host(const PerformContext *ctx, const RdmadStepLinkMove *move,
			       const RdmadLink *link, GError **error)
{
	g_autofree char *spare = g_strdup_printf("rdma%u", move->index);
	const RdmadLinkChange down = { .up = -1 };
	const RdmadLinkChange own = { .name = move->host_name, .netns = ctx->host_fd };
	const RdmadLinkChange other = { .name = spare, .netns = ctx->host_fd };
	g_autoptr(RdmadLink) there = NULL;
	g_autoptr(GError) why = NULL;

	if (!rdmad_link_change(ctx->pod, link->ifindex, &down, error) ||
	    !altnames_drop(ctx, link, error))
		return FALSE;
	if (rdmad_link_change(ctx->pod, link->ifindex, &own, &why))
		return TRUE;
	there = moved_find(ctx->host, move, move->host_name, FALSE, NULL);
	return (there && is_same(move, there)) ||
	       rdmad_link_change(ctx->pod, link->ifindex, &other, error);
}

typedef struct {
	const PerformContext *ctx;
	const RdmadStepLinkMove *move;
	RdmadLink *link;
} Return;

static gboolean has_returned(gpointer data, GError **error)
{
	Return *back = data;

	back->link = moved_find(back->ctx->host, back->move, back->move->host_name, TRUE, error);
	return back->link != NULL;
}

/* A link that a namespace has left with its end is down; a program of the pod may have changed its group, or
 * anything else. */
static gboolean was_away(const RdmadStepLinkMove *move, const RdmadLink *link)
{
	return !move->is_marked || link->group == group_away || (move->up && !link->up) ||
	       !g_str_equal(link->name, move->host_name) || has_other_mac(move, link) ||
	       has_other_mtu(move, link);
}

gboolean perform_move_back(const PerformContext *ctx, const RdmadStepLinkMove *move, GError **error)
{
	GError *why = NULL;
	g_autoptr(GError) above = NULL;
	g_autoptr(RdmadLink) link =
		ctx->pod ? moved_find(ctx->pod, move, move->pod_name, TRUE, &why) : NULL;
	Return back = { ctx, move, NULL };
	gboolean ok;

	if (link)
		uppers_delete(ctx, link, &above);
	if (why || (link && !return_to_host(ctx, move, link, &why))) {
		g_propagate_error(error, why);
		return FALSE;
	}
	if (!perform_wait(ctx, ctx->pod ? 0 : RETURN_MS, has_returned, &back, &why)) {
		/* The NIC was unplugged, or its namespace is still in use. */
		if (perform_forgive(&why, RDMAD_ERROR_TIMEOUT))
			g_set_error(&why, RDMAD_ERROR, RDMAD_ERROR_GONE,
				    "%s is neither in the pod nor in the host", move->host_name);
		g_propagate_error(error, why);
		return FALSE;
	}
	ok = (!link && !was_away(move, back.link)) || restore(ctx, move, back.link, error);
	rdmad_link_free(back.link);
	if (ok && above) {
		g_propagate_error(error, g_steal_pointer(&above));
		return FALSE;
	}
	return ok;
}
