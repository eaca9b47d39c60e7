/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses and neighbours of links */
#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <rdmad/error.h>
#include <string.h>

#include "hardware/netlink/route.h"
#include "network/network-private.h"

typedef struct {
	GPtrArray *list;
	int ifindex; /* 0: of all links */
} Entries;

static gboolean take_address(const struct nlmsghdr *msg, gpointer data)
{
	const Entries *entries = data;
	RdmadAddress *address = rdmad_route_parse_address(msg);

	if (address && (!entries->ifindex || address->ifindex == entries->ifindex))
		g_ptr_array_add(entries->list, address);
	else
		g_free(address);
	return TRUE;
}

GPtrArray *rdmad_addresses_list(RdmadNetwork *net, int ifindex, GError **error)
{
	const struct ifaddrmsg info = { .ifa_family = AF_UNSPEC };
	Entries entries = { g_ptr_array_new_with_free_func(g_free), ifindex };

	return network_read(net, NETWORK_REQUEST(RTM_GETADDR, NLM_F_DUMP, info), take_address,
			    &entries, entries.list, error);
}

static void put_lifetimes(struct nl_msg *msg, const RdmadAddress *address)
{
	const struct ifa_cacheinfo info = {
		.ifa_valid = address->valid_s ?: G_MAXUINT32,
		.ifa_prefered = address->flags & IFA_F_DEPRECATED ? 0
				: address->preferred_s		  ? address->preferred_s
								  : G_MAXUINT32,
	};

	if (address->valid_s || address->preferred_s || address->flags & IFA_F_DEPRECATED)
		nla_put(msg, IFA_CACHEINFO, sizeof(info), &info);
}

static gboolean address_request(RdmadNetwork *net, int type, int flags, const char *verb,
				const RdmadAddress *address, GError **error)
{
	const struct ifaddrmsg info = {
		.ifa_family = (guint8)address->ip.family,
		.ifa_prefixlen = address->ip.prefix,
		.ifa_flags = (guint8)address->flags,
		.ifa_scope = (guint8)address->scope,
		.ifa_index = (guint32)address->ifindex,
	};
	g_autofree char *text = rdmad_ip_format(&address->ip);
	struct nl_msg *msg = NETWORK_REQUEST(type, flags, info);

	network_put_ip(msg, IFA_LOCAL, &address->ip);
	network_put_ip(msg, IFA_ADDRESS, address->peer.family ? &address->peer : &address->ip);
	if (type == RTM_NEWADDR) {
		network_put_ip(msg, IFA_BROADCAST, &address->broadcast);
		if (address->label[0])
			nla_put_string(msg, IFA_LABEL, address->label);
		nla_put_u32(msg, IFA_FLAGS, address->flags);
		if (address->metric)
			nla_put_u32(msg, IFA_RT_PRIORITY, address->metric);
		put_lifetimes(msg, address);
	}
	return network_change(net, msg, error, "%s address %s of link %d", verb, text,
			      address->ifindex);
}

gboolean rdmad_address_replace(RdmadNetwork *net, const RdmadAddress *address, GError **error)
{
	return address_request(net, RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, "set", address,
			       error);
}

gboolean rdmad_address_add(RdmadNetwork *net, const RdmadAddress *address, GError **error)
{
	return address_request(net, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, "add", address, error);
}

gboolean rdmad_address_delete(RdmadNetwork *net, const RdmadAddress *address, GError **error)
{
	return address_request(net, RTM_DELADDR, 0, "delete", address, error);
}

/* ---- neighbours ---- */

static RdmadNeighbour *parse_neighbour(const struct nlmsghdr *msg)
{
	const struct ndmsg *info = nlmsg_data(msg);
	struct nlattr *attrs[NDA_MAX + 1];
	const struct nlattr *mac;
	RdmadNeighbour neighbour;

	if (msg->nlmsg_type != RTM_NEWNEIGH ||
	    nlmsg_parse((struct nlmsghdr *)msg, sizeof(*info), attrs, NDA_MAX, NULL) < 0 ||
	    !(info->ndm_state & NUD_PERMANENT) || info->ndm_flags & NTF_PROXY)
		return NULL;
	mac = attrs[NDA_LLADDR];
	neighbour = (RdmadNeighbour){ .ifindex = info->ndm_ifindex,
				      .ip = rdmad_route_get_ip(info->ndm_family, attrs[NDA_DST]) };
	/* Entries of a bridge's forwarding table have no IP address. */
	if (!neighbour.ip.family || !mac || !nla_len(mac) ||
	    nla_len(mac) > (int)sizeof(neighbour.mac.bytes))
		return NULL;
	neighbour.mac.length = (guint8)nla_len(mac);
	memcpy(neighbour.mac.bytes, nla_data(mac), neighbour.mac.length);
	return g_memdup2(&neighbour, sizeof(neighbour));
}

static gboolean take_neighbour(const struct nlmsghdr *msg, gpointer data)
{
	const Entries *entries = data;
	RdmadNeighbour *neighbour = parse_neighbour(msg);

	if (neighbour && (!entries->ifindex || neighbour->ifindex == entries->ifindex))
		g_ptr_array_add(entries->list, neighbour);
	else
		g_free(neighbour);
	return TRUE;
}

GPtrArray *rdmad_neighbours_list(RdmadNetwork *net, int ifindex, GError **error)
{
	const struct ndmsg info = { .ndm_family = AF_UNSPEC };
	Entries entries = { g_ptr_array_new_with_free_func(g_free), ifindex };
	struct nl_msg *msg = NETWORK_REQUEST(RTM_GETNEIGH, NLM_F_DUMP, info);

	if (ifindex)
		nla_put_u32(msg, NDA_IFINDEX, (guint32)ifindex);
	return network_read(net, msg, take_neighbour, &entries, entries.list, error);
}

static struct nl_msg *neighbour_request(int type, int flags, int ifindex, const RdmadIp *ip)
{
	const struct ndmsg info = {
		.ndm_family = (guint8)ip->family,
		.ndm_ifindex = ifindex,
		.ndm_state = NUD_PERMANENT,
	};
	struct nl_msg *msg = NETWORK_REQUEST(type, flags, info);

	network_put_ip(msg, NDA_DST, ip);
	return msg;
}

gboolean rdmad_neighbour_replace(RdmadNetwork *net, int ifindex, const RdmadIp *ip, const char *mac,
				 GError **error)
{
	g_autofree char *text = rdmad_ip_format(ip);
	struct nl_msg *msg =
		neighbour_request(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, ifindex, ip);

	if (!network_put_mac(msg, NDA_LLADDR, mac, error)) {
		nlmsg_free(msg);
		return FALSE;
	}
	return network_change(net, msg, error, "set neighbour %s of link %d", text, ifindex);
}

gboolean rdmad_neighbour_delete(RdmadNetwork *net, int ifindex, const RdmadIp *ip, GError **error)
{
	g_autofree char *text = rdmad_ip_format(ip);

	return network_change(net, neighbour_request(RTM_DELNEIGH, 0, ifindex, ip), error,
			      "delete neighbour %s of link %d", text, ifindex);
}
