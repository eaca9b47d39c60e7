/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executor's process: executes steps from rdmad's socket, one after the other
 *
 * It runs the product's plan (core/network/perform-plan.c) on kubelet's loop, with pauses between
 * the steps.  It ends by itself, or with rdmad, possibly after some further changes.
 */
#pragma once

#include "base/loop.h"
#include "decisions.h"

void executor_begin(RdmadLoop *loop, Decisions *decisions);
void executor_end(void);
/* Kills the executor; rdmad continues. */
void executor_kill(void);
/* The machine is off: pending steps are never executed. */
void executor_cut_power(void);
/* Returns for how long steps have waited for the kernel since then.  In the world all wait with
 * them, whereas the real executor is another process. */
gint64 executor_waited_us(gint64 since_us);
/* Returns whether the step that is executed is for the host alone, not for a pod. */
gboolean executor_is_for_host(void);
/* Returns whether the next change of the network happens. */
gboolean executor_effect(void);
