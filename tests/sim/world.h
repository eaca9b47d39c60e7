/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The world: what happens, and when
 *
 * A run is a number of steps, each an action of somebody (actions.c) and a pause, and then a quiet time in which
 * all must come right again.
 */
#pragma once

#include "decisions.h"

typedef struct {
	guint64 steps, runs, lives, effects;
} WorldTotals;

void world_make(void);
/* TRUE: the judge is content.  `steps`: at most. */
gboolean world_run(Decisions *decisions, guint steps);
const WorldTotals *world_totals(void);
