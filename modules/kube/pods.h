/* SPDX-License-Identifier: Apache-2.0 */
/* Answers the other modules' queries for the metadata of pods (rdmad/pod-metadata.h), each by one GET. */
#pragma once

#include "client.h"

typedef struct KubePods KubePods;

KubePods *kube_pods_new(RdmadModule *self, KubeClient *client, GError **error);
void kube_pods_free(KubePods *pods);
json_t *kube_pods_status(const KubePods *pods);

/* "/api/v1/namespaces/NS/pods/NAME"; g_free().  NULL: these are not names. */
char *kube_pod_path(const char *pod_namespace, const char *pod_name);
