/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a loop for a fixed number of iterations, enough for callbacks that schedule others. */
#pragma once

#include <rdmad/loop.h>

#include "base/loop.h"

typedef struct {
	RdmadLoop *loop;
	RdmadEvent *end;
	guint left;
} Turns;

static inline void turns_count(gpointer data)
{
	Turns *turns = data;

	if (--turns->left)
		rdmad_event_arm(turns->end, 0);
	else
		rdmad_loop_stop(turns->loop);
}

static inline void turns_init(Turns *turns, RdmadLoop *loop)
{
	turns->loop = loop;
	turns->end = rdmad_loop_add_timer(loop, NULL, turns_count, turns);
}

static inline void turns_clear(Turns *turns)
{
	rdmad_event_free(turns->end);
}

static inline void turns_run(Turns *turns)
{
	turns->left = 5;
	rdmad_event_arm(turns->end, 0);
	rdmad_loop_run(turns->loop);
}
