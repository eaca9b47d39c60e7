/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>

#include "hardware/netlink/route.h"
#include "network/network-private.h"

static void parse_name(char name[16], const struct nlattr *attr)
{
	g_autofree char *text = attr ? g_strndup(nla_data(attr), (gsize)nla_len(attr)) : NULL;

	g_strlcpy(name, text ?: "", 16);
}

RdmadRule *network_parse_rule(const struct nlmsghdr *msg)
{
	const struct fib_rule_hdr *info = nlmsg_data(msg);
	struct nlattr *attrs[FRA_MAX + 1];
	RdmadRule *rule;

	if (msg->nlmsg_type != RTM_NEWRULE ||
	    nlmsg_parse((struct nlmsghdr *)msg, sizeof(*info), attrs, FRA_MAX, NULL) < 0)
		return NULL;
	if ((info->family != AF_INET && info->family != AF_INET6) ||
	    info->action != FR_ACT_TO_TBL || info->flags & FIB_RULE_INVERT)
		return NULL;
	rule = g_new0(RdmadRule, 1);
	rule->family = info->family;
	rule->from = rdmad_route_get_ip(info->family, attrs[FRA_SRC]);
	rule->from.prefix = MIN(info->src_len, rule->from.prefix);
	rule->to = rdmad_route_get_ip(info->family, attrs[FRA_DST]);
	rule->to.prefix = MIN(info->dst_len, rule->to.prefix);
	rule->priority = rdmad_route_get_u32(attrs[FRA_PRIORITY]);
	rule->table = attrs[FRA_TABLE] ? rdmad_route_get_u32(attrs[FRA_TABLE]) : info->table;
	rule->protocol = attrs[FRA_PROTOCOL] && nla_len(attrs[FRA_PROTOCOL]) >= 1
				 ? nla_get_u8(attrs[FRA_PROTOCOL])
				 : 0;
	parse_name(rule->iif, attrs[FRA_IIFNAME]);
	parse_name(rule->oif, attrs[FRA_OIFNAME]);
	return rule;
}

static gboolean take_rule(const struct nlmsghdr *msg, gpointer data)
{
	RdmadRule *rule = network_parse_rule(msg);

	if (rule)
		g_ptr_array_add(data, rule);
	return TRUE;
}

GPtrArray *rdmad_rules_list(RdmadNetwork *net, int family, GError **error)
{
	const struct fib_rule_hdr info = { .family = (guint8)family };
	GPtrArray *rules = g_ptr_array_new_with_free_func(g_free);

	return network_read(net, NETWORK_REQUEST(RTM_GETRULE, NLM_F_DUMP, info), take_rule, rules,
			    rules, error);
}

static gboolean rule_request(RdmadNetwork *net, int type, int flags, const char *verb,
			     const RdmadRule *rule, GError **error)
{
	const struct fib_rule_hdr info = {
		.family = (guint8)rule->family,
		.src_len = rule->from.prefix,
		.dst_len = rule->to.prefix,
		.action = FR_ACT_TO_TBL,
	};
	struct nl_msg *msg = NETWORK_REQUEST(type, flags, info);

	network_put_ip(msg, FRA_SRC, &rule->from);
	network_put_ip(msg, FRA_DST, &rule->to);
	nla_put_u32(msg, FRA_TABLE, rule->table);
	nla_put_u32(msg, FRA_PRIORITY, rule->priority);
	if (*rule->iif)
		nla_put_string(msg, FRA_IIFNAME, rule->iif);
	if (*rule->oif)
		nla_put_string(msg, FRA_OIFNAME, rule->oif);
	if (rule->protocol)
		nla_put_u8(msg, FRA_PROTOCOL, (guint8)rule->protocol);
	return network_change(net, msg, error, "%s rule %u", verb, rule->priority);
}

gboolean rdmad_rule_add(RdmadNetwork *net, const RdmadRule *rule, GError **error)
{
	return rule_request(net, RTM_NEWRULE, NLM_F_CREATE | NLM_F_EXCL, "add", rule, error);
}

gboolean rdmad_rule_delete(RdmadNetwork *net, const RdmadRule *rule, GError **error)
{
	return rule_request(net, RTM_DELRULE, 0, "delete", rule, error);
}
