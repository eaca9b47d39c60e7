/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/device-private.h"

static RdmadGid *gids_copy(const RdmadGid *from, guint n)
{
	RdmadGid *gids = g_new0(RdmadGid, n);

	for (guint i = 0; i < n; i++) {
		gids[i] = from[i];
		gids[i].netdev = g_strdup(from[i].netdev);
	}
	return gids;
}

static RdmadPort *ports_copy(const RdmadPort *from, guint n)
{
	RdmadPort *ports = g_new0(RdmadPort, n);

	for (guint i = 0; i < n; i++) {
		ports[i] = from[i];
		ports[i].rate_text = g_strdup(from[i].rate_text);
		ports[i].netdev = g_strdup(from[i].netdev);
		ports[i].gids = gids_copy(from[i].gids, from[i].n_gids);
	}
	return ports;
}

static RdmadNetdev *netdevs_copy(const RdmadNetdev *from, guint n)
{
	RdmadNetdev *netdevs = g_new0(RdmadNetdev, n);

	for (guint i = 0; i < n; i++) {
		netdevs[i] = from[i];
		netdevs[i].name = g_strdup(from[i].name);
		netdevs[i].mac = g_strdup(from[i].mac);
		netdevs[i].operstate = g_strdup(from[i].operstate);
		netdevs[i].master = g_strdup(from[i].master);
		netdevs[i].addresses = g_strdupv(from[i].addresses);
	}
	return netdevs;
}

static RdmadChardev *chardevs_copy(const RdmadChardev *from, guint n)
{
	RdmadChardev *chardevs = g_new0(RdmadChardev, n);

	for (guint i = 0; i < n; i++) {
		chardevs[i] = from[i];
		chardevs[i].path = g_strdup(from[i].path);
	}
	return chardevs;
}

RdmadDevice *rdmad_device_copy(const RdmadDevice *from)
{
	RdmadDevice *dev = g_memdup2(from, sizeof(*from));

	dev->refs = 1;
	dev->id = g_strdup(from->id);
	dev->name = g_strdup(from->name);
	dev->node_guid = g_strdup(from->node_guid);
	dev->sys_image_guid = g_strdup(from->sys_image_guid);
	dev->driver = g_strdup(from->driver);
	dev->firmware = g_strdup(from->firmware);
	dev->board_id = g_strdup(from->board_id);
	dev->hca_type = g_strdup(from->hca_type);
	dev->pci_address = g_strdup(from->pci_address);
	dev->pci_path = g_strdupv(from->pci_path);
	dev->pf_address = g_strdup(from->pf_address);
	dev->pf_netdevs = g_strdupv(from->pf_netdevs);
	dev->aux_name = g_strdup(from->aux_name);
	dev->bond = g_strdup(from->bond);
	dev->ports = ports_copy(from->ports, from->n_ports);
	dev->netdevs = netdevs_copy(from->netdevs, from->n_netdevs);
	dev->chardevs = chardevs_copy(from->chardevs, from->n_chardevs);
	dev->problems = g_strdupv(from->problems);
	return dev;
}
