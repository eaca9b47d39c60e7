/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes from the configuration */
#pragma once

#include <rdmad/attributes.h>

#include "daemon/settings.h"

/* Reads the key `attributes` into `settings`. */
gboolean rdmad_settings_read_attributes(RdmadSettings *settings, const RdmadConfigNode *list,
					GError **error);
/* Sets the attributes of `now`, and removes attributes that only `before` (may be NULL) has. */
void rdmad_settings_apply_attributes(const RdmadSettings *before, const RdmadSettings *now,
				     RdmadAttributes *attributes);
