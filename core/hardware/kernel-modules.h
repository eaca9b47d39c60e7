/* SPDX-License-Identifier: Apache-2.0 */
/* finit_module(2) and delete_module(2), for a process with CAP_SYS_MODULE. */
#pragma once

#include <rdmad/kernel-modules.h>

/* Inserts the module after its dependencies.  A loaded module is not an error.
 * RDMAD_ERROR_NOT_FOUND: this kernel has no such module; RDMAD_ERROR_FAILED. */
gboolean rdmad_kernel_module_insert(const RdmadSysroot *root, const char *module,
				    const char *parameter, GError **error);
/* Removes the module.  A module that is not loaded is not an error.  RDMAD_ERROR_BUSY: it is in
 * use. */
gboolean rdmad_kernel_module_remove(const char *module, GError **error);
