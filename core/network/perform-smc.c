/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of SMC-R: this thread is in the pod's namespace; the host's needs another thread. */
#include <rdmad/netns.h>
#include <rdmad/smc.h>

#include "network/perform.h"

typedef struct {
	const RdmadStep *step;
	gboolean add;
} Change;

static gboolean smc_set(gpointer data, GError **error)
{
	const Change *change = data;
	const RdmadStepSmc *smc = &change->step->smc;

	if (smc->eid)
		return change->add ? rdmad_smc_eid_add(smc->eid, error)
				   : rdmad_smc_eid_remove(smc->eid, error);
	if (!smc->pnetid || !smc->link == !smc->device) {
		g_set_error_literal(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
				    "neither an EID nor a PNETID of one thing");
		return FALSE;
	}
	return change->add ? rdmad_smc_pnet_add(smc->pnetid, smc->link, smc->device, error)
			   : rdmad_smc_pnet_delete(smc->pnetid, smc->link, smc->device, error);
}

gboolean perform_smc(const PerformContext *ctx, const RdmadStep *step, gboolean back,
		     GError **error)
{
	Change change = { step, !back };
	GError *why = NULL;
	const gboolean ok = ctx->pod && step->where == RDMAD_STEP_IN_HOST
				    ? rdmad_netns_call(ctx->host_fd, smc_set, &change, &why)
				    : smc_set(&change, &why);

	/* Unloading the kernel module removes its entries. */
	if (ok || (back && perform_forgive(&why, RDMAD_ERROR_NOT_FOUND)))
		return TRUE;
	g_propagate_error(error, why);
	return FALSE;
}
