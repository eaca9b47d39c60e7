/* SPDX-License-Identifier: Apache-2.0 */
/* Suggestions for misspelled words */
#pragma once

#include <glib.h>

/* Returns the entry of `candidates` (NULL-terminated) with the smallest edit distance from
 * `word`, or NULL if none is close enough. */
const char *rdmad_config_nearest(const char *word, const char *const *candidates);
