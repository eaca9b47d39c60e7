/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The RDMA shared device plugin (Mellanox/k8s-rdma-shared-dev-plugin)
 *
 * A pool is rdmaHcaMax slots without a NUMA node, and each slot gives all devices of the pool.  A
 * device may be in several pools.
 */
#include <string.h>

#include "cli/import/field.h"

#define SLOTS_MAX 32768 /* the limit of rdmad's device-plugin for one resource */

typedef struct {
	json_t *list;
	gint64 interval;
} Config;

typedef struct {
	const char *name, *prefix;
	gint64 slots;
	GArray *group, *devices; /* the selectors by the new and by the old key */
	json_t *selectors;
} Pool;

static const RdmadImportField CONFIG_FIELDS[] = {
	RDMAD_IMPORT_FIELD("configList", RDMAD_IMPORT_LIST, Config, list),
	RDMAD_IMPORT_FIELD("periodicUpdateInterval", RDMAD_IMPORT_NUMBER, Config, interval),
	{ .key = NULL },
};

#define SELECTOR(theirs_, member_, ours_, convert_)                                                \
	{                                                                                          \
		.key = (theirs_), .type = RDMAD_IMPORT_SELECTOR,                                   \
		.offset = G_STRUCT_OFFSET(Pool, member_), .ours = (ours_), .convert = (convert_)   \
	}

static const RdmadImportField POOL_FIELDS[] = {
	RDMAD_IMPORT_FIELD("resourceName", RDMAD_IMPORT_TEXT, Pool, name),
	RDMAD_IMPORT_FIELD("resourcePrefix", RDMAD_IMPORT_TEXT, Pool, prefix),
	RDMAD_IMPORT_FIELD("rdmaHcaMax", RDMAD_IMPORT_NUMBER, Pool, slots),
	RDMAD_IMPORT_FIELD("selectors", RDMAD_IMPORT_OBJECT, Pool, selectors),
	SELECTOR("devices", devices, "netdevs", rdmad_import_convert_pattern),
	{ .key = NULL },
};

static const RdmadImportField SELECTOR_FIELDS[] = {
	SELECTOR("vendors", group, "vendors", rdmad_import_convert_pci_id),
	SELECTOR("deviceIDs", group, "devices", rdmad_import_convert_pci_id),
	SELECTOR("drivers", group, "drivers", rdmad_import_convert_pattern),
	SELECTOR("ifNames", group, "netdevs", rdmad_import_convert_pattern),
	SELECTOR("linkTypes", group, "link_layers", rdmad_import_convert_link_type),
	{ .key = NULL },
};

/* Checks, like the plugin, that either `devices` or `selectors` is given. */
static gboolean selectors_check(const RdmadImport *import, const char *path, const Pool *pool,
				GError **error)
{
	if (pool->group->len && pool->devices->len)
		return rdmad_import_error(import, error, path,
					  "only one of devices and selectors may be given");
	if (!pool->group->len && !pool->devices->len)
		return rdmad_import_error(import, error, path,
					  "neither selectors nor devices are given");
	return TRUE;
}

static gboolean pool_read(RdmadImport *import, const char *path, const json_t *object, Pool *pool,
			  GError **error)
{
	g_autofree char *selectors = g_strconcat(path, ".selectors", NULL);

	if (!rdmad_import_read(import, path, object, POOL_FIELDS, pool, error) ||
	    (pool->selectors &&
	     !rdmad_import_read(import, selectors, pool->selectors, SELECTOR_FIELDS, pool, error)))
		return FALSE;
	if (!pool->name)
		return rdmad_import_error(import, error, path, "resourceName is missing");
	return selectors_check(import, path, pool, error);
}

static gboolean pool_add(RdmadImport *import, const char *path, const Pool *pool, GError **error)
{
	const char *prefix = pool->prefix && *pool->prefix ? pool->prefix : "rdma";
	g_autofree char *slots = g_strconcat(path, ".rdmaHcaMax", NULL);
	RdmadImportResource *resource;

	if (pool->slots == 0)
		return rdmad_import_lose(import, path,
					 "rdmaHcaMax is 0 or absent, so nothing was offered");
	if (pool->slots > SLOTS_MAX)
		rdmad_import_mind(import, slots, "32768 is the most that rdmad offers");
	resource = rdmad_import_resource_new(prefix, pool->name, path);
	resource->count = MIN(pool->slots, SLOTS_MAX);
	g_ptr_array_add(resource->groups,
			g_array_ref(pool->group->len ? pool->group : pool->devices));
	return rdmad_import_add(import, resource, error);
}

static gboolean import_pool(RdmadImport *import, const char *path, const json_t *object,
			    GError **error)
{
	g_autoptr(GArray) group = rdmad_import_group_new();
	g_autoptr(GArray) devices = rdmad_import_group_new();
	Pool pool = { .group = group, .devices = devices };

	return pool_read(import, path, object, &pool, error) &&
	       pool_add(import, path, &pool, error);
}

/* Fills shared_with for all pairs of resources from `first` on that may have a device in common. */
static void set_shared_with(RdmadImport *import, guint first)
{
	for (guint i = first; i < import->resources->len; i++)
		for (guint j = first; j < import->resources->len; j++) {
			RdmadImportResource *one = import->resources->pdata[i];
			const RdmadImportResource *other = import->resources->pdata[j];

			if (i != j && rdmad_import_resources_overlap(one, other))
				g_ptr_array_add(one->shared_with, other->name);
		}
}

gboolean rdmad_import_shared(RdmadImport *import, GError **error)
{
	const guint first = import->resources->len;
	Config config = { .interval = -1 };

	if (!rdmad_import_read(import, "", import->source->config, CONFIG_FIELDS, &config, error))
		return FALSE;
	if (config.interval >= 0)
		rdmad_import_lose(import, "periodicUpdateInterval",
				  "the kernel notifies rdmad of devices; no interval is needed");
	for (gsize i = 0; i < json_array_size(config.list); i++) {
		g_autofree char *path = g_strdup_printf("configList[%zu]", i);

		if (!import_pool(import, path, json_array_get(config.list, i), error))
			return FALSE;
	}
	set_shared_with(import, first);
	return TRUE;
}
