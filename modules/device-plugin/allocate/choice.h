/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choice: the slots that a container should get, of those that kubelet offers
 *
 * Each slot is taken from the device that is best by these criteria, in this order:
 *
 * 1. fewest slots chosen, so that two slots are two devices;
 * 2. best place: near an accelerator, near a free accelerator, fast (placement.h);
 * 3. below the same root port as chosen devices, then on the same NUMA node;
 * 4. on the NUMA node, then below the root port, with the most tied devices, up to the number
 *    of slots still to be chosen;
 * 5. fewest slots in use, so that pods spread over the node;
 * 6. first in the order of the pool.
 *
 * Slots of existing allocations are chosen last, whatever their devices: kubelet offers them if it
 * has lost their holders.  Those of allocations without a known pod come first, because the pod may
 * have ended before kubelet listed it.
 */
#pragma once

#include "pool.h"

typedef enum {
	SLOT_FREE,
	SLOT_OF_UNKNOWN, /* of an allocation whose pod is unknown */
	SLOT_HELD,	 /* of an allocation that a pod holds */
} SlotUse;

typedef struct {
	char *const *available;
	gsize n_available;
	char *const *must; /* chosen first, unconditionally */
	gsize n_must;
	gsize size;
	SlotUse (*use_of)(const char *slot, gpointer data); /* NULL: all slots are free */
	gpointer data;
} Preference;

/* Returns IDs borrowed from `preference`; fewer than `size` if not enough of them are known.
 * `gpus` is an array of PlacementGpu. */
GPtrArray *choice_make(const Pool *pool, const GArray *gpus, const Preference *preference);
