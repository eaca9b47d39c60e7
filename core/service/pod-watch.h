/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pod watch: detects the end of a pod that has allocations
 *
 * The pod's uid is in the name of its directory of logs, and by that its cgroup is found.  inotify
 * reports the end of the cgroup's last process (v2: cgroup.events; v1: the containers' cgroups are
 * removed) and its removal; then podresources is listed until the allocations have ended.  While a
 * pod is not found, the directories in which it will appear are watched, too; otherwise there are
 * two watches a pod, and nothing runs.
 *
 * Where cgroups or the directories of logs cannot be seen, as in a container without these mounts,
 * every pod is UNKNOWN, and only podresources shows its end.
 */
#pragma once

#include <rdmad/allocations.h>
#include <rdmad/pods.h>

typedef struct RdmadPodWatch RdmadPodWatch;

/* Becomes the liveness of `allocations`. */
RdmadPodWatch *rdmad_pod_watch_new(RdmadLoop *loop, RdmadWorkers *workers, RdmadSysroot *root,
				   RdmadAllocations *allocations, RdmadPods *pods);
/* After `pods`, which may still answer it, and before `allocations`. */
void rdmad_pod_watch_free(RdmadPodWatch *watch);

/* Why ends of pods are learnt late; NULL: they are not. */
const char *rdmad_pod_watch_problem(const RdmadPodWatch *watch);
/* Number of pods with allocations whose cgroup is watched. */
guint rdmad_pod_watch_count(const RdmadPodWatch *watch);
