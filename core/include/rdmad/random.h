/* SPDX-License-Identifier: Apache-2.0 */
/* Randomness; tests/style/check-includes.py forbids other sources. */
#pragma once

#include <rdmad/types.h>

/* Returns a random number for names and pauses; never fails.  If getrandom(2) fails, as it may
 * before the kernel's pool is filled or under a filter of system calls, GLib falls back to the
 * time. */
RDMAD_API guint32 rdmad_random(void);
/* Returns a number of at least `low` and less than `high`, which must be larger. */
RDMAD_API guint32 rdmad_random_range(guint32 low, guint32 high);
/* Stores unpredictable bytes, for secrets.  Returns FALSE if the kernel has none. */
RDMAD_API gboolean rdmad_random_secret(guint8 *bytes, gsize size);
