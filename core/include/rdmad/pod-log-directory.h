/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pod log directory: maps uids to pods
 *
 * Names of cgroups have only uids.  Kubelet keeps a log directory for each pod of the node,
 * NAMESPACE_NAME_UID (pkg/kubelet/kuberuntime/helpers.go, BuildPodLogsDirectory).  The uid of a
 * static pod is a hash, there as in its cgroup.
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_POD_LOGS "var/log/pods"

typedef struct {
	char *pod_namespace, *pod_name, *uid;
} RdmadPodLogDirectory;

/* Parses the name of a directory.  Returns FALSE, and clears `directory`, if it is not a pod's. */
RDMAD_API gboolean rdmad_pod_log_directory_parse(const char *name, RdmadPodLogDirectory *directory);
RDMAD_API void rdmad_pod_log_directory_clear(RdmadPodLogDirectory *directory);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RdmadPodLogDirectory, rdmad_pod_log_directory_clear)
