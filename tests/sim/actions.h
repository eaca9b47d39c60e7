/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Actions: what a step does
 *
 * The actions from ACTION_KUBELET on are faults; the others are everyday events of a node.
 */
#pragma once

#include "decisions.h"
#include "disk.h"
#include "life.h"

typedef enum {
	ACTION_NOTHING,
	ACTION_POD,	  /* a pod is created */
	ACTION_BURST,	  /* several pods are created at once */
	ACTION_EXIT,	  /* the container of a pod exits */
	ACTION_DELETE,	  /* an ended pod is deleted */
	ACTION_FORCE,	  /* the deletion of a running pod is forced */
	ACTION_RESTART,	  /* the container of a pod exits, and is started again */
	ACTION_RELOAD,	  /* of the same configuration, another or an invalid one */
	ACTION_RENAME,	  /* devices get resources of other names or modes */
	ACTION_SECOND,	  /* a second rdmad is started */
	ACTION_STOP,	  /* rdmad is stopped and restarted */
	ACTION_HANDOVER,  /* rdmad hands over to its successor, as in a rolling update */
	ACTION_GC,	  /* the runtime reports its sandboxes to CNI */
	ACTION_STATUS,	  /* the runtime queries whether the network is ready */
	ACTION_CHECK,	  /* the runtime checks a sandbox */
	ACTION_LABEL,	  /* somebody changes the labels of the Node */
	ACTION_COMMAND,	  /* the administrator calls a command of rdmad */
	ACTION_SCRAPE,	  /* a device sends packets, and Prometheus asks for the metrics */
	ACTION_KUBELET,	  /* kubelet is restarted, with or without its checkpoint */
	ACTION_WIPE,	  /* the sockets of plugins are removed */
	ACTION_HANG,	  /* podresources does not respond for a while */
	ACTION_PORT,	  /* a link goes down or up */
	ACTION_PLUG,	  /* a device is removed or added again */
	ACTION_DISK,	  /* the disk fails for a while */
	ACTION_CLOCK,	  /* the wall clock jumps */
	ACTION_SUSPEND,	  /* the machine is suspended; the monotonic clock jumps too */
	ACTION_EXECUTOR,  /* the executor is killed */
	ACTION_NETLINK,	  /* netlink rejects changes for a while */
	ACTION_IPAM,	  /* the IPAM plugin fails for a while */
	ACTION_METADATA,  /* the metadata service fails for a while */
	ACTION_APISERVER, /* the API server fails for a while */
	ACTION_MANAGER,	  /* another program changes an elastic NIC */
	ACTION_CRASH,	  /* rdmad ends at one of its next effects */
	ACTION_POWER,	  /* the same, with a power failure of the machine */
	N_ACTIONS,
} Action;

const char *action_name(guint action);
/* Returns -1 for an unknown name. */
int action_of(const char *name);
void action_do(Action action, Decisions *decisions);

/* ---- functions for the world ---- */

void actions_begin(const char *root, Decisions *decisions);
void actions_end(void);
/* Returns when the next pending effect of an action ends. */
gint64 actions_due_us(void);
void actions_work(void);
/* Call after the end of a life of rdmad. */
void actions_life_ended(LifeEnd how);
/* Returns how long rdmad is down before its next life. */
gint64 actions_down_us(void);
/* Ends all faults, and restores what they have removed. */
void actions_end_faults(void);

/* Prints how often an action and a fault came within a second of each other, in all runs. */
void actions_print_pairs(void);
