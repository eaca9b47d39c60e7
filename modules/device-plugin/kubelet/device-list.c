/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/device-list.h"

#include "deviceplugin.pb-c.h"

/* One NUMA node as protobuf-c wants it: a list of one pointer. */
typedef struct {
	V1beta1__NUMANode node;
	V1beta1__NUMANode *nodes[1];
	V1beta1__TopologyInfo info;
} Topology;

static void topology_set(Topology *topology, int numa_node)
{
	v1beta1__numanode__init(&topology->node);
	topology->node.id = numa_node;
	topology->nodes[0] = &topology->node;
	v1beta1__topology_info__init(&topology->info);
	topology->info.n_nodes = 1;
	topology->info.nodes = topology->nodes;
}

static void device_set(V1beta1__Device *device, const Slot *slot, gboolean numa, Topology *topology)
{
	v1beta1__device__init(device);
	device->id = slot->id;
	device->health = (char *)(slot->device->health.problem ? "Unhealthy" : "Healthy");
	if (!numa || slot->device->numa_node < 0)
		return;
	topology_set(topology, slot->device->numa_node);
	device->topology = &topology->info;
}

GBytes *device_list_pack(const Pool *pool)
{
	const guint n = pool_slot_count(pool);
	g_autofree V1beta1__Device *devices = g_new(V1beta1__Device, n);
	g_autofree V1beta1__Device **pointers = g_new(V1beta1__Device *, n);
	g_autofree Topology *topologies = g_new(Topology, n);
	V1beta1__ListAndWatchResponse list = V1BETA1__LIST_AND_WATCH_RESPONSE__INIT;
	gsize size;
	guint8 *bytes;

	for (guint i = 0; i < n; i++) {
		device_set(&devices[i], pool_slot(pool, i), pool_settings(pool)->numa,
			   &topologies[i]);
		pointers[i] = &devices[i];
	}
	list.n_devices = n;
	list.devices = pointers;
	size = v1beta1__list_and_watch_response__get_packed_size(&list);
	bytes = g_malloc(size);
	v1beta1__list_and_watch_response__pack(&list, bytes);
	return g_bytes_new_take(bytes, size);
}
