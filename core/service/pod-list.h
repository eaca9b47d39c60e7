/* SPDX-License-Identifier: Apache-2.0 */
/* One response of podresources: the holders at the time of the request; immutable */
#pragma once

#include <rdmad/pods.h>

#define RDMAD_POD_LIST_MAX_MESSAGE (16u << 20) /* the limit of other clients */
#define RDMAD_POD_LIST_MAX_IDS	   65536u

typedef struct {
	GPtrArray *entries;  /* RdmadPodDevices */
	GHashTable *holders; /* RdmadSlot -> RdmadPodDevices */
	GHashTable *pods;    /* set of "namespace/pod", including pods without devices */
	/* Set of RdmadSlot: of containers whose names are invalid, which are in no entry */
	GHashTable *unnamed;
	char *invalid;	  /* the first of these, for messages; NULL: none */
	GHashTable *logs; /* set of the names of the pods' directories of logs; NULL: not known */
	char *kubelet;	  /* identity of the kubelet, or NULL */
	gint64 asked_us;  /* monotonic time before the request was sent */
	gint64 kubelet_since_us; /* monotonic time when this kubelet was first seen */
} RdmadPodList;

/* Parses a ListPodResourcesResponse.  RDMAD_ERROR_INVALID: malformed; RDMAD_ERROR_LIMIT: too
 * large. */
RdmadPodList *rdmad_pod_list_parse(const guint8 *message, gsize size, GError **error);
void rdmad_pod_list_free(RdmadPodList *list);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadPodList, rdmad_pod_list_free)

/* Sets `logs`.  Kubelet makes a pod's directory before its first process; its name contains the
 * pod's uid. */
void rdmad_pod_list_read_logs(RdmadPodList *list, const RdmadSysroot *root);

/* Returns "namespace/pod"; g_free(). */
char *rdmad_pod_name(const char *pod_namespace, const char *pod_name);

/* Sets of rdmad_pod_name(). */
GHashTable *rdmad_pods_set_new(void);
void rdmad_pods_set_add(GHashTable *pods, const char *pod_namespace, const char *pod_name);
gboolean rdmad_pods_set_has(GHashTable *pods, const char *pod_namespace, const char *pod_name);

/* Returns NULL for a slot that nobody has, and for one of `unnamed`. */
const RdmadPodDevices *rdmad_pod_list_holder(const RdmadPodList *list, const char *resource,
					     const char *id);
/* Returns whether the slot is one of `unnamed`: who holds it is not known. */
gboolean rdmad_pod_list_is_unnamed(const RdmadPodList *list, const char *resource, const char *id);
