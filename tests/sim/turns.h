/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns: the order in which the parts of the world run
 *
 * This program defines epoll_wait().  rdmad's loop calls it when rdmad has nothing left to do: the
 * other parts then have their turns inside the call, and the time advances to the next event.
 * Kubelet has its own loop on the same thread, so decisions determine when the other side sees a
 * message.
 */
#pragma once

#include "base/loop.h"
#include "decisions.h"

/* Work of the world besides the two loops. */
typedef struct {
	/* Returns the time of the next work; G_MAXINT64: none. */
	gint64 (*due_us)(void);
	void (*work)(void);
	/* Returns whether rdmad's life ends now. */
	gboolean (*is_over)(void);
	/* After so many turns the time has not moved; ends the run. */
	void (*spins)(guint turns);
} TurnsOps;

void turns_begin(const TurnsOps *ops, Decisions *decisions);
/* Makes the loop of kubelet.  Loops that rdmad makes until turns_end() are rdmad's. */
RdmadLoop *turns_kubelet_loop_new(void);
void turns_end(void);
/* Sets rdmad's loop aside while a second rdmad has its own, then restores it.  The second one ends
 * where it would wait. */
void turns_set_aside(gboolean aside);
/* Returns whether a second rdmad runs. */
gboolean turns_in_second(void);
/* Runs the others until then, while no rdmad runs. */
void turns_without_rdmad(gint64 until_us);
/* Returns whether rdmad's own code is running. */
gboolean turns_in_rdmad(void);
void turns_set_in_rdmad(gboolean in_rdmad);
