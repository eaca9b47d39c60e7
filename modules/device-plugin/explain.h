/* SPDX-License-Identifier: Apache-2.0 */
/* Explain: `rdmad explain DEVICE` and GET /api/v1/explain?device=NAME, the resources that have a
 * device, and the reasons why others do not. */
#pragma once

#include <rdmad/module.h>

#include "settings.h"

extern const RdmadCommand explain_commands[];

typedef struct Explain Explain;

/* `*settings` may change between requests. */
Explain *explain_new(RdmadModule *self, PluginSettings *const *settings, GError **error);
void explain_free(Explain *explain);
