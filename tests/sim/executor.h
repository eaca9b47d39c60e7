/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executor's process: takes steps from rdmad's socket, and does one after the other
 *
 * It is the product's plan (core/network/perform-plan.c) on kubelet's loop, with pauses between the steps.  It ends with
 * rdmad, after some more of its changes or none, or by itself.
 */
#pragma once

#include "base/loop.h"
#include "decisions.h"

void executor_begin(RdmadLoop *loop, Decisions *decisions);
void executor_end(void);
/* Somebody kills it; rdmad lives. */
void executor_kill(void);
/* The machine is off: what it was at is never done. */
void executor_cut_power(void);
/* Whether the next change of the network happens. */
gboolean executor_effect(void);
