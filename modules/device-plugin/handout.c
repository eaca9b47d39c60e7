/* SPDX-License-Identifier: Apache-2.0 */
#include "handout.h"

#include <rdmad/log.h>

#include "claim-folder.h"

struct RdmadHandout {
	char *run_dir, *owner;
};

RdmadHandout *rdmad_handout_new(const char *run_dir, const char *owner)
{
	RdmadHandout *handout = g_new0(RdmadHandout, 1);

	handout->run_dir = g_strdup(run_dir);
	handout->owner = g_strdup(owner);
	return handout;
}

void rdmad_handout_free(RdmadHandout *handout)
{
	g_free(handout->run_dir);
	g_free(handout->owner);
	g_free(handout);
}

const char *rdmad_handout_run_dir(const RdmadHandout *handout)
{
	return handout->run_dir;
}

void rdmad_handout_sweep(RdmadHandout *handout, RdmadClaims *claims)
{
	rdmad_claim_folder_sweep(handout->run_dir, claims);
}

static gboolean is_ours(const RdmadHandout *handout, const RdmadClaim *claim)
{
	return g_str_equal(claim->owner, handout->owner);
}

static void warn(const RdmadClaim *claim, const GError *error)
{
	const RdmadLogFields about = { .resource = claim->resource, .claim = claim->id };

	rdmad_log_full(RDMAD_LOG_WARNING, &about, "claim %s: %s", claim->id, error->message);
}

gboolean rdmad_handout_begin(RdmadHandout *handout, const RdmadClaim *claim, GError **error)
{
	return rdmad_claim_folder_begin(handout->run_dir, claim->id, error);
}

void rdmad_handout_keep(RdmadHandout *handout, const RdmadClaim *claim)
{
	g_autoptr(GError) error = NULL;

	if (is_ours(handout, claim) &&
	    !rdmad_claim_folder_keep(handout->run_dir, claim->id, &error))
		warn(claim, error);
}

void rdmad_handout_end(RdmadHandout *handout, const RdmadClaim *claim)
{
	g_autoptr(GError) error = NULL;

	if (is_ours(handout, claim) &&
	    !rdmad_claim_folder_remove(handout->run_dir, claim->id, &error))
		warn(claim, error);
}
