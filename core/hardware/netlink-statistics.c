/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/netlink-statistics.h"

#include <limits.h>
#include <netlink/msg.h>
#include <string.h>

#include "hardware/netlink-nldev.h"

static const char *entry_name(struct nlattr *entry)
{
	struct nlattr *attr = nla_find(nla_data(entry), nla_len(entry),
				       RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME);
	const char *name = attr ? nla_data(attr) : NULL;
	gsize len;

	if (!name)
		return NULL;
	len = strnlen(name, (gsize)nla_len(attr));
	return len > 0 && len <= NAME_MAX && len < (gsize)nla_len(attr) ? name : NULL;
}

static void parse_entry(struct nlattr *entry, RdmadNldevCounterFunc fn, gpointer data)
{
	struct nlattr *value = nla_find(nla_data(entry), nla_len(entry),
					RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE);
	const char *name = entry_name(entry);

	if (name && value && nla_len(value) == (int)sizeof(guint64))
		fn(name, nla_get_u64(value), data);
}

void rdmad_nldev_parse_statistics(const struct nlmsghdr *msg, RdmadNldevCounterFunc fn,
				  gpointer data)
{
	RdmadNldevAttrs attrs;
	struct nlattr *entry;
	int left;

	if (!rdmad_nldev_parse(msg, RDMA_NLDEV_CMD_STAT_GET, attrs) ||
	    !attrs[RDMA_NLDEV_ATTR_STAT_HWCOUNTERS])
		return;
	nla_for_each_nested(entry, attrs[RDMA_NLDEV_ATTR_STAT_HWCOUNTERS],
			    left) if (nla_type(entry) == RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY)
		parse_entry(entry, fn, data);
}

typedef struct {
	RdmadNldevCounterFunc fn;
	gpointer data;
} Statistics;

static gboolean take_message(const struct nlmsghdr *msg, gpointer data)
{
	const Statistics *statistics = data;

	rdmad_nldev_parse_statistics(msg, statistics->fn, statistics->data);
	return TRUE;
}

/* Only a dump is ever asked for again. */
static void nothing_to_drop(gpointer data)
{
}

int rdmad_nldev_get_statistics(RdmadNetlink *nl, guint device, guint port, RdmadNldevCounterFunc fn,
			       gpointer data)
{
	Statistics statistics = { fn, data };
	struct nl_msg *msg = rdmad_nldev_request(RDMA_NLDEV_CMD_STAT_GET, 0);

	nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, device);
	nla_put_u32(msg, RDMA_NLDEV_ATTR_PORT_INDEX, port);
	if (rdmad_netlink_ask_each(nl, msg, take_message, nothing_to_drop, &statistics, NULL))
		return 0;
	return rdmad_netlink_errnum(nl);
}
