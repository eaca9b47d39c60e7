/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods: the holders of device ids, from kubelet's podresources socket (v1)
 *
 * A refresh lists once and reconciles the allocations with the answer.  Refreshes that come while a List
 * is under way share the next one, so that what they get is not older than their question.  Kubelet
 * limits callers to 100 lists a second.
 */
#pragma once

#include <rdmad/types.h>

/* One container's device ids of one resource. */
typedef struct {
	char *pod_namespace, *pod_name, *container;
	char *resource;
	char **ids; /* sorted */
} RdmadPodDevices;

/* `error` NULL: the list is fresh.  RDMAD_ERROR_UNAVAILABLE: no socket, or kubelet does not answer;
 * RDMAD_ERROR_INVALID, RDMAD_ERROR_LIMIT: the answer is none; RDMAD_ERROR_CANCELLED: rdmad ends. */
typedef void (*RdmadPodsFunc)(const GError *error, gpointer data);

/* Asks now; `fn` (may be NULL) is called once from the top of the loop, unless `owner` ends first. */
RDMAD_API void rdmad_pods_refresh(RdmadPods *pods, RdmadModule *owner, RdmadPodsFunc fn,
				  gpointer data);
/* `fn` will not be called with `data`, however many refreshes asked for it. */
RDMAD_API void rdmad_pods_cancel(RdmadPods *pods, RdmadPodsFunc fn, gpointer data);
/* Schedules a refresh after a change that podresources will list soon (an Allocate): after a short
 * time, again with back-off until all allocations are named.  While there are allocations, every
 * five minutes. */
RDMAD_API void rdmad_pods_hint(RdmadPods *pods);

/* Detects a kubelet that has started since the last List.  Call it before a decision about a holder. */
RDMAD_API void rdmad_pods_detect_kubelet(RdmadPods *pods);

/* The last good List; borrowed until the turn of the loop ends. */
RDMAD_API guint rdmad_pods_count(RdmadPods *pods);
RDMAD_API const RdmadPodDevices *rdmad_pods_nth(RdmadPods *pods, guint index);
/* Whether it may be taken as complete: its kubelet had been there for a minute.  One that starts lists
 * nothing before it has read its pods. */
RDMAD_API gboolean rdmad_pods_is_steady(RdmadPods *pods);
/* Whether the pod was in it, with devices or without. */
RDMAD_API gboolean rdmad_pods_lists(RdmadPods *pods, const char *pod_namespace,
				    const char *pod_name);
/* The holder of an id, or NULL. */
RDMAD_API const RdmadPodDevices *rdmad_pods_holder(RdmadPods *pods, const char *resource,
						   const char *id);
