/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/if_link.h>
#include <linux/if_ether.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <rdmad/error.h>
#include <rdmad/random.h>
#include <string.h>

#include "hardware/netlink/route.h"
#include "network/network-private.h"

#define ALTNAME_MAX 128 /* ALTIFNAMSIZ, with the NUL */

gboolean rdmad_interface_name_check(const char *name, GError **error)
{
	if (rdmad_interface_name_is_valid(name))
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "invalid interface name \"%s\"", name);
	return FALSE;
}

/* ---- reading ---- */

RdmadLink *network_parse_link(const struct nlmsghdr *msg)
{
	RdmadLink *link = rdmad_route_parse_link(msg);

	if (link)
		network_parse_vfs(nlmsg_find_attr((struct nlmsghdr *)msg, sizeof(struct ifinfomsg),
						  IFLA_VFINFO_LIST),
				  link);
	return link;
}

typedef struct {
	GPtrArray *links;
	gboolean (*wanted)(const RdmadLink *link, gpointer data); /* NULL: all */
	gpointer data;
} Links;

static gboolean take_link(const struct nlmsghdr *msg, gpointer data)
{
	const Links *reading = data;
	RdmadLink *link = network_parse_link(msg);

	if (link && (!reading->wanted || reading->wanted(link, reading->data)))
		g_ptr_array_add(reading->links, link);
	else
		rdmad_link_free(link);
	return TRUE;
}

static GPtrArray *links_read(RdmadNetwork *net, struct nl_msg *msg, guint mask, Links reading,
			     GError **error)
{
	reading.links = g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_link_free);
	nla_put_u32(msg, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS | mask);
	return network_read(net, msg, take_link, &reading, reading.links, error);
}

GPtrArray *rdmad_links_find(RdmadNetwork *net,
			    gboolean (*wanted)(const RdmadLink *link, gpointer data), gpointer data,
			    GError **error)
{
	const struct ifinfomsg info = { .ifi_family = AF_UNSPEC };

	return links_read(net, NETWORK_REQUEST(RTM_GETLINK, NLM_F_DUMP, info), 0,
			  (Links){ .wanted = wanted, .data = data }, error);
}

GPtrArray *rdmad_links_list(RdmadNetwork *net, GError **error)
{
	return rdmad_links_find(net, NULL, NULL, error);
}

static RdmadLink *link_get(RdmadNetwork *net, struct nl_msg *msg, const char *what, GError **error)
{
	g_autoptr(GPtrArray) links = links_read(net, msg, RTEXT_FILTER_VF, (Links){ 0 }, error);

	if (links && links->len == 1)
		return g_ptr_array_steal_index(links, 0);
	if (links)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED, "the answer is invalid");
	g_prefix_error(error, "link %s: ", what);
	return NULL;
}

RdmadLink *rdmad_link_get(RdmadNetwork *net, const char *name, GError **error)
{
	const struct ifinfomsg info = { .ifi_family = AF_UNSPEC };
	struct nl_msg *msg;

	if (strlen(name) >= ALTNAME_MAX) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
			    "invalid interface name \"%s\"", name);
		return NULL;
	}
	msg = NETWORK_REQUEST(RTM_GETLINK, 0, info);
	nla_put_string(msg, strlen(name) < IFNAMSIZ ? IFLA_IFNAME : IFLA_ALT_IFNAME, name);
	return link_get(net, msg, name, error);
}

RdmadLink *rdmad_link_get_index(RdmadNetwork *net, int ifindex, GError **error)
{
	const struct ifinfomsg info = { .ifi_family = AF_UNSPEC, .ifi_index = ifindex };
	char text[16];

	g_snprintf(text, sizeof(text), "%d", ifindex);
	return link_get(net, NETWORK_REQUEST(RTM_GETLINK, 0, info), text, error);
}

/* ---- creation ---- */

typedef struct {
	const char *name;
	guint value;
} Mode;

static const Mode macvlan_modes[] = {
	{ "bridge", MACVLAN_MODE_BRIDGE },
	{ "private", MACVLAN_MODE_PRIVATE },
	{ "vepa", MACVLAN_MODE_VEPA },
	{ "passthru", MACVLAN_MODE_PASSTHRU },
	{ NULL, 0 },
};
static const Mode ipvlan_modes[] = {
	{ "l2", IPVLAN_MODE_L2 },
	{ "l3", IPVLAN_MODE_L3 },
	{ "l3s", IPVLAN_MODE_L3S },
	{ NULL, 0 },
};
static const Mode ipoib_modes[] = {
	{ "datagram", IPOIB_MODE_DATAGRAM },
	{ "connected", IPOIB_MODE_CONNECTED },
	{ NULL, 0 },
};

/* Finds the mode of the spec; the first mode is the default. */
static gboolean mode_find(const Mode *modes, const RdmadLinkSpec *spec, guint *value,
			  GError **error)
{
	const char *name = spec->mode ?: modes->name;

	for (; modes->name; modes++)
		if (g_str_equal(modes->name, name)) {
			*value = modes->value;
			return TRUE;
		}
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
		    "invalid mode \"%s\" of a link of kind %s", name, spec->kind);
	return FALSE;
}

static gboolean put_macvlan(struct nl_msg *msg, const RdmadLinkSpec *spec, GError **error)
{
	guint mode;

	if (!mode_find(macvlan_modes, spec, &mode, error))
		return FALSE;
	nla_put_u32(msg, IFLA_MACVLAN_MODE, mode);
	return TRUE;
}

static gboolean put_ipvlan(struct nl_msg *msg, const RdmadLinkSpec *spec, GError **error)
{
	guint mode;

	if (!mode_find(ipvlan_modes, spec, &mode, error))
		return FALSE;
	nla_put_u16(msg, IFLA_IPVLAN_MODE, (guint16)mode);
	return TRUE;
}

static gboolean put_vlan(struct nl_msg *msg, const RdmadLinkSpec *spec, GError **error)
{
	if (spec->vlan < 1 || spec->vlan > 4094) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "invalid VLAN id %u",
			    spec->vlan);
		return FALSE;
	}
	nla_put_u16(msg, IFLA_VLAN_ID, (guint16)spec->vlan);
	nla_put_u16(msg, IFLA_VLAN_PROTOCOL, g_htons(spec->is_8021ad ? ETH_P_8021AD : ETH_P_8021Q));
	return TRUE;
}

static gboolean put_ipoib(struct nl_msg *msg, const RdmadLinkSpec *spec, GError **error)
{
	guint mode;

	if (!mode_find(ipoib_modes, spec, &mode, error))
		return FALSE;
	if (spec->pkey)
		nla_put_u16(msg, IFLA_IPOIB_PKEY, (guint16)spec->pkey);
	if (spec->mode)
		nla_put_u16(msg, IFLA_IPOIB_MODE, (guint16)mode);
	return TRUE;
}

static gboolean put_veth(struct nl_msg *msg, const RdmadLinkSpec *spec, GError **error)
{
	struct ifinfomsg info = { .ifi_family = AF_UNSPEC };
	struct nlattr *peer;

	if (!spec->peer || !rdmad_interface_name_check(spec->peer, error))
		return spec->peer == NULL;
	peer = nla_nest_start(msg, VETH_INFO_PEER);
	nlmsg_append(msg, &info, sizeof(info), NLMSG_ALIGNTO);
	nla_put_string(msg, IFLA_IFNAME, spec->peer);
	if (spec->peer_netns)
		nla_put_u32(msg, IFLA_NET_NS_FD, (guint32)spec->peer_netns);
	nla_nest_end(msg, peer);
	return TRUE;
}

static gboolean put_nothing(struct nl_msg *msg, const RdmadLinkSpec *spec, GError **error)
{
	return TRUE;
}

static gboolean put_kind(struct nl_msg *msg, const RdmadLinkSpec *spec, GError **error)
{
	static const struct {
		const char *kind;
		gboolean (*put)(struct nl_msg *msg, const RdmadLinkSpec *spec, GError **error);
	} kinds[] = {
		{ "macvlan", put_macvlan }, { "ipvlan", put_ipvlan }, { "vlan", put_vlan },
		{ "ipoib", put_ipoib },	    { "veth", put_veth },     { "dummy", put_nothing },
	};
	struct nlattr *info, *data;
	gboolean ok;

	for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
		if (!g_str_equal(kinds[i].kind, spec->kind))
			continue;
		info = nla_nest_start(msg, IFLA_LINKINFO);
		nla_put_string(msg, IFLA_INFO_KIND, spec->kind);
		data = nla_nest_start(msg, IFLA_INFO_DATA);
		ok = kinds[i].put(msg, spec, error);
		nla_nest_end(msg, data);
		nla_nest_end(msg, info);
		return ok;
	}
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "no links of kind \"%s\" are made",
		    spec->kind);
	return FALSE;
}

gboolean rdmad_link_create(RdmadNetwork *net, const RdmadLinkSpec *spec, GError **error)
{
	const struct ifinfomsg info = {
		.ifi_family = AF_UNSPEC,
		.ifi_flags = spec->up ? IFF_UP : 0,
		.ifi_change = spec->up ? IFF_UP : 0,
	};
	struct nl_msg *msg;

	if (!rdmad_interface_name_check(spec->name, error))
		return FALSE;
	msg = NETWORK_REQUEST(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, info);
	nla_put_string(msg, IFLA_IFNAME, spec->name);
	if (spec->parent)
		nla_put_u32(msg, IFLA_LINK, (guint32)spec->parent);
	if (spec->mtu)
		nla_put_u32(msg, IFLA_MTU, spec->mtu);
	if (spec->netns)
		nla_put_u32(msg, IFLA_NET_NS_FD, (guint32)spec->netns);
	if ((spec->mac && !network_put_mac(msg, IFLA_ADDRESS, spec->mac, error)) ||
	    !put_kind(msg, spec, error)) {
		nlmsg_free(msg);
		return FALSE;
	}
	return network_change(net, msg, error, "create link %s (%s)", spec->name, spec->kind);
}

/* ---- changes ---- */

static void put_no_xdp(struct nl_msg *msg, guint mode)
{
	struct nlattr *xdp = nla_nest_start(msg, IFLA_XDP);

	nla_put_u32(msg, IFLA_XDP_FD, G_MAXUINT32);
	nla_put_u32(msg, IFLA_XDP_FLAGS, mode);
	nla_nest_end(msg, xdp);
}

gboolean rdmad_link_change(RdmadNetwork *net, int ifindex, const RdmadLinkChange *change,
			   GError **error)
{
	const struct ifinfomsg info = {
		.ifi_family = AF_UNSPEC,
		.ifi_index = ifindex,
		.ifi_flags = (change->up > 0 ? IFF_UP : 0) | change->flags,
		.ifi_change = (change->up ? IFF_UP : 0) | change->flags_mask,
	};
	struct nl_msg *msg;

	if (change->name && !rdmad_interface_name_check(change->name, error))
		return FALSE;
	msg = NETWORK_REQUEST(RTM_NEWLINK, 0, info);
	if (change->name)
		nla_put_string(msg, IFLA_IFNAME, change->name);
	if (change->mtu)
		nla_put_u32(msg, IFLA_MTU, change->mtu);
	if (change->netns)
		nla_put_u32(msg, IFLA_NET_NS_FD, (guint32)change->netns);
	if (change->ifindex)
		nla_put_u32(msg, IFLA_NEW_IFINDEX, (guint32)change->ifindex);
	if (change->group)
		nla_put_u32(msg, IFLA_GROUP, *change->group);
	if (change->link_mode)
		nla_put_u8(msg, IFLA_LINKMODE, (guint8)*change->link_mode);
	if (change->no_xdp)
		put_no_xdp(msg, change->no_xdp);
	if (change->mac && !network_put_mac(msg, IFLA_ADDRESS, change->mac, error)) {
		nlmsg_free(msg);
		return FALSE;
	}
	return network_change(net, msg, error, "change link %d", ifindex);
}

gboolean rdmad_link_set_altname(RdmadNetwork *net, int ifindex, const char *name, gboolean there,
				GError **error)
{
	const struct ifinfomsg info = { .ifi_family = AF_UNSPEC, .ifi_index = ifindex };
	struct nl_msg *msg = there ? NETWORK_REQUEST(RTM_NEWLINKPROP,
						     NLM_F_CREATE | NLM_F_EXCL | NLM_F_APPEND, info)
				   : NETWORK_REQUEST(RTM_DELLINKPROP, 0, info);
	struct nlattr *list = nla_nest_start(msg, IFLA_PROP_LIST);

	if (strlen(name) >= ALTNAME_MAX) {
		nlmsg_free(msg);
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
			    "invalid interface name \"%s\"", name);
		return FALSE;
	}
	nla_put_string(msg, IFLA_ALT_IFNAME, name);
	nla_nest_end(msg, list);
	return network_change(net, msg, error, "%s alternative name %s of link %d",
			      there ? "add" : "remove", name, ifindex);
}

/* ---- deletion ---- */

static gboolean link_delete(RdmadNetwork *net, int ifindex, GError **error)
{
	const struct ifinfomsg info = { .ifi_family = AF_UNSPEC, .ifi_index = ifindex };

	return network_change(net, NETWORK_REQUEST(RTM_DELLINK, 0, info), error, "delete link %d",
			      ifindex);
}

static gboolean link_set_group(RdmadNetwork *net, int ifindex, guint32 group, GError **error)
{
	const struct ifinfomsg info = { .ifi_family = AF_UNSPEC, .ifi_index = ifindex };
	struct nl_msg *msg = NETWORK_REQUEST(RTM_NEWLINK, 0, info);

	nla_put_u32(msg, IFLA_GROUP, group);
	return network_change(net, msg, error, "delete link %d", ifindex);
}

static gboolean group_delete(RdmadNetwork *net, guint32 group, GError **error)
{
	const struct ifinfomsg info = { .ifi_family = AF_UNSPEC };
	struct nl_msg *msg = NETWORK_REQUEST(RTM_DELLINK, 0, info);

	nla_put_u32(msg, IFLA_GROUP, group);
	return network_change(net, msg, error, "delete links");
}

/* Succeeds if the link is missing already. */
static gboolean gone_or_failed(GError *why, GError **error)
{
	if (!why)
		return TRUE;
	if (g_error_matches(why, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND)) {
		g_error_free(why);
		return TRUE;
	}
	g_propagate_error(error, why);
	return FALSE;
}

gboolean rdmad_links_delete(RdmadNetwork *net, const int *ifindexes, guint n, GError **error)
{
	/* No other link is in this group, whatever a pod has set. */
	const guint32 group = rdmad_random_range(1u << 16, G_MAXUINT32);
	GError *why = NULL;

	if (n == 1) {
		link_delete(net, ifindexes[0], &why);
		return gone_or_failed(why, error);
	}
	for (guint i = 0; i < n; i++) {
		link_set_group(net, ifindexes[i], group, &why);
		if (!gone_or_failed(g_steal_pointer(&why), error))
			return FALSE;
	}
	if (n)
		group_delete(net, group, &why);
	return gone_or_failed(why, error);
}
