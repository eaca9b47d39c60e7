/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From text to a tree: libconfig (tree.c, the only file that includes it) or YAML (yaml-tree.c),
 * for the same field tables
 *
 * YAML's texts without quotes are what YAML 1.1 takes them for: true and false (yes, no, on, off),
 * integers, nothing; a field that wants a string takes them as they are written.  A field of a key
 * that has nothing is left as it is.
 */
#pragma once

#include "config/node.h"

/* `include_dir`: absolute directory of `@include` files; NULL refuses them.  RDMAD_ERROR_CONFIG. */
RdmadConfigNode *rdmad_config_tree_parse(const char *file, const char *text,
					 const char *include_dir, GError **error);
/* One document; NULL without an error where there is none.  RDMAD_ERROR_CONFIG, with file:line. */
RdmadConfigNode *rdmad_config_yaml_parse(const char *file, const char *text, gsize size,
					 GError **error);
