/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CRI: what the container runtime says of a pod's sandbox (runtime.v1)
 *
 * Kubelet tells a device plugin neither the uid of a pod nor whether it is in the host's network;
 * the runtime knows both as soon as the sandbox is there, which is before any container starts.
 * Two calls: ListPodSandbox by the labels that kubelet gives every sandbox, then PodSandboxStatus.
 */
#pragma once

#include <rdmad/module.h>

#include "cri-answer.h"

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
