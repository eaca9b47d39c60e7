/* SPDX-License-Identifier: Apache-2.0 */
/* What the module shows of its resources and of Allocate. */
#pragma once

#include <rdmad/meters.h>
#include <rdmad/module.h>

#include "resource.h"

typedef struct RdmadPluginMeters RdmadPluginMeters;

/* `resources` (of RdmadResource) is looked at whenever somebody reads; it must outlive them. */
RdmadPluginMeters *rdmad_plugin_meters_new(RdmadModule *self, GPtrArray *const *resources,
					   GError **error);
void rdmad_plugin_meters_free(RdmadPluginMeters *meters);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadPluginMeters, rdmad_plugin_meters_free)
/* For whoever serves Allocate; without labels. */
RdmadMeter *rdmad_plugin_meters_allocate(RdmadPluginMeters *meters);
