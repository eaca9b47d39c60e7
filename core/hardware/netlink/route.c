/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/netlink/route.h"

#include <arpa/inet.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <rdmad/device.h>

static const struct nla_policy link_policy[IFLA_MAX + 1] = {
	[IFLA_IFNAME] = { .type = NLA_STRING, .maxlen = IFNAMSIZ },
	[IFLA_ADDRESS] = { .maxlen = 32 }, /* MAX_ADDR_LEN */
	[IFLA_MTU] = { .type = NLA_U32 },
	[IFLA_CARRIER] = { .type = NLA_U8 },
	[IFLA_CARRIER_CHANGES] = { .type = NLA_U32 },
	[IFLA_OPERSTATE] = { .type = NLA_U8 },
	[IFLA_MASTER] = { .type = NLA_U32 },
};

/* net/core/net-sysfs.c, operstates[] */
static const char *const operstates[] = {
	"unknown", "notpresent", "down", "lowerlayerdown", "testing", "dormant", "up",
};

void rdmad_route_link_free(RdmadRouteLink *link)
{
	g_free(link->name);
	g_free(link->mac);
	g_free(link);
}

void rdmad_route_address_free(RdmadRouteAddress *address)
{
	g_free(address->text);
	g_free(address);
}

char *rdmad_route_format_mac(struct nlattr *attr)
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

static int attr_int(struct nlattr *attr, int otherwise)
{
	const guint32 value = attr ? nla_get_u32(attr) : G_MAXUINT32;

	return value <= G_MAXINT32 ? (int)value : otherwise;
}

static int link_carrier(unsigned int flags, struct nlattr *attr)
{
	if (!(flags & IFF_UP) || !attr)
		return RDMAD_UNKNOWN;
	return nla_get_u8(attr) != 0;
}

const char *rdmad_route_operstate(struct nlattr *attr)
{
	const guint8 state = attr && nla_len(attr) >= 1 ? nla_get_u8(attr) : G_MAXUINT8;

	return state < G_N_ELEMENTS(operstates) ? operstates[state] : NULL;
}

void rdmad_route_parse_link(const struct nlmsghdr *msg, GPtrArray *links)
{
	const struct ifinfomsg *info = nlmsg_data(msg);
	struct nlattr *attrs[IFLA_MAX + 1];
	RdmadRouteLink *link;

	if (msg->nlmsg_type != RTM_NEWLINK)
		return;
	if (nlmsg_parse((struct nlmsghdr *)msg, sizeof(*info), attrs, IFLA_MAX, link_policy) < 0)
		return;
	if (info->ifi_index <= 0 || !attrs[IFLA_IFNAME])
		return;
	link = g_new0(RdmadRouteLink, 1);
	link->ifindex = info->ifi_index;
	link->name = g_utf8_make_valid(nla_data(attrs[IFLA_IFNAME]), -1);
	link->mac = rdmad_route_format_mac(attrs[IFLA_ADDRESS]);
	link->mtu = attr_int(attrs[IFLA_MTU], RDMAD_UNKNOWN);
	link->carrier = link_carrier(info->ifi_flags, attrs[IFLA_CARRIER]);
	link->carrier_changes = attr_int(attrs[IFLA_CARRIER_CHANGES], RDMAD_UNKNOWN);
	link->operstate = rdmad_route_operstate(attrs[IFLA_OPERSTATE]);
	link->master = attr_int(attrs[IFLA_MASTER], 0);
	g_ptr_array_add(links, link);
}

static char *address_format(const struct ifaddrmsg *info, struct nlattr *attr)
{
	const int bytes = info->ifa_family == AF_INET ? 4 : 16;
	char text[INET6_ADDRSTRLEN];

	if (info->ifa_family != AF_INET && info->ifa_family != AF_INET6)
		return NULL;
	if (!attr || nla_len(attr) != bytes || info->ifa_prefixlen > 8 * bytes)
		return NULL;
	if (!inet_ntop(info->ifa_family, nla_data(attr), text, sizeof(text)))
		return NULL;
	return g_strdup_printf("%s/%u", text, info->ifa_prefixlen);
}

void rdmad_route_parse_address(const struct nlmsghdr *msg, GPtrArray *addresses)
{
	const struct ifaddrmsg *info = nlmsg_data(msg);
	struct nlattr *attrs[IFA_MAX + 1];
	RdmadRouteAddress *address;
	char *text;

	if (msg->nlmsg_type != RTM_NEWADDR)
		return;
	if (nlmsg_parse((struct nlmsghdr *)msg, sizeof(*info), attrs, IFA_MAX, NULL) < 0)
		return;
	/* On a point-to-point link IFA_ADDRESS is the other end. */
	text = address_format(info, attrs[IFA_LOCAL] ? attrs[IFA_LOCAL] : attrs[IFA_ADDRESS]);
	if (!text)
		return;
	address = g_new0(RdmadRouteAddress, 1);
	address->ifindex = (int)info->ifa_index;
	address->text = text;
	g_ptr_array_add(addresses, address);
}

static struct nl_msg *dump_request(int type, const void *header, gsize size)
{
	struct nl_msg *msg = nlmsg_alloc_simple(type, NLM_F_DUMP);

	if (!msg || nlmsg_append(msg, (void *)header, size, NLMSG_ALIGNTO) < 0)
		g_error("out of memory");
	return msg;
}

GPtrArray *rdmad_route_get_links(RdmadNetlink *nl, GError **error)
{
	g_autoptr(GPtrArray) links =
		g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_route_link_free);
	const struct ifinfomsg info = { .ifi_family = AF_UNSPEC };
	struct nl_msg *msg = dump_request(RTM_GETLINK, &info, sizeof(info));

	/* Statistics are the larger part of a link's message. */
	nla_put_u32(msg, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	if (!rdmad_netlink_ask(nl, msg, rdmad_route_parse_link, links, error))
		return NULL;
	return g_steal_pointer(&links);
}

GPtrArray *rdmad_route_get_addresses(RdmadNetlink *nl, GError **error)
{
	g_autoptr(GPtrArray) addresses =
		g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_route_address_free);
	const struct ifaddrmsg info = { .ifa_family = AF_UNSPEC };

	if (!rdmad_netlink_ask(nl, dump_request(RTM_GETADDR, &info, sizeof(info)),
			       rdmad_route_parse_address, addresses, error))
		return NULL;
	return g_steal_pointer(&addresses);
}
