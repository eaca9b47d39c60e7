/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pod of a process, from its /proc/PID/cgroup
 *
 * Kubelet makes a cgroup for each pod: "pod<uid>" below "kubepods", or with systemd's driver
 * "kubepods-burstable-pod<uid>.slice", with "_" for "-" in the uid.  Below it the runtime makes a
 * cgroup for each container, with the container's id in its name.  The outermost pod counts.  A
 * name is no proof: a process that may make cgroups may choose such a name.
 *
 * Sources: kubelet pkg/kubelet/cm/{pod_container_manager,cgroup_manager}_linux.go; cgroups(7).
 */
#pragma once

#include <rdmad/types.h>

typedef struct {
	char uid[37];	       /* as in the API server, "0e7f1ca3-..."; of a static pod 32 digits */
	char container_id[65]; /* "": unknown */
} RdmadCgroupPod;

/* Parses the whole file, of cgroup v1, v2 or both.  Returns FALSE if the process is in no pod. */
RDMAD_API gboolean rdmad_cgroup_pod_parse(const char *text, RdmadCgroupPod *pod);
/* Parses the name of a directory below "kubepods" into `uid`, of 37 bytes.  Returns FALSE if it is
 * not a pod's. */
RDMAD_API gboolean rdmad_cgroup_pod_directory(const char *name, char *uid);
/* The same for the path of the directory. */
RDMAD_API gboolean rdmad_cgroup_pod_path(const char *path, char *uid);

/* Returns the path of a pod's cgroup with this controller, relative to the sysroot; g_free().
 * Cgroup v2 has one cgroup for all controllers, v1 a hierarchy for each.  Blocks; call it on a
 * worker. RDMAD_ERROR_UNAVAILABLE: there is no such controller; RDMAD_ERROR_NOT_FOUND: the pod has
 * no cgroup; RDMAD_ERROR_FAILED: not all could be read. */
RDMAD_API char *rdmad_cgroup_pod_find(const RdmadSysroot *root, const char *uid,
				      const char *controller, GError **error);
/* Enables a controller of cgroup v2 in all cgroups above this one, from the root down: a cgroup can
 * only pass on what its parent passed to it.  RDMAD_ERROR_FAILED. */
RDMAD_API gboolean rdmad_cgroup_enable(const RdmadSysroot *root, const char *path,
				       const char *controller, GError **error);
