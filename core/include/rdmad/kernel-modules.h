/* SPDX-License-Identifier: Apache-2.0 */
/* Modules of the running kernel, from /lib/modules/RELEASE/modules.dep (depmod(8)) */
#pragma once

#include <rdmad/types.h>

/* Presence of a module in modules.dep; UNKNOWN: the file does not exist. */
typedef enum {
	RDMAD_KERNEL_MODULE_UNKNOWN,
	RDMAD_KERNEL_MODULE_MISSING,
	RDMAD_KERNEL_MODULE_THERE,
} RdmadKernelModuleFile;

/* Stores the presence of each module of `names`, which ends with NULL, in `files`.  For a worker.
 * RDMAD_ERROR_INVALID: the file is too large; RDMAD_ERROR_FAILED. */
RDMAD_API gboolean rdmad_kernel_modules_find(const RdmadSysroot *root, const char *const *names,
					     RdmadKernelModuleFile *files, GError **error);
/* Returns the paths, for rdmad_sysroot_open(), of the modules that `name` needs, in the order of
 * loading, and its own path last; g_strfreev().  RDMAD_ERROR_NOT_FOUND: no such module or no
 * modules.dep. */
RDMAD_API char **rdmad_kernel_modules_order(const RdmadSysroot *root, const char *name,
					    GError **error);
