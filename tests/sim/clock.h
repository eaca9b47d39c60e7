/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of the world
 *
 * This program defines clock_gettime() and its like, so libevent, GLib, SQLite and rdmad have this time and no
 * other.  It stands while code runs and moves when nothing is left to do now.
 */
#pragma once

#include <glib.h>

#define SIM_MS G_GINT64_CONSTANT(1000)
#define SIM_S  G_GINT64_CONSTANT(1000000)
/* The monotonic clock jumps by it when a machine that slept wakes up. */
#define SIM_NIGHT (86400 * SIM_S)

/* A new world begins. */
void clock_begin(void);
gint64 clock_now_us(void);
/* Never backwards. */
void clock_move_to(gint64 now_us);
void clock_jump_wall(gint64 by_us);
/* Of the machine that the simulator runs on, and what of it was ours. */
gint64 clock_real_us(void);
gint64 clock_cpu_us(void);
