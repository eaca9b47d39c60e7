/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pod log directory: from uids to pods
 *
 * Cgroups contain uids only.  Kubelet keeps a directory of logs for each pod of the node,
 * NAMESPACE_NAME_UID (pkg/kubelet/kuberuntime/helpers.go, BuildPodLogsDirectory); for a static pod
 * the uid is a hash there as it is in the cgroup.
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_POD_LOGS "var/log/pods"

typedef struct {
	char *pod_namespace, *pod_name, *uid;
} RdmadPodLogDirectory;

/* From the name of a directory.  FALSE: it is not a pod's, and `directory` is cleared. */
RDMAD_API gboolean rdmad_pod_log_directory_parse(const char *name, RdmadPodLogDirectory *directory);
RDMAD_API void rdmad_pod_log_directory_clear(RdmadPodLogDirectory *directory);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RdmadPodLogDirectory, rdmad_pod_log_directory_clear)
