/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CRI: the container runtime's state of a pod's sandbox (runtime.v1)
 *
 * Kubelet passes a device plugin neither the UID of a pod nor whether the pod uses the host's
 * network.  The runtime has both once the sandbox exists, which is before any container starts.
 * Two calls are needed: ListPodSandbox by the labels that kubelet sets on each sandbox, then
 * PodSandboxStatus.
 */
#pragma once

#include <rdmad/module.h>
#include <rdmad/types.h>

typedef enum {
	CRI_NETWORK_UNKNOWN, /* unknown to the runtime */
	CRI_NETWORK_POD,
	CRI_NETWORK_HOST,
} CriNetwork;

/* Finds the newest ready sandbox of a pod in a ListPodSandboxResponse, which may have older ones
 * for a while.  The caller frees `id` and `pod_uid`.  RDMAD_ERROR_INVALID; RDMAD_ERROR_NOT_FOUND:
 * there is none. */
gboolean cri_answer_sandbox(const guint8 *message, gsize size, const char *pod_namespace,
			    const char *pod_name, char **id, char **pod_uid, GError **error);
typedef struct {
	char *pod_uid;
	CriNetwork network;
	char *netns;		 /* path of its network namespace; NULL: not reported */
	GHashTable *annotations; /* text -> text */
} CriSandbox;

/* Fills all but `pod_uid` from a PodSandboxStatusResponse.  RDMAD_ERROR_INVALID. */
gboolean cri_answer_status(const guint8 *message, gsize size, CriSandbox *sandbox, GError **error);
void cri_sandbox_clear(CriSandbox *sandbox);

/* Returns the path of the runtime's socket: `configured`, or for "auto" the first known one that
 * exists; NULL: none.  g_free(). */
char *cri_socket(const char *configured);

typedef struct CriQuery CriQuery;

/* `sandbox` NULL: the query failed with `error`.  Fields that the callee does not steal are
 * freed. */
typedef void (*CriFunc)(CriSandbox *sandbox, const GError *error, gpointer data);

/* Calls `fn` once from the loop, never before it returns; the query is freed before the call. */
CriQuery *cri_query(RdmadModule *self, const char *socket_path, const char *pod_namespace,
		    const char *pod_name, CriFunc fn, gpointer data);
/* Cancels the call of `fn`.  `query` may be NULL. */
void cri_query_cancel(CriQuery *query);
