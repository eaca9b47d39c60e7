/* SPDX-License-Identifier: Apache-2.0 */
/* From text to a tree through libconfig; tree.c is the only file that includes it. */
#pragma once

#include "config/node.h"

/* `include_dir`: absolute directory of `@include` files; NULL refuses them.  RDMAD_ERROR_CONFIG. */
RdmadConfigNode *rdmad_config_tree_parse(const char *file, const char *text,
					 const char *include_dir, GError **error);
