/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cgroups of pods: finds them by the names of the pods' log directories, which contain the UIDs,
 * and remembers the pods that have ended
 *
 * Another pod may have the name of one before kubelet has removed the cgroup and the log directory,
 * or while the processes of one go on whose deletion was forced.  A static pod has its UID again,
 * with another cgroup.
 */
#pragma once

#include <rdmad/allocations.h>
#include <rdmad/sysroot.h>
#include <rdmad/work.h>

#include "hardware/cgroup-tree.h"
#include "service/pod-list.h"

/* ---- UIDs by the names of pods ---- */

/* Returns a table of rdmad_pod_name() -> GPtrArray of UIDs, in the order in which they were
 * added. */
GHashTable *rdmad_pod_uids_new(void);
void rdmad_pod_uids_add(GHashTable *all, const char *pod_namespace, const char *pod_name,
			const char *uid);
/* `uids` NULL: none. */
gboolean rdmad_pod_uids_has(const GPtrArray *uids, const char *uid);

/* ---- the search ---- */

typedef struct {
	GHashTable *uids;  /* rdmad_pod_uids_new(): of the pods that have a log directory */
	gboolean logs;	   /* the log directories are visible */
	gboolean is_whole; /* nothing was unreadable for a reason that may be temporary */
	RdmadCgroupTree *tree;
} RdmadPodScan;

/* For RdmadJobClass, with a RdmadSysroot as input. */
gpointer rdmad_pod_scan_run(gpointer root, const RdmadJob *job, GError **error);
void rdmad_pod_scan_free(gpointer scan);
/* Returns why no pod can be found, or NULL. */
const char *rdmad_pod_scan_problem(const RdmadPodScan *scan);

/* Reads the life of a pod from its cgroup, which had a process.  ALIVE also if that cannot be read;
 * UNKNOWN if no cgroups of pods are visible. */
RdmadPodLife rdmad_pod_cgroup_life(const RdmadSysroot *root, const char *path);

static inline gboolean rdmad_pod_life_is_over(RdmadPodLife life)
{
	return life >= RDMAD_POD_LIFE_EMPTY;
}

/* ---- cgroups that were found ---- */

typedef struct RdmadPodCgroups RdmadPodCgroups;

RdmadPodCgroups *rdmad_pod_cgroups_new(const RdmadSysroot *root);
void rdmad_pod_cgroups_free(RdmadPodCgroups *cgroups);

/* Notes that the pod was found. */
void rdmad_pod_cgroups_add(RdmadPodCgroups *cgroups, const char *uid, const char *path);

/* Notes the end of the pod, if it was found. */
void rdmad_pod_cgroups_end(RdmadPodCgroups *cgroups, const char *uid);
/* Notes the end of the pod of the cgroup, if it was found, unless a process is in it.  The cgroup
 * stays for a moment, and is not that of a later pod of the name. */
void rdmad_pod_cgroups_end_empty(RdmadPodCgroups *cgroups, const char *path);
/* Returns whether the pod has ended.  `path`: of the cgroup that has the UID now, or NULL. */
gboolean rdmad_pod_cgroups_has_ended(const RdmadPodCgroups *cgroups, const char *uid,
				     const char *path);

/* Returns the path of the pod's cgroup; NULL: it has none, or has ended. */
const char *rdmad_pod_cgroups_present(const RdmadPodCgroups *cgroups, const RdmadPodScan *scan,
				      const char *uid);
/* Returns the path of the only cgroup of `uids` whose pod has not ended, is not in `known` and was
 * made after those, and notes that it was found; NULL: there is none, or several.  Both sets may be
 * NULL.  `populated`: empty cgroups do not count. */
const char *rdmad_pod_cgroups_newcomer(RdmadPodCgroups *cgroups, const RdmadPodScan *scan,
				       const GPtrArray *uids, const GPtrArray *known,
				       gboolean populated);
/* Returns whether one of the pods has not ended.  It may have no cgroup yet.  `uids` NULL: none. */
gboolean rdmad_pod_cgroups_any(const RdmadPodCgroups *cgroups, const RdmadPodScan *scan,
			       const GPtrArray *uids);
/* Forgets the pods that have neither a cgroup nor a log directory. */
void rdmad_pod_cgroups_clean(RdmadPodCgroups *cgroups, const RdmadPodScan *scan);
