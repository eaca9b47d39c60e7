/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/claims.h>

#include "service/pod-list.h"
#include "service/state.h"

/* Loads what the database holds. */
RdmadClaims *rdmad_claims_new(RdmadLoop *loop, RdmadState *state, RdmadJournal *journal,
			      GError **error);
/* Why the last write failed; NULL: it did not.  A failure is tried again now and then when asked. */
const char *rdmad_claims_problem(RdmadClaims *claims);
void rdmad_claims_free(RdmadClaims *claims);
/* Who vouches for tokens from now on: see rdmad/claims.h.  NULL: not known. */
void rdmad_claims_set_boot(RdmadClaims *claims, const char *boot);
void rdmad_claims_set_kubelet(RdmadClaims *claims, const char *kubelet);
/* The present kubelet serves, and is the first of this boot that rdmad sees: its books say which pods of the
 * last boot start again, with what they had and without an Allocate.  It vouches for the claims that are left,
 * so that a later one without its checkpoint does not give them away.  FALSE: not written, call again. */
gboolean rdmad_claims_begin_boot(RdmadClaims *claims);
/* Calls `fn` for each claim whose pod lives while kubelet does not know that it has the tokens. */
void rdmad_claims_foreach_forgotten(RdmadClaims *claims,
				    void (*fn)(const RdmadClaim *claim, gpointer data),
				    gpointer data);
guint rdmad_claims_reap(RdmadClaims *claims, const RdmadModule *owner);

/*
 * Brings the table in line with a List of podresources: names pods, ends claims that kubelet no
 * longer shows, adopts tokens that are held but not known here when a resolver knows their device.
 *
 * A claim ends when two lists, RDMAD_CLAIM_MISSING_US apart, did not show it, and neither its grant
 * (admission goes on while Allocate returns), nor its loading, nor the start of this kubelet (which
 * lists nothing before it has read its pods) is younger than RDMAD_CLAIM_GRACE_US.  These times are
 * monotonic: a jump of the wall clock ends nothing.  A claim whose pod's cgroup is gone ends with the
 * first list that does not show it, and with the second that does.
 *
 * A list that lacks the devices of a pod ends nothing while the pod's cgroup lives, or while the list
 * has the pod and its kubelet has never known of the devices: that kubelet has lost its checkpoint.
 */
#define RDMAD_CLAIM_GRACE_US   (60 * G_USEC_PER_SEC)
#define RDMAD_CLAIM_MISSING_US (10 * G_USEC_PER_SEC)
/* A claim that this very kubelet has shown before is past all that: two lists so far apart will do. */
#define RDMAD_CLAIM_CONFIRM_US G_USEC_PER_SEC
void rdmad_claims_reconcile(RdmadClaims *claims, const RdmadPodList *list);
/* Whether another List could tell more: a claim has no pod, or was not in the last one. */
gboolean rdmad_claims_unsettled(RdmadClaims *claims);
/* Whether a claim that was once listed was not in the last list: another one may end it. */
gboolean rdmad_claims_some_missing(RdmadClaims *claims);
