/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes that the configuration gives. */
#pragma once

#include <rdmad/attributes.h>

#include "daemon/settings.h"

/* Reads the key `attributes` into `settings`. */
gboolean rdmad_settings_read_attributes(RdmadSettings *settings, const RdmadConfigNode *list,
					GError **error);
/* Sets them; those of `before` (NULL: none) that are gone are removed. */
void rdmad_settings_apply_attributes(const RdmadSettings *before, const RdmadSettings *now,
				     RdmadAttributes *attributes);
