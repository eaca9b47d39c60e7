/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choice: which of the slots that kubelet offers a container should get
 *
 * Of the devices with slots on offer the next one is, in this order:
 *
 * 1. one of which the fewest slots were chosen, so that two slots are two devices;
 * 2. the one in the best place: near an accelerator, near one that is free, fast (placement.h);
 * 3. below the same root port as those chosen, then on the same NUMA node;
 * 4. on a NUMA node, then below a root port, that has room for all that is still to be chosen;
 * 5. one of which the fewest slots are in use, so that pods spread over the node;
 * 6. the first in the order of the pool.
 *
 * Slots that an allocation has are chosen when no others are left, whatever their devices: kubelet
 * may have lost their holders.
 */
#pragma once

#include "pool.h"

typedef struct {
	char *const *available;
	gsize n_available;
	char *const *must; /* come first, whatever they are */
	gsize n_must;
	gsize size;
	/* Whether an allocation has the slot; NULL: none has. */
	gboolean (*is_allocationed)(const char *slot, gpointer data);
	gpointer data;
} Preference;

/* Borrowed ids of `preference`; fewer than `size` when not enough of them are known.  `gpus` of
 * PlacementGpu. */
GPtrArray *choice_make(const Pool *pool, const GArray *gpus, const Preference *preference);
