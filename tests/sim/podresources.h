/* SPDX-License-Identifier: Apache-2.0 */
/* Kubelet's pod-resources/kubelet.sock: who holds which slots, as kubelet's books have it. */
#pragma once

#include "base/loop.h"
#include "kubelet.h"

typedef struct PodResources PodResources;

PodResources *podresources_new(RdmadLoop *loop, const char *dir, const KubeletEra *era,
			       Decisions *decisions);
void podresources_free(PodResources *podresources);
/* It lists pods without what the checkpoint has for them. */
gboolean podresources_is_starting(const PodResources *podresources);
void podresources_set_hung(PodResources *podresources, gboolean hung);
