/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for what has not landed; each goes when the real one is there.  Delete with the last. */
#include "service/claims-private.h"
#include "service/pods-private.h"
#include "service/state.h"

#define WEAK __attribute__((weak))

WEAK RdmadState *rdmad_state_open(const char *state_dir, char **set_aside, GError **error)
{
	return (RdmadState *)16;
}

WEAK void rdmad_state_close(RdmadState *state)
{
}

WEAK RdmadClaims *rdmad_claims_new(RdmadLoop *loop, RdmadState *state, RdmadJournal *journal,
				   GError **error)
{
	return (RdmadClaims *)16;
}

WEAK void rdmad_claims_free(RdmadClaims *claims)
{
}

WEAK guint rdmad_claims_reap(RdmadClaims *claims, const RdmadModule *owner)
{
	return 0;
}

WEAK RdmadPods *rdmad_pods_new(RdmadLoop *loop, RdmadClaims *claims, const char *kubelet_dir)
{
	return NULL;
}

WEAK void rdmad_pods_free(RdmadPods *pods)
{
}

WEAK guint rdmad_pods_reap(RdmadPods *pods, const RdmadModule *owner)
{
	return 0;
}

WEAK guint rdmad_claims_count(RdmadClaims *claims)
{
	return 0;
}

WEAK void rdmad_claims_foreach(RdmadClaims *claims,
			       void (*fn)(const RdmadClaim *claim, gpointer data), gpointer data)
{
}

WEAK void rdmad_pods_refresh(RdmadPods *pods, RdmadModule *owner, RdmadPodsFunc fn, gpointer data)
{
}
