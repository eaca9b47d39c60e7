/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work pool without threads, in the place of core/base/work-pool.c
 *
 * A job runs whole, at the time that a decision gives it: at once, late, or after its deadline.
 */
#pragma once

#include "decisions.h"

void pool_begin(Decisions *decisions);
gint64 pool_due_us(void);
/* A second rdmad has another one for a moment: it is set aside, and brought back. */
void pool_set_aside(gboolean aside);
/* Runs the job that is due first. */
void pool_work(void);
