/* SPDX-License-Identifier: Apache-2.0 */
/* Overlap: resources that would have the same devices, as far as the configuration alone tells. */
#pragma once

#include "settings.h"

/* `list`: the node of each of `resources`, for the error; may be NULL.  RDMAD_ERROR_CONFIG. */
gboolean rdmad_overlap_check(const GPtrArray *resources, const RdmadConfigNode *list,
			     GError **error);
