/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/allocations.h>

#include "service/pod-list.h"
#include "service/state.h"

/* Loads the allocations of the database. */
RdmadAllocations *rdmad_allocations_new(RdmadLoop *loop, RdmadState *state,
					RdmadEventLog *event_log, GError **error);
/* Returns the error of the last write, or NULL.  Restores a database that was lost, and after a
 * failed write tries another one from time to time. */
const char *rdmad_allocations_problem(RdmadAllocations *allocations);
void rdmad_allocations_free(RdmadAllocations *allocations);
/* Set the boot and the kubelet that vouch for slots, see rdmad/allocations.h.  NULL: unknown. */
void rdmad_allocations_set_boot(RdmadAllocations *allocations, const char *boot);
void rdmad_allocations_set_kubelet(RdmadAllocations *allocations, const char *kubelet);
/* Call when a kubelet serves, for the first that is seen in this boot.  By its checkpoint, pods of
 * the last boot start again with their devices, without an Allocate.  So this kubelet becomes the
 * witness of the remaining allocations, which a later kubelet without the checkpoint then cannot
 * give away.  If it is not the first (`is_first` FALSE), they have no witness until a list shows
 * them. Returns FALSE if the write failed: call again. */
gboolean rdmad_allocations_begin_boot(RdmadAllocations *allocations, gboolean is_first);
/* Returns whether nobody has vouched for the allocation in this boot yet. */
gboolean rdmad_allocations_is_of_another_boot(const RdmadAllocations *allocations,
					      const RdmadAllocation *allocation);
/* Returns whether rdmad_allocations_begin_boot() has something to do. */
gboolean rdmad_allocations_some_of_another_boot(const RdmadAllocations *allocations);
/* Sets the cgroup of the allocations of that pod that have none, except of those whose number is
 * larger than `last`, and keeps it if it cannot be written.  The write does not wait for the disk,
 * because no process outlives the boot.  Call from the top of the loop. */
void rdmad_allocations_set_pod_cgroup(RdmadAllocations *allocations, const char *pod_namespace,
				      const char *pod_name, const char *pod_cgroup, gint64 last);
/* Returns whether an allocation of that pod has another cgroup, or none and a number larger than
 * `last`. */
gboolean rdmad_allocations_some_of_another_cgroup(const RdmadAllocations *allocations,
						  const char *pod_namespace, const char *pod_name,
						  const char *pod_cgroup, gint64 last);
/* Calls `fn` for each allocation whose pod runs although kubelet has forgotten its slots. */
void rdmad_allocations_foreach_forgotten(RdmadAllocations *allocations,
					 void (*fn)(const RdmadAllocation *allocation,
						    gpointer data),
					 gpointer data);
/* Removes the owner's resolvers and watches.  Returns the number of watches. */
guint rdmad_allocations_reap(RdmadAllocations *allocations, const RdmadModule *owner);

/*
 * Reconciles the table with a List of podresources: names pods, ends allocations that kubelet no
 * longer lists, and adopts listed slots that are unknown here if a resolver has their device.
 *
 * An allocation ends when lists lacked it for RDMAD_ALLOCATION_MISSING_US, each of them at most
 * RDMAD_ALLOCATION_APART_US after the one before, and its grant
 * (admission continues while Allocate returns), its loading and the start of this kubelet (which
 * lists nothing before it has read its pods) are all older than RDMAD_ALLOCATION_GRACE_US.  These
 * times are monotonic, so a jump of the wall clock ends nothing.  An allocation whose pod's cgroup
 * has been removed ends with the first list that lacks it, or the second that has it.  The slots of
 * the latter are adopted if a log directory shows a later pod of the same name.
 *
 * A list that lacks the devices of a pod ends nothing while the pod's cgroup exists, or while it
 * lists the pod and its kubelet has never known the devices, because it has lost its checkpoint.
 */
#define RDMAD_ALLOCATION_GRACE_US   (60 * G_USEC_PER_SEC)
#define RDMAD_ALLOCATION_MISSING_US (10 * G_USEC_PER_SEC)
/* twice the time between the Lists while an allocation is missing (pods.c) */
#define RDMAD_ALLOCATION_APART_US (120 * G_USEC_PER_SEC)
/* For an allocation that this same kubelet has listed before, two lists this far apart suffice. */
#define RDMAD_ALLOCATION_CONFIRM_US G_USEC_PER_SEC
/* Time in which kubelet makes the cgroup and the log directory of a pod after its admission. */
#define RDMAD_ALLOCATION_CGROUP_US (10 * G_USEC_PER_SEC)
void rdmad_allocations_reconcile(RdmadAllocations *allocations, const RdmadPodList *list);
/* Returns whether another List is useful: an allocation has no pod, or was not in the last list. */
gboolean rdmad_allocations_unsettled(RdmadAllocations *allocations);
/* Returns whether the last list lacked an allocation that was listed before, so that another may
 * end it. */
gboolean rdmad_allocations_some_missing(RdmadAllocations *allocations);
/* Returns whether rdmad_allocations_is_listed_after_end() holds for any allocation, so that a later
 * List may adopt its slots. */
gboolean rdmad_allocations_some_listed_after_end(RdmadAllocations *allocations);
