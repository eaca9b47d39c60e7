/* SPDX-License-Identifier: Apache-2.0 */
/* Chance; a checker holds that there is no other source of it. */
#pragma once

#include <rdmad/types.h>

/* For names and pauses.  It never fails: getrandom() may, before the kernel's pool is filled and under a
 * filter of system calls, and GLib falls back to the time. */
RDMAD_API guint32 rdmad_random(void);
/* At least `low` and less than `high`, which is larger. */
RDMAD_API guint32 rdmad_random_range(guint32 low, guint32 high);
/* Bytes that nobody can guess.  FALSE: the kernel has none. */
RDMAD_API gboolean rdmad_random_secret(guint8 *bytes, gsize size);
