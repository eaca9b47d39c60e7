/* SPDX-License-Identifier: Apache-2.0 */
#include "allocate/placement.h"

static int gpu_distance(const RdmadDevice *dev, const RdmadGpu *gpu)
{
	const RdmadDistance distance =
		rdmad_pci_distance(dev->pci_path, dev->numa_node, gpu->pci_path, gpu->numa_node);

	return distance <= RDMAD_DISTANCE_PXB ? RDMAD_DISTANCE_PIX : distance;
}

static gint64 device_rate(const RdmadDevice *dev)
{
	gint64 rate = 0;

	for (guint i = 0; i < dev->n_ports; i++)
		if (dev->ports[i].state == RDMAD_PORT_ACTIVE)
			rate = MAX(rate, dev->ports[i].rate_mbps);
	return rate;
}

Placement placement_of(const PoolDevice *device, const GArray *gpus)
{
	Placement place = { RDMAD_DISTANCE_SYS, RDMAD_DISTANCE_SYS, 0 };

	if (!device->dev)
		return place;
	for (guint i = 0; i < gpus->len; i++) {
		const PlacementGpu *one = &g_array_index(gpus, PlacementGpu, i);
		const int distance = gpu_distance(device->dev, one->gpu);

		place.gpu_distance = MIN(place.gpu_distance, distance);
		if (!one->held)
			place.free_gpu_distance = MIN(place.free_gpu_distance, distance);
	}
	place.rate_mbps = device_rate(device->dev);
	return place;
}

int placement_compare(const Placement *a, const Placement *b)
{
	if (a->gpu_distance != b->gpu_distance)
		return a->gpu_distance < b->gpu_distance ? -1 : 1;
	if (a->free_gpu_distance != b->free_gpu_distance)
		return a->free_gpu_distance < b->free_gpu_distance ? -1 : 1;
	if (a->rate_mbps != b->rate_mbps)
		return a->rate_mbps > b->rate_mbps ? -1 : 1;
	return 0;
}

/* A path of two names is that of a function on the root bus, not below a root port. */
const char *placement_branch(const PoolDevice *device)
{
	char *const *path = device->dev ? device->dev->pci_path : NULL;

	return path && path[0] && path[1] && path[2] ? path[1] : NULL;
}
