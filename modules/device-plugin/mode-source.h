/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mode source: resources whose mode is the value of an attribute (`mode_from`)
 *
 * Invalid values are ignored and logged once; removing an attribute changes nothing.  A resource
 * keeps its mode across a reload until its attribute changes.
 */
#pragma once

#include <rdmad/module.h>

#include "settings.h"

typedef struct ModeSource ModeSource;

/* Calls `changed` from the top of the loop after the mode of a resource was set. */
ModeSource *mode_source_new(RdmadModule *self, void (*changed)(gpointer data), gpointer data);
void mode_source_free(ModeSource *source);

/* Follows these resources (ResourceSettings, kept by the caller) from now on; sets their modes
 * before it returns.  `before`: the previous resources, or NULL. */
void mode_source_follow(ModeSource *source, const GPtrArray *resources, const GPtrArray *before);
