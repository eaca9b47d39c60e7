/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pod watch: detects the end of a pod that has allocations
 *
 * The name of a pod's log directory contains its uid, which identifies its cgroup.  inotify reports
 * the end of the cgroup's last process (v2: cgroup.events; v1: removal of the containers' cgroups)
 * and its removal; then podresources is listed until the allocations have ended.  While a pod is
 * not found, the directories in which it will appear are watched too; otherwise each pod has two
 * watches, and nothing is polled.  Only when another pod may have the name of one that lives, its
 * cgroup is searched each second for ten seconds.
 *
 * Another pod may have the name while the processes of one go on whose deletion was forced.  So the
 * cgroup of a pod becomes part of its allocations when it is found; a later pod of the name has
 * another one.
 *
 * If cgroups or log directories are not visible, as in a container without these mounts, all pods
 * are UNKNOWN, and only podresources shows their end.
 */
#pragma once

#include <rdmad/allocations.h>
#include <rdmad/pods.h>

typedef struct RdmadPodWatch RdmadPodWatch;

/* Installs itself as the liveness check of `allocations`. */
RdmadPodWatch *rdmad_pod_watch_new(RdmadLoop *loop, RdmadWorkers *workers, RdmadSysroot *root,
				   RdmadAllocations *allocations, RdmadPods *pods);
/* Call after freeing `pods`, which may still call it, and before freeing `allocations`. */
void rdmad_pod_watch_free(RdmadPodWatch *watch);

/* Returns why ends of pods are detected late, or NULL. */
const char *rdmad_pod_watch_problem(const RdmadPodWatch *watch);
/* Returns the number of pods with allocations whose cgroup is watched. */
guint rdmad_pod_watch_count(const RdmadPodWatch *watch);
