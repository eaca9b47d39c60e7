/* SPDX-License-Identifier: Apache-2.0 */
#include "nic/match.h"

#include <net/ethernet.h>

#define VENDOR 0x1ded /* Alibaba */
#define DEVICE 0x107f /* drivers/infiniband/hw/erdma/erdma_main.c */

void erdma_match_free(gpointer data)
{
	ErdmaMatch *match = data;

	g_free(match->id);
	g_free(match->device);
	g_free(match->pci);
	g_free(match->netdev);
	g_free(match->problem);
	g_free(match);
}

gboolean erdma_is_device(const RdmadDevice *dev)
{
	return g_strcmp0(dev->driver, "erdma") == 0 ||
	       (dev->vendor == VENDOR && dev->device == DEVICE) ||
	       g_str_has_prefix(dev->name, "erdma");
}

/* ---- MAC and GUID ---- */

/* Links above other links share the MAC of those. */
static gboolean is_stacked(const RdmadLink *link)
{
	static const char *const kinds[] = { "bond",	"bridge", "team",   "vlan", "macvlan",
					     "macvtap", "ipvlan", "ipvtap", "vrf",  NULL };

	return link->kind && g_strv_contains(kinds, link->kind);
}

gboolean erdma_link_mac(const RdmadLink *link, RdmadMac *mac)
{
	/* A bond sets its own MAC on its members; the driver uses the permanent one. */
	const char *text = link->permanent_mac ?: link->mac;

	return text && !is_stacked(link) && rdmad_mac_parse(text, mac);
}

/* ---- matching ---- */

/* Returns the interface that the kernel names for a GID. */
static const char *netdev_of_gids(const RdmadDevice *dev)
{
	for (guint i = 0; i < dev->n_ports; i++)
		for (guint j = 0; j < dev->ports[i].n_gids; j++)
			if (dev->ports[i].gids[j].netdev)
				return dev->ports[i].gids[j].netdev;
	return NULL;
}

static const char *netdev_of_ports(const RdmadDevice *dev)
{
	for (guint i = 0; i < dev->n_ports; i++)
		if (dev->ports[i].netdev)
			return dev->ports[i].netdev;
	return NULL;
}

/* Several links with the MAC are a problem that only the administrator can solve. */
static const RdmadLink *link_of_mac(const ErdmaView *view, const RdmadMac *mac, char **problem)
{
	const RdmadLink *found = NULL;

	for (guint i = 0; i < view->links->len; i++) {
		const RdmadLink *link = view->links->pdata[i];
		RdmadMac own;

		if (!erdma_link_mac(link, &own) || !rdmad_mac_equal(&own, mac))
			continue;
		if (found) {
			char text[RDMAD_MAC_TEXT];

			*problem = g_strdup_printf("%s and %s have the same MAC %s", found->name,
						   link->name, rdmad_mac_format(mac, text));
			return NULL;
		}
		found = link;
	}
	return found;
}

static void match_link(ErdmaMatch *match, const RdmadLink *link)
{
	match->ifindex = link->ifindex;
	match->netdev = g_strdup(link->name);
	if (link->mac)
		rdmad_mac_parse(link->permanent_mac ?: link->mac, &match->mac);
}

static void match_explain(ErdmaMatch *match, const RdmadDevice *dev)
{
	char text[RDMAD_MAC_TEXT];

	if (match->problem)
		return;
	match->problem = match->mac.length
				 ? g_strdup_printf("no interface of this namespace has the MAC %s",
						   rdmad_mac_format(&match->mac, text))
				 : g_strdup_printf("its node GUID %s is not made of a MAC",
						   dev->node_guid ?: "(unknown)");
}

/* If several links have the MAC, the interface of the GID table selects one; if none has it, the
 * interface that the inventory found is used. */
static const RdmadLink *link_find(const RdmadDevice *dev, const ErdmaView *view, ErdmaMatch *match)
{
	const gboolean has_mac = rdmad_guid_get_mac(dev->node_guid, match->mac.bytes);
	const RdmadLink *link;
	const char *name;
	const RdmadLink *other;

	match->mac.length = has_mac ? ETH_ALEN : 0;
	link = has_mac ? link_of_mac(view, &match->mac, &match->problem) : NULL;
	name = match->problem ? netdev_of_gids(dev) : link ? NULL : netdev_of_ports(dev);
	other = name ? erdma_view_link_named(view, name) : NULL;

	return link ? link : other && !is_stacked(other) ? other : NULL;
}

ErdmaMatch *erdma_match(const RdmadDevice *dev, const ErdmaView *view)
{
	ErdmaMatch *match = g_new0(ErdmaMatch, 1);
	const RdmadLink *link;

	match->id = g_strdup(dev->id);
	match->device = g_strdup(dev->name);
	match->pci = g_strdup(dev->pci_address);
	link = link_find(dev, view, match);
	if (link) {
		g_clear_pointer(&match->problem, g_free);
		match_link(match, link);
	} else {
		match_explain(match, dev);
	}
	return match;
}
