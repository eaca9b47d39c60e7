/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/claims.h>

#include "service/state.h"

/* Loads what the database holds. */
RdmadClaims *rdmad_claims_new(RdmadLoop *loop, RdmadState *state, RdmadJournal *journal,
			      GError **error);
void rdmad_claims_free(RdmadClaims *claims);
guint rdmad_claims_reap(RdmadClaims *claims, const RdmadModule *owner);

/*
 * Brings the table in line with a fresh List of podresources: names pods, and ends claims that the
 * list has not shown for two lists and RDMAD_CLAIM_GRACE_US after their grant (admission goes on
 * while Allocate returns).  Tokens that are held and unknown here are adopted when a device stands
 * behind them (`device_of`; may be NULL).
 */
#define RDMAD_CLAIM_GRACE_US (60 * G_USEC_PER_SEC)
void rdmad_claims_reconcile(RdmadClaims *claims, RdmadPods *pods);
