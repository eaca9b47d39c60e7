/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decisions: every choice that the world makes
 *
 * A choice has a kind and a number of values, of which 0 is always the one where nothing special happens.  It
 * comes from a seed, from a trace or from bytes; a trace or bytes that have ended choose 0.  What was
 * chosen is kept, step by step, as a trace that makes the same run again.
 */
#pragma once

#include <glib.h>

typedef enum {
	DECIDE_SETUP,	/* what this run has at all */
	DECIDE_ACTION,	/* what a step does */
	DECIDE_PAUSE,	/* until the next step */
	DECIDE_WHICH,	/* a pod, a device */
	DECIDE_HOW,	/* a variant of the action */
	DECIDE_EFFECTS, /* until a crash */
	DECIDE_KEPT,	/* of what was not synced */
	DECIDE_ORDER,	/* of events that are ready together */
	DECIDE_JOB,	/* how long a job takes */
	DECIDE_ANSWER,	/* how long an answer of kubelet takes */
	DECIDE_WEIGHT,	/* how often this run does an action */
	DECIDE_KERNEL,	/* what its network does, and when */
	DECIDE_RUNTIME, /* what the container runtime does beside the straight way */
	DECIDE_KUBELET, /* when kubelet does what it does by itself */
	DECIDE_INIT,	/* an init container, and how long it runs */
	N_DECIDE,
} Decide;

typedef struct Decisions Decisions;

Decisions *decisions_of_seed(guint64 seed);
Decisions *decisions_of_bytes(const guint8 *bytes, gsize size);
/* As decisions_print() makes it; `action_of` returns -1 for a word that is not an action.  NULL: the text is no
 * trace, and `error` has the line. */
Decisions *decisions_of_trace(const char *text, int (*action_of)(const char *name), GError **error);
void decisions_free(Decisions *decisions);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Decisions, decisions_free)

/* Begins the next step.  FALSE: a trace or bytes have ended. */
gboolean decisions_step(Decisions *decisions);
/* Less than `bound`, each as often as another. */
guint decide(Decisions *decisions, Decide kind, guint bound);
/* 0, but once in `rarity` one of the others. */
guint decide_rarely(Decisions *decisions, Decide kind, guint rarity, guint bound);
/* By weights, for a seed; a weight of 0 is never chosen by it. */
guint decide_weighted(Decisions *decisions, Decide kind, const guint *weights, guint n);

/* Everything that the run has shown so far goes into one number. */
void decisions_note(Decisions *decisions, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Prints each note, and each line of rdmad's log down to its details, for who looks for a cause. */
void decisions_tell_notes(void);
gboolean decisions_notes_are_told(void);
guint64 decisions_hash(const Decisions *decisions);

/* ---- the trace ---- */

guint decisions_steps(const Decisions *decisions);
/* One line a step: the word that `name_of` has for its action, then kind@index=value. */
char *decisions_print(const Decisions *decisions, const char *(*name_of)(guint action));
/* For who makes it smaller: a copy without `n` steps from `first`, or NULL when there are none; step 0 is the
 * setup, and stays. */
Decisions *decisions_without_steps(const Decisions *decisions, guint first, guint n);
/* What a trace says counts as chosen, for one that was run elsewhere. */
void decisions_adopt(Decisions *decisions);
guint decisions_entries(const Decisions *decisions);
/* A copy whose entry has another value; 0 removes it. */
Decisions *decisions_with_value(const Decisions *decisions, guint entry, guint value);
guint decisions_value(const Decisions *decisions, guint entry);
