/* SPDX-License-Identifier: Apache-2.0 */
/* Has another ABI number; only the first two members of its class are where the daemon expects
 * them */
#include <rdmad/types.h>

RDMAD_API extern const guint32 rdmad_module_class[2];
const guint32 rdmad_module_class[2] = { 4711, 8 };
