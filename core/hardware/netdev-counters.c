/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/netdev-counters.h"

struct RdmadNetdevCounters {
	const RdmadSysroot *root;
	const RdmadDevice *dev;
};

RdmadNetdevCounters *rdmad_netdev_counters_new(const RdmadSysroot *root, const RdmadDevice *dev)
{
	RdmadNetdevCounters *netdevs = g_new0(RdmadNetdevCounters, 1);

	netdevs->root = root;
	netdevs->dev = dev;
	return netdevs;
}

void rdmad_netdev_counters_free(RdmadNetdevCounters *netdevs)
{
	g_free(netdevs);
}

void rdmad_netdev_counters_read(RdmadNetdevCounters *netdevs, RdmadDraft *draft)
{
}
