/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cgroup tree: where the cgroups of pods are, and whether a pod still has a process
 *
 *	v2	<root>/kubepods/burstable/pod<uid>/<container>
 *	v1	the same below each controller; one that has "kubepods" is enough
 *
 * with systemd's driver "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<uid>.slice",
 * and with --cgroup-root something before it.
 *
 * Sources: kubelet pkg/kubelet/cm/{cgroup_manager,qos_container_manager}_linux.go; kernel
 * Documentation/admin-guide/cgroup-v2.rst, "populated".
 */
#pragma once

#include <rdmad/types.h>

typedef struct {
	GHashTable *pods; /* uid -> path, relative to the sysroot */
	/* Paths of the directories in which kubelet makes them; none: not to be seen */
	GPtrArray *parents;
} RdmadCgroupTree;

/* Takes long on a busy node: for a worker. */
RdmadCgroupTree *rdmad_cgroup_tree_scan(const RdmadSysroot *root);
void rdmad_cgroup_tree_free(RdmadCgroupTree *tree);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadCgroupTree, rdmad_cgroup_tree_free)

typedef enum {
	RDMAD_CGROUP_POPULATED,
	RDMAD_CGROUP_EMPTY, /* it is there, and has no process */
	RDMAD_CGROUP_GONE,
	RDMAD_CGROUP_UNREADABLE, /* for a reason that may pass */
} RdmadCgroupState;

/* v1 has no word for it: there, a pod without a container's cgroup is empty. */
RdmadCgroupState rdmad_cgroup_state(const RdmadSysroot *root, const char *path);
