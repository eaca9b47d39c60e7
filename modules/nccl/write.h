/* SPDX-License-Identifier: Apache-2.0 */
/* The output formats of a plan.  The caller frees the texts. */
#pragma once

#include "plan.h"

/* The path of the allocation directory in the container, and its files. */
#define NCCL_MOUNT	   "/run/rdmad"
#define NCCL_CONF_FILE	   "nccl.conf"
#define NCCL_ENV_FILE	   "nccl.env"
#define NCCL_PLAN_FILE	   "plan.json"
#define NCCL_VERSIONS_FILE "nccl-versions.conf"
#define NCCL_TOPOLOGY_FILE "topology.xml"
#define NCCL_PLUGIN_FILE   "libnccl-env.so"

/* Start of the line of nccl.conf with the reason of a refusal. */
#define NCCL_CONF_REFUSED "# Refused: "

typedef struct {
	const char *allocation; /* id; NULL: none */
	guint64 generation;	/* 0: none */
} NcclPlanLabel;

/*
 * Writes a script for `eval` and `source`, in any POSIX shell and under `set -eu`.  It exports the
 * plan's variables, and unsets those that an earlier plan may have set.  After a refusal it unsets
 * all of them and prints the reason on stderr.
 */
char *nccl_write_sh(const NcclPlan *plan, const NcclPlanLabel *label);
/* Writes a script for when there is no plan: it unsets the variables that one may have set. */
char *nccl_write_unset(NcclSiblings siblings);

/* Writes nccl.conf: NAME=VALUE lines without quotes or blanks; after a refusal, comments only. */
char *nccl_write_conf(const NcclPlan *plan, const NcclPlanLabel *label);

/* Returns the whole plan. */
struct json_t *nccl_write_json(const NcclView *view, const NcclPolicy *policy, const NcclPlan *plan,
			       const NcclPlanLabel *label);

/* Returns the same as text, terminated by a newline. */
char *nccl_write_json_text(const NcclView *view, const NcclPolicy *policy, const NcclPlan *plan,
			   const NcclPlanLabel *label);

/* Returns {"NCCL_IB_HCA": "=mlx5_0:1", ...}. */
struct json_t *nccl_write_env_json(const NcclEnv *env);

/* Explains the plan for users: every port, GID and variable, with the reasons. */
char *nccl_write_explanation(const NcclView *view, const NcclPolicy *policy, const NcclPlan *plan);

/*
 * Writes one plan for each range of versions that needs its own, for the environment plugin:
 *
 *	[18-20]
 *	NCCL_IB_HCA==mlx5_0:1
 */
char *nccl_write_versions(const NcclView *view, const NcclPolicy *policy,
			  const NcclPlanLabel *label);

/* Writes the PCIe tree of the selected rails and the GPUs, in the format of NCCL_TOPO_FILE
 * (src/graph/xml.cc). */
char *nccl_write_topology(const NcclView *view, const NcclPlan *plan);
