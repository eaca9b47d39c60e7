/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin-meters.h"

enum { TOKENS, UNHEALTHY, ALLOCATED, CLAIMS, REGISTERED, ALLOCATE, N_METERS };

struct RdmadPluginMeters {
	GPtrArray *const *resources;
	RdmadMeter *all[N_METERS];
};

static void collect(RdmadMeter *meter, const RdmadPluginMeters *meters, gsize member)
{
	for (guint i = 0; i < (*meters->resources)->len; i++) {
		const RdmadResource *resource = (*meters->resources)->pdata[i];
		RdmadResourceCounts counts;

		rdmad_resource_count(resource, &counts);
		rdmad_meter_set(meter, G_STRUCT_MEMBER(guint, &counts, member),
				(const char *const[]){ rdmad_resource_name(resource), NULL });
	}
}

static void collect_tokens(RdmadMeter *meter, gpointer data)
{
	collect(meter, data, G_STRUCT_OFFSET(RdmadResourceCounts, tokens));
}

static void collect_unhealthy(RdmadMeter *meter, gpointer data)
{
	collect(meter, data, G_STRUCT_OFFSET(RdmadResourceCounts, unhealthy));
}

static void collect_allocated(RdmadMeter *meter, gpointer data)
{
	collect(meter, data, G_STRUCT_OFFSET(RdmadResourceCounts, allocated));
}

static void collect_claims(RdmadMeter *meter, gpointer data)
{
	collect(meter, data, G_STRUCT_OFFSET(RdmadResourceCounts, claims));
}

static void collect_registered(RdmadMeter *meter, gpointer data)
{
	collect(meter, data, G_STRUCT_OFFSET(RdmadResourceCounts, registered));
}

static const RdmadMeterClass classes[N_METERS] = {
	[TOKENS] = { RDMAD_METER_GAUGE,
		     "rdma_resource_tokens",
		     NULL,
		     "Tokens of a resource that kubelet was told of",
		     { "resource" },
		     .collect = collect_tokens },
	[UNHEALTHY] = { RDMAD_METER_GAUGE,
			"rdma_resource_tokens_unhealthy",
			NULL,
			"Those of them that are unhealthy",
			{ "resource" },
			.collect = collect_unhealthy },
	[ALLOCATED] = { RDMAD_METER_GAUGE,
			"rdma_resource_tokens_allocated",
			NULL,
			"Those of them that claims hold",
			{ "resource" },
			.collect = collect_allocated },
	[CLAIMS] = { RDMAD_METER_GAUGE,
		     "rdma_resource_claims",
		     NULL,
		     "Claims of a resource, one for each container",
		     { "resource" },
		     .collect = collect_claims },
	[REGISTERED] = { RDMAD_METER_GAUGE,
			 "rdmad_kubelet_registered",
			 NULL,
			 "Whether kubelet watches a resource",
			 { "resource" },
			 .collect = collect_registered },
	[ALLOCATE] = { RDMAD_METER_HISTOGRAM, "rdmad_allocate_duration_seconds", "seconds",
		       "How long Allocate worked on an answer, with the write to the disk",
		       .bounds = (const double[]){ 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
						   0.01, 0.025, 0.05, 0.1, 0.5, 1, 0 } },
};

void rdmad_plugin_meters_free(RdmadPluginMeters *meters)
{
	if (!meters)
		return;
	for (guint i = 0; i < N_METERS; i++)
		rdmad_meter_free(meters->all[i]);
	g_free(meters);
}

RdmadPluginMeters *rdmad_plugin_meters_new(RdmadModule *self, GPtrArray *const *resources,
					   GError **error)
{
	g_autoptr(RdmadPluginMeters) meters = g_new0(RdmadPluginMeters, 1);

	meters->resources = resources;
	for (guint i = 0; i < N_METERS; i++) {
		meters->all[i] = rdmad_meters_add(rdmad_module_meters(self), self, &classes[i],
						  meters, error);
		if (!meters->all[i])
			return NULL;
	}
	rdmad_meter_add(meters->all[ALLOCATE], 0, NULL); /* shown before the first */
	return g_steal_pointer(&meters);
}

RdmadMeter *rdmad_plugin_meters_allocate(RdmadPluginMeters *meters)
{
	return meters->all[ALLOCATE];
}
