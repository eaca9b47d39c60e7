/* SPDX-License-Identifier: Apache-2.0 */
/* Kubelet's pod-resources/kubelet.sock: the holders of slots, as kubelet knows them */
#pragma once

#include "base/loop.h"
#include "kubelet.h"

typedef struct PodResources PodResources;

PodResources *podresources_new(RdmadLoop *loop, const char *dir, const KubeletEra *era,
			       Decisions *decisions);
void podresources_free(PodResources *podresources);
/* Returns TRUE while pods are listed without the devices of the checkpoint. */
gboolean podresources_is_starting(const PodResources *podresources);
void podresources_set_hung(PodResources *podresources, gboolean hung);
