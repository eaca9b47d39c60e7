/* SPDX-License-Identifier: Apache-2.0 */
/* Stats of the module's resources and of Allocate. */
#pragma once

#include <rdmad/stats.h>
#include <rdmad/module.h>

#include "resource.h"

typedef struct PluginStats PluginStats;

/* `resources` (of Resource) is read at each scrape and must outlive the result. */
PluginStats *plugin_stats_new(RdmadModule *self, GPtrArray *const *resources, GError **error);
void plugin_stats_free(PluginStats *stats);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PluginStats, plugin_stats_free)
/* Returns the durations of Allocate; without labels. */
RdmadStat *plugin_stats_allocate(PluginStats *stats);
