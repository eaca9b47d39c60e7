/* SPDX-License-Identifier: Apache-2.0 */
/* Of another time: only the first two members are where this daemon thinks they are. */
#include <rdmad/types.h>

RDMAD_API extern const guint32 rdmad_module_class[2];
const guint32 rdmad_module_class[2] = { 4711, 8 };
