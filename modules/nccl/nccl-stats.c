/* SPDX-License-Identifier: Apache-2.0 */
#include "nccl.h"

#include <rdmad/stats.h>

enum { INFO, CONSISTENT, REFUSED, CHANGES, N_STATS };

struct NcclStats {
	const NcclContainers *containers;
	NcclSettings *const *settings;
	RdmadStat *families[N_STATS];
};

/* "NCCL_IB_HCA==mlx5_0:1 NCCL_IB_GID_INDEX=3" */
static char *env_text(const NcclEnv *env)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < env->variables->len; i++) {
		const NcclVariable *variable = nccl_env_nth(env, i);

		g_string_append_printf(text, "%s%s=%s", i ? " " : "", variable->name,
				       variable->value);
	}
	return g_string_free(text, FALSE);
}

/* podresources does not list init containers, so that rdmad knows no name of theirs. */
static const char *container_label(const RdmadAllocation *named)
{
	return named->container ?: "";
}

static void collect_info(RdmadStat *stat, gpointer data)
{
	const NcclStats *stats = data;
	const NcclContainer *container;
	GTreeNode *at = NULL;

	while (nccl_containers_next(stats->containers, &at, &container)) {
		const RdmadAllocation *named = nccl_container_named(container);
		g_autofree char *env = NULL;

		if (!named || !container->plan || container->plan->refusal)
			continue;
		env = env_text(container->plan->env);
		rdmad_stat_set(stat, 1,
			       (const char *const[]){ named->pod_namespace, named->pod_name,
						      container_label(named), env, NULL });
	}
}

/* Simulates the first settings in the present view. */
static void collect_consistent(RdmadStat *stat, gpointer data)
{
	const NcclStats *stats = data;
	const NcclSettings *settings = *stats->settings;
	const NcclContainer *container;
	GTreeNode *at = NULL;

	while (nccl_containers_next(stats->containers, &at, &container)) {
		const RdmadAllocation *named = nccl_container_named(container);

		if (named && container->first && container->view)
			rdmad_stat_set(stat,
				       nccl_plan_holds(container->view, &settings->policy,
						       container->first, settings->versions.to,
						       NULL),
				       (const char *const[]){ named->pod_namespace, named->pod_name,
							      container_label(named), NULL });
	}
}

static void collect_refused(RdmadStat *stat, gpointer data)
{
	const NcclStats *stats = data;
	const NcclContainer *container;
	GTreeNode *at = NULL;

	for (guint reason = NCCL_REFUSAL_NONE + 1; reason < NCCL_REFUSALS; reason++)
		rdmad_stat_set(stat, 0, (const char *const[]){ nccl_refusal_name(reason), NULL });
	while (nccl_containers_next(stats->containers, &at, &container)) {
		if (container->plan && container->plan->refusal)
			rdmad_stat_add(stat, 1,
				       (const char *const[]){
					       nccl_refusal_name(container->plan->refusal), NULL });
	}
}

static void collect_changes(RdmadStat *stat, gpointer data)
{
	const NcclStats *stats = data;

	rdmad_stat_set(stat, nccl_containers_changes(stats->containers), NULL);
}

static const RdmadStatClass CLASSES[N_STATS] = {
	[INFO] = { RDMAD_STAT_GAUGE,
		   "rdma_nccl_env_info",
		   NULL,
		   "NCCL settings of a container",
		   { "namespace", "pod", "container", "env" },
		   .collect = collect_info },
	[CONSISTENT] = { RDMAD_STAT_GAUGE,
			 "rdma_nccl_env_consistent",
			 NULL,
			 "Whether NCCL still selects right GIDs with the settings that the "
			 "container "
			 "had at its start",
			 { "namespace", "pod", "container" },
			 .collect = collect_consistent },
	[REFUSED] = { RDMAD_STAT_GAUGE,
		      "rdma_nccl_env_refused",
		      NULL,
		      "Containers without NCCL settings, by reason",
		      { "reason" },
		      .collect = collect_refused },
	[CHANGES] = { RDMAD_STAT_COUNTER,
		      "rdmad_nccl_plan_changes",
		      NULL,
		      "Plans of running containers that were replaced",
		      { NULL },
		      .collect = collect_changes },
};

NcclStats *nccl_stats_new(RdmadModule *self, const NcclContainers *containers,
			  NcclSettings *const *settings, GError **error)
{
	NcclStats *stats = g_new0(NcclStats, 1);

	stats->containers = containers;
	stats->settings = settings;
	for (guint i = 0; i < N_STATS; i++) {
		stats->families[i] =
			rdmad_stats_add(rdmad_module_stats(self), self, &CLASSES[i], stats, error);
		if (!stats->families[i]) {
			nccl_stats_free(stats);
			return NULL;
		}
	}
	return stats;
}

void nccl_stats_free(NcclStats *stats)
{
	for (guint i = 0; i < N_STATS; i++)
		if (stats->families[i])
			rdmad_stat_free(stats->families[i]);
	g_free(stats);
}
