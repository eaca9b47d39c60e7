/* SPDX-License-Identifier: Apache-2.0 */
/* "ens1f0#0-3,7": a pattern, and of what it matches only these virtual functions. */
#pragma once

#include <rdmad/types.h>

/* TRUE for what has no '#', too.  RDMAD_ERROR_CONFIG. */
gboolean rdmad_index_range_check(const char *pattern, GError **error);
/* What stands before the '#'; g_free(). */
char *rdmad_index_range_pattern(const char *pattern);
/* Whether `index` is one of those after the '#'; without a '#' every one is, RDMAD_UNKNOWN too. */
gboolean rdmad_index_range_holds(const char *pattern, int index);
