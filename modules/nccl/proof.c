/* SPDX-License-Identifier: Apache-2.0 */
/* Proof: compares the simulated outcome of an environment with the chosen rails. */
#include <arpa/inet.h>
#include <string.h>

#include "gid.h"
#include "plan-private.h"

gboolean nccl_outcome_is_right(const NcclView *view, const NcclPolicy *policy,
			       const NcclOutcome *outcome)
{
	if (outcome->port->link_layer == RDMAD_LINK_LAYER_INFINIBAND)
		return outcome->pick.kind == NCCL_PICK_NONE;
	return outcome->pick.kind == NCCL_PICK_GID && outcome->pick.gid &&
	       nccl_rail_judge_gid(view, policy, outcome->pick.gid) == NCCL_GID_USABLE;
}

static char *outcome_text(const NcclOutcome *outcome, guint minor)
{
	static const char *const KINDS[] = {
		[NCCL_PICK_NONE] = "no GID",
		[NCCL_PICK_CHANCE] = "a GID by chance",
		[NCCL_PICK_FAILS] = "an error",
		[NCCL_PICK_CRASHES] = "a crash",
	};
	char address[INET6_ADDRSTRLEN] = "empty";

	if (outcome->pick.kind != NCCL_PICK_GID)
		return g_strdup_printf("%s:%u: NCCL 2.%u: %s", outcome->device->name,
				       outcome->port->number, minor, KINDS[outcome->pick.kind]);
	if (outcome->pick.gid)
		nccl_gid_format(outcome->pick.gid->raw, address);
	return g_strdup_printf("%s:%u: NCCL 2.%u takes GID %u, %s", outcome->device->name,
			       outcome->port->number, minor, outcome->pick.index, address);
}

gboolean nccl_plan_holds(const NcclView *view, const NcclPolicy *policy, const NcclEnv *env,
			 guint minor, char **why)
{
	g_autoptr(GArray) outcomes = nccl_simulate(view, env, minor);

	for (guint i = 0; i < outcomes->len; i++) {
		const NcclOutcome *outcome = &g_array_index(outcomes, NcclOutcome, i);

		if (!nccl_outcome_is_right(view, policy, outcome)) {
			if (why)
				*why = outcome_text(outcome, minor);
			return FALSE;
		}
	}
	if (outcomes->len == 0 && why)
		*why = g_strdup_printf("NCCL 2.%u finds no port", minor);
	return outcomes->len > 0;
}

static gboolean plan_takes(const NcclPlan *plan, const NcclOutcome *outcome)
{
	for (guint i = 0; i < plan->n_selected; i++)
		if (nccl_plan_rail(plan, i)->port == outcome->port)
			return TRUE;
	return FALSE;
}

/* Returns whether NCCL uses exactly the chosen rails, each with a right GID. */
static gboolean plan_proves(const NcclPlan *plan, const NcclView *view, const NcclPolicy *policy,
			    const NcclEnv *env, guint minor)
{
	g_autoptr(GArray) outcomes = nccl_simulate(view, env, minor);

	for (guint i = 0; i < outcomes->len; i++) {
		const NcclOutcome *outcome = &g_array_index(outcomes, NcclOutcome, i);

		if (!plan_takes(plan, outcome) || !nccl_outcome_is_right(view, policy, outcome))
			return FALSE;
	}
	return outcomes->len == plan->n_selected;
}

guint nccl_plan_proven_from(const NcclPlan *plan, const NcclView *view, const NcclPolicy *policy,
			    const NcclEnv *env)
{
	guint from = 0;

	for (guint minor = plan->asked.to; minor >= plan->asked.from; minor--) {
		if (!plan_proves(plan, view, policy, env, minor))
			break;
		from = minor;
	}
	return from;
}
