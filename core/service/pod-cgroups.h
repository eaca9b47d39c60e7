/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cgroups of pods that were found, by the pods' UIDs, and the allocations that may be theirs
 *
 * Another pod may have the name of one before kubelet has removed the cgroup and the log directory, or
 * while the processes of one go on whose deletion was forced.  A static pod has its UID again, with
 * another cgroup.
 */
#pragma once

#include <rdmad/allocations.h>
#include <rdmad/sysroot.h>

typedef struct RdmadPodCgroups RdmadPodCgroups;

/* `allocations`: those that are loaded now. */
RdmadPodCgroups *rdmad_pod_cgroups_new(const RdmadSysroot *root, RdmadAllocations *allocations);
void rdmad_pod_cgroups_free(RdmadPodCgroups *cgroups);

/* Returns TRUE, once, if "namespace/name" had two allocations for one container when rdmad was started: a later
 * pod had the name while the processes of the former one went on. */
gboolean rdmad_pod_cgroups_take_doubled(RdmadPodCgroups *cgroups, const char *name);

/* Notes that the pod was found.  `number`: of the youngest allocation that its name had then; 0: it is unknown
 * which are its.  `last`: the number of the youngest allocation of any pod. */
void rdmad_pod_cgroups_add(RdmadPodCgroups *cgroups, const char *uid, const char *path,
			   gint64 number, gint64 last);
/* Return those numbers; 0: unknown, or the pod was not found. */
gint64 rdmad_pod_cgroups_number(const RdmadPodCgroups *cgroups, const char *uid);
gint64 rdmad_pod_cgroups_last(const RdmadPodCgroups *cgroups, const char *uid);
void rdmad_pod_cgroups_forget_numbers(RdmadPodCgroups *cgroups, const char *uid);

/* Notes the end of the pod, if it was found. */
void rdmad_pod_cgroups_end(RdmadPodCgroups *cgroups, const char *uid);
/* Returns whether the pod has ended.  `path`: of the cgroup that has the UID now, or NULL. */
gboolean rdmad_pod_cgroups_has_ended(const RdmadPodCgroups *cgroups, const char *uid,
				     const char *path);

/* Forgets the pods for whose UID, its first argument, `is_gone` returns TRUE; the second one is opaque. */
void rdmad_pod_cgroups_remove(RdmadPodCgroups *cgroups, GHRFunc is_gone, gpointer data);
