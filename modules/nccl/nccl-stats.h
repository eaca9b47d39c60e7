/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of the plans. */
#pragma once

#include "containers.h"

typedef struct NcclStats NcclStats;

/* RDMAD_ERROR_BUSY: a name is taken. */
NcclStats *nccl_stats_new(RdmadModule *self, const NcclContainers *containers,
			  NcclSettings *const *settings, GError **error);
void nccl_stats_free(NcclStats *stats);
