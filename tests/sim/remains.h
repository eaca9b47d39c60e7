/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remains of deleted pods: kubelet removes the empty cgroup and the log directory later, perhaps
 * after another pod has the name
 *
 * Source: a real kubelet 1.35 with static pods (tests/kubelet/behaviour.trace).
 */
#pragma once

#include "pods.h"

void remains_begin(Decisions *decisions);
void remains_end(void);
/* Takes the cgroup of a pod that is deleted.  Returns FALSE if everything is removed at once. */
gboolean remains_take(Pod *pod);
/* Returns the name of the pod that was deleted last and has remains, for another pod; NULL: there
 * is none, or its name does not come again. */
const char *remains_name(void);
/* Returns the time of the next removal; G_MAXINT64: nothing is left. */
gint64 remains_due_us(void);
void remains_work(void);
/* The cgroups are gone with the boot. */
void remains_reboot(void);
