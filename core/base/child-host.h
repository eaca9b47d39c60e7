/* SPDX-License-Identifier: Apache-2.0 */
/* Cgroups of child processes, at the top of the host's cgroup v2 tree. */
#pragma once

/* Makes it where it is missing.  A descriptor, or -1: no such tree here, or not ours to change. */
int rdmad_child_cgroup_open(const char *name);
/* Between fork and exec; -1: nothing.  A kernel that refuses leaves the child where it is. */
void rdmad_child_cgroup_join(int cgroup);
/* Kills what is in it, removes and closes it; -1: nothing. */
void rdmad_child_cgroup_end(int *cgroup, const char *name);
