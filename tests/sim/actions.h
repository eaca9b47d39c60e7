/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Actions: what one step does
 *
 * Those from ACTION_KUBELET on are faults; the others are what a node does on every day.
 */
#pragma once

#include "decisions.h"
#include "disk.h"

typedef enum {
	ACTION_NOTHING,
	ACTION_POD,	 /* one is created */
	ACTION_BURST,	 /* several at once */
	ACTION_EXIT,	 /* the container of one ends */
	ACTION_DELETE,	 /* an ended one is deleted */
	ACTION_RESTART,	 /* it ends, and is started again */
	ACTION_RELOAD,	 /* with the same configuration, another or a broken one */
	ACTION_SECOND,	 /* another rdmad is started beside it */
	ACTION_STOP,	 /* rdmad is stopped and started again */
	ACTION_GC,	 /* the runtime tells which sandboxes it has */
	ACTION_STATUS,	 /* it asks whether the network is ready */
	ACTION_CHECK,	 /* and asks whether one is as it was made */
	ACTION_KUBELET,	 /* is restarted, with its checkpoint or without */
	ACTION_WIPE,	 /* sockets of plugins are removed */
	ACTION_HANG,	 /* podresources does not answer for a while */
	ACTION_PORT,	 /* a link goes down or comes back */
	ACTION_PLUG,	 /* a device is taken out or put back */
	ACTION_DISK,	 /* fails for a while */
	ACTION_CLOCK,	 /* the wall clock jumps */
	ACTION_SUSPEND,	 /* the machine sleeps, and the monotonic clock with it jumps at once */
	ACTION_EXECUTOR, /* is killed */
	ACTION_NETLINK,	 /* refuses changes for a while */
	ACTION_CRASH,	 /* rdmad ends at one of its next effects */
	ACTION_POWER,	 /* so does the machine */
	N_ACTIONS,
} Action;

const char *action_name(guint action);
/* -1: there is none. */
int action_of(const char *name);
void action_do(Action action, Decisions *decisions);

/* ---- what the world asks ---- */

void actions_begin(const char *root, Decisions *decisions);
void actions_end(void);
/* What was begun and ends by itself. */
gint64 actions_due_us(void);
void actions_work(void);
/* A life of rdmad has ended: what went with it. */
void actions_life_ended(void);
/* How long rdmad is down after a life. */
gint64 actions_down_us(void);
/* Faults go; what is gone comes back. */
void actions_calm(void);

/* Counts of an action and a fault that came within a second of each other, in all runs. */
void actions_print_pairs(void);
