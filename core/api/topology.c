/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/v1/topology: accelerators, RDMA devices, and how far each is from each */
#include <rdmad/inventory.h>
#include <rdmad/sysroot.h>

#include "api/json.h"

#define NODES "sys/devices/system/node"

/* The attributes that determine the distance of two functions. */
typedef struct {
	char *const *path;
	int numa;
} Place;

static void places_add_gpus(GArray *places, RdmadInventory *inventory)
{
	for (guint i = 0; i < rdmad_inventory_gpu_count(inventory); i++) {
		const RdmadGpu *gpu = rdmad_inventory_gpu(inventory, i);
		const Place place = { gpu->pci_path, gpu->numa_node };

		g_array_append_val(places, place);
	}
}

static void places_add_nics(GArray *places, const GPtrArray *nics)
{
	for (guint i = 0; i < nics->len; i++) {
		const RdmadDevice *dev = g_ptr_array_index(nics, i);
		const Place place = { dev->pci_path, dev->numa_node };

		g_array_append_val(places, place);
	}
}

static const char *place_distance(const GArray *places, guint a, guint b)
{
	const Place *x = &g_array_index(places, Place, a), *y = &g_array_index(places, Place, b);

	if (a == b)
		return rdmad_distance_name(RDMAD_DISTANCE_SELF);
	return rdmad_distance_name(rdmad_pci_distance(x->path, x->numa, y->path, y->numa));
}

/* Rows and columns are the accelerators, then the devices, in the order of their lists. */
static json_t *distances_json(RdmadInventory *inventory, const GPtrArray *nics)
{
	g_autoptr(GArray) places = g_array_new(FALSE, FALSE, sizeof(Place));
	json_t *rows = json_array();

	places_add_gpus(places, inventory);
	places_add_nics(places, nics);
	for (guint i = 0; i < places->len; i++) {
		json_t *row = json_array();

		for (guint j = 0; j < places->len; j++)
			json_array_append_new(row, json_string(place_distance(places, i, j)));
		json_array_append_new(rows, row);
	}
	return rows;
}

static json_t *gpus_json(RdmadInventory *inventory)
{
	json_t *gpus = json_array();

	for (guint i = 0; i < rdmad_inventory_gpu_count(inventory); i++) {
		const RdmadGpu *gpu = rdmad_inventory_gpu(inventory, i);
		json_t *object = json_object();

		api_set(object, "index", json_integer(i));
		api_set(object, "pci_address", rdmad_json_string(gpu->pci_address));
		api_set(object, "vendor", api_json_hex(gpu->vendor));
		api_set(object, "pci_device_id", api_json_hex(gpu->device));
		api_set(object, "numa_node", api_json_number(gpu->numa_node));
		api_set(object, "pci_path", api_json_strings(gpu->pci_path));
		json_array_append_new(gpus, object);
	}
	return gpus;
}

static json_t *nics_json(const GPtrArray *nics)
{
	json_t *array = json_array();

	for (guint i = 0; i < nics->len; i++) {
		const RdmadDevice *dev = g_ptr_array_index(nics, i);
		json_t *object = json_object();

		api_set(object, "index", json_integer(i));
		api_set(object, "device_id", rdmad_json_string(dev->id));
		api_set(object, "device_name", rdmad_json_string(dev->name));
		api_set(object, "numa_node", api_json_number(dev->numa_node));
		api_set(object, "pci_path", api_json_strings(dev->pci_path));
		json_array_append_new(array, object);
	}
	return array;
}

/* Returns the CPUs of each NUMA node: {"0": "0-31,64-95"}. */
static gpointer cpus_read(gpointer sysroot, const RdmadJob *job, GError **error)
{
	g_auto(GStrv) names = rdmad_sysroot_list(sysroot, NODES, NULL);
	json_t *cpus = json_object();

	for (char **name = names; name && *name; name++) {
		g_autofree char *path = g_strconcat(NODES "/", *name, "/cpulist", NULL);
		g_autofree char *list = NULL;

		if (!g_str_has_prefix(*name, "node") || !g_ascii_isdigit((*name)[4]))
			continue;
		list = rdmad_sysroot_read(sysroot, path, NULL);
		json_object_set_new(cpus, *name + 4, rdmad_json_string(list));
	}
	return cpus;
}

static void cpus_free(gpointer cpus)
{
	json_decref(cpus);
}

static const RdmadJobClass cpus_class = {
	.name = "api-topology",
	.run = cpus_read,
	.done = api_resource_read,
	.free_result = cpus_free,
};

const RdmadGpu *api_nearest_gpu(const RdmadServices *services, const RdmadDevice *dev,
				RdmadDistance *distance, guint *index)
{
	const RdmadGpu *nearest = NULL;

	for (guint i = 0; i < rdmad_inventory_gpu_count(services->inventory); i++) {
		const RdmadGpu *gpu = rdmad_inventory_gpu(services->inventory, i);
		const RdmadDistance d = rdmad_pci_distance(dev->pci_path, dev->numa_node,
							   gpu->pci_path, gpu->numa_node);

		if (nearest && d >= *distance)
			continue;
		nearest = gpu;
		*distance = d;
		*index = i;
	}
	return nearest;
}

static GBytes *topology_build(const RdmadServices *services, gconstpointer read)
{
	g_autoptr(GPtrArray) nics = api_devices_by_name(services);
	json_t *object = json_object();

	for (guint i = nics->len; i-- > 0;)
		if (rdmad_device_role(nics->pdata[i]) != RDMAD_ROLE_NIC)
			g_ptr_array_remove_index(nics, i);

	api_set(object, "gpus", gpus_json(services->inventory));
	api_set(object, "nics", nics_json(nics));
	api_set(object, "distances", distances_json(services->inventory, nics));
	api_set(object, "numa_cpus", read ? json_incref((json_t *)read) : json_object());
	return api_json_bytes(object);
}

static const ApiResource topology_resource = {
	.build = topology_build,
	.read = &cpus_class,
	.input = api_sysroot_input,
};

void api_get_topology(RdmadHttpRequest *request, gpointer data)
{
	api_reply_shared(request, data, API_SHARED_TOPOLOGY, &topology_resource);
}
