/* SPDX-License-Identifier: Apache-2.0 */
/* Explain: `rdmad explain DEVICE` and GET /api/v1/explain?device=NAME, which resources have a device, and
 * why others have not. */
#pragma once

#include <rdmad/module.h>

#include "settings.h"

extern const RdmadCommand rdmad_explain_commands[];

typedef struct RdmadExplain RdmadExplain;

/* `*settings` may change between requests. */
RdmadExplain *rdmad_explain_new(RdmadModule *self, RdmadPluginSettings *const *settings,
				GError **error);
void rdmad_explain_free(RdmadExplain *explain);
