/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placement: the quality of a device's place on the node, independent of chosen devices
 *
 * A NIC behind the PCIe switch of an accelerator is meant for that accelerator; a NIC on a root
 * port of its own, for storage or management.  Places are therefore compared by the distance to
 * the nearest accelerator, then to the nearest accelerator that no pod holds, then by the rate
 * of the ports.
 */
#pragma once

#include "pool.h"

typedef struct {
	const RdmadGpu *gpu;
	gboolean held; /* by a pod, according to podresources */
} PlacementGpu;

typedef struct {
	/* RdmadDistance; up to PXB counts as PIX, because a switch may be several bridges. */
	int gpu_distance, free_gpu_distance;
	gint64 rate_mbps; /* of the fastest active port; 0: none */
} Placement;

/* `gpus` of PlacementGpu.  An absent device gets the worst place. */
Placement placement_of(const PoolDevice *device, const GArray *gpus);
/* Returns a negative number if `a` is better, 0 if both are equally good. */
int placement_compare(const Placement *a, const Placement *b);
/* Returns the root port above a device; two devices below the same root port reach each other
 * without the host bridge.  NULL: unknown. */
const char *placement_branch(const PoolDevice *device);
