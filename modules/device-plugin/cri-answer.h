/* SPDX-License-Identifier: Apache-2.0 */
/* CRI answers: what is read of the container runtime's messages. */
#pragma once

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
