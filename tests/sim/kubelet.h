/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubelet: its device manager, both ways of registration, its checkpoint and podresources
 *
 * It believes what rdmad tells it and nothing else, and runs on its own loop.  What it does, and in which era, is
 * what tests/kubelet/fake does, which was compared with the real one.
 */
#pragma once

#include <rdmad/grpc.h>

#include "base/loop.h"
#include "decisions.h"
#include "pods.h"

typedef struct {
	gboolean has_registry;	  /* the plugins_registry directory */
	gboolean dials_inside;	  /* it calls back before Register is answered (1.25 and later) */
	gboolean lists_completed; /* podresources has pods that have ended (before 1.34) */
	gboolean pre_lists;	  /* it lists pods without devices while it starts */
} KubeletEra;

typedef struct {
	/* Allocate was answered; `error` NULL: with a grant, which the pod has now. */
	void (*answered)(const Pod *pod, const Grant *grant, const char *error, gint64 took_us);
	/* The Allocate that is on its way is given up; answered() follows. */
	void (*given_up)(void);
	/* So was PreStartContainer; not, if the connection was lost. */
	void (*pre_started)(const Pod *pod, const char *error, gint64 took_us);
	/* TRUE: the pod has its network; else it is being made. */
	gboolean (*makes_network)(const Pod *pod);
	/* A new list of devices. */
	void (*listed)(const char *resource);
} KubeletOps;

void kubelet_begin(const char *dir, const KubeletEra *era, const KubeletOps *ops,
		   Decisions *decisions);
void kubelet_end(void);
/* The runtime's as well. */
RdmadLoop *kubelet_loop(void);

gboolean kubelet_is_up(void);
/* Its process; 0: it is not up. */
guint kubelet_pid(void);
/* An Allocate is on its way. */
gboolean kubelet_is_admitting(void);
void kubelet_start(void);
/* `forgets`: its checkpoint is lost. */
void kubelet_stop(gboolean forgets);
/* It answers podresources late, or not at all, until it hangs no longer. */
void kubelet_set_hung(gboolean hung);
/* A cleaner of the node, or an upgrade, removes the sockets of plugins. */
void kubelet_wipe_sockets(void);
/* Admits pods that wait, and starts containers of those that are admitted. */
void kubelet_look_at_pods(void);

/* ---- for the judge ---- */

typedef struct {
	char *slot;
	gboolean healthy;
} ListedSlot;

/* NULL: the resource is not registered.  Of ListedSlot. */
const GPtrArray *kubelet_list(const char *resource);
/* ---- for containers.c ---- */

/* Over which PreStartContainer goes; FALSE: the plugin does not want it.  `*channel` NULL: it is not there. */
gboolean kubelet_pre_start(const char *resource, RdmadGrpcChannel **channel);

/* ---- for the judge ---- */

/* How many endpoints it has a stream to. */
guint kubelet_endpoints(const char *resource);
