/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses text to a tree: libconfig (tree.c, the only file that includes it) or YAML (yaml-tree.c),
 * for the same field tables
 *
 * YAML 1.1 defines the types of scalars without quotes: booleans (true, false, yes, no, on, off),
 * integers, null.  A string field takes them as written.  A null leaves its field unchanged.
 */
#pragma once

#include "config/node.h"

/* `include_dir` is the absolute directory of `@include` files; NULL rejects `@include`.
 * RDMAD_ERROR_CONFIG. */
RdmadConfigNode *rdmad_config_tree_parse(const char *file, const char *text,
					 const char *include_dir, GError **error);
/* Parses one document.  Returns NULL without an error if the text has none.  RDMAD_ERROR_CONFIG,
 * with file:line. */
RdmadConfigNode *rdmad_config_yaml_parse(const char *file, const char *text, gsize size,
					 GError **error);
