/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Task: one pod gets SMC-R, or what was done for it is undone
 *
 * One after the other: two that look at the host's table at once would both make its entry, and the one
 * that fails would take it from the other.
 */
#pragma once

#include <rdmad/executor.h>

#include "smc/smc-pods.h"
#include "smc/smc-settings.h"

typedef struct ErdmaSmcTasks ErdmaSmcTasks;

/* Called once with the pod's uid, after it has been put into `pods` with its new state, or removed. */
typedef void (*ErdmaSmcTaskDone)(const char *uid, gpointer data);

ErdmaSmcTasks *erdma_smc_tasks_new(RdmadModule *self, RdmadExecutor *executor, ErdmaSmcPods *pods);
/* Tasks under way are undone by the next start; no callback follows.  NULL is fine. */
void erdma_smc_tasks_free(ErdmaSmcTasks *tasks);

/* Takes `pod` over: uid, name, netns, device and pnetid.  `settings` are copied. */
void erdma_smc_tasks_set_up(ErdmaSmcTasks *tasks, ErdmaSmcPod *pod,
			    const ErdmaSmcSettings *settings, ErdmaSmcTaskDone done, gpointer data);
/* `uid` NULL: only the entries of the host that nobody needs.  Nothing, where that is queued. */
void erdma_smc_tasks_undo(ErdmaSmcTasks *tasks, const char *uid);
