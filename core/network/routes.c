/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/rtnetlink.h>
#include <rdmad/error.h>
#include <string.h>

#include "hardware/netlink/route.h"
#include "network/network-private.h"

/* ---- reading ---- */

/* Parses RTA_GATEWAY, or RTA_VIA, a gateway of the other address family. */
static RdmadIp parse_gateway(int family, const struct nlattr *gateway, const struct nlattr *via)
{
	const struct rtvia *other = via ? nla_data(via) : NULL;
	RdmadIp ip = rdmad_route_get_ip(family, gateway);
	const gsize bytes = sizeof(struct in6_addr);

	if (ip.family || !other || nla_len(via) != (int)(sizeof(*other) + bytes) ||
	    other->rtvia_family != AF_INET6)
		return ip;
	ip = (RdmadIp){ .family = AF_INET6, .prefix = 128 };
	memcpy(ip.bytes, other->rtvia_addr, bytes);
	return ip;
}

static void parse_hops(const struct nlattr *attr, RdmadRoute *route)
{
	const struct rtnexthop *hop = nla_data(attr);
	gsize left = (gsize)nla_len(attr);

	while (left >= sizeof(*hop) && hop->rtnh_len >= sizeof(*hop) && hop->rtnh_len <= left) {
		const gsize step = MIN(RTNH_ALIGN((gsize)hop->rtnh_len), left);
		struct nlattr *attrs[RTA_MAX + 1];

		if (route->n_hops == RDMAD_ROUTE_HOPS_MAX) {
			route->partial = TRUE;
			return;
		}
		if (nla_parse(attrs, RTA_MAX, (struct nlattr *)(void *)RTNH_DATA(hop),
			      (int)(hop->rtnh_len - sizeof(*hop)), NULL) < 0)
			return;
		route->hops[route->n_hops++] = (RdmadRouteHop){
			.gateway = parse_gateway(route->family, attrs[RTA_GATEWAY], attrs[RTA_VIA]),
			.ifindex = hop->rtnh_ifindex,
			.weight = hop->rtnh_hops + 1u,
			.onlink = (hop->rtnh_flags & RTNH_F_ONLINK) != 0,
		};
		left -= step;
		hop = (const void *)((const char *)hop + step);
	}
}

static void parse_metrics(struct nlattr *attr, RdmadRoute *route)
{
	struct nlattr *attrs[RTAX_MAX + 1];

	if (!attr || nla_parse_nested(attrs, RTAX_MAX, attr, NULL) < 0)
		return;
	route->mtu = rdmad_route_get_u32(attrs[RTAX_MTU]);
	route->advmss = rdmad_route_get_u32(attrs[RTAX_ADVMSS]);
	for (guint i = 0; i <= RTAX_MAX; i++)
		route->partial |= attrs[i] && i != RTAX_MTU && i != RTAX_ADVMSS;
}

/* The kernel names the preference of each IPv6 route, which is medium (0) by default. */
static gboolean has_other_attributes(const struct rtmsg *info, struct nlattr *const *attrs)
{
	const struct nlattr *preference = attrs[RTA_PREF];

	return info->rtm_tos || info->rtm_src_len || attrs[RTA_FLOW] || attrs[RTA_ENCAP] ||
	       (preference && nla_len(preference) > 0 && *(const guint8 *)nla_data(preference));
}

static void parse_next(const struct rtmsg *info, struct nlattr *const *attrs, RdmadRoute *route)
{
	if (attrs[RTA_MULTIPATH]) {
		parse_hops(attrs[RTA_MULTIPATH], route);
	} else if (attrs[RTA_OIF] || attrs[RTA_GATEWAY]) {
		route->n_hops = 1;
		route->hops[0] = (RdmadRouteHop){
			.gateway = parse_gateway(route->family, attrs[RTA_GATEWAY], attrs[RTA_VIA]),
			.ifindex = (int)rdmad_route_get_u32(attrs[RTA_OIF]),
			.weight = 1,
			.onlink = (info->rtm_flags & RTNH_F_ONLINK) != 0,
		};
	}
}

RdmadRoute *network_parse_route(const struct nlmsghdr *msg)
{
	const struct rtmsg *info = nlmsg_data(msg);
	struct nlattr *attrs[RTA_MAX + 1];
	RdmadRoute *route;

	if (msg->nlmsg_type != RTM_NEWROUTE ||
	    nlmsg_parse((struct nlmsghdr *)msg, sizeof(*info), attrs, RTA_MAX, NULL) < 0)
		return NULL;
	/* Cached routes are not configuration. */
	if ((info->rtm_family != AF_INET && info->rtm_family != AF_INET6) ||
	    info->rtm_flags & RTM_F_CLONED)
		return NULL;
	route = g_new0(RdmadRoute, 1);
	route->family = info->rtm_family;
	route->to = rdmad_route_get_ip(info->rtm_family, attrs[RTA_DST]);
	route->to.prefix = MIN(info->rtm_dst_len, route->to.prefix);
	route->table = attrs[RTA_TABLE] ? rdmad_route_get_u32(attrs[RTA_TABLE]) : info->rtm_table;
	route->type = info->rtm_type;
	route->protocol = info->rtm_protocol;
	route->scope = info->rtm_scope;
	route->metric = rdmad_route_get_u32(attrs[RTA_PRIORITY]);
	route->source = rdmad_route_get_ip(info->rtm_family, attrs[RTA_PREFSRC]);
	route->partial = has_other_attributes(info, attrs);
	parse_metrics(attrs[RTA_METRICS], route);
	parse_next(info, attrs, route);
	return route;
}

typedef struct {
	GPtrArray *routes;
	guint table;
	int ifindex;
} Wanted;

static gboolean route_is_wanted(const Wanted *wanted, const RdmadRoute *route)
{
	if (wanted->table && route->table != wanted->table)
		return FALSE;
	for (guint i = 0; i < route->n_hops; i++)
		if (route->hops[i].ifindex == wanted->ifindex)
			return TRUE;
	return wanted->ifindex == 0;
}

static gboolean take_route(const struct nlmsghdr *msg, gpointer data)
{
	const Wanted *wanted = data;
	RdmadRoute *route = network_parse_route(msg);

	if (route && route_is_wanted(wanted, route))
		g_ptr_array_add(wanted->routes, route);
	else
		g_free(route);
	return TRUE;
}

GPtrArray *rdmad_routes_list(RdmadNetwork *net, int family, guint table, int ifindex,
			     GError **error)
{
	const struct rtmsg info = { .rtm_family = (guint8)family };
	Wanted wanted = { g_ptr_array_new_with_free_func(g_free), table, ifindex };

	return network_read(net, NETWORK_REQUEST(RTM_GETROUTE, NLM_F_DUMP, info), take_route,
			    &wanted, wanted.routes, error);
}

/* ---- writing ---- */

static void put_gateway(struct nl_msg *msg, int family, const RdmadIp *gateway)
{
	guint8 bytes[sizeof(struct rtvia) + sizeof(gateway->bytes)];
	const guint16 other = (guint16)gateway->family;

	if (gateway->family == family) {
		network_put_ip(msg, RTA_GATEWAY, gateway);
	} else if (gateway->family) {
		memcpy(bytes, &other, sizeof(other));
		memcpy(bytes + sizeof(struct rtvia), gateway->bytes, sizeof(gateway->bytes));
		nla_put(msg, RTA_VIA, (int)sizeof(struct rtvia) + (other == AF_INET6 ? 16 : 4),
			bytes);
	}
}

static void put_hops(struct nl_msg *msg, const RdmadRoute *route)
{
	struct nlattr *list = nla_nest_start(msg, RTA_MULTIPATH);

	for (guint i = 0; i < route->n_hops; i++) {
		const RdmadRouteHop *hop = &route->hops[i];
		const int at = (int)nlmsg_hdr(msg)->nlmsg_len;
		struct rtnexthop *next = nlmsg_reserve(msg, sizeof(*next), NLMSG_ALIGNTO);

		if (!next)
			g_error("out of memory");
		*next = (struct rtnexthop){
			.rtnh_flags = hop->onlink ? RTNH_F_ONLINK : 0,
			.rtnh_hops = (guint8)(CLAMP(hop->weight, 1, 256) - 1),
			.rtnh_ifindex = hop->ifindex,
		};
		put_gateway(msg, route->family, &hop->gateway);
		/* Adding attributes may have reallocated the message. */
		next = (void *)((char *)nlmsg_hdr(msg) + at);
		next->rtnh_len = (guint16)((int)nlmsg_hdr(msg)->nlmsg_len - at);
	}
	nla_nest_end(msg, list);
}

static void put_metrics(struct nl_msg *msg, const RdmadRoute *route)
{
	struct nlattr *list;

	if (!route->mtu && !route->advmss)
		return;
	list = nla_nest_start(msg, RTA_METRICS);
	if (route->mtu)
		nla_put_u32(msg, RTAX_MTU, route->mtu);
	if (route->advmss)
		nla_put_u32(msg, RTAX_ADVMSS, route->advmss);
	nla_nest_end(msg, list);
}

/* A route without a gateway must have link scope: otherwise gateways behind it would be
 * unreachable. */
static guint8 route_scope(const RdmadRoute *route)
{
	if (!route->scope && route->family == AF_INET && route->n_hops > 0 &&
	    !route->hops[0].gateway.family)
		return RT_SCOPE_LINK;
	return (guint8)route->scope;
}

static gboolean route_request(RdmadNetwork *net, int type, int flags, const char *verb,
			      const RdmadRoute *route, GError **error)
{
	const gboolean is_new = type == RTM_NEWROUTE;
	const struct rtmsg info = {
		.rtm_family = (guint8)route->family,
		.rtm_dst_len = route->to.prefix,
		.rtm_table = RT_TABLE_UNSPEC,
		.rtm_protocol = (guint8)(route->protocol ?: (is_new ? RTPROT_STATIC : 0)),
		.rtm_scope = is_new ? route_scope(route) : RT_SCOPE_NOWHERE,
		.rtm_type = (guint8)(route->type ?: (is_new ? RTN_UNICAST : 0)),
		.rtm_flags = route->n_hops == 1 && route->hops[0].onlink ? RTNH_F_ONLINK : 0,
	};
	g_autofree char *text = rdmad_ip_format(&route->to);
	struct nl_msg *msg;

	g_assert(route->n_hops <= RDMAD_ROUTE_HOPS_MAX);
	msg = NETWORK_REQUEST(type, flags, info);
	network_put_ip(msg, RTA_DST, &route->to);
	network_put_ip(msg, RTA_PREFSRC, &route->source);
	nla_put_u32(msg, RTA_TABLE, route->table ?: RT_TABLE_MAIN);
	if (route->metric)
		nla_put_u32(msg, RTA_PRIORITY, route->metric);
	put_metrics(msg, route);
	if (route->n_hops == 1) {
		nla_put_u32(msg, RTA_OIF, (guint32)route->hops[0].ifindex);
		put_gateway(msg, route->family, &route->hops[0].gateway);
	} else if (route->n_hops > 1) {
		put_hops(msg, route);
	}
	return network_change(net, msg, error, "%s route to %s", verb,
			      route->to.family ? text : "default");
}

gboolean rdmad_route_add(RdmadNetwork *net, const RdmadRoute *route, GError **error)
{
	return route_request(net, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, "add", route, error);
}

gboolean rdmad_route_append(RdmadNetwork *net, const RdmadRoute *route, GError **error)
{
	return route_request(net, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_APPEND, "append", route,
			     error);
}

gboolean rdmad_route_replace(RdmadNetwork *net, const RdmadRoute *route, GError **error)
{
	return route_request(net, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, "set", route, error);
}

gboolean rdmad_route_delete(RdmadNetwork *net, const RdmadRoute *route, GError **error)
{
	return route_request(net, RTM_DELROUTE, 0, "delete", route, error);
}
