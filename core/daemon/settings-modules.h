/* SPDX-License-Identifier: Apache-2.0 */
/* The configured modules */
#pragma once

#include "daemon/settings.h"

/* Fills settings->modules from the group `modules` (NULL: absent) and the command line. */
gboolean rdmad_settings_read_modules(RdmadSettings *settings, const RdmadConfigNode *node,
				     const RdmadOptions *options, GError **error);
