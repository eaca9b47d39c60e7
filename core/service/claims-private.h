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
guint rdmad_claims_reap(RdmadClaims *claims, const RdmadModule *owner);

/*
 * Brings the table in line with a List of podresources: names pods, ends claims that kubelet no
 * longer shows, adopts tokens that are held but not known here when a resolver knows their device.
 *
 * A claim ends when two lists, RDMAD_CLAIM_MISSING_US apart, did not show it, and neither its grant
 * (admission goes on while Allocate returns), nor its loading, nor the start of this kubelet (which
 * lists nothing before it has read its pods) is younger than RDMAD_CLAIM_GRACE_US.  These times are
 * monotonic: a jump of the wall clock ends nothing.
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
