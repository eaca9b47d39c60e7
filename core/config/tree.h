/* SPDX-License-Identifier: Apache-2.0 */
/* From text to a tree, by way of libconfig: tree.c is the only file that knows it. */
#pragma once

#include "config/node.h"

/* `include_dir`: absolute, where `@include` looks; NULL refuses it.  RDMAD_ERROR_CONFIG. */
RdmadConfigNode *rdmad_config_tree_parse(const char *file, const char *text,
					 const char *include_dir, GError **error);
