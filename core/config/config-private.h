/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One parsed configuration: the file, and the drop-ins of its `include` directory, merged
 *
 * `include = "conf.d";` names a directory beside the file.  Its `*.conf` files are read in the
 * order of their names, each by itself; groups merge into groups, everything else replaces what
 * came before. `profile = "name";` puts a file that comes with rdmad below the main file
 * (config.c). libconfig's own `@include "file"` puts text in its place; the file is below the main
 * file's directory.
 */
#pragma once

#include <rdmad/config.h>

typedef struct RdmadConfig RdmadConfig;

/* `profile_dir` may be NULL.  RDMAD_ERROR_NOT_FOUND: no such file; RDMAD_ERROR_CONFIG: the
 * first mistake in it, with file:line. */
RdmadConfig *rdmad_config_load(const char *path, const char *profile_dir, GError **error);
/* From memory, `name` stands in errors; neither drop-ins nor @include. */
RdmadConfig *rdmad_config_load_text(const char *name, const char *text, gsize length,
				    GError **error);
/* No file at all: every group is absent. */
RdmadConfig *rdmad_config_new_empty(void);
void rdmad_config_free(RdmadConfig *config);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadConfig, rdmad_config_free)

/* Nodes live as long as their configuration. */
const RdmadConfigNode *rdmad_config_root(const RdmadConfig *config);
/* A group inside a group; NULL where it is absent (or `node` is NULL) or no group. */
const RdmadConfigNode *rdmad_config_child(const RdmadConfigNode *node, const char *key);
/* Keys of a group, in the order of the file; g_strfreev(). */
char **rdmad_config_keys(const RdmadConfigNode *group);
/* As rdmad_config_parse() for keys that the core reads from a group of somebody else's: keys that the
 * table does not name are left alone, and those it names are known to every later table. */
gboolean rdmad_config_parse_shared(const RdmadConfigNode *group, const RdmadConfigField *fields,
				   gpointer out, GError **error);
/* The merged configuration in libconfig's syntax (for --print-config). */
char *rdmad_config_print(const RdmadConfig *config);
