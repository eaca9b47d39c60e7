/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A life of rdmad: the whole daemon, from its options to its end
 *
 * It runs in this process, one life after the other.  A crash is not a signal: from its effect on, nothing that
 * rdmad does comes out any more; the turn goes on to its end, and then all objects are freed.  So leaks of every
 * life are seen, and code after the crash still runs, which a kill would not let it.
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
/*
 * An operator starts a second rdmad, which finds that one runs, and ends: on the stack of the first, which waits in
 * its loop, so that the second may not wait for it (--lock-wait 0), and nothing is handed over to it.
 */
LifeEnd life_second(const RdmadOptions *options);
/* Signals of an operator. */
void life_stop(void);
void life_reload(void);
/* The n-th effect from now on is the first that does not happen; 0: the next. */
void life_crash_at(guint effects);
/* At once. */
void life_crash(void);
/* Not at an effect that is still to come. */
void life_crash_never(void);
/* How often that was so: there were no more effects. */
guint life_crashes_missed(void);
/* Whether an effect happens; called before each. */
gboolean life_effect(void);
gboolean life_is_over(void);
/* How many there were in all lives. */
guint64 life_effects(void);
/* The kernel has told of a change of the hardware. */
void life_hint_hardware(void);
/* The table in memory; NULL: there is none now. */
RdmadAllocations *life_allocations(void);
/* Tells the last lines of the log; what no run may write is a violation. */
void life_log_print(void);
