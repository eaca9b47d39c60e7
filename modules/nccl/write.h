/* SPDX-License-Identifier: Apache-2.0 */
/* The forms in which a plan leaves rdmad.  Texts are freed by the caller. */
#pragma once

#include "plan.h"

/* The allocation directory as the container sees it, and its files. */
#define NCCL_MOUNT	   "/run/rdmad"
#define NCCL_CONF_FILE	   "nccl.conf"
#define NCCL_ENV_FILE	   "nccl.env"
#define NCCL_PLAN_FILE	   "plan.json"
#define NCCL_VERSIONS_FILE "nccl-versions.conf"
#define NCCL_TOPOLOGY_FILE "topology.xml"
#define NCCL_PLUGIN_FILE   "libnccl-env.so"

/* Beginning of the line of nccl.conf that gives the reason of a refusal. */
#define NCCL_CONF_REFUSED "# Refused: "

typedef struct {
	const char *allocation; /* id; NULL: none */
	guint64 generation;	/* 0: none */
} NcclPlanLabel;

/*
 * For `eval` and `source`, in any POSIX shell and under `set -eu`: exports what is set, and unsets what
 * an earlier plan may have set.  After a refusal it unsets all of it and says why on stderr.
 */
char *nccl_write_sh(const NcclPlan *plan, const NcclPlanLabel *label);
/* The same where there is not even a plan: unsets what one may have set. */
char *nccl_write_unset(void);

/* nccl.conf: NAME=VALUE lines without quotes or blanks; after a refusal comments alone. */
char *nccl_write_conf(const NcclPlan *plan, const NcclPlanLabel *label);

/* The whole plan. */
struct json_t *nccl_write_json(const NcclView *view, const NcclPolicy *policy, const NcclPlan *plan,
			       const NcclPlanLabel *label);

/* The same as text, with a newline at its end. */
char *nccl_write_json_text(const NcclView *view, const NcclPolicy *policy, const NcclPlan *plan,
			   const NcclPlanLabel *label);

/* {"NCCL_IB_HCA": "=mlx5_0:1", ...} */
struct json_t *nccl_write_env_json(const NcclEnv *env);

/* Every port, every GID, taken or not and why; every variable and why.  For people. */
char *nccl_write_explanation(const NcclView *view, const NcclPolicy *policy, const NcclPlan *plan);

/*
 * One plan for each version that needs its own, for the environment plugin:
 *
 *	[18-20]
 *	NCCL_IB_HCA==mlx5_0:1
 */
char *nccl_write_versions(const NcclView *view, const NcclPolicy *policy,
			  const NcclPlanLabel *label);

/* The PCIe tree of the taken rails and the GPUs, as NCCL_TOPO_FILE wants it (src/graph/xml.cc). */
char *nccl_write_topology(const NcclView *view, const NcclPlan *plan);
