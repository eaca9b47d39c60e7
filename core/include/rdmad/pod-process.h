/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pod process: a process of a pod, to read its network namespace through /proc/PID/net
 *
 * The pod is found by the uid in the name of its log directory, which its cgroup has as well.  The
 * oldest process is that of the sandbox, if the runtime has one; a later process may have left the
 * pod's namespace.
 */
#pragma once

#include <rdmad/types.h>

typedef struct {
	int pid;
	char uid[37]; /* of the pod */
} RdmadPodProcess;

/* Finds the oldest process of a pod.  For a worker.  RDMAD_ERROR_NOT_FOUND: no process;
 * RDMAD_ERROR_BUSY: two pods of that name have processes, one of which is ending;
 * RDMAD_ERROR_UNAVAILABLE: log directories or cgroups cannot be seen. */
RDMAD_API gboolean rdmad_pod_process_find(const RdmadSysroot *root, const char *pod_namespace,
					  const char *pod_name, RdmadPodProcess *process,
					  GError **error);
/* Returns whether the pid is still of that pod.  Call it after reading from the process. */
RDMAD_API gboolean rdmad_pod_process_is(const RdmadSysroot *root, const RdmadPodProcess *process);
/* Returns whether a process of any pod may have started before process `pid`: in an earlier clock
 * tick, or in the same one; TRUE also if that cannot be read. */
RDMAD_API gboolean rdmad_pod_process_precedes(const RdmadSysroot *root, int pid);
