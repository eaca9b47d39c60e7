/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relay: the other end of a hand-over, because two rdmads cannot run at once
 *
 * It is the successor of the rdmad that runs, and takes the parts with their descriptors and the
 * locks.  That process waits then: the relay gives back to it, or ends before or after it has used
 * the parts, or the process is stopped.  When a process has ended, the relay is the predecessor of
 * the next one: it holds the lock, and gives the parts.  Meanwhile nobody reads kubelet's
 * connections.
 *
 * If a third rdmad gets the lock first, the relay keeps the parts, takes those of the third unless
 * that has ended before, and is both predecessors of the next life, one after the other, or it ends
 * while the third runs.
 */
#pragma once

#include "base/loop.h"
#include "decisions.h"
#include "life.h"

typedef struct {
	/* rdmad is told to end. */
	void (*stops)(void);
	/* A part was received. */
	void (*received)(const char *part);
	/* The process has given everything, and waits. */
	void (*passed)(void);
	/* Something happened that kubelet may notice: a process has ended, or was late. */
	void (*failed)(void);
} RelayOps;

void relay_begin(RdmadLoop *loop, const RelayOps *ops, Decisions *decisions);
void relay_end(void);

/* Asks the running rdmad for its parts.  `now` FALSE: it gives them when it is stopped, which
 * relay_ask() schedules.  Returns FALSE if it does not listen, or another hand-over is not over. */
gboolean relay_ask(gboolean now);
/* Returns whether the running rdmad hands over when it is stopped. */
gboolean relay_asks(void);
/* Call when a life of rdmad has ended. */
void relay_life_ended(LifeEnd how);
/* Returns whether the next life can continue kubelet's connections. */
gboolean relay_holds(void);
/* The process of the relay ends with all that it has. */
void relay_drop(void);
