/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods: the holders of device ids, from kubelet's podresources API (v1)
 *
 * A refresh calls List once and reconciles the allocations with the response.  Refreshes that are
 * requested during a List share the next List, so that no response is older than its request.
 * Kubelet limits its clients to 100 calls of List a second.
 */
#pragma once

#include <rdmad/types.h>

/* The device ids of one resource that one container holds. */
typedef struct {
	char *pod_namespace, *pod_name, *container;
	char *resource;
	char **ids; /* sorted */
} RdmadPodDevices;

/* `error` is NULL if the list is fresh, else RDMAD_ERROR_UNAVAILABLE: no socket, or no response;
 * RDMAD_ERROR_INVALID, RDMAD_ERROR_LIMIT: a malformed or too large response; RDMAD_ERROR_CANCELLED:
 * rdmad ends. */
typedef void (*RdmadPodsFunc)(const GError *error, gpointer data);

/* Requests a List now.  `fn` (may be NULL) is called once, from the loop, unless `owner` ends
 * first. */
RDMAD_API void rdmad_pods_refresh(RdmadPods *pods, RdmadModule *owner, RdmadPodsFunc fn,
				  gpointer data);
/* Cancels all calls of `fn` with `data`. */
RDMAD_API void rdmad_pods_cancel(RdmadPods *pods, RdmadPodsFunc fn, gpointer data);
/* Schedules a refresh after a change that kubelet will list soon (an Allocate), and repeats it with
 * back-off until all allocations are named.  While there are allocations, a refresh runs every five
 * minutes without a hint. */
RDMAD_API void rdmad_pods_hint(RdmadPods *pods);

/* Detects a kubelet that has started since the last List.  Call it before a decision about a
 * holder. */
RDMAD_API void rdmad_pods_detect_kubelet(RdmadPods *pods);

/* The last successful List; the entries are borrowed until the turn of the loop ends. */
RDMAD_API guint rdmad_pods_count(RdmadPods *pods);
RDMAD_API const RdmadPodDevices *rdmad_pods_nth(RdmadPods *pods, guint index);
/* Returns whether the last List may be taken as complete: kubelet had then been running for a
 * minute.  A kubelet that starts lists nothing until it has read its pods. */
RDMAD_API gboolean rdmad_pods_is_steady(RdmadPods *pods);
/* Returns whether the last List had the pod, with devices or without. */
RDMAD_API gboolean rdmad_pods_lists(RdmadPods *pods, const char *pod_namespace,
				    const char *pod_name);
/* Returns the holder of a device id, or NULL. */
RDMAD_API const RdmadPodDevices *rdmad_pods_holder(RdmadPods *pods, const char *resource,
						   const char *id);
