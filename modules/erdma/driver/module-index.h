/* SPDX-License-Identifier: Apache-2.0 */
/* The modules of the running kernel: /lib/modules/RELEASE/modules.dep, which depmod(8) writes. */
#pragma once

#include "driver/facts.h"

/* `names` is NULL-terminated, `files` as long.  All are UNKNOWN where there is no such file. */
gboolean erdma_module_index_find(const RdmadSysroot *root, const char *const *names,
				 ErdmaFile *files, GError **error);
/* Paths, as rdmad_sysroot_open() takes them, of the modules that `name` needs, in the order in which
 * they are loaded, and its own last.  RDMAD_ERROR_NOT_FOUND. */
char **erdma_module_index_order(const RdmadSysroot *root, const char *name, GError **error);
