/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/device-list.h"

#include "deviceplugin.pb-c.h"

/* One NUMA node in the form of protobuf-c: an array of one pointer. */
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

static void device_set(V1beta1__Device *device, const Slot *slot, const PoolPacked *content,
		       Topology *topology)
{
	v1beta1__device__init(device);
	device->id = slot->id;
	device->health = (char *)(pool_slot_is_healthy(slot) ? "Healthy" : "Unhealthy");
	if (content->numa_node < 0)
		return;
	topology_set(topology, content->numa_node);
	device->topology = &topology->info;
}

/* Concatenated lists are one list in protobuf's encoding. */
static void append_slot(GByteArray *message, const Slot *slot, const PoolPacked *content)
{
	Topology topology;
	V1beta1__Device device, *devices[] = { &device };
	V1beta1__ListAndWatchResponse list = V1BETA1__LIST_AND_WATCH_RESPONSE__INIT;
	const guint start = message->len;

	device_set(&device, slot, content, &topology);
	list.n_devices = G_N_ELEMENTS(devices);
	list.devices = devices;
	g_byte_array_set_size(
		message, start + (guint)v1beta1__list_and_watch_response__get_packed_size(&list));
	v1beta1__list_and_watch_response__pack(&list, message->data + start);
}

static void append_slots(GByteArray *message, const Pool *pool, const PoolDevice *device,
			 const PoolPacked *content)
{
	for (guint i = 0; i < device->n_slots; i++)
		append_slot(message, pool_slot(pool, device->first_slot + i), content);
}

static gboolean content_equal(const PoolPacked *a, const PoolPacked *b)
{
	return a->slots_version == b->slots_version && a->unhealthy == b->unhealthy &&
	       a->withholds == b->withholds && a->numa_node == b->numa_node;
}

static void append_device(GByteArray *message, const Pool *pool, PoolDevice *device,
			  const guint8 *before)
{
	const guint start = message->len;
	PoolPacked content = {
		.slots_version = pool_slots_version(pool),
		.unhealthy = device->health.problem != NULL,
		.withholds = pool_device_withholds(device),
		.numa_node = pool_settings(pool)->numa ? device->numa_node : RDMAD_UNKNOWN,
	};

	if (before && content_equal(&content, &device->packed))
		g_byte_array_append(message, before + device->packed.start,
				    (guint)device->packed.size);
	else
		append_slots(message, pool, device, &content);
	content.start = start;
	content.size = message->len - start;
	device->packed = content;
}

GBytes *device_list_pack(Pool *pool, GBytes *before)
{
	const guint8 *old = before ? g_bytes_get_data(before, NULL) : NULL;
	GByteArray *message =
		g_byte_array_sized_new(before ? (guint)g_bytes_get_size(before) + 1 : 0);

	for (guint i = 0; i < pool_device_count(pool); i++)
		append_device(message, pool, pool_device_at(pool, i), old);
	return g_byte_array_free_to_bytes(message);
}
