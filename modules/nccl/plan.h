/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plan: the settings for one container, proven by simulating what NCCL will do with them, or the reason
 * why there are none
 *
 * Pure: the same view, versions and policy give the same plan.
 */
#pragma once

#include "env.h"
#include "rail.h"
#include "version.h"

typedef enum {
	NCCL_REFUSAL_NONE,
	NCCL_REFUSAL_NO_DEVICE,	   /* nothing that NCCL could use */
	NCCL_REFUSAL_NO_GID,	   /* a port has no GID of the namespace that can be routed */
	NCCL_REFUSAL_NO_ADDRESSES, /* the namespace is not known yet; NCCL_IB_HCA alone is set */
	NCCL_REFUSAL_MIXED,	   /* InfiniBand and RoCE */
	NCCL_REFUSAL_TOO_MANY,	   /* more ports than NCCL takes */
	NCCL_REFUSAL_NO_SETTING,   /* nothing leads to a right GID on each rail */
	NCCL_REFUSAL_TOO_LONG,	   /* a value that a line of nccl.conf cannot hold */
	NCCL_REFUSALS,
} NcclRefusal;

typedef struct {
	NcclRefusal refusal;
	char *reason; /* for people; NULL without a refusal */
	NcclVersions
		versions; /* that the settings are right for: those asked for, or the newest of them */
	NcclVersions asked;
	GArray *rails; /* NcclRail, the taken ones first; they point into the view */
	guint n_taken;
	NcclEnv *env;	   /* what NCCL reads; empty after a refusal (but NO_ADDRESSES) */
	NcclEnv *siblings; /* what UCX, NVSHMEM, libfabric and Open MPI read */
	char **warnings;   /* never NULL */
} NcclPlan;

/* Valid while the view is. */
NcclPlan *nccl_plan_new(const NcclView *view, NcclVersions versions, const NcclPolicy *policy);
void nccl_plan_free(NcclPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NcclPlan, nccl_plan_free)

/* One line of UTF-8 for people, from any text, which is taken over; g_free(). */
char *nccl_plan_line(char *text);

/* Adds a warning, one line, of who asked for the plan. */
G_GNUC_PRINTF(2, 3) void nccl_plan_warn(NcclPlan *plan, const char *format, ...);

const NcclRail *nccl_plan_rail(const NcclPlan *plan, guint index);
/* "no-device"; NCCL_REFUSAL_NONE: "none". */
const char *nccl_refusal_name(NcclRefusal refusal);

/*
 * Whether an environment still leads NCCL to right GIDs in this view: on each port that it uses a GID
 * of the namespace, RoCE v2 and routable.  `why` (may be NULL; freed by the caller) names the port.
 */
gboolean nccl_plan_holds(const NcclView *view, const NcclPolicy *policy, const NcclEnv *env,
			 guint minor, char **why);

/* Adds what the siblings read of the same rails and the same GIDs. */
void nccl_siblings_fill(NcclPlan *plan, const NcclPolicy *policy);
