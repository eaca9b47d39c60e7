/* SPDX-License-Identifier: Apache-2.0 */
/* Has the right ABI number, but another size of the class */
#include <rdmad/module.h>

RDMAD_API extern const guint32 rdmad_module_class[2];
const guint32 rdmad_module_class[2] = { RDMAD_MODULE_ABI, 8 };
