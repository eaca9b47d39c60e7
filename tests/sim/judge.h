/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge: what must hold, whatever happens
 *
 * It believes kubelet and the pods: what they were answered, what their processes have.  Of rdmad it looks at the
 * table of allocations, the database and the files, to compare them with that.
 */
#pragma once

#include "decisions.h"
#include "pods.h"
#include "runtime.h"

void judge_begin(Decisions *decisions);
void judge_end(void);
/* The first violation counts, and ends the run. */
void judge_fails(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* NULL: none. */
const char *judge_verdict(void);
/* The rule that it is about: its format. */
const char *judge_rule(void);

/* Allocate was answered, or (`error`) refused. */
void judge_answered(const Pod *pod, const Grant *grant, const char *error, gint64 took_us);
/* So was PreStartContainer. */
void judge_pre_started(const Pod *pod, const char *error, gint64 took_us);
/* An Allocate was given up: what it has done may stay until kubelet's list says otherwise. */
void judge_unanswered(void);
/* Kubelet starts again.  Without its checkpoint allocations that it had not named may stay while a pod lives. */
void judge_restarted(gboolean forgets);
/* A second rdmad has ended, after so many changes of files. */
void judge_second(gboolean refused, guint64 changes);
/* rdmad stops, or its executor or the kernel below has failed: what an ADD did may stay until the next look. */
void judge_disturbed(void);
void judge_attached(const Sandbox *sandbox);
void judge_attach_refused(const Sandbox *sandbox, const char *error);
/* Who answers at all is ready. */
void judge_unready(const char *error);
void judge_checked(const Sandbox *sandbox, const char *error);
/* After each step. */
void judge_look(void);
/* Between two lives, after the power came back if it was cut. */
void judge_disk(void);
/* Faults have been off for long. */
void judge_quiet(void);

/* ---- judge-network.c, a part of the above ---- */

/* An allocation may have the name of a pod that lives, and not be its own (judge.c, may_stay()): CNI goes by the name. */
gboolean judge_names_are_doubtful(void);

void judge_network_begin(Decisions *decisions);
void judge_network_look(void);
void judge_network_quiet(void);
/* A row of CNI's journal that the last life has left. */
void judge_network_journal(const char *container, const char *state);
