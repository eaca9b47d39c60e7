/* SPDX-License-Identifier: Apache-2.0 */
/* CRI answers: the fields that are read of the container runtime's messages. */
#pragma once

#include <rdmad/module.h>
#include <rdmad/types.h>

typedef enum {
	CRI_NETWORK_UNKNOWN, /* unknown to the runtime */
	CRI_NETWORK_POD,
	CRI_NETWORK_HOST,
} CriNetwork;

/* The newest sandbox of a pod that is ready, of a ListPodSandboxResponse: for a while there may be
 * older ones beside it.  `id` and `pod_uid` are the caller's.
 * RDMAD_ERROR_INVALID; RDMAD_ERROR_NOT_FOUND: there is none. */
gboolean cri_answer_sandbox(const guint8 *message, gsize size, const char *pod_namespace,
			    const char *pod_name, char **id, char **pod_uid, GError **error);
typedef struct {
	char *pod_uid;
	CriNetwork network;
	char *netns; /* path of its network namespace; NULL: the runtime does not tell */
	GHashTable *annotations; /* text -> text */
} CriSandbox;

/* Fills all but `pod_uid` from a PodSandboxStatusResponse.  RDMAD_ERROR_INVALID. */
gboolean cri_answer_status(const guint8 *message, gsize size, CriSandbox *sandbox, GError **error);
void cri_sandbox_clear(CriSandbox *sandbox);

/* The path of the runtime's socket: `configured`, or for "auto" the first known one that is there;
 * NULL: none.  g_free(). */
char *cri_socket(const char *configured);

typedef struct CriQuery CriQuery;

/* `sandbox` NULL: it could not be read, see `error`; fields that are not stolen are freed. */
typedef void (*CriFunc)(CriSandbox *sandbox, const GError *error, gpointer data);

/* Calls `fn` once, from the loop, never from inside; the query is gone before it. */
CriQuery *cri_query(RdmadModule *self, const char *socket_path, const char *pod_namespace,
		    const char *pod_name, CriFunc fn, gpointer data);
/* `fn` will not be called.  NULL is fine. */
void cri_query_cancel(CriQuery *query);
