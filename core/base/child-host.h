/* SPDX-License-Identifier: Apache-2.0 */
/* The host's namespaces for a child, and cgroups at the root of the cgroup v2 tree or in
 * system.slice */
#pragma once

#include <glib.h>

/* Returns the flags for setns() with a pidfd of PID 1: its mount namespace, and its cgroup
 * namespace if it differs from rdmad's.  A service may not be allowed to enter a cgroup
 * namespace. */
int rdmad_child_host_namespaces(void);

/* Creates the cgroup if it is missing.  Sets `*cgroup` to a descriptor, or to -1 if there is no tree or
 * rdmad may not change it.  RDMAD_ERROR_FAILED: neither is known. */
gboolean rdmad_child_cgroup_open(const char *name, int *cgroup, GError **error);
/* Call between fork and exec; does nothing for -1.  A child that the kernel refuses to move stays in its
 * cgroup.  Returns FALSE with errno after another error. */
gboolean rdmad_child_cgroup_join(int cgroup);
/* Kills the processes of the cgroup, waits up to five seconds for their end, and removes it.  Does
 * nothing for -1. */
void rdmad_child_cgroup_end(int *cgroup, const char *name);
