/* SPDX-License-Identifier: Apache-2.0 */
/* What the module shows of its resources and of Allocate. */
#pragma once

#include <rdmad/stats.h>
#include <rdmad/module.h>

#include "resource.h"

typedef struct RdmadPluginStats RdmadPluginStats;

/* `resources` (of RdmadResource) is looked at whenever somebody reads; it must outlive them. */
RdmadPluginStats *rdmad_plugin_stats_new(RdmadModule *self, GPtrArray *const *resources,
					 GError **error);
void rdmad_plugin_stats_free(RdmadPluginStats *stats);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadPluginStats, rdmad_plugin_stats_free)
/* For whoever serves Allocate; without labels. */
RdmadStat *rdmad_plugin_stats_allocate(RdmadPluginStats *stats);
