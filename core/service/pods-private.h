/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/pods.h>

/* Queries <kubelet_dir>/pod-resources/kubelet.sock. */
RdmadPods *rdmad_pods_new(RdmadLoop *loop, const RdmadSysroot *root, RdmadAllocations *allocations,
			  const char *kubelet_dir);
void rdmad_pods_free(RdmadPods *pods);
/* Cancels the owner's refreshes.  Returns their number. */
guint rdmad_pods_reap(RdmadPods *pods, const RdmadModule *owner);
/* Lists with growing delays, as long as `awaits` returns TRUE: for the end of a pod, which kubelet
 * detects a moment after the kernel.  A repetition begins with the short delays again. */
typedef gboolean (*RdmadPodsAwaits)(gpointer data);
void rdmad_pods_pursue(RdmadPods *pods, RdmadPodsAwaits awaits, gpointer data);
/* Returns the monotonic time when the current kubelet, or the lack of one, was first seen. */
gint64 rdmad_pods_kubelet_since_us(const RdmadPods *pods);
