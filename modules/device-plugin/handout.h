/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handout: what a claim's container finds on the node, beside what kubelet is told to give to it
 *
 * It is there before kubelet is told, follows the devices, and goes when the claim ends.  When rdmad
 * stops it stays, for the containers run on; the next start removes what has no claim.
 */
#pragma once

#include <rdmad/claims.h>

typedef struct RdmadHandout RdmadHandout;

/* `owner`: whose claims these are. */
RdmadHandout *rdmad_handout_new(const char *run_dir, const char *owner);
void rdmad_handout_free(RdmadHandout *handout);
/* Removes what an earlier run left and no claim has. */
void rdmad_handout_sweep(RdmadHandout *handout, RdmadClaims *claims);

const char *rdmad_handout_run_dir(const RdmadHandout *handout);

/* For a claim that was granted now.  RDMAD_ERROR_FAILED. */
gboolean rdmad_handout_begin(RdmadHandout *handout, const RdmadClaim *claim, GError **error);
/* For a claim that may be of an earlier run: what is missing. */
void rdmad_handout_keep(RdmadHandout *handout, const RdmadClaim *claim);
void rdmad_handout_end(RdmadHandout *handout, const RdmadClaim *claim);
