/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of netlink messages, as a socket gives it, through every parser.  The seeds were
 * recorded from kernel 6.12 with soft-RoCE devices and netdevsim. */
#include <netlink/msg.h>
#include <stdint.h>

#include "hardware/netlink/ethtool.h"
#include "hardware/netlink/rdma.h"
#include "hardware/netlink/restrack.h"
#include "hardware/netlink/route.h"
#include "network/network-private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
	RdmadNetlinkParse parse;
	GDestroyNotify free;
} parsers[] = {
	{ rdmad_nldev_parse_device, (GDestroyNotify)rdmad_nldev_device_free },
	{ rdmad_nldev_parse_port, (GDestroyNotify)rdmad_nldev_port_free },
	{ rdmad_nldev_parse_chardev, g_free },
	{ rdmad_nldev_parse_netns_mode, NULL },
};

static void check_counter(const char *name, guint64 value, gpointer data)
{
	g_assert_cmpuint(strlen(name), >, 0);
	g_assert_cmpuint(strlen(name), <, 256);
}

static void parse_ethtool(const struct nlmsghdr *msg)
{
	RdmadEthtoolCounts counts = { .n = 0 };
	guint16 family = 0;

	rdmad_ethtool_parse_family(msg, &family);
	rdmad_ethtool_parse_pause(msg, &counts);
	rdmad_ethtool_parse_fec(msg, &counts);
	for (guint i = 0; i < counts.n; i++)
		g_assert_cmpuint(counts.counts[i].value, !=, G_MAXUINT64);
}

/* There are no more objects than bytes. */
static void parse_restrack(const struct nlmsghdr *msg)
{
	g_autoptr(RdmadRestrack) restrack = rdmad_restrack_new();
	g_autoptr(GArray) users = NULL;
	guint64 totals[RDMAD_USES_KINDS] = { 0 };
	guint objects = 0;

	rdmad_restrack_parse_summary(msg, totals);
	for (guint kind = 0; kind < RDMAD_USES_KINDS; kind++)
		rdmad_restrack_parse(restrack, kind, msg);
	users = rdmad_restrack_take_users(restrack);
	for (guint i = 0; i < users->len; i++)
		for (guint kind = 0; kind < RDMAD_USES_KINDS; kind++)
			objects += g_array_index(users, RdmadRestrackUser, i).objects[kind];
	g_assert_cmpuint(objects, <=, msg->nlmsg_len);
}

static void parse_network(const struct nlmsghdr *msg)
{
	g_autoptr(RdmadLink) link = network_parse_link(msg);
	g_autofree RdmadAddress *address = rdmad_route_parse_address(msg);
	g_autofree RdmadRoute *route = network_parse_route(msg);
	g_autofree RdmadRule *rule = network_parse_rule(msg);

	if (link)
		g_assert_cmpuint(link->n_vfs, <=, msg->nlmsg_len);
	if (route)
		g_assert_cmpuint(route->n_hops, <=, RDMAD_ROUTE_HOPS_MAX);
	if (rule)
		g_assert_cmpuint(strlen(rule->iif), <, sizeof(rule->iif));
	if (address)
		g_assert_cmpuint(address->ip.prefix, <=, 128);
}

static void parse(const struct nlmsghdr *msg)
{
	for (size_t i = 0; i < G_N_ELEMENTS(parsers); i++) {
		g_autoptr(GPtrArray) results = g_ptr_array_new_with_free_func(parsers[i].free);

		parsers[i].parse(msg, results);
		g_assert_cmpuint(results->len, <=, 1);
	}
	rdmad_nldev_parse_statistics(msg, check_counter, NULL);
	parse_ethtool(msg);
	parse_restrack(msg);
	parse_network(msg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Aligned and exactly as large as the input, so that a read beyond the end is detected. */
	g_autofree void *copy = g_memdup2(data, size);
	struct nlmsghdr *msg = copy;
	int left = (int)size;

	for (; size > 0 && nlmsg_ok(msg, left); msg = nlmsg_next(msg, &left))
		parse(msg);
	return 0;
}
