/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods on the network of the host that were allocated devices: runtimes send no ADD for them
 *
 * Of a pod that podresources names, and that has no attachment, a process is looked for
 * (pod-process.h), whose /proc/PID/net tells whose network it is, without a capability.
 */
#pragma once

#include "cni.h"

typedef struct CniHostNetwork CniHostNetwork;

CniHostNetwork *cni_host_network_new(Cni *cni);
void cni_host_network_free(CniHostNetwork *watch);

/* The metric and the event.  `pod_namespace` and `pod_name` may be NULL. */
void cni_host_network_tell(Cni *cni, const char *pod_namespace, const char *pod_name,
			   const char *container);
