/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods whose deletion is forced: kubelet forgets them at once, so that their devices are free for
 * it and their names may come again, and ends their processes later
 *
 * Source: a real kubelet 1.35 with static pods (tests/kubelet/behaviour.trace).
 */
#pragma once

#include "pods.h"

void forced_begin(void);
/* `pod` runs. */
void forced_delete(Pod *pod, Decisions *decisions);
/* Call when rdmad cannot tell until then which pod has which cgroup: it is not held to one that
 * kubelet does not list. */
void forced_unseen(gint64 until_us);
gint64 forced_unseen_until_us(void);
/* Returns when the processes of the next one end; G_MAXINT64: there is none. */
gint64 forced_due_us(void);
/* Ends those that are due by then. */
void forced_work(gint64 until_us);
