/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decisions: every choice that the world makes
 *
 * A choice has a kind and a number of values, of which 0 always means that nothing special happens.
 * It comes from a seed, from a trace or from bytes; after the end of a trace or of bytes, all
 * choices are 0.  The choices are recorded step by step, as a trace that repeats the run.
 */
#pragma once

#include <glib.h>

typedef enum {
	DECIDE_SETUP,	  /* the features of this run */
	DECIDE_ACTION,	  /* the action of a step */
	DECIDE_PAUSE,	  /* time until the next step */
	DECIDE_WHICH,	  /* a pod, a device */
	DECIDE_HOW,	  /* a variant of the action */
	DECIDE_EFFECTS,	  /* effects until a crash */
	DECIDE_KEPT,	  /* unsynced writes that survive */
	DECIDE_ORDER,	  /* order of simultaneous events */
	DECIDE_JOB,	  /* duration of a job */
	DECIDE_ANSWER,	  /* duration of a response of kubelet */
	DECIDE_WEIGHT,	  /* frequency of an action in this run */
	DECIDE_KERNEL,	  /* behaviour and timing of the kernel's network */
	DECIDE_RUNTIME,	  /* deviations of the container runtime */
	DECIDE_KUBELET,	  /* timing of what kubelet does by itself */
	DECIDE_INIT,	  /* an init container, and its duration */
	DECIDE_IPAM,	  /* the network of a pod, and the runs of the IPAM plugin */
	DECIDE_RELAY,	  /* what the other process of a hand-over does, and how long it takes */
	DECIDE_DIAL,	  /* the time until kubelet connects to a plugin */
	DECIDE_CLOUD,	  /* the metadata service, and other programs that configure NICs */
	DECIDE_SCHEDULER, /* a pod that the scheduler should have kept waiting */
	DECIDE_REMAINS, /* what kubelet leaves of a deleted pod, and whether its name comes again */
	DECIDE_NOTICE,	/* the time until kubelet notices that a plugin's stream has ended */
	DECIDE_PROGRAM, /* what a program of a pod does to its NICs */
	N_DECIDE,
} Decide;

typedef struct Decisions Decisions;

/* A run has `steps` steps, or with 0 as many as the seed chooses. */
Decisions *decisions_of_seed(guint64 seed, guint steps);
/* A run has at most `steps` steps. */
Decisions *decisions_of_bytes(const guint8 *bytes, gsize size, guint steps);
/* Parses the format of decisions_print().  `action_of` returns -1 for an unknown action.  Returns
 * NULL, with the line in `error`, if the text is not a trace. */
Decisions *decisions_of_trace(const char *text, int (*action_of)(const char *name), GError **error);
void decisions_free(Decisions *decisions);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Decisions, decisions_free)

/* Starts the next step.  Returns FALSE after the last one, to which all further choices belong. */
gboolean decisions_step(Decisions *decisions);
/* Returns a number less than `bound`, uniformly distributed. */
guint decide(Decisions *decisions, Decide kind, guint bound);
/* Returns 0, except once in `rarity` times. */
guint decide_rarely(Decisions *decisions, Decide kind, guint rarity, guint bound);
/* Chooses by weights if there is a seed, which never chooses a weight of 0. */
guint decide_weighted(Decisions *decisions, Decide kind, const guint *weights, guint n);

/* Adds an observation to the hash of the run. */
void decisions_note(Decisions *decisions, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Prints each observation, and each line of rdmad's log with its details, for debugging. */
void decisions_print_notes(void);
gboolean decisions_notes_are_printed(void);
guint64 decisions_hash(const Decisions *decisions);

/* ---- the trace ---- */

guint decisions_steps(const Decisions *decisions);
/* Prints one line per step: its action by `name_of`, then kind@index=value. */
char *decisions_print(const Decisions *decisions, const char *(*name_of)(guint action));
/* For shrink.c: returns a copy without `n` steps from `first`, or NULL if there are none.  Step 0,
 * the setup, is kept. */
Decisions *decisions_without_steps(const Decisions *decisions, guint first, guint n);
/* Marks the entries of a trace as chosen, after it was run in another process. */
void decisions_adopt(Decisions *decisions);
guint decisions_entries(const Decisions *decisions);
/* Returns a copy in which an entry has another value; 0 removes it. */
Decisions *decisions_with_value(const Decisions *decisions, guint entry, guint value);
guint decisions_value(const Decisions *decisions, guint entry);
