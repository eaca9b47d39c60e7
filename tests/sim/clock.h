/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of the world
 *
 * This program defines clock_gettime() and similar functions, so that libevent, GLib, SQLite and
 * rdmad use this clock only.  The time stands still while code runs, and advances when there is
 * nothing left to do.
 */
#pragma once

#include <glib.h>

#define SIM_MS G_GINT64_CONSTANT(1000)
#define SIM_S  G_GINT64_CONSTANT(1000000)
/* the jump of the monotonic clock after a suspension */
#define SIM_NIGHT (86400 * SIM_S)

/* Starts a new world. */
void clock_begin(void);
gint64 clock_now_us(void);
/* Never moves backwards. */
void clock_move_to(gint64 now_us);
void clock_jump_wall(gint64 by_us);
/* Return the real time, and the CPU time of this process. */
gint64 clock_real_us(void);
gint64 clock_cpu_us(void);
