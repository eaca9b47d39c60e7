/* SPDX-License-Identifier: Apache-2.0 */
/* The word that was probably meant. */
#pragma once

#include <glib.h>

/* Of `candidates` (NULL-terminated) the one with the fewest typing errors from `word`, or NULL when
 * all are too far to be meant. */
const char *rdmad_config_nearest(const char *word, const char *const *candidates);
