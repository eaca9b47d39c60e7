/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocate: claims first, then the answer
 *
 * Every id of every container is checked before the first is granted, and all that was granted is
 * ended when one grant fails: kubelet sees all or nothing.
 */
#pragma once

#include <rdmad/claims.h>

#include "handout.h"
#include "pool.h"

typedef struct {
	RdmadClaims *claims;
	RdmadHandout *handout;
	const char *owner; /* name of the module */
	gint64 asked_us;   /* monotonic: when kubelet asked */
} RdmadAllocator;

/* Whether podresources is to be asked before the request is answered: see rdmad_claims_in_doubt(). */
gboolean rdmad_allocate_in_doubt(const RdmadAllocator *by, const RdmadPool *pool,
				 const guint8 *message, gsize size);

/*
 * The packed AllocateResponse.
 * RDMAD_ERROR_INVALID: a malformed request; RDMAD_ERROR_NOT_FOUND: no such token;
 * RDMAD_ERROR_UNAVAILABLE: its device is unhealthy; RDMAD_ERROR_BUSY: the holder of an exclusive one
 * lives; RDMAD_ERROR_FAILED: the claim was not written.
 */
GBytes *rdmad_allocate(const RdmadAllocator *by, const RdmadPool *pool, const guint8 *message,
		       gsize size, GError **error);
