/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin-stats.h"

enum { SLOTS, UNHEALTHY, ALLOCATED, ALLOCATIONS, REGISTERED, ALLOCATE, N_STATS };

struct PluginStats {
	GPtrArray *const *resources;
	RdmadStat *all[N_STATS];
};

static void collect(RdmadStat *stat, const PluginStats *stats, gsize member)
{
	for (guint i = 0; i < (*stats->resources)->len; i++) {
		const Resource *resource = (*stats->resources)->pdata[i];
		ResourceCounts counts;

		resource_count(resource, &counts);
		rdmad_stat_set(stat, G_STRUCT_MEMBER(guint, &counts, member),
			       (const char *const[]){ resource_name(resource), NULL });
	}
}

static void collect_slots(RdmadStat *stat, gpointer data)
{
	collect(stat, data, G_STRUCT_OFFSET(ResourceCounts, slots));
}

static void collect_unhealthy(RdmadStat *stat, gpointer data)
{
	collect(stat, data, G_STRUCT_OFFSET(ResourceCounts, unhealthy));
}

static void collect_allocated(RdmadStat *stat, gpointer data)
{
	collect(stat, data, G_STRUCT_OFFSET(ResourceCounts, allocated));
}

static void collect_allocations(RdmadStat *stat, gpointer data)
{
	collect(stat, data, G_STRUCT_OFFSET(ResourceCounts, allocations));
}

static void collect_registered(RdmadStat *stat, gpointer data)
{
	collect(stat, data, G_STRUCT_OFFSET(ResourceCounts, registered));
}

static const RdmadStatClass classes[N_STATS] = {
	[SLOTS] = { RDMAD_STAT_GAUGE,
		    "rdma_resource_slots",
		    NULL,
		    "Slots of a resource in the list for kubelet",
		    { "resource" },
		    .collect = collect_slots },
	[UNHEALTHY] = { RDMAD_STAT_GAUGE,
			"rdma_resource_slots_unhealthy",
			NULL,
			"Unhealthy slots of a resource",
			{ "resource" },
			.collect = collect_unhealthy },
	[ALLOCATED] = { RDMAD_STAT_GAUGE,
			"rdma_resource_slots_allocated",
			NULL,
			"Allocated slots of a resource",
			{ "resource" },
			.collect = collect_allocated },
	[ALLOCATIONS] = { RDMAD_STAT_GAUGE,
			  "rdma_resource_allocations",
			  NULL,
			  "Allocations of a resource, one for each container",
			  { "resource" },
			  .collect = collect_allocations },
	[REGISTERED] = { RDMAD_STAT_GAUGE,
			 "rdmad_kubelet_registered",
			 NULL,
			 "Whether kubelet watches a resource",
			 { "resource" },
			 .collect = collect_registered },
	[ALLOCATE] = { RDMAD_STAT_HISTOGRAM, "rdmad_allocate_duration_seconds", "seconds",
		       "Duration of Allocate, including the write to the disk",
		       .bounds = (const double[]){ 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
						   0.01, 0.025, 0.05, 0.1, 0.5, 1, 0 } },
};

void plugin_stats_free(PluginStats *stats)
{
	if (!stats)
		return;
	for (guint i = 0; i < N_STATS; i++)
		rdmad_stat_free(stats->all[i]);
	g_free(stats);
}

PluginStats *plugin_stats_new(RdmadModule *self, GPtrArray *const *resources, GError **error)
{
	g_autoptr(PluginStats) stats = g_new0(PluginStats, 1);

	stats->resources = resources;
	for (guint i = 0; i < N_STATS; i++) {
		stats->all[i] =
			rdmad_stats_add(rdmad_module_stats(self), self, &classes[i], stats, error);
		if (!stats->all[i])
			return NULL;
	}
	rdmad_stat_add(stats->all[ALLOCATE], 0,
		       NULL); /* exposes the series before the first call */
	return g_steal_pointer(&stats);
}

RdmadStat *plugin_stats_allocate(PluginStats *stats)
{
	return stats->all[ALLOCATE];
}
