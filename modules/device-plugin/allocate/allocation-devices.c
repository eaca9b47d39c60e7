/* SPDX-License-Identifier: Apache-2.0 */
#include "allocate/allocation-devices.h"

#include <string.h>

static void device_add(GPtrArray *devices, const PoolDevice *device)
{
	if (device && device->dev && !g_ptr_array_find(devices, device->dev, NULL))
		g_ptr_array_add(devices, (gpointer)device->dev);
}

/* An exclusive device is of one container alone, also where `defaults` or a label of the node set
 * the rest. */
static gboolean exposes_all(const Pool *pool)
{
	const ResourceSettings *settings = pool_settings(pool);

	return settings->expose == EXPOSE_POOL && settings->mode != MODE_EXCLUSIVE;
}

/* Stores the number of devices behind the slots, which come first. */
static GPtrArray *slots_devices(const Pool *pool, const char *const *slots, guint *n_behind)
{
	GPtrArray *devices = g_ptr_array_new();

	for (guint i = 0; slots[i]; i++) {
		const Slot *slot = pool_find(pool, slots[i]);

		device_add(devices, slot ? slot->device : NULL);
	}
	*n_behind = devices->len;
	if (exposes_all(pool))
		for (guint i = 0; i < pool_device_count(pool); i++)
			if (!pool_device(pool, i)->rival)
				device_add(devices, pool_device(pool, i));
	return devices;
}

GPtrArray *allocation_devices(const Pool *pool, const char *const *slots)
{
	guint n_behind;

	return slots_devices(pool, slots, &n_behind);
}

char **allocation_exposed(const Pool *pool, const char *const *slots)
{
	g_autoptr(GPtrArray) devices = NULL;
	guint n_behind, n;
	char **ids;

	if (!exposes_all(pool))
		return NULL;
	devices = slots_devices(pool, slots, &n_behind);
	n = MIN(devices->len - n_behind, RDMAD_ALLOCATION_MAX_EXPOSED);
	ids = g_new0(char *, n + 1);
	for (guint i = 0; i < n; i++)
		ids[i] = g_strdup(((const RdmadDevice *)devices->pdata[n_behind + i])->id);
	return ids;
}

gboolean resource_settings_wants(const ResourceSettings *settings, RdmadChardevKind kind)
{
	switch (kind) {
	case RDMAD_CHARDEV_UMAD:
		return settings->umad;
	case RDMAD_CHARDEV_ISSM:
		return settings->issm;
	case RDMAD_CHARDEV_UCM:
		return settings->ucm;
	case RDMAD_CHARDEV_UVERBS:
	case RDMAD_CHARDEV_RDMA_CM:
		return TRUE;
	}
	return FALSE;
}

const char *device_node(const RdmadDevice *dev, const ResourceSettings *settings,
			RdmadChardevKind kind)
{
	const RdmadChardev *node = rdmad_device_chardev(dev, kind);

	return node && resource_settings_wants(settings, kind) ? node->path : NULL;
}

static void paths_add(GHashTable *paths, const RdmadDevice *dev, const ResourceSettings *settings)
{
	for (guint i = 0; i < dev->n_chardevs; i++)
		if (resource_settings_wants(settings, dev->chardevs[i].kind))
			g_hash_table_add(paths, dev->chardevs[i].path);
}

static int text_compare(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

GPtrArray *device_nodes(const GPtrArray *devices, const ResourceSettings *settings)
{
	g_autoptr(GHashTable) paths = g_hash_table_new(g_str_hash, g_str_equal);
	GPtrArray *sorted = g_ptr_array_new();
	GHashTableIter iter;
	gpointer path;

	for (guint i = 0; i < devices->len; i++)
		paths_add(paths, devices->pdata[i], settings);
	g_hash_table_iter_init(&iter, paths);
	while (g_hash_table_iter_next(&iter, &path, NULL))
		g_ptr_array_add(sorted, path);
	g_ptr_array_sort(sorted, text_compare);
	return sorted;
}

static void files_add(GArray *files, const RdmadDevice *dev, const ResourceSettings *settings)
{
	for (guint i = 0; i < dev->n_chardevs; i++) {
		const RdmadChardev *node = &dev->chardevs[i];
		const RdmadAllocationFile file = { dev->id,    node->path,  (int)node->kind,
						   node->port, node->major, node->minor };

		if (node->kind != RDMAD_CHARDEV_RDMA_CM &&
		    resource_settings_wants(settings, node->kind))
			g_array_append_val(files, file);
	}
}

GArray *allocation_files(const GPtrArray *devices, const ResourceSettings *settings)
{
	GArray *files = g_array_new(FALSE, FALSE, sizeof(RdmadAllocationFile));

	for (guint i = 0; i < devices->len; i++)
		files_add(files, devices->pdata[i], settings);
	return files;
}
