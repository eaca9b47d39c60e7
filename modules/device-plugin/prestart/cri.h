/* SPDX-License-Identifier: Apache-2.0 */
/* CRI answers: what is read of the container runtime's messages. */
#pragma once

#include <rdmad/module.h>
#include <rdmad/types.h>

typedef enum {
	RDMAD_CRI_NETWORK_UNKNOWN, /* the runtime does not say */
	RDMAD_CRI_NETWORK_POD,
	RDMAD_CRI_NETWORK_HOST,
} RdmadCriNetwork;

/* The newest sandbox of a pod that is ready, of a ListPodSandboxResponse: for a while there may be
 * older ones beside it.  `id` and `pod_uid` are the caller's.
 * RDMAD_ERROR_INVALID; RDMAD_ERROR_NOT_FOUND: there is none. */
gboolean rdmad_cri_answer_sandbox(const guint8 *message, gsize size, const char *pod_namespace,
				  const char *pod_name, char **id, char **pod_uid, GError **error);
/* Of a PodSandboxStatusResponse.  RDMAD_ERROR_INVALID. */
gboolean rdmad_cri_answer_network(const guint8 *message, gsize size, RdmadCriNetwork *network,
				  GError **error);

typedef struct {
	const char *pod_uid;
	RdmadCriNetwork network;
} RdmadCriSandbox;

/* The path of the runtime's socket: `configured`, or for "auto" the first known one that is there;
 * NULL: none.  g_free(). */
char *rdmad_cri_socket(const char *configured);

typedef struct RdmadCriQuery RdmadCriQuery;

/* `sandbox` NULL: it could not be learnt, see `error`. */
typedef void (*RdmadCriFunc)(const RdmadCriSandbox *sandbox, const GError *error, gpointer data);

/* Calls `fn` once, from the loop, never from inside; the query is gone before it. */
RdmadCriQuery *rdmad_cri_query(RdmadModule *self, const char *socket_path,
			       const char *pod_namespace, const char *pod_name, RdmadCriFunc fn,
			       gpointer data);
/* `fn` will not be called.  NULL is fine. */
void rdmad_cri_query_cancel(RdmadCriQuery *query);
