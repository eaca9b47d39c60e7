/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Task: sets up or undoes SMC-R of one pod
 *
 * Tasks run one at a time: two that read the host's table at the same time would both add its
 * entry, and the one that fails would remove the other's.
 */
#pragma once

#include <rdmad/executor.h>

#include "smc/smc-pods.h"
#include "smc/smc-settings.h"

typedef struct ErdmaSmcTasks ErdmaSmcTasks;

/* Called once with the pod's uid, after the pod was stored in `pods` with its new state, or
 * removed. */
typedef void (*ErdmaSmcTaskDone)(const char *uid, gpointer data);

ErdmaSmcTasks *erdma_smc_tasks_new(RdmadModule *self, RdmadExecutor *executor, ErdmaSmcPods *pods);
/* The next start undoes running tasks.  Their callbacks are not called.  `tasks` may be NULL. */
void erdma_smc_tasks_free(ErdmaSmcTasks *tasks);

/* Takes ownership of `pod`, which has uid, name, netns, device and pnetid.  Copies `settings`. */
void erdma_smc_tasks_set_up(ErdmaSmcTasks *tasks, ErdmaSmcPod *pod,
			    const ErdmaSmcSettings *settings, ErdmaSmcTaskDone done, gpointer data);
/* `uid` NULL: removes only the entries of the host that no pod needs.  Does nothing if the same
 * undo is queued. */
void erdma_smc_tasks_undo(ErdmaSmcTasks *tasks, const char *uid);
