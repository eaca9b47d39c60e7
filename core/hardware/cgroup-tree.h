/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cgroup tree: finds the cgroups of pods, and whether a pod still has a process
 *
 *	v2	<root>/kubepods/burstable/pod<uid>/<container>
 *	v1	the same below each controller; the first controller with "kubepods" is used
 *
 * The driver systemd uses
 * "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<uid>.slice". --cgroup-root adds a
 * prefix.
 *
 * Sources: kubelet pkg/kubelet/cm/{cgroup_manager,qos_container_manager}_linux.go; kernel
 * Documentation/admin-guide/cgroup-v2.rst, "populated".
 */
#pragma once

#include <rdmad/types.h>

typedef struct {
	GHashTable *pods; /* uid -> path, relative to the sysroot */
	/* Paths of the directories in which kubelet creates them; empty: not visible */
	GPtrArray *parents;
} RdmadCgroupTree;

/* Slow on a busy node: call it on a worker. */
RdmadCgroupTree *rdmad_cgroup_tree_scan(const RdmadSysroot *root);
void rdmad_cgroup_tree_free(RdmadCgroupTree *tree);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadCgroupTree, rdmad_cgroup_tree_free)

typedef enum {
	RDMAD_CGROUP_POPULATED,
	RDMAD_CGROUP_EMPTY, /* exists without a process */
	RDMAD_CGROUP_GONE,
	RDMAD_CGROUP_UNREADABLE, /* for a reason that may be temporary */
} RdmadCgroupState;

/* cgroup v1 has no "populated": there, a pod without a container's cgroup counts as empty. */
RdmadCgroupState rdmad_cgroup_state(const RdmadSysroot *root, const char *path);
