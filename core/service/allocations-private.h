/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/allocations.h>

#include "service/pod-list.h"
#include "service/state.h"

/* Loads what the database holds. */
RdmadAllocations *rdmad_allocations_new(RdmadLoop *loop, RdmadState *state,
					RdmadEventLog *event_log, GError **error);
/* The error of the last write; NULL: none.  A failed write is tried again now and then by this
 * call. */
const char *rdmad_allocations_problem(RdmadAllocations *allocations);
void rdmad_allocations_free(RdmadAllocations *allocations);
/* Sets the kubelet that vouches for slots: see rdmad/allocations.h.  NULL: unknown. */
void rdmad_allocations_set_boot(RdmadAllocations *allocations, const char *boot);
void rdmad_allocations_set_kubelet(RdmadAllocations *allocations, const char *kubelet);
/* The present kubelet serves, and is the first of this boot that rdmad sees: its books say which pods of the
 * last boot start again, with what they had and without an Allocate.  It vouches for the allocations that are left,
 * so that a later one without its checkpoint does not give them away.  FALSE: not written, call again. */
gboolean rdmad_allocations_begin_boot(RdmadAllocations *allocations);
/* Calls `fn` for each allocation whose pod lives although kubelet has forgotten its slots. */
void rdmad_allocations_foreach_forgotten(RdmadAllocations *allocations,
					 void (*fn)(const RdmadAllocation *allocation,
						    gpointer data),
					 gpointer data);
guint rdmad_allocations_reap(RdmadAllocations *allocations, const RdmadModule *owner);

/*
 * Brings the table in line with a List of podresources: names pods, ends allocations that kubelet
 * no longer shows, adopts slots that are held but unknown here if a resolver has their device.
 *
 * An allocation ends when two lists, RDMAD_ALLOCATION_MISSING_US apart, did not show it, and neither its grant
 * (admission goes on while Allocate returns), nor its loading, nor the start of this kubelet (which
 * lists nothing before it has read its pods) is younger than RDMAD_ALLOCATION_GRACE_US.  These times are
 * monotonic: a jump of the wall clock ends nothing.  An allocation whose pod's cgroup is gone ends with the
 * first list that does not show it, and with the second that does.
 *
 * A list that lacks the devices of a pod ends nothing while the pod's cgroup lives, or while the list
 * has the pod and its kubelet has never known of the devices: that kubelet has lost its checkpoint.
 */
#define RDMAD_ALLOCATION_GRACE_US   (60 * G_USEC_PER_SEC)
#define RDMAD_ALLOCATION_MISSING_US (10 * G_USEC_PER_SEC)
/* An allocation that this very kubelet has shown before is past all that: two lists so far apart will do. */
#define RDMAD_ALLOCATION_CONFIRM_US G_USEC_PER_SEC
void rdmad_allocations_reconcile(RdmadAllocations *allocations, const RdmadPodList *list);
/* Whether another List is useful: an allocation has no pod, or was not in the last one. */
gboolean rdmad_allocations_unsettled(RdmadAllocations *allocations);
/* Whether an allocation that was once listed was not in the last list: another one may end it. */
gboolean rdmad_allocations_some_missing(RdmadAllocations *allocations);
