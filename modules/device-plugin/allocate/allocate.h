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
#include "kubelet/unpack.h"
#include "pool.h"

typedef struct {
	RdmadAllocations *allocations;
	Delivery *delivery;
	const char *owner; /* name of the module */
} Allocator;

/* A request, and after allocate() what it is answered: the packed AllocateResponse, or a refusal.
 * RDMAD_ERROR_INVALID: a malformed request; RDMAD_ERROR_NOT_FOUND: no such slot;
 * RDMAD_ERROR_UNAVAILABLE: its device is unhealthy; RDMAD_ERROR_BUSY: the holder of an exclusive one
 * lives; RDMAD_ERROR_FAILED: the allocation was not written. */
typedef struct {
	const Pool *pool;
	Unpacked *request;
	gint64 arrived_us; /* monotonic */
	GBytes *answer;
	GError *refusal;
} AllocateCall;

void allocate_call_init(AllocateCall *call, const Pool *pool, const guint8 *message, gsize size);
void allocate_call_clear(AllocateCall *call);

/* Whether to list podresources before the response: see rdmad_allocations_in_doubt(). */
gboolean allocate_in_doubt(const Allocator *by, const AllocateCall *call);

/* Answers all, with one wait for the disk.  A refusal concerns its own call, unless nothing could be
 * written. */
void allocate(const Allocator *by, AllocateCall *const *calls, guint n);
