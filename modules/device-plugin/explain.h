/* SPDX-License-Identifier: Apache-2.0 */
/* Explain: `rdmad explain DEVICE` and GET /api/v1/explain?device=NAME, the resources that have a
 * device, and the reasons why others do not, or why its slots are unhealthy. */
#pragma once

#include <rdmad/module.h>

#include "settings.h"

extern const RdmadCommand explain_commands[];

typedef struct Explain Explain;

/* `*settings` and `*resources` (of Resource) may change between requests. */
Explain *explain_new(RdmadModule *self, PluginSettings *const *settings,
		     GPtrArray *const *resources, GError **error);
void explain_free(Explain *explain);
