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

/* `workshop` is a directory of the kernel for files that the tree (tree.h) cannot have. */
void world_make(const char *workshop);
/* Runs at most `steps` steps.  Returns TRUE if no rule was broken. */
gboolean world_run(Decisions *decisions, guint steps);
const WorldTotals *world_totals(void);
