/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks, in microseconds; tests/style/check-includes.py forbids reading them elsewhere. */
#pragma once

#include <rdmad/types.h>

/* Returns the monotonic time, for durations and deadlines; it stops while the machine is
 * suspended. */
RDMAD_API gint64 rdmad_now_us(void);
/* Returns the time since 1970, for people, and for times that are stored: it may jump, so no
 * decision that matters may depend on it. */
RDMAD_API gint64 rdmad_wall_us(void);
