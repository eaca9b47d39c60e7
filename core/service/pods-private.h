/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/pods.h>

/* Asks <kubelet_dir>/pod-resources/kubelet.sock. */
RdmadPods *rdmad_pods_new(RdmadLoop *loop, RdmadAllocations *allocations, const char *kubelet_dir);
void rdmad_pods_free(RdmadPods *pods);
/* How many refreshes would still have called the owner; they will not. */
guint rdmad_pods_reap(RdmadPods *pods, const RdmadModule *owner);
/* When the present kubelet was first seen, or none any more; monotonic. */
gint64 rdmad_pods_kubelet_since_us(const RdmadPods *pods);
