/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pod of a process, from its /proc/PID/cgroup
 *
 * kubelet makes a cgroup for each pod, "pod<uid>" below "kubepods", or with systemd's driver
 * "kubepods-burstable-pod<uid>.slice" ("-" of the uid being "_"); the runtime makes one for each
 * container below it, with the container's id in its name.  The outermost pod counts.  A name is no
 * proof: a process that may make cgroups may give one that name.
 *
 * Sources: kubelet pkg/kubelet/cm/{pod_container_manager,cgroup_manager}_linux.go; cgroups(7).
 */
#pragma once

#include <rdmad/types.h>

typedef struct {
	char uid[37]; /* as the API server has it, "0e7f1ca3-..."; a static pod's: 32 digits */
	char container_id[65]; /* "": not known */
} RdmadCgroupPod;

/* `text`: the whole file, of v1, v2 or both.  FALSE: it is in no pod. */
RDMAD_API gboolean rdmad_cgroup_pod_parse(const char *text, RdmadCgroupPod *pod);
/* `name`: of a directory somewhere below "kubepods".  FALSE: it is not a pod's. */
RDMAD_API gboolean rdmad_cgroup_pod_directory(const char *name, char *uid);
