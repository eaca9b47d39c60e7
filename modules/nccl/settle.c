/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selection of the GIDs of the selected rails: by one index, by a range of addresses, or for the
 * largest subset of rails that one of these is right for
 */
#include <arpa/inet.h>
#include <string.h>

#include "gid.h"
#include "plan-private.h"

#define RANGE_TRIES 2048u

/* ---- settings ---- */

/* "=mlx5_0:1,mlx5_1:1": without "=", mlx5_1 would also match mlx5_10. */
static void set_hca(const NcclPlan *plan, NcclEnv *env)
{
	g_autoptr(GString) list = g_string_new("=");
	g_autofree char *why =
		g_strdup_printf(plan->n_selected == 1 ? "the selected port, by its exact name"
						      : "the %u selected ports, by exact name",
				plan->n_selected);

	for (guint i = 0; i < plan->n_selected; i++) {
		const NcclRail *rail = nccl_plan_rail(plan, i);

		g_string_append_printf(list, "%s%s:%u", i ? "," : "", rail->device->name,
				       rail->port->number);
	}
	nccl_env_take(env, "NCCL_IB_HCA", g_string_free(g_steal_pointer(&list), FALSE), why);
}

/* 2.20 to 2.23 crash when they compare devices without a PCI path. */
static void set_merge(const NcclPlan *plan, NcclEnv *env)
{
	for (guint i = 0; plan->n_selected > 1 && i < plan->n_selected; i++)
		if (!nccl_plan_rail(plan, i)->device->pci_address && plan->asked.from <= 23 &&
		    plan->asked.to >= 20) {
			nccl_env_set_int(env, "NCCL_IB_MERGE_NICS", 0,
					 "NCCL 2.20 to 2.23 crash on devices without a PCI path");
			return;
		}
}

NcclEnv *nccl_plan_ports_env(const NcclPlan *plan)
{
	NcclEnv *env = nccl_env_new();

	set_hca(plan, env);
	set_merge(plan, env);
	return env;
}

static NcclEnv *env_by_index(const NcclPlan *plan, guint index)
{
	NcclEnv *env = nccl_plan_ports_env(plan);

	nccl_env_set_int(env, "NCCL_IB_GID_INDEX", index, "the same index on each port");
	return env;
}

static NcclEnv *env_by_range(const NcclPlan *plan, const NcclRange *range)
{
	NcclEnv *env = nccl_plan_ports_env(plan);

	nccl_env_set_int(env, "NCCL_IB_GID_INDEX", -1, "NCCL selects by the address");
	nccl_env_set(env, "NCCL_IB_ADDR_FAMILY", range->family == AF_INET ? "AF_INET" : "AF_INET6",
		     "the family of the GIDs");
	nccl_env_set_int(env, "NCCL_IB_ROCE_VERSION_NUM", 2, "RoCE v2");
	nccl_env_take(env, "NCCL_IB_ADDR_RANGE", nccl_range_format(range),
		      "has the right GID of each port, found by simulation");
	return env;
}

/* Keeps `env` if it is proven for at least the newest version requested. */
static gboolean plan_try(NcclPlan *plan, const NcclView *view, const NcclPolicy *policy,
			 NcclEnv *env)
{
	const guint from = nccl_plan_proven_from(plan, view, policy, env);

	if (!from) {
		nccl_env_free(env);
		return FALSE;
	}
	nccl_env_free(plan->env);
	plan->env = env;
	plan->versions = (NcclVersions){ from, plan->asked.to };
	return TRUE;
}

/* ---- by index ---- */

/* Counts the rails that have a right GID at an index; `drop`: excludes the others. */
static guint index_count(const NcclPlan *plan, const NcclView *view, const NcclPolicy *policy,
			 guint index, gboolean drop)
{
	guint n = 0;

	for (guint i = 0; i < plan->n_selected; i++) {
		NcclRail *rail = &g_array_index(plan->rails, NcclRail, i);
		gboolean right = FALSE;

		for (guint g = 0; g < rail->port->n_gids && !right; g++)
			right = rail->port->gids[g].index == index &&
				nccl_rail_judge_gid(view, policy, &rail->port->gids[g]) ==
					NCCL_GID_USABLE;
		n += right;
		if (!right && drop)
			rail->reason = NCCL_RAIL_NOT_IN_SUBSET;
	}
	return n;
}

/* Finds the index that is right on most rails; among equals, the best one of the first rail that
 * has it. */
static guint index_best(const NcclPlan *plan, const NcclView *view, const NcclPolicy *policy,
			guint *best)
{
	guint most = 0;

	for (guint i = 0; i < plan->n_selected; i++) {
		const guint index = nccl_plan_rail(plan, i)->gid->index;
		const guint n = index_count(plan, view, policy, index, FALSE);

		if (n > most) {
			most = n;
			*best = index;
		}
	}
	return most;
}

static gboolean plan_by_index(NcclPlan *plan, const NcclView *view, const NcclPolicy *policy)
{
	const RdmadPort *first = nccl_plan_rail(plan, 0)->port;
	guint index = 0;

	if (index_best(plan, view, policy, &index) == plan->n_selected)
		return plan_try(plan, view, policy, env_by_index(plan, index));
	/* The best GIDs have different indexes; other GIDs may share one. */
	for (guint i = 0; i < first->n_gids; i++)
		if (index_count(plan, view, policy, first->gids[i].index, FALSE) ==
			    plan->n_selected &&
		    plan_try(plan, view, policy, env_by_index(plan, first->gids[i].index)))
			return TRUE;
	return FALSE;
}

/* ---- by address ---- */

/*
 * Widens a range around a GID, from the smallest.  `tries` counts down, to bound the time for a
 * view made to be hard.
 */
static gboolean plan_by_range_around(NcclPlan *plan, const NcclView *view, const NcclPolicy *policy,
				     const RdmadGid *gid, guint *tries)
{
	const gboolean ipv4 = nccl_gid_family(gid->raw) == AF_INET;

	for (int length = ipv4 ? 32 : 128; length >= 0 && *tries; length--, --*tries) {
		const NcclRange range = nccl_range_around(gid->raw, length);

		if (plan_try(plan, view, policy, env_by_range(plan, &range)))
			return TRUE;
	}
	return FALSE;
}

/*
 * A range that works contains the GID that NCCL selects on a rail, unless each rail stays at index
 * 0, which plan_by_index() covers.  So every such range is found around the right GIDs of the
 * rails.
 */
static gboolean plan_by_range(NcclPlan *plan, const NcclView *view, const NcclPolicy *policy)
{
	guint tries = RANGE_TRIES;

	if (plan_by_range_around(plan, view, policy, nccl_plan_rail(plan, 0)->gid, &tries))
		return TRUE;
	for (guint i = 0; i < plan->n_selected; i++) {
		const RdmadPort *port = nccl_plan_rail(plan, i)->port;

		for (guint g = 0; g < port->n_gids; g++)
			if (nccl_rail_judge_gid(view, policy, &port->gids[g]) == NCCL_GID_USABLE &&
			    plan_by_range_around(plan, view, policy, &port->gids[g], &tries))
				return TRUE;
	}
	return FALSE;
}

static gboolean plan_select_gids(NcclPlan *plan, const NcclView *view, const NcclPolicy *policy)
{
	switch (policy->by) {
	case NCCL_BY_AUTO:
		return plan_by_index(plan, view, policy) || plan_by_range(plan, view, policy);
	case NCCL_BY_INDEX:
		return plan_by_index(plan, view, policy);
	case NCCL_BY_ADDRESS:
		return plan_by_range(plan, view, policy);
	}
	g_assert_not_reached();
}

/* ---- a subset ---- */

/* Counts the rails that the environment is right for, in the newest version requested; `drop`:
 * excludes the others. */
static guint env_count(const NcclPlan *plan, const NcclView *view, const NcclPolicy *policy,
		       const NcclEnv *env, gboolean drop)
{
	guint n = 0;

	for (guint i = 0; i < plan->n_selected; i++) {
		NcclRail *rail = &g_array_index(plan->rails, NcclRail, i);
		const NcclOutcome outcome = { rail->device, rail->port,
					      nccl_simulate_gid(rail->port, env, plan->asked.to) };
		const gboolean right = nccl_outcome_is_right(view, policy, &outcome);

		n += right;
		if (!right && drop)
			rail->reason = NCCL_RAIL_NOT_IN_SUBSET;
	}
	return n;
}

/* Finds, among the ranges around the best GIDs, the one that is right for most rails. */
static guint range_best(const NcclPlan *plan, const NcclView *view, const NcclPolicy *policy,
			NcclRange *best)
{
	guint most = 0;

	for (guint i = 0; i < plan->n_selected; i++) {
		const RdmadGid *gid = nccl_plan_rail(plan, i)->gid;
		const gboolean ipv4 = nccl_gid_family(gid->raw) == AF_INET;

		for (int length = ipv4 ? 32 : 128; length >= 0; length--) {
			const NcclRange range = nccl_range_around(gid->raw, length);
			g_autoptr(NcclEnv) env = env_by_range(plan, &range);
			const guint n = env_count(plan, view, policy, env, FALSE);

			if (n > most) {
				most = n;
				*best = range;
			}
		}
	}
	return most;
}

/* Selects the largest set of rails that one setting is right for, by an index unless a range has
 * more. */
static gboolean plan_select_subset(NcclPlan *plan, const NcclView *view, const NcclPolicy *policy)
{
	NcclRange range = { 0 };
	guint index = 0, by_index, by_range;

	if (!policy->allow_subset)
		return FALSE;
	by_index = policy->by == NCCL_BY_ADDRESS ? 0 : index_best(plan, view, policy, &index);
	by_range = policy->by == NCCL_BY_INDEX || plan->asked.to <= 20
			   ? 0
			   : range_best(plan, view, policy, &range);

	if (!MAX(by_index, by_range))
		return FALSE;
	if (by_index >= by_range) {
		index_count(plan, view, policy, index, TRUE);
		nccl_plan_keep_subset(plan);
		return plan_try(plan, view, policy, env_by_index(plan, index));
	} else {
		g_autoptr(NcclEnv) env = env_by_range(plan, &range);

		env_count(plan, view, policy, env, TRUE);
		nccl_plan_keep_subset(plan);
		return plan_try(plan, view, policy, env_by_range(plan, &range));
	}
}

gboolean nccl_plan_settle(NcclPlan *plan, const NcclView *view, const NcclPolicy *policy)
{
	if (!nccl_plan_is_roce(plan))
		return plan_try(plan, view, policy, nccl_plan_ports_env(plan));
	return plan_select_gids(plan, view, policy) || plan_select_subset(plan, view, policy);
}
