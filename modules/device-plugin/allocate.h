/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocate: claims first, then the answer
 *
 * Every id of every container is checked before the first is granted, and all that was granted is
 * ended when one grant fails: kubelet sees all or nothing.
 */
#pragma once

#include <rdmad/claims.h>

#include "pool.h"

/*
 * The packed AllocateResponse. 
 * RDMAD_ERROR_INVALID: a malformed request; RDMAD_ERROR_NOT_FOUND: no such token;
 * RDMAD_ERROR_UNAVAILABLE: its device is unhealthy; RDMAD_ERROR_FAILED: the claim was not written.
 */
GBytes *rdmad_allocate(const RdmadPool *pool, RdmadClaims *claims, const char *owner,
		       const guint8 *message, gsize size, GError **error);
