/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwrap: counters that the hardware keeps in 32 bits, as 64
 *
 * A counter that is smaller than before has gone round, or it began again.  It began again when it would
 * have had to go more than three quarters round, or when others of its group tell so: one that cannot
 * go round fell, or nearly all of them fell together.  Then its value is what the device says.
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

/* Corrects the values in place.  A counter that is not in the reading is forgotten; one that could
 * not be read is not. */
void unwrap_reading(Unwrap *unwrap, RdmadReading *reading, UnwrapWidth width, const char *driver);
