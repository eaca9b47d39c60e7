/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One parsed configuration: the file, and the drop-ins of its `include` directory, merged
 *
 * `include = "conf.d";` names a directory beside the file.  Its `*.conf` files are parsed
 * separately, in the order of their names.  Groups merge; every other value replaces the earlier
 * one.  `profile = "name";`, or a list of names, merges the main file over files that come with
 * rdmad (config.c). libconfig's `@include "file"` inserts the text of a file below the main file's
 * directory.
 */
#pragma once

#include <rdmad/config.h>

typedef struct RdmadConfig RdmadConfig;

/* `profile_dir` may be NULL.  RDMAD_ERROR_NOT_FOUND: no such file; RDMAD_ERROR_CONFIG: its first
 * mistake, with file:line; RDMAD_ERROR_FAILED: a file or directory could not be read. */
RdmadConfig *rdmad_config_load(const char *path, const char *profile_dir, GError **error);
/* Parses text in memory, without drop-ins and @include.  Errors begin with `name`. */
RdmadConfig *rdmad_config_load_text(const char *name, const char *text, gsize length,
				    GError **error);
/* Returns a configuration without any group. */
RdmadConfig *rdmad_config_new_empty(void);
void rdmad_config_free(RdmadConfig *config);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadConfig, rdmad_config_free)

/* Nodes are valid as long as their configuration. */
const RdmadConfigNode *rdmad_config_root(const RdmadConfig *config);
/* Returns a group inside a group; NULL if it is absent, not a group, or `node` is NULL. */
const RdmadConfigNode *rdmad_config_child(const RdmadConfigNode *node, const char *key);
/* Returns the keys of a group, in the order of the file; g_strfreev(). */
char **rdmad_config_keys(const RdmadConfigNode *group);
/* Like rdmad_config_parse(), for keys that the core reads from the group of a module.  Keys outside
 * the table are ignored, and every later table accepts the keys of this one. */
gboolean rdmad_config_parse_shared(const RdmadConfigNode *group, const RdmadConfigField *fields,
				   gpointer out, GError **error);
/* Returns the merged configuration in libconfig's syntax, for --print-config. */
char *rdmad_config_print(const RdmadConfig *config);
