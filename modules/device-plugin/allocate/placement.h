/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placement: how good a device's place on this node is, before anything was chosen
 *
 * A NIC behind the PCIe switch of an accelerator is made for it; one on a root port of its own is
 * for storage or management.  So what counts first is how near the nearest accelerator is, then how
 * near the nearest one that no pod holds is, then how fast the ports are.
 */
#pragma once

#include "pool.h"

typedef struct {
	const RdmadGpu *gpu;
	gboolean held; /* by a pod, according to podresources */
} PlacementGpu;

typedef struct {
	/* RdmadDistance; PIX where a switch is shared, however many bridges it has. */
	int gpu_distance, free_gpu_distance;
	gint64 rate_mbps; /* of the fastest active port; 0: none */
} Placement;

/* `gpus` of PlacementGpu.  Of a device that is gone nothing is known. */
Placement placement_of(const PoolDevice *device, const GArray *gpus);
/* Below 0 when `a` is the better place, 0 when they are equally good. */
int placement_compare(const Placement *a, const Placement *b);
/* The root port that a device is below, so that two devices of one such branch need no host bridge
 * to reach each other; NULL: not known. */
const char *placement_branch(const PoolDevice *device);
