/* SPDX-License-Identifier: Apache-2.0 */
/* The host's namespaces for a child, and cgroups at the root of the cgroup v2 tree, and of the
 * hierarchy of v1 that has the memory controller, or in system.slice */
#pragma once

#include <glib.h>

/* Returns the flags for setns() with a pidfd of PID 1: its mount namespace, and its cgroup
 * namespace if it differs from rdmad's.  A service may not be allowed to enter a cgroup
 * namespace. */
int rdmad_child_host_namespaces(void);

/* Descriptors; -1: there is no tree, or rdmad may not change it. */
typedef struct {
	int cgroup; /* of v2 */
	int memory; /* of v1; -1 also if v2 has the memory controller */
	/* The file that counts the processes which the kernel killed for the memory limit of the
	 * child's cgroup, which is rdmad's own if it has none of its own; -1: unknown. */
	int oom;
	guint64 killed; /* before the child */
} RdmadChildCgroup;

#define RDMAD_CHILD_NO_CGROUP ((RdmadChildCgroup){ -1, -1, -1, 0 })

/* Creates the cgroup if it is missing.  RDMAD_ERROR_FAILED: neither is known. */
gboolean rdmad_child_cgroup_open(const char *name, RdmadChildCgroup *cgroup, GError **error);
/* Call between fork and exec; does nothing for -1.  A child that the kernel refuses to move stays
 * in its cgroup.  Returns FALSE with errno after another error. */
gboolean rdmad_child_cgroup_join(const RdmadChildCgroup *cgroup);
/* Returns whether the kernel has killed a process for lack of memory since the cgroup was
 * opened. */
gboolean rdmad_child_cgroup_is_oom(const RdmadChildCgroup *cgroup);
/* Kills the processes of the cgroup, waits up to five seconds for their end, and removes it. */
void rdmad_child_cgroup_end(RdmadChildCgroup *cgroup, const char *name);
