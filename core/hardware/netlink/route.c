/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/netlink/route.h"

#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/ipv6.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <rdmad/device.h>
#include <rdmad/error.h>
#include <string.h>

/* ---- attributes ---- */

RdmadIp rdmad_route_get_ip(int family, const struct nlattr *attr)
{
	const int size = family == AF_INET6 ? 16 : 4;
	RdmadIp ip = { 0 };

	if (!attr || (family != AF_INET && family != AF_INET6) || nla_len(attr) != size)
		return ip;
	ip.family = family;
	ip.prefix = (guint8)(8 * size);
	memcpy(ip.bytes, nla_data(attr), (gsize)size);
	return ip;
}

guint rdmad_route_get_u32(const struct nlattr *attr)
{
	return attr && nla_len(attr) >= (int)sizeof(guint32) ? nla_get_u32(attr) : 0;
}

static char *get_text(const struct nlattr *attr)
{
	return attr ? g_strndup(nla_data(attr), (gsize)nla_len(attr)) : NULL;
}

/* "00:11:22:33:44:55", of any length. */
static char *get_mac(const struct nlattr *attr)
{
	const guint8 *bytes = attr ? nla_data(attr) : NULL;
	const int n = attr ? nla_len(attr) : 0;
	GString *text;

	if (n == 0)
		return NULL;
	text = g_string_sized_new(3 * n);
	for (int i = 0; i < n; i++)
		g_string_append_printf(text, "%s%02x", i ? ":" : "", bytes[i]);
	return g_string_free(text, FALSE);
}

/* ---- links ---- */

static const struct nla_policy link_policy[IFLA_MAX + 1] = {
	[IFLA_IFNAME] = { .type = NLA_STRING, .maxlen = IFNAMSIZ },
	[IFLA_ADDRESS] = { .maxlen = 32 }, /* MAX_ADDR_LEN */
	[IFLA_PERM_ADDRESS] = { .maxlen = 32 },
	[IFLA_MTU] = { .type = NLA_U32 },
	[IFLA_MAX_MTU] = { .type = NLA_U32 },
	[IFLA_CARRIER] = { .type = NLA_U8 },
	[IFLA_CARRIER_CHANGES] = { .type = NLA_U32 },
	[IFLA_OPERSTATE] = { .type = NLA_U8 },
	[IFLA_LINK] = { .type = NLA_U32 },
	[IFLA_LINK_NETNSID] = { .type = NLA_U32 },
	[IFLA_MASTER] = { .type = NLA_U32 },
	[IFLA_GROUP] = { .type = NLA_U32 },
};

/* net/core/net-sysfs.c, operstates[] */
static const char *const operstates[] = {
	"unknown", "notpresent", "down", "lowerlayerdown", "testing", "dormant", "up",
};

void rdmad_link_free(RdmadLink *link)
{
	if (!link)
		return;
	for (guint i = 0; i < link->n_vfs; i++)
		g_free(link->vfs[i].mac);
	g_free(link->vfs);
	g_strfreev(link->altnames);
	g_free(link->name);
	g_free(link->parent_device);
	g_free(link->kind);
	g_free(link->mac);
	g_free(link->permanent_mac);
	g_free(link);
}

/* Each end of a veth names the other as its parent, though neither is above the other. */
int rdmad_link_below(const RdmadLink *link)
{
	return link->parent_netns < 0 && g_strcmp0(link->kind, "veth") != 0 ? link->parent : 0;
}

static char **link_altnames(const struct nlattr *list)
{
	GPtrArray *names = g_ptr_array_new();
	const struct nlattr *attr;
	int left;

	if (list)
		nla_for_each_nested(attr, list, left) if (nla_type(attr) == IFLA_ALT_IFNAME)
			g_ptr_array_add(names, get_text(attr));
	g_ptr_array_add(names, NULL);
	return (char **)g_ptr_array_free(names, FALSE);
}

static char *link_kind(struct nlattr *info)
{
	struct nlattr *attrs[IFLA_INFO_MAX + 1];

	if (!info || nla_parse_nested(attrs, IFLA_INFO_MAX, info, NULL) < 0)
		return NULL;
	return get_text(attrs[IFLA_INFO_KIND]);
}

static int link_carrier(unsigned int flags, const struct nlattr *attr)
{
	if (!(flags & IFF_UP) || !attr)
		return RDMAD_UNKNOWN;
	return nla_get_u8(attr) != 0;
}

static int link_carrier_changes(const struct nlattr *attr)
{
	const guint32 changes = attr ? nla_get_u32(attr) : G_MAXUINT32;

	return changes <= G_MAXINT32 ? (int)changes : RDMAD_UNKNOWN;
}

/* IFLA_INET6_CONF has all sysctls of the interface. */
static int link_ipv6_off(const struct nlattr *families)
{
	struct nlattr *ipv6 =
		families ? nla_find(nla_data(families), nla_len(families), AF_INET6) : NULL;
	struct nlattr *conf =
		ipv6 ? nla_find(nla_data(ipv6), nla_len(ipv6), IFLA_INET6_CONF) : NULL;
	gint32 values[DEVCONF_DISABLE_IPV6 + 1];

	if (!conf || nla_len(conf) < (int)sizeof(values))
		return RDMAD_UNKNOWN;
	memcpy(values, nla_data(conf), sizeof(values));
	return values[DEVCONF_DISABLE_IPV6] != 0;
}

/* The kernel names the program of each mode. */
static guint link_xdp(struct nlattr *xdp)
{
	struct nlattr *attrs[IFLA_XDP_MAX + 1];

	if (!xdp || nla_parse_nested(attrs, IFLA_XDP_MAX, xdp, NULL) < 0)
		return 0;
	return (attrs[IFLA_XDP_SKB_PROG_ID] ? XDP_FLAGS_SKB_MODE : 0) |
	       (attrs[IFLA_XDP_DRV_PROG_ID] ? XDP_FLAGS_DRV_MODE : 0) |
	       (attrs[IFLA_XDP_HW_PROG_ID] ? XDP_FLAGS_HW_MODE : 0);
}

static const char *link_operstate(const struct nlattr *attr)
{
	const guint8 state = attr ? nla_get_u8(attr) : G_MAXUINT8;

	return state < G_N_ELEMENTS(operstates) ? operstates[state] : NULL;
}

static RdmadLink *link_parse(const struct nlmsghdr *msg)
{
	const struct ifinfomsg *info = nlmsg_data(msg);
	struct nlattr *attrs[IFLA_MAX + 1];
	RdmadLink *link;

	if (nlmsg_parse((struct nlmsghdr *)msg, sizeof(*info), attrs, IFLA_MAX, link_policy) < 0)
		return NULL;
	if (info->ifi_index <= 0 || !attrs[IFLA_IFNAME])
		return NULL;
	link = g_new0(RdmadLink, 1);
	link->ifindex = info->ifi_index;
	link->name = get_text(attrs[IFLA_IFNAME]);
	link->altnames = link_altnames(attrs[IFLA_PROP_LIST]);
	link->parent_device = get_text(attrs[IFLA_PARENT_DEV_NAME]);
	link->kind = link_kind(attrs[IFLA_LINKINFO]);
	link->parent = (int)rdmad_route_get_u32(attrs[IFLA_LINK]);
	link->parent_netns =
		attrs[IFLA_LINK_NETNSID] ? (int)rdmad_route_get_u32(attrs[IFLA_LINK_NETNSID]) : -1;
	link->master = (int)rdmad_route_get_u32(attrs[IFLA_MASTER]);
	link->group = rdmad_route_get_u32(attrs[IFLA_GROUP]);
	link->mac = get_mac(attrs[IFLA_ADDRESS]);
	link->permanent_mac = get_mac(attrs[IFLA_PERM_ADDRESS]);
	link->mtu = rdmad_route_get_u32(attrs[IFLA_MTU]);
	link->max_mtu = rdmad_route_get_u32(attrs[IFLA_MAX_MTU]);
	link->flags = info->ifi_flags;
	link->link_mode = attrs[IFLA_LINKMODE] ? nla_get_u8(attrs[IFLA_LINKMODE]) : 0;
	link->up = (info->ifi_flags & IFF_UP) != 0;
	link->carrier = link_carrier(info->ifi_flags, attrs[IFLA_CARRIER]);
	link->carrier_changes = link_carrier_changes(attrs[IFLA_CARRIER_CHANGES]);
	link->operstate = link_operstate(attrs[IFLA_OPERSTATE]);
	link->ipv6_off = link_ipv6_off(attrs[IFLA_AF_SPEC]);
	link->xdp = link_xdp(attrs[IFLA_XDP]);
	return link;
}

RdmadLink *rdmad_route_parse_link(const struct nlmsghdr *msg)
{
	return msg->nlmsg_type == RTM_NEWLINK ? link_parse(msg) : NULL;
}

/* ---- addresses ---- */

static guint lifetime(guint32 seconds)
{
	return seconds == G_MAXUINT32 ? 0 : seconds;
}

static void parse_lifetimes(const struct nlattr *attr, RdmadAddress *address)
{
	struct ifa_cacheinfo info;

	if (!attr || nla_len(attr) < (int)sizeof(info))
		return;
	memcpy(&info, nla_data(attr), sizeof(info));
	address->valid_s = lifetime(info.ifa_valid);
	address->preferred_s = lifetime(info.ifa_prefered);
}

RdmadAddress *rdmad_route_parse_address(const struct nlmsghdr *msg)
{
	const struct ifaddrmsg *info = nlmsg_data(msg);
	struct nlattr *attrs[IFA_MAX + 1];
	RdmadIp local, other;
	RdmadAddress *address;

	if (msg->nlmsg_type != RTM_NEWADDR ||
	    nlmsg_parse((struct nlmsghdr *)msg, sizeof(*info), attrs, IFA_MAX, NULL) < 0)
		return NULL;
	/* On a point-to-point link, IFA_ADDRESS is the peer's address. */
	other = rdmad_route_get_ip(info->ifa_family, attrs[IFA_ADDRESS]);
	local = attrs[IFA_LOCAL] ? rdmad_route_get_ip(info->ifa_family, attrs[IFA_LOCAL]) : other;
	if (!local.family || info->ifa_prefixlen > local.prefix)
		return NULL;
	address = g_new0(RdmadAddress, 1);
	address->ifindex = (int)info->ifa_index;
	local.prefix = other.prefix = info->ifa_prefixlen;
	address->ip = local;
	if (other.family && !rdmad_ip_equal(&local, &other))
		address->peer = other;
	address->broadcast = rdmad_route_get_ip(info->ifa_family, attrs[IFA_BROADCAST]);
	address->flags = attrs[IFA_FLAGS] ? rdmad_route_get_u32(attrs[IFA_FLAGS]) : info->ifa_flags;
	address->scope = info->ifa_scope;
	address->metric = rdmad_route_get_u32(attrs[IFA_RT_PRIORITY]);
	parse_lifetimes(attrs[IFA_CACHEINFO], address);
	if (attrs[IFA_LABEL])
		nla_strlcpy(address->label, attrs[IFA_LABEL], sizeof(address->label));
	return address;
}

/* ---- notifications ---- */

static gboolean parse_link_event(const struct nlmsghdr *msg, RdmadRouteEvent *event)
{
	const struct ifinfomsg *info = NLMSG_DATA(msg);

	event->ifindex = info->ifi_index;
	/* The same message of AF_BRIDGE is about a port of a bridge. */
	if (info->ifi_family != AF_UNSPEC)
		return event->ifindex > 0;
	event->link = link_parse(msg);
	event->removed = msg->nlmsg_type == RTM_DELLINK;
	return event->link != NULL;
}

gboolean rdmad_route_parse_event(const char *message, gsize size, RdmadRouteEvent *event)
{
	const struct nlmsghdr *msg = (const void *)message;
	const struct ifaddrmsg *address;

	*event = (RdmadRouteEvent){ 0 };
	/* The kernel sends one notification per datagram. */
	if (!NLMSG_OK(msg, size) || msg->nlmsg_len != size)
		return FALSE;
	if (msg->nlmsg_type == RTM_NEWLINK || msg->nlmsg_type == RTM_DELLINK)
		return size >= NLMSG_SPACE(sizeof(struct ifinfomsg)) &&
		       parse_link_event(msg, event);
	if ((msg->nlmsg_type != RTM_NEWADDR && msg->nlmsg_type != RTM_DELADDR) ||
	    size < NLMSG_SPACE(sizeof(*address)))
		return FALSE;
	address = NLMSG_DATA(msg);
	event->ifindex = (int)address->ifa_index;
	return event->ifindex > 0;
}

/* ---- requests ---- */

static void take_link(const struct nlmsghdr *msg, GPtrArray *links)
{
	RdmadLink *link = rdmad_route_parse_link(msg);

	if (link)
		g_ptr_array_add(links, link);
}

static void take_address(const struct nlmsghdr *msg, GPtrArray *addresses)
{
	RdmadAddress *address = rdmad_route_parse_address(msg);

	if (address)
		g_ptr_array_add(addresses, address);
}

static struct nl_msg *make_request(int type, int flags, const void *header, gsize size)
{
	struct nl_msg *msg = nlmsg_alloc_simple(type, flags);

	if (!msg || nlmsg_append(msg, (void *)header, size, NLMSG_ALIGNTO) < 0)
		g_error("out of memory");
	return msg;
}

/* `msg` is taken over. */
static GPtrArray *ask_links(RdmadNetlink *nl, struct nl_msg *msg, GError **error)
{
	g_autoptr(GPtrArray) links =
		g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_link_free);

	/* Statistics are the larger part of a link's message. */
	nla_put_u32(msg, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	if (!rdmad_netlink_ask(nl, msg, take_link, links, error))
		return NULL;
	return g_steal_pointer(&links);
}

GPtrArray *rdmad_route_get_links(RdmadNetlink *nl, GError **error)
{
	const struct ifinfomsg info = { .ifi_family = AF_UNSPEC };

	return ask_links(nl, make_request(RTM_GETLINK, NLM_F_DUMP, &info, sizeof(info)), error);
}

/* A removed interface is not an error: returns an empty array. */
static GPtrArray *none_if_not_found(GPtrArray *found, GError *reason, GError **error)
{
	if (found)
		return found;
	if (!g_error_matches(reason, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND)) {
		g_propagate_error(error, reason);
		return NULL;
	}
	g_error_free(reason);
	return g_ptr_array_new();
}

GPtrArray *rdmad_route_get_link(RdmadNetlink *nl, int ifindex, const char *name, GError **error)
{
	const struct ifinfomsg info = { .ifi_family = AF_UNSPEC, .ifi_index = ifindex };
	struct nl_msg *msg = make_request(RTM_GETLINK, NLM_F_ACK, &info, sizeof(info));
	GError *reason = NULL;
	GPtrArray *links;

	if (!ifindex)
		nla_put_string(msg, IFLA_IFNAME, name);
	links = ask_links(nl, msg, &reason);
	return none_if_not_found(links, reason, error);
}

static GPtrArray *ask_addresses(RdmadNetlink *nl, int ifindex, GError **error)
{
	g_autoptr(GPtrArray) addresses = g_ptr_array_new_with_free_func(g_free);
	const struct ifaddrmsg info = { .ifa_family = AF_UNSPEC, .ifa_index = (guint)ifindex };

	if (!rdmad_netlink_ask(nl, make_request(RTM_GETADDR, NLM_F_DUMP, &info, sizeof(info)),
			       take_address, addresses, error))
		return NULL;
	return g_steal_pointer(&addresses);
}

GPtrArray *rdmad_route_get_addresses(RdmadNetlink *nl, GError **error)
{
	return ask_addresses(nl, 0, error);
}

GPtrArray *rdmad_route_get_addresses_of(RdmadNetlink *nl, int ifindex, GError **error)
{
	const int strict = 1;
	GError *reason = NULL;
	GPtrArray *addresses;

	/* Kernels before 4.20 return the addresses of all interfaces. */
	(void)!setsockopt(rdmad_netlink_fd(nl), SOL_NETLINK, NETLINK_GET_STRICT_CHK, &strict,
			  sizeof(strict));
	addresses = ask_addresses(nl, ifindex, &reason);
	return none_if_not_found(addresses, reason, error);
}
