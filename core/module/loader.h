/* SPDX-License-Identifier: Apache-2.0 */
/* The loader: finds the class of a module by its name */
#pragma once

#include <rdmad/module.h>

#include "base/part.h"

/* Returns the class in <directory>/<name>.so.  The file stays mapped and its descriptor open until
 * the process ends, so load a module only once.  RDMAD_ERROR_NOT_FOUND: no such file;
 * RDMAD_ERROR_INVALID: not trusted, or not a module; RDMAD_ERROR_ABI: another ABI. */
const RdmadModuleClass *rdmad_module_load(const char *directory, const char *name, GError **error);
/* Returns a symbol of <directory>/<name>.so, a part of rdmad that is not a module.  Errors as
 * above; RDMAD_ERROR_ABI: a part of another version of rdmad. */
const RdmadPart *rdmad_module_load_part(const char *directory, const char *name, const char *symbol,
					GError **error);
