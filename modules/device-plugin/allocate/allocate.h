/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocate: allocations first, then the answer
 *
 * Every id of every container is checked before the first is granted, and all that was granted is
 * ended when one grant fails: kubelet sees all or nothing.
 */
#pragma once

#include <rdmad/allocations.h>

#include "allocate/delivery.h"
#include "pool.h"

typedef struct {
	RdmadAllocations *allocations;
	Delivery *delivery;
	const char *owner; /* name of the module */
	gint64 asked_us;   /* monotonic: time of kubelet's request */
} Allocator;

/* Whether to list podresources before the response: see rdmad_allocations_in_doubt(). */
gboolean allocate_in_doubt(const Allocator *by, const Pool *pool, const guint8 *message,
			   gsize size);

/*
 * The packed AllocateResponse.
 * RDMAD_ERROR_INVALID: a malformed request; RDMAD_ERROR_NOT_FOUND: no such slot;
 * RDMAD_ERROR_UNAVAILABLE: its device is unhealthy; RDMAD_ERROR_BUSY: the holder of an exclusive one
 * lives; RDMAD_ERROR_FAILED: the allocation was not written.
 */
GBytes *allocate(const Allocator *by, const Pool *pool, const guint8 *message, gsize size,
		 GError **error);
