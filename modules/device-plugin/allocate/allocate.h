/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocate: grants the allocations, then builds the response
 *
 * The slot IDs of all containers are checked before the first grant.  If one grant fails, the
 * others of the call are ended: kubelet gets all slots or none.
 */
#pragma once

#include <rdmad/allocations.h>

#include "allocate/delivery.h"
#include "kubelet/unpack.h"
#include "pool.h"

typedef struct {
	RdmadAllocations *allocations;
	Delivery *delivery;
	const char *owner; /* name of the module */
} Allocator;

/* A request, and after allocate() its result: the packed AllocateResponse, or an error.
 * RDMAD_ERROR_INVALID: malformed request; RDMAD_ERROR_NOT_FOUND: no such slot;
 * RDMAD_ERROR_UNAVAILABLE: its device is unhealthy; RDMAD_ERROR_BUSY: a living pod holds the
 * exclusive device; RDMAD_ERROR_FAILED: the allocation was not written. */
typedef struct {
	const Pool *pool;
	Unpacked *request;
	gint64 arrived_us; /* monotonic */
	GArray *grants;	   /* of RdmadGrantCall, one for each container; none: refused */
	GBytes *answer;
	GError *refusal;
} AllocateCall;

void allocate_call_init(AllocateCall *call, const Pool *pool, const guint8 *message, gsize size);
void allocate_call_clear(AllocateCall *call);

/* Checks the slots against the pool, and makes the grants or a refusal.  The grants are valid until
 * the pool changes; a second check replaces them. */
void allocate_check(const Allocator *by, AllocateCall *call);

/* Returns whether podresources must be listed before the response to a checked call: see
 * rdmad_allocations_in_doubt(). */
gboolean allocate_in_doubt(const Allocator *by, const AllocateCall *call);

/* Executes all checked calls with one sync of the database.  An error fails only its own call,
 * unless the write itself failed. */
void allocate(const Allocator *by, AllocateCall *const *calls, guint n);
