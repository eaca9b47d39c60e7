/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/pods.h>

/* Asks <kubelet_dir>/pod-resources/kubelet.sock. */
RdmadPods *rdmad_pods_new(RdmadLoop *loop, RdmadAllocations *allocations, const char *kubelet_dir);
void rdmad_pods_free(RdmadPods *pods);
/* Always 0: a refresh cannot be given back, so none is a leak. */
guint rdmad_pods_reap(RdmadPods *pods, const RdmadModule *owner);
