/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Containers of admitted pods, as kubelet starts them
 *
 *	sandbox -> PreStartContainer, init container -> PreStartContainer, container
 *
 * PreStartContainer comes before each start of a container, if the plugin wants it, with a limit of
 * 30 s.  When it fails the container does not start, and kubelet tries again.
 */
#pragma once

#include "kubelet.h"

void containers_begin(const KubeletOps *ops, Decisions *decisions);
/* Calls over it are not answered any more. */
void containers_channel_ends(const RdmadGrpcChannel *channel);
/* Starts what may start (`may_start`), and removes the cgroups of pods that have ended. */
void containers_look(gboolean may_start);
/* A pod waits for another look. */
gboolean containers_wait(void);
