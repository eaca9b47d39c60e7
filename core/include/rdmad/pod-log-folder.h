/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pod log folder: which pod a uid is of
 *
 * Cgroups say uids.  Kubelet keeps a folder of logs for each pod of the node, NAMESPACE_NAME_UID
 * (pkg/kubelet/kuberuntime/helpers.go, BuildPodLogsDirectory); for a static pod the uid is a hash
 * there as it is in the cgroup.
 */
#pragma once

#include <rdmad/types.h>

typedef struct {
	char *pod_namespace, *pod_name, *uid;
} RdmadPodLogFolder;

/* From the name of a folder.  FALSE: it is no pod's, and `folder` is cleared. */
RDMAD_API gboolean rdmad_pod_log_folder_parse(const char *name, RdmadPodLogFolder *folder);
RDMAD_API void rdmad_pod_log_folder_clear(RdmadPodLogFolder *folder);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RdmadPodLogFolder, rdmad_pod_log_folder_clear)
