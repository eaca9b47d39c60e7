/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods with allocated devices on the host's network: runtimes send no ADD for them
 *
 * For each pod that podresources lists and that has no attachment, a process of the pod is searched
 * (pod-process.h).  Its /proc/PID/net identifies its network without a capability.
 */
#pragma once

#include "cni.h"

typedef struct CniHostNetwork CniHostNetwork;

CniHostNetwork *cni_host_network_new(Cni *cni);
void cni_host_network_free(CniHostNetwork *watch);

/* Counts the pod and posts the event.  `pod_namespace` and `pod_name` may be NULL. */
void cni_host_network_report(Cni *cni, const char *pod_namespace, const char *pod_name,
			     const char *container);
