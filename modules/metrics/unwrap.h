/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwrap: 32-bit counters, extended to 64 bits
 *
 * A counter that is smaller than before has wrapped, or was reset.  It was reset if it would have
 * had to advance more than three quarters of its range, or if others of its group show it: one that
 * cannot wrap fell, or nearly all of them fell together.  Then its value is the raw value.
 */
#pragma once

#include <rdmad/counters.h>

typedef struct Unwrap Unwrap;

/* Of one device.  Not locked: one reading after the other. */
Unwrap *unwrap_new(void);
Unwrap *unwrap_ref(Unwrap *unwrap);
void unwrap_unref(Unwrap *unwrap);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Unwrap, unwrap_unref)

/* Bits of a counter, and whether it stops at its maximum instead of going round; as
 * names_counter_width(). */
typedef guint (*UnwrapWidth)(const RdmadCounter *counter, const char *driver, gboolean *saturates);

/* Corrects the values in place.  The state of a counter that is not in the reading is dropped; that
 * of an unreadable one is kept. */
void unwrap_reading(Unwrap *unwrap, RdmadReading *reading, UnwrapWidth width, const char *driver);
