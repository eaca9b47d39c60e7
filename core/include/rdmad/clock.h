/* SPDX-License-Identifier: Apache-2.0 */
/* The two clocks, in microseconds; a checker holds that nothing else reads one. */
#pragma once

#include <rdmad/types.h>

/* Monotonic, for durations and deadlines; stands while the machine is suspended. */
RDMAD_API gint64 rdmad_now_us(void);
/* Since 1970, for people: it may jump either way, so nothing is decided by it. */
RDMAD_API gint64 rdmad_wall_us(void);
