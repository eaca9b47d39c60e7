/* SPDX-License-Identifier: Apache-2.0 */
/* Namespaces for a child of the host, and cgroups at the top of its cgroup v2 tree or in system.slice. */
#pragma once

/* Flags for setns() with a descriptor of PID 1: its mount namespace, and its cgroup namespace where that is not
 * ours, so that a service need not be allowed to enter one. */
int rdmad_child_host_namespaces(void);

/* Makes it where it is missing.  A descriptor, or -1: no such tree here, or not ours to change. */
int rdmad_child_cgroup_open(const char *name);
/* Between fork and exec; -1: nothing.  A kernel that refuses leaves the child where it is. */
void rdmad_child_cgroup_join(int cgroup);
/* Kills what is in it, waits up to five seconds for its end, removes and closes it; -1: nothing. */
void rdmad_child_cgroup_end(int *cgroup, const char *name);
