/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The world: what happens, and when
 *
 * A run is a number of steps, each with an action (actions.c) and a pause, followed by a quiet time
 * in which everything must recover.
 */
#pragma once

#include "decisions.h"

typedef struct {
	guint64 steps, runs, lives, effects;
} WorldTotals;

void world_make(void);
/* Returns TRUE if no rule was broken. */
gboolean world_run(Decisions *decisions);

/* Steps in the place of decided ones. */
typedef struct {
	/* Called every 100 ms.  Returns FALSE after the last one. */
	gboolean (*step)(void);
	/* Returns whether rdmad is to run. */
	gboolean (*has_rdmad)(void);
} WorldScript;
gboolean world_perform(const WorldScript *script, Decisions *decisions);
const WorldTotals *world_totals(void);
