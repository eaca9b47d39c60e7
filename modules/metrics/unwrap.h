/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwrap: drivers' counters of up to 32 bits, extended to 64 bits
 *
 * A counter that is smaller than before has wrapped, or was reset.  It counts as reset if a wrap
 * would mean an advance of more than three quarters of its range, if a counter of its group and
 * port that cannot wrap decreased, or if at least three of them, and three quarters of those that
 * were not 0, decreased.  After a reset the value is the raw one.
 */
#pragma once

#include <rdmad/counters.h>

typedef struct Unwrap Unwrap;

/* The state of one device.  Not locked: readings must not overlap. */
Unwrap *unwrap_new(void);
Unwrap *unwrap_ref(Unwrap *unwrap);
void unwrap_unref(Unwrap *unwrap);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Unwrap, unwrap_unref)

/* Returns the bits of a counter, and whether it stops at its maximum instead of wrapping; as
 * names_counter_width(). */
typedef guint (*UnwrapWidth)(const RdmadCounter *counter, const char *driver, gboolean *saturates);

/* Corrects the values in place.  The state of a counter that is not in the reading is dropped; that
 * of an unreadable one is kept. */
void unwrap_reading(Unwrap *unwrap, RdmadReading *reading, UnwrapWidth width, const char *driver);
