/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/stats.h>

RdmadStats *rdmad_stats_new(void);
/* Frees the stats with the remaining families. */
void rdmad_stats_free(RdmadStats *stats);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadStats, rdmad_stats_free)
/* Frees the owner's families, which are meant to be freed this way. */
void rdmad_stats_reap(RdmadStats *stats, const RdmadModule *owner);
