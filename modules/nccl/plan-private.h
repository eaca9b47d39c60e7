/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a plan, for plan.c that takes them in their order. */
#pragma once

#include "plan.h"
#include "simulate.h"

/* ---- proof.c ---- */

/* A usable GID on RoCE, none on InfiniBand. */
gboolean nccl_outcome_is_right(const NcclView *view, const NcclPolicy *policy,
			       const NcclOutcome *outcome);
/* The oldest version from which on NCCL uses exactly the taken rails, each with a right GID, up to the
 * newest asked for; 0: not even that one. */
guint nccl_plan_proven_from(const NcclPlan *plan, const NcclView *view, const NcclPolicy *policy,
			    const NcclEnv *env);

/* ---- settle.c ---- */

/* NCCL_IB_HCA, and what NCCL needs to survive it. */
NcclEnv *nccl_plan_ports_env(const NcclPlan *plan);
/* Sets `env` and `versions` to a proven setting; FALSE: there is none, and nothing was set. */
gboolean nccl_plan_settle(NcclPlan *plan, const NcclView *view, const NcclPolicy *policy);

/* ---- plan.c ---- */

gboolean nccl_plan_is_roce(const NcclPlan *plan);
/* After rails were marked NCCL_RAIL_NOT_IN_SUBSET: they leave, with a warning. */
void nccl_plan_keep_subset(NcclPlan *plan);
