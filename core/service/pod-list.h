/* SPDX-License-Identifier: Apache-2.0 */
/* One response of podresources: the holders at the time of the request.  Immutable. */
#pragma once

#include <rdmad/pods.h>

#define RDMAD_POD_LIST_MAX_MESSAGE (16u << 20) /* as its other clients allow */
#define RDMAD_POD_LIST_MAX_IDS	   65536u

typedef struct {
	GPtrArray *entries;	 /* RdmadPodDevices */
	GHashTable *holders;	 /* RdmadSlot -> RdmadPodDevices */
	GHashTable *pods;	 /* set of "namespace/pod": also those without devices */
	char *kubelet;		 /* which one was listed, or NULL */
	gint64 asked_us;	 /* monotonic: before the question was sent */
	gint64 kubelet_since_us; /* monotonic: when this kubelet was first seen */
} RdmadPodList;

/* A ListPodResourcesResponse.  RDMAD_ERROR_INVALID: not one; RDMAD_ERROR_LIMIT: too much in it. */
RdmadPodList *rdmad_pod_list_parse(const guint8 *message, gsize size, GError **error);
void rdmad_pod_list_free(RdmadPodList *list);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadPodList, rdmad_pod_list_free)

/* Whether the pod is in it, with devices or without. */
gboolean rdmad_pods_set_has(GHashTable *pods, const char *pod_namespace, const char *pod_name);

const RdmadPodDevices *rdmad_pod_list_holder(const RdmadPodList *list, const char *resource,
					     const char *id);
