/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of a configuration's `include` key. */
#pragma once

#include "config/node.h"

#define RDMAD_CONFIG_MAX_DROPINS 256u

/* Merges one file of `folder` over `root`; its `@include` looks in `include_dir`, NULL refuses it. */
gboolean rdmad_config_dropin_merge(RdmadConfigNode *root, const char *folder, const char *name,
				   const char *include_dir, GError **error);
/* Takes the key `include` out of `root` and merges the `*.conf` files of the folder that it names,
 * in the order of their names.  `dir`: what a relative name is relative to.  A folder that is not
 * there holds no files.  RDMAD_ERROR_CONFIG. */
gboolean rdmad_config_dropins_merge(RdmadConfigNode *root, const char *dir, GError **error);
