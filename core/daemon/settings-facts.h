/* SPDX-License-Identifier: Apache-2.0 */
/* Facts that the configuration gives. */
#pragma once

#include <rdmad/facts.h>

#include "daemon/settings.h"

/* Reads the key `facts` into `settings`. */
gboolean rdmad_settings_read_facts(RdmadSettings *settings, const RdmadConfigNode *list,
				   GError **error);
/* Sets them; those of `before` (NULL: none) that are gone are removed. */
void rdmad_settings_apply_facts(const RdmadSettings *before, const RdmadSettings *now,
				RdmadFacts *facts);
