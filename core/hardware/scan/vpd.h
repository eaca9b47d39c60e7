/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/types.h>

/* Returns the field SMDL of the vendor's keywords in vital product data, of any bytes; empty if
 * there is none; g_free(). */
char *rdmad_vpd_model(const guint8 *vpd, gsize size);
