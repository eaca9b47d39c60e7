/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/claims.h>

#include "pool.h"

/* Answers a PreferredAllocationRequest as choice.h says.  `gpus` of RdmadPlacementGpu.
 * RDMAD_ERROR_INVALID. */
GBytes *rdmad_preferred_answer(const RdmadPool *pool, const GArray *gpus, RdmadClaims *claims,
			       const guint8 *message, gsize size, GError **error);
