/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plan: the settings for one container, verified by simulating NCCL's choice with them, or the
 * reason why there are none
 *
 * The planner is pure: the same view, versions and policy give the same plan.
 */
#pragma once

#include "env.h"
#include "rail.h"
#include "version.h"

typedef enum {
	NCCL_REFUSAL_NONE,
	NCCL_REFUSAL_NO_DEVICE,	   /* no device that NCCL can use */
	NCCL_REFUSAL_NO_GID,	   /* a port has no routable GID of the namespace */
	NCCL_REFUSAL_NO_ADDRESSES, /* the namespace is unknown; only NCCL_IB_HCA is set */
	NCCL_REFUSAL_MIXED,	   /* InfiniBand and RoCE */
	NCCL_REFUSAL_TOO_MANY,	   /* more ports than NCCL supports */
	NCCL_REFUSAL_NO_SETTING,   /* no setting gives each rail a right GID */
	NCCL_REFUSAL_TOO_LONG,	   /* a value exceeds a line of nccl.conf */
	NCCL_REFUSALS,
} NcclRefusal;

typedef struct {
	NcclRefusal refusal;
	char *reason; /* message for users; NULL without a refusal */
	/* versions that the settings are right for: those requested, or the newest of them */
	NcclVersions versions;
	NcclVersions asked;
	RdmadLinkLayer link_layer; /* of each selected rail; RoCE: Ethernet */
	GArray *rails;		   /* of NcclRail, selected ones first; borrows from the view */
	guint n_selected;
	NcclEnv *env;	   /* for NCCL; empty after a refusal other than NO_ADDRESSES */
	NcclEnv *siblings; /* for UCX, NVSHMEM, libfabric and Open MPI */
	NcclSiblings asked_siblings;
	char **warnings; /* never NULL */
} NcclPlan;

/* The plan is valid as long as the view. */
NcclPlan *nccl_plan_new(const NcclView *view, NcclVersions versions, const NcclPolicy *policy);
void nccl_plan_free(NcclPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NcclPlan, nccl_plan_free)

/* Converts any text to one line of UTF-8.  Takes ownership of `text`; g_free(). */
char *nccl_plan_line(char *text);

/* Adds a warning, one line, to the plan. */
G_GNUC_PRINTF(2, 3) void nccl_plan_warn(NcclPlan *plan, const char *format, ...);

const NcclRail *nccl_plan_rail(const NcclPlan *plan, guint index);
/* Returns "no-device", for example; "none" for NCCL_REFUSAL_NONE. */
const char *nccl_refusal_name(NcclRefusal refusal);

/*
 * Returns whether NCCL still selects right GIDs with an environment: on each port that it uses, a
 * routable RoCE v2 GID of the namespace.  `why` (may be NULL; g_free()) names a wrong port.
 */
gboolean nccl_plan_holds(const NcclView *view, const NcclPolicy *policy, const NcclEnv *env,
			 guint minor, char **why);

/* Adds the siblings' variables for the same rails and GIDs. */
void nccl_siblings_fill(NcclPlan *plan, const NcclPolicy *policy);
