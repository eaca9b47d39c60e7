/* SPDX-License-Identifier: Apache-2.0 */
/* The stages of a plan, which plan.c runs in order. */
#pragma once

#include "plan.h"
#include "simulate.h"

/* ---- proof.c ---- */

/* Returns whether the port gets a usable GID (RoCE), or none (InfiniBand). */
gboolean nccl_outcome_is_right(const NcclView *view, const NcclPolicy *policy,
			       const NcclOutcome *outcome);
/* Returns the oldest version from which NCCL, up to the newest version requested, uses exactly the
 * selected rails, each with a right GID; 0: not even the newest. */
guint nccl_plan_proven_from(const NcclPlan *plan, const NcclView *view, const NcclPolicy *policy,
			    const NcclEnv *env);

/* ---- settle.c ---- */

/* Returns NCCL_IB_HCA, and the variables that keep NCCL from crashing on it. */
NcclEnv *nccl_plan_ports_env(const NcclPlan *plan);
/* Sets `env` and `versions` to a proven setting.  Returns FALSE, and sets nothing, if there is
 * none. */
gboolean nccl_plan_settle(NcclPlan *plan, const NcclView *view, const NcclPolicy *policy);

/* ---- plan.c ---- */

gboolean nccl_plan_is_roce(const NcclPlan *plan);
/* Removes the rails marked NCCL_RAIL_NOT_IN_SUBSET, with a warning. */
void nccl_plan_keep_subset(NcclPlan *plan);
