/* SPDX-License-Identifier: Apache-2.0 */
/* Suggestions for misspelled words */
#pragma once

#include <getopt.h>
#include <glib.h>

/* Returns the entry of `candidates` (NULL-terminated) with the smallest edit distance from
 * `word`, or NULL if none is close enough. */
const char *rdmad_nearest(const char *word, const char *const *candidates);
/* Returns the name of the option that is nearest to `word`, "--NAME" or "--NAME=VALUE", or NULL.
 * `options` ends with an empty one; `values`: only options whose `val` is one of these letters. */
const char *rdmad_nearest_option(const char *word, const struct option *options,
				 const char *values);
