/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/allocations.h>

#include "pool.h"

/* Handles a PreferredAllocationRequest as described in choice.h.  `gpus` is an array of
 * PlacementGpu.  RDMAD_ERROR_INVALID. */
GBytes *preferred_answer(const Pool *pool, const GArray *gpus, RdmadAllocations *allocations,
			 const guint8 *message, gsize size, GError **error);
