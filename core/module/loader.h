/* SPDX-License-Identifier: Apache-2.0 */
/* From a module's name to its class. */
#pragma once

#include <rdmad/module.h>

/*
 * The class in <directory>/<name>.so, which stays mapped until the process ends, as its descriptor
 * stays open: load a module once.
 * RDMAD_ERROR_NOT_FOUND: no such file; RDMAD_ERROR_INVALID: not to be trusted, or no module;
 * RDMAD_ERROR_ABI: it does not fit this daemon.
 */
const RdmadModuleClass *rdmad_module_load(const char *directory, const char *name, GError **error);
/* A symbol of <directory>/<name>.so, which is not a module but a part of rdmad that few need.  As above. */
gconstpointer rdmad_module_load_symbol(const char *directory, const char *name, const char *symbol,
				       GError **error);
