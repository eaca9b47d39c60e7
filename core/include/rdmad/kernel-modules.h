/* SPDX-License-Identifier: Apache-2.0 */
/* The modules of the running kernel: /lib/modules/RELEASE/modules.dep, which depmod(8) writes. */
#pragma once

#include <rdmad/types.h>

/* Whether the file has it; UNKNOWN: there is no such file here. */
typedef enum {
	RDMAD_KERNEL_MODULE_UNKNOWN,
	RDMAD_KERNEL_MODULE_MISSING,
	RDMAD_KERNEL_MODULE_THERE,
} RdmadKernelModuleFile;

/* `names` is NULL-terminated, `files` as long. */
RDMAD_API gboolean rdmad_kernel_modules_find(const RdmadSysroot *root, const char *const *names,
					     RdmadKernelModuleFile *files, GError **error);
/* Paths, as rdmad_sysroot_open() takes them, of the modules that `name` needs, in the order in which
 * they are loaded, and its own last.  RDMAD_ERROR_NOT_FOUND. */
RDMAD_API char **rdmad_kernel_modules_order(const RdmadSysroot *root, const char *name,
					    GError **error);
