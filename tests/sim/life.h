/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A life of rdmad: the whole daemon, from its options to its end
 *
 * Lives run in this process, one after the other.  A crash is not a signal: from that effect on,
 * nothing that rdmad does has an effect; the turn completes, and then all objects are freed.  So
 * the leaks of every life are detected, and the code after the crash runs too.
 */
#pragma once

#include "daemon/options.h"
#include "decisions.h"
#include "service/allocations-private.h"

typedef enum {
	LIFE_STOPPED, /* by a signal */
	LIFE_CRASHED, /* at the n-th effect */
	LIFE_FAILED,  /* by itself: it could not start */
} LifeEnd;

/* Runs rdmad until it ends. */
LifeEnd life_run(const RdmadOptions *options);
gboolean life_is_on(void);
/* Returns whether the operator has told it to end. */
gboolean life_is_stopping(void);
/*
 * Starts a second rdmad, which detects the first one and ends.  It runs on the stack of the first,
 * which waits in its loop; therefore the second must not wait for it (--lock-wait 0), and nothing
 * is handed over to it.
 */
LifeEnd life_second(const RdmadOptions *options);
/* Send the signals of an operator. */
void life_stop(void);
void life_reload(void);
/* Suppresses all effects from the n-th on; 0: from the next one. */
void life_crash_at(guint effects);
/* Crashes immediately. */
void life_crash(void);
/* Cancels a pending crash. */
void life_crash_never(void);
/* Returns the number of pending crashes for which there were not enough effects. */
guint life_crashes_missed(void);
/* Call before each effect; returns whether it happens. */
gboolean life_effect(void);
gboolean life_is_over(void);
/* Returns the number of effects in all lives. */
guint64 life_effects(void);
/* Reports a change of the hardware, as the kernel does. */
void life_hint_hardware(void);
/* Calls `ended` when rdmad frees its services: at its end, and when it has handed over. */
void life_watch_end(void (*ended)(void));
/* Returns the table in memory; NULL if there is none now. */
RdmadAllocations *life_allocations(void);
/* Calls `watch` for each line of the log, without its time. */
void life_watch_log(void (*watch)(const char *line));
/* Prints the last lines of the log.  Lines that no run may log are violations. */
void life_log_print(void);
