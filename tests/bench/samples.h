/* SPDX-License-Identifier: Apache-2.0 */
/* Times that were measured, in nanoseconds (GArray of gint64). */
#pragma once

#include <glib.h>

GArray *samples_new(void);
gint64 samples_now(void);
/* One more: the time since `began`. */
void samples_add(GArray *samples, gint64 began);
/* In microseconds; sorts them.  There must be one. */
double samples_percentile(GArray *samples, guint percent);
