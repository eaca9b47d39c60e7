/* SPDX-License-Identifier: Apache-2.0 */
/* finit_module(2) and delete_module(2); for a worker. */
#pragma once

#include <rdmad/types.h>

/* The modules that it needs first; one that is loaded already is no error.  RDMAD_ERROR_NOT_FOUND: this
 * kernel has no such module; RDMAD_ERROR_FAILED. */
gboolean erdma_module_insert(const RdmadSysroot *root, const char *module, const char *parameter,
			     GError **error);
/* One that is not loaded is no error.  RDMAD_ERROR_BUSY: it is in use. */
gboolean erdma_module_remove(const char *module, GError **error);
