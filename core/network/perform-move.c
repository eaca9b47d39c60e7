/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves a link of the host into the pod, and back with all its settings
 *
 * On a move the kernel keeps MTU, link-layer address and alternative names, and drops IP addresses,
 * routes, neighbours and sysctls.  Setting the link down drops its IPv6 addresses already.  When a
 * namespace ends, its NICs return to the host, down and without these settings.
 *
 * The group of the link, which the kernel sets in the message that moves it and keeps until it is
 * set again, shows whether a link in the host was moved: the end of rdmad may have come before.
 *
 * A pod may give any link the name, the MAC, the group and the alternative names of the NIC, and
 * another index to the NIC: these do not tell which link it is.
 */
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

#include "network/perform.h"

#define RETURN_MS      2000  /* for the kernel to destroy a namespace */
#define UPPERS_MAX     1024u /* that are deleted at once */
#define UPPERS_ROUNDS  64u   /* a pod may make others meanwhile */
#define LOOPBACK_INDEX 1
#define POD_INDEX      0x40000000 /* added to an index that is in use in the pod */
#define SURE	       3u	  /* of likeness() */
#define NO_NUMBER      G_MAXINT	  /* of a namespace that no link names */

static const guint32 group_away = RDMAD_STEP_GROUP_AWAY;

/* ---- which link is the NIC ---- */

/* The first bytes of an IPoIB address are the number of a queue pair: another one when the
 * interface is made again. */
static gboolean has_mac(const char *text, const RdmadMac *wanted)
{
	const guint skip = wanted->length == 20 ? 4 : 0;
	RdmadMac mac;

	return wanted->length && rdmad_mac_parse(text, &mac) && mac.length == wanted->length &&
	       memcmp(mac.bytes + skip, wanted->bytes + skip, mac.length - skip) == 0;
}

/* Links of these kinds may have the MAC of the link below. */
static gboolean is_upper(const char *kind)
{
	static const char *const kinds[] = { "macvlan", "macvtap", "ipvlan", "ipvtap",
					     "vlan",	"bond",	   "bridge", NULL };

	return g_strv_contains(kinds, kind);
}

static gboolean is_veth(const RdmadLink *link)
{
	return g_strcmp0(link->kind, "veth") == 0;
}

typedef struct {
	const PerformContext *ctx;
	const RdmadStepLinkMove *move;
	RdmadNetwork *net; /* where it is searched */
	int host;	   /* number of the host's namespace there; -1: it is the host's */
} Search;

/* A pod cannot make a physical link, whose kind is "". */
static gboolean is_of_kind(const RdmadStepLinkMove *move, const RdmadLink *link)
{
	const char *kind = link->kind ? link->kind : "";

	return move->kind ? g_str_equal(kind, move->kind) : !is_upper(kind);
}

/* Returns 0 if the link is not the NIC, SURE if no other link is likelier.  The device, the
 * permanent address and the link of the host that a link hangs on are the kernel's.  Without them,
 * the index and the MAC count together, or, of a physical link, one of them: a driver or a program
 * may have changed the other. */
static guint likeness(const Search *search, const RdmadLink *link)
{
	const RdmadStepLinkMove *move = search->move;
	const guint same = has_mac(link->mac, &move->mac) || has_mac(link->mac, &move->pod_mac) ||
			   has_mac(link->permanent_mac, &move->mac);
	const guint indexed = (link->ifindex & ~POD_INDEX) == (int)move->index;

	if (!is_of_kind(move, link) ||
	    (move->parent_device && g_strcmp0(link->parent_device, move->parent_device)))
		return 0;
	if (move->parent)
		return link->parent == (int)move->parent && link->parent_netns == search->host
			       ? SURE
			       : 0;
	if (link->parent && link->parent != link->ifindex && !is_veth(link))
		return 0;
	if (move->permanent_mac.length && link->permanent_mac)
		return has_mac(link->permanent_mac, &move->permanent_mac) ? SURE
		       : move->parent_device				  ? indexed
									  : 0;
	if (move->parent_device || !move->kind || !*move->kind)
		return 2 * same + indexed;
	return same && indexed ? SURE : 0;
}

static gboolean is_like(const RdmadLink *link, gpointer search)
{
	return likeness(search, link) > 0;
}

/* The kernel gives a namespace its number when it first describes a link that hangs on it. */
static gboolean host_number(Search *search, GError **error)
{
	if (search->net != search->ctx->pod || !search->move->parent)
		return TRUE;
	if (!rdmad_network_netns_number(search->net, search->ctx->host_fd, &search->host, error))
		return FALSE;
	if (search->host < 0)
		search->host = NO_NUMBER;
	return TRUE;
}

static GPtrArray *like_list(Search *search, GError **error)
{
	g_autoptr(GPtrArray) links = rdmad_links_find(search->net, is_like, search, error);

	if (!links || search->host != NO_NUMBER)
		return g_steal_pointer(&links);
	return host_number(search, error) ? rdmad_links_find(search->net, is_like, search, error)
					  : NULL;
}

/* Returns NULL without an error if the NIC is not among the links. */
static RdmadLink *likest_find(Search *search, GError **error)
{
	g_autoptr(GPtrArray) links = like_list(search, error);
	const RdmadLink *best = NULL;

	for (guint i = 0; links && i < links->len; i++)
		if (!best || likeness(search, links->pdata[i]) > likeness(search, best))
			best = links->pdata[i];
	return best ? rdmad_link_get_index(search->net, best->ifindex, error) : NULL;
}

/* Sets `*link` to NULL if the namespace has no link with the index. */
static gboolean link_at(RdmadNetwork *net, int index, RdmadLink **link, GError **error)
{
	GError *why = NULL;

	*link = rdmad_link_get_index(net, index, &why);
	if (*link || perform_forgive(&why, RDMAD_ERROR_NOT_FOUND))
		return TRUE;
	g_propagate_error(error, why);
	return FALSE;
}

/* Returns NULL without an error if the NIC is not in this namespace.  Its index is looked at first:
 * a pod may have more links than can be listed. */
static RdmadLink *nic_find(const PerformContext *ctx, RdmadNetwork *net,
			   const RdmadStepLinkMove *move, GError **error)
{
	Search search = { ctx, move, net, -1 };
	g_autoptr(RdmadLink) link = NULL;

	if (!link_at(net, (int)move->index, &link, error) || !host_number(&search, error))
		return NULL;
	return link && likeness(&search, link) == SURE ? g_steal_pointer(&link)
						       : likest_find(&search, error);
}

/* ---- into the pod ---- */

static gboolean mark_set(RdmadNetwork *net, const RdmadStepLinkMove *move, const RdmadLink *link,
			 GError **error)
{
	const RdmadLinkChange mark = { .group = &group_away };

	return !move->is_marked || link->group == group_away ||
	       rdmad_link_change(net, link->ifindex, &mark, error);
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
	g_autoptr(RdmadLink) link = nic_find(ctx, ctx->pod, move, &unseen);

	if (link && mark_set(ctx->pod, move, link, NULL) && rename_in_pod(ctx, move, link, NULL)) {
		g_error_free(why);
		return TRUE;
	}
	g_propagate_error(error, why);
	return FALSE;
}

/* Sets the index that the link gets in the pod; 0: the same, or any if the link is known without
 * it. */
static gboolean pod_index(const PerformContext *ctx, const RdmadStepLinkMove *move, int index,
			  int *in_pod, GError **error)
{
	const gboolean is_known = move->parent || move->parent_device || move->permanent_mac.length;
	g_autoptr(RdmadLink) other = NULL;

	if (!is_known && !link_at(ctx->pod, index, &other, error))
		return FALSE;
	*in_pod = other ? index | POD_INDEX : 0;
	return TRUE;
}

gboolean perform_move(const PerformContext *ctx, const RdmadStepLinkMove *move, GError **error)
{
	RdmadLinkChange change = { .name = move->pod_name,
				   .netns = ctx->pod_fd,
				   .group = move->is_marked ? &group_away : NULL };
	GError *why = NULL;
	g_autoptr(RdmadLink) link = nic_find(ctx, ctx->host, move, &why);

	if (link && pod_index(ctx, move, link->ifindex, &change.ifindex, &why) &&
	    rdmad_link_change(ctx->host, link->ifindex, &change, &why))
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

/* A user's, which the kernel keeps over a move. */
static const guint user_flags = IFF_PROMISC | IFF_ALLMULTI | IFF_NOARP | IFF_MULTICAST;

static gboolean has_other_flags(const RdmadStepLinkMove *move, const RdmadLink *link)
{
	return move->kind && (link->flags ^ move->flags) & user_flags;
}

static gboolean has_other_mode(const RdmadStepLinkMove *move, const RdmadLink *link)
{
	return move->kind && link->link_mode != move->link_mode;
}

static gboolean has_other_mtu(const RdmadStepLinkMove *move, const RdmadLink *link)
{
	return move->mtu && link->mtu != move->mtu;
}

/* The link must be down while its name or its MAC changes.  The kernel derives the operational
 * state from the link mode when the link is set up. */
static gboolean identity_restore(const PerformContext *ctx, const RdmadStepLinkMove *move,
				 const RdmadLink *link, GError **error)
{
	const gboolean renamed = !g_str_equal(link->name, move->host_name);
	const gboolean changed = has_other_mac(move, link);
	const gboolean other_mode = has_other_mode(move, link);
	char mac[RDMAD_MAC_TEXT];
	const RdmadLinkChange down = { .up = -1 };
	const RdmadLinkChange own = { .mac = rdmad_mac_format(&move->mac, mac) };
	const RdmadLinkChange mode = { .link_mode = &move->link_mode };
	const RdmadLinkChange mtu = { .mtu = move->mtu };
	const RdmadLinkChange flags = { .flags = move->flags & user_flags,
					.flags_mask = user_flags };

	if ((renamed || changed || other_mode) && link->up &&
	    !change_host(ctx, link->ifindex, &down, error))
		return FALSE;
	return (!changed || change_host(ctx, link->ifindex, &own, error)) &&
	       (!renamed || name_restore(ctx, move, link, error)) &&
	       (!other_mode || change_host(ctx, link->ifindex, &mode, error)) &&
	       (!has_other_mtu(move, link) || change_host(ctx, link->ifindex, &mtu, error)) &&
	       (!has_other_flags(move, link) || change_host(ctx, link->ifindex, &flags, error));
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

/* The kernel detects duplicates of these addresses, which takes time and a carrier, and takes no
 * route from them until then. */
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

/* The kernel keeps the route of a gateway when its network's address is removed, but adds it, in
 * such a state, as `onlink` alone. */
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
static gboolean group_restore(const PerformContext *ctx, const RdmadStepLinkMove *move, int index,
			      GError **error)
{
	const RdmadLinkChange change = { .group = &move->group };

	return !move->is_marked || change_host(ctx, index, &change, error);
}

/* The kernel rejects routes, but not addresses, of a link that is down.  A pod may have removed the
 * mark. */
static gboolean restore(const PerformContext *ctx, const RdmadStepLinkMove *move,
			const RdmadLink *link, GError **error)
{
	const RdmadLinkChange updown = { .up = move->up ? 1 : -1 };
	const int index = link->ifindex;

	return mark_set(ctx->host, move, link, error) && identity_restore(ctx, move, link, error) &&
	       altnames_restore(ctx, move, link, error) && sysctls_restore(ctx, move, error) &&
	       change_host(ctx, index, &updown, error) &&
	       addresses_restore(ctx, move, index, error) &&
	       (!move->up || routes_restore(ctx, move, index, error)) &&
	       flags_restore(ctx, move, index, error) &&
	       neighbours_restore(ctx, move, index, error) &&
	       group_restore(ctx, move, index, error);
}

/* The kernel moves no link with a name that another link of the host has: the pod may have added
 * it.  The restore adds those of the NIC. */
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

typedef struct {
	int nic;
	guint n;
} Uppers;

static gboolean is_upper_of(const RdmadLink *link, gpointer data)
{
	Uppers *uppers = data;

	/* A list that is read again begins with it. */
	if (link->ifindex == LOOPBACK_INDEX)
		uppers->n = 0;
	return rdmad_link_below(link) == uppers->nic && link->ifindex != uppers->nic &&
	       uppers->n++ < UPPERS_MAX;
}

/* Returns how many links were found. */
static guint uppers_delete_some(const PerformContext *ctx, int nic, GError **error)
{
	Uppers uppers = { nic, 0 };
	g_autoptr(GPtrArray) links = rdmad_links_find(ctx->pod, is_upper_of, &uppers, error);
	g_autoptr(GArray) indexes = g_array_new(FALSE, FALSE, sizeof(int));

	for (guint i = 0; links && i < links->len; i++)
		g_array_append_val(indexes, ((RdmadLink *)links->pdata[i])->ifindex);
	return rdmad_links_delete(ctx->pod, (const int *)(gconstpointer)indexes->data, indexes->len,
				  error)
		       ? indexes->len
		       : 0;
}

/* The kernel moves no link above the NIC with it: the pod would use the NIC on.  A failure does not
 * keep the NIC in the pod. */
static void uppers_delete(const PerformContext *ctx, const RdmadLink *nic, GError **problem)
{
	guint rounds = UPPERS_ROUNDS;

	while (!*problem && rounds-- &&
	       uppers_delete_some(ctx, nic->ifindex, problem) == UPPERS_MAX)
		;
}

/* Programs see and drop the packets of the host otherwise. */
static gboolean xdp_drop(const PerformContext *ctx, const RdmadStepLinkMove *move,
			 const RdmadLink *link, GError **error)
{
	static const guint modes[] = { XDP_FLAGS_SKB_MODE, XDP_FLAGS_DRV_MODE, XDP_FLAGS_HW_MODE };

	for (guint i = 0; move->kind && i < G_N_ELEMENTS(modes); i++) {
		const RdmadLinkChange none = { .no_xdp = modes[i] };

		if (link->xdp & modes[i] && !(move->xdp & modes[i]) &&
		    !rdmad_link_change(ctx->pod, link->ifindex, &none, error))
			return FALSE;
	}
	return TRUE;
}

/* Another link of the host may have taken the name: then the link returns under a spare name, and
 * the restore reports the conflict. */
static gboolean return_to_host(const PerformContext *ctx, const RdmadStepLinkMove *move,
			       const RdmadLink *link, GError **error)
{
	g_autofree char *spare = g_strdup_printf("rdma%u", move->index);
	const RdmadLinkChange down = { .up = -1 };
	RdmadLinkChange back = { .name = move->host_name,
				 .netns = ctx->host_fd,
				 .group = move->is_marked ? &group_away : NULL };
	g_autoptr(RdmadLink) taken = NULL, there = NULL;
	g_autoptr(GError) why = NULL;

	if (!link_at(ctx->host, (int)move->index, &taken, error) ||
	    !xdp_drop(ctx, move, link, error) ||
	    !rdmad_link_change(ctx->pod, link->ifindex, &down, error) ||
	    !altnames_drop(ctx, link, error))
		return FALSE;
	back.ifindex = taken ? 0 : (int)move->index;
	if (rdmad_link_change(ctx->pod, link->ifindex, &back, &why))
		return TRUE;
	there = nic_find(ctx, ctx->host, move, NULL);
	back.name = spare;
	return there || rdmad_link_change(ctx->pod, link->ifindex, &back, error);
}

typedef struct {
	const PerformContext *ctx;
	const RdmadStepLinkMove *move;
	RdmadLink *link;
} Return;

static gboolean has_returned(gpointer data, GError **error)
{
	Return *back = data;

	back->link = nic_find(back->ctx, back->ctx->host, back->move, error);
	return back->link != NULL;
}

/* A link that a namespace has left with its end is down; a program of the pod may have changed its
 * group, or anything else. */
static gboolean was_away(const RdmadStepLinkMove *move, const RdmadLink *link)
{
	return !move->is_marked || link->group == group_away || (move->up && !link->up) ||
	       !g_str_equal(link->name, move->host_name) || has_other_mac(move, link) ||
	       has_other_mode(move, link) || has_other_mtu(move, link) ||
	       has_other_flags(move, link);
}

gboolean perform_move_back(const PerformContext *ctx, const RdmadStepLinkMove *move, GError **error)
{
	GError *why = NULL;
	g_autoptr(GError) above = NULL;
	g_autoptr(RdmadLink) link = ctx->pod ? nic_find(ctx, ctx->pod, move, &why) : NULL;
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
