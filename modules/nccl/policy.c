/* SPDX-License-Identifier: Apache-2.0 */
#include "policy.h"

#include "gid.h"

void nccl_policy_init(NcclPolicy *policy)
{
	*policy = (NcclPolicy){
		.gpu_distance = RDMAD_DISTANCE_PXB,
		.socket_ifname = g_strdup("auto"),
		.tc = NCCL_UNSET,
		.sl = NCCL_UNSET,
		.pkey = NCCL_UNSET,
		.qps_per_connection = NCCL_UNSET,
		.cross_nic = NCCL_UNSET,
	};
}

void nccl_policy_clear(NcclPolicy *policy)
{
	g_clear_pointer(&policy->devices, g_strfreev);
	g_clear_pointer(&policy->subnets, g_array_unref);
	g_clear_pointer(&policy->storage_subnets, g_array_unref);
	g_clear_pointer(&policy->socket_ifname, g_free);
	g_clear_pointer(&policy->net_gdr_level, g_free);
	g_clear_pointer(&policy->topo_file, g_free);
	g_clear_pointer(&policy->env_plugin, g_free);
}

GArray *nccl_policy_ranges(char *const *texts, GError **error)
{
	g_autoptr(GArray) ranges = g_array_new(FALSE, FALSE, sizeof(NcclRange));

	for (guint i = 0; texts && texts[i]; i++) {
		NcclRange range;

		if (!nccl_range_parse(texts[i], &range, error))
			return NULL;
		g_array_append_val(ranges, range);
	}
	return g_steal_pointer(&ranges);
}

gboolean nccl_policy_ranges_have(const GArray *ranges, const guint8 raw[16])
{
	for (guint i = 0; ranges && i < ranges->len; i++)
		if (nccl_range_has(&g_array_index(ranges, NcclRange, i), raw))
			return TRUE;
	return FALSE;
}
