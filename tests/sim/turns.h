/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns: whose code runs next
 *
 * This program defines epoll_wait().  rdmad's loop asks it when rdmad has nothing left to do: the others then
 * have their turns inside of it, and the time moves to what is due first.  Kubelet has a loop of its own on the same
 * thread, so a message is seen by the other side when a decision says so.
 */
#pragma once

#include "base/loop.h"
#include "decisions.h"

/* What the world has to do besides the two loops. */
typedef struct {
	/* When it is due; G_MAXINT64: never. */
	gint64 (*due_us)(void);
	void (*work)(void);
	/* Whether rdmad's life ends now. */
	gboolean (*is_over)(void);
} TurnsOps;

void turns_begin(const TurnsOps *ops, Decisions *decisions);
/* A new loop: the one of kubelet, until turns_end(); all that are made by rdmad are rdmad's. */
RdmadLoop *turns_kubelet_loop_new(void);
void turns_end(void);
/* A second rdmad has its own for a moment: rdmad's loop is set aside, and brought back.  The second one ends where it
 * would wait. */
void turns_set_aside(gboolean aside);
/* While no rdmad runs: what the others do until then. */
void turns_without_rdmad(gint64 until_us);
/* Something was done to a descriptor of the kernel's: one that was not ready may be so now. */
void turns_stir(void);
/* Whether rdmad's own code runs now. */
gboolean turns_in_rdmad(void);
void turns_set_in_rdmad(gboolean in_rdmad);
