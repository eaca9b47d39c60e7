/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mode source: resources whose mode is what an attribute says (`mode_from`)
 *
 * A value that is no mode changes nothing and is told once; so does an attribute that goes.  What a
 * resource had before a reload it keeps until its attribute says otherwise.
 */
#pragma once

#include <rdmad/module.h>

#include "settings.h"

typedef struct ModeSource ModeSource;

/* Tells `changed` from the top of the loop after the mode of a resource was set. */
ModeSource *mode_source_new(RdmadModule *self, void (*changed)(gpointer data), gpointer data);
void mode_source_free(ModeSource *source);

/* From now on these (ResourceSettings, kept by the caller); their modes are set before it
 * returns.  `before`: those until now, or NULL. */
void mode_source_follow(ModeSource *source, const GPtrArray *resources, const GPtrArray *before);
