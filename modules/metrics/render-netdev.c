/* SPDX-License-Identifier: Apache-2.0 */
/* The interfaces of a device; their counters are in render-counter.c. */
#include "render-private.h"

#define BYTES_PER_MEGABIT 125000u

static void netdev_info(Render *render, const RdmadNetdev *netdev, const RdmadPort *port)
{
	Labels *labels = &render->labels;
	const gsize mark = labels_mark(labels);

	if (port)
		labels_add_number(labels, "port", port->number);
	else
		labels_add(labels, "port", "");
	labels_add(labels, "netdev", netdev->name);
	labels_add(labels, "mac", netdev->mac);
	labels_add(labels, "master", netdev->master);
	family_put(render->families[RENDER_NETDEV_INFO], labels, 1);
	labels_back(labels, mark);
}

/* For each port that it serves, or once without a port. */
static void netdev_infos(Render *render, const RdmadDevice *device, const RdmadNetdev *netdev)
{
	guint found = 0;

	for (guint i = 0; i < device->n_ports; i++) {
		if (g_strcmp0(device->ports[i].netdev, netdev->name))
			continue;
		netdev_info(render, netdev, &device->ports[i]);
		found++;
	}
	if (!found)
		netdev_info(render, netdev, NULL);
}

static void netdev_values(Render *render, const RdmadNetdev *netdev)
{
	Labels *labels = &render->labels;
	const gsize mark = labels_mark(labels);

	labels_add(labels, "netdev", netdev->name);
	if (netdev->carrier != RDMAD_UNKNOWN)
		family_put(render->families[RENDER_NETDEV_CARRIER], labels, netdev->carrier == 1);
	if (netdev->mtu > 0)
		family_put(render->families[RENDER_NETDEV_MTU], labels, (guint64)netdev->mtu);
	if (netdev->speed_mbps >= 0)
		family_put(render->families[RENDER_NETDEV_SPEED], labels,
			   (guint64)netdev->speed_mbps * BYTES_PER_MEGABIT);
	labels_back(labels, mark);
}

void render_netdevs(Render *render, const RdmadDevice *device)
{
	for (guint i = 0; i < device->n_netdevs; i++) {
		netdev_infos(render, device, &device->netdevs[i]);
		netdev_values(render, &device->netdevs[i]);
	}
}
