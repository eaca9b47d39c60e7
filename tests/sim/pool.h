/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work pool without threads, which replaces core/base/work-pool.c
 *
 * A job runs as a whole at the time that a decision chooses: at once, late, or after its deadline.
 */
#pragma once

#include "decisions.h"

void pool_begin(Decisions *decisions);
gint64 pool_due_us(void);
/* Sets the pool aside while a second rdmad has its own, then restores it. */
void pool_set_aside(gboolean aside);
/* Runs the job that is due next. */
void pool_work(void);
