/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pod process: a process of a pod, to read its network namespace through /proc/PID/net
 *
 * Found by the pod's uid in the name of its directory of logs, and its cgroup.  The oldest process is
 * the sandbox's, where the runtime has one; a later one may have left the pod's namespace.
 */
#pragma once

#include <rdmad/types.h>

typedef struct {
	int pid;
	char uid[37]; /* of the pod */
} RdmadPodProcess;

/* For a worker.  RDMAD_ERROR_NOT_FOUND: the pod has no process; RDMAD_ERROR_BUSY: two pods of that
 * name have, one of which ends; RDMAD_ERROR_UNAVAILABLE: directories of logs or cgroups cannot be
 * seen. */
RDMAD_API gboolean rdmad_pod_process_find(const RdmadSysroot *root, const char *pod_namespace,
					  const char *pod_name, RdmadPodProcess *process,
					  GError **error);
/* The pid still is of that pod.  To be called after what was read of it. */
RDMAD_API gboolean rdmad_pod_process_is(const RdmadSysroot *root, const RdmadPodProcess *process);
/* A process of some pod began before process `pid`; TRUE also while that cannot be read. */
RDMAD_API gboolean rdmad_pod_process_precedes(const RdmadSysroot *root, int pid);
