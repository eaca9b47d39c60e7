/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SR-IOV network device plugin (k8snetworkplumbingwg/sriov-network-device-plugin)
 *
 * A pool is a list of functions, one slot each, with their NUMA nodes.  A device is in the first
 * pool that selects it.  Pools without RDMA are not imported.
 */
#include <string.h>

#include "cli/import/field.h"

#define DEFAULT_PREFIX "intel.com"
#define GROUPS_MAX     32u

typedef struct {
	json_t *list;
} Config;

typedef struct {
	const char *name, *prefix, *device_type;
	gboolean exclude_topology, is_rdma; /* is_rdma: its place in older versions */
	json_t *selectors;
} Pool;

typedef struct {
	GArray *selectors;
	gboolean is_rdma, vhost_net;
	const char *vdpa;
} Group;

static const RdmadImportField CONFIG_FIELDS[] = {
	RDMAD_IMPORT_FIELD("resourceList", RDMAD_IMPORT_LIST, Config, list),
	{ .key = NULL },
};

static const RdmadImportField POOL_FIELDS[] = {
	RDMAD_IMPORT_FIELD("resourceName", RDMAD_IMPORT_TEXT, Pool, name),
	RDMAD_IMPORT_FIELD("resourcePrefix", RDMAD_IMPORT_TEXT, Pool, prefix),
	RDMAD_IMPORT_FIELD("deviceType", RDMAD_IMPORT_TEXT, Pool, device_type),
	RDMAD_IMPORT_FIELD("excludeTopology", RDMAD_IMPORT_FLAG, Pool, exclude_topology),
	RDMAD_IMPORT_FIELD("isRdma", RDMAD_IMPORT_FLAG, Pool, is_rdma),
	RDMAD_IMPORT_FIELD("selectors", RDMAD_IMPORT_OBJECTS, Pool, selectors),
	{ .key = "additionalInfo",
	  .type = RDMAD_IMPORT_LOST,
	  .lost = "containers get only attributes that rdmad has read itself" },
	{ .key = NULL },
};

#define SELECTOR(theirs_, ours_, convert_)                                                         \
	{                                                                                          \
		.key = (theirs_), .type = RDMAD_IMPORT_SELECTOR,                                   \
		.offset = G_STRUCT_OFFSET(Group, selectors), .ours = (ours_),                      \
		.convert = (convert_)                                                              \
	}

static const RdmadImportField GROUP_FIELDS[] = {
	SELECTOR("vendors", "vendors", rdmad_import_convert_pci_id),
	SELECTOR("devices", "devices", rdmad_import_convert_pci_id),
	SELECTOR("drivers", "drivers", rdmad_import_convert_pattern),
	SELECTOR("pciAddresses", "pci_addresses", rdmad_import_convert_pci_address),
	SELECTOR("acpiIndexes", "acpi_indexes", rdmad_import_convert_number),
	SELECTOR("auxTypes", "aux_types", rdmad_import_convert_pattern),
	SELECTOR("pfNames", "pf_names", rdmad_import_convert_netdev_range),
	SELECTOR("rootDevices", "root_devices", rdmad_import_convert_pci_range),
	SELECTOR("linkTypes", "link_layers", rdmad_import_convert_link_type),
	SELECTOR("pKeys", "pkeys", rdmad_import_convert_pkey),
	RDMAD_IMPORT_FIELD("isRdma", RDMAD_IMPORT_FLAG, Group, is_rdma),
	RDMAD_IMPORT_FIELD("needVhostNet", RDMAD_IMPORT_FLAG, Group, vhost_net),
	RDMAD_IMPORT_FIELD("vdpaType", RDMAD_IMPORT_TEXT, Group, vdpa),
	{ .key = "ddpProfiles",
	  .type = RDMAD_IMPORT_LOST,
	  .lost = "profiles of Intel's packet parser are nothing of RDMA; devices with any profile "
		  "are selected" },
	{ .key = NULL },
};

/* ---- one group of selectors ---- */

static void drop_selector(RdmadImport *import, const char *path, GArray *selectors, const char *key,
			  const char *reason)
{
	for (guint i = selectors->len; i > 0; i--)
		if (g_str_equal(g_array_index(selectors, RdmadImportSelector, i - 1).key, key)) {
			rdmad_import_lose(import, path, reason);
			g_array_remove_index(selectors, i - 1);
		}
}

/* A pool of the plugin has either functions or subfunctions (auxNetDevice); each type has its own
 * selectors. */
static void apply_device_type(RdmadImport *import, const char *path, GArray *selectors,
			      gboolean aux)
{
	if (!aux) {
		drop_selector(import, path, selectors, "aux_types",
			      "auxTypes is for deviceType auxNetDevice only");
		rdmad_import_group_add_own(selectors, "aux_types", "!*", "no subfunctions");
		return;
	}
	drop_selector(import, path, selectors, "pci_addresses",
		      "pciAddresses is not for deviceType auxNetDevice");
	drop_selector(import, path, selectors, "acpi_indexes",
		      "acpiIndexes is not for deviceType auxNetDevice");
	drop_selector(import, path, selectors, "pkeys", "pKeys is not for deviceType auxNetDevice");
	if (!rdmad_import_group_find(selectors, "aux_types"))
		rdmad_import_group_add_own(selectors, "aux_types", "*", "only subfunctions");
}

/* Of "ens1f0#0-3" and "ens1f0#7" in one list, the plugin uses only the first. */
static void drop_second_range(RdmadImport *import, const char *path, const GArray *selectors,
			      const char *key)
{
	const RdmadImportSelector *selector = rdmad_import_group_find(selectors, key);
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	guint kept = 0;

	for (guint i = 0; selector && selector->values[i]; i++) {
		char *value = selector->values[i];

		selector->values[i] = NULL;
		if (g_hash_table_add(seen, g_ascii_strdown(value, strcspn(value, "#")))) {
			selector->values[kept++] = value;
			continue;
		}
		rdmad_import_lose(import, path,
				  "of several entries for one interface the plugin uses the "
				  "first only");
		g_free(value);
	}
}

/* Without one of these selectors, the interface of the default route may be selected. */
static void note_default_route(RdmadImport *import, const char *path, const GArray *selectors)
{
	if (!rdmad_import_group_find(selectors, "pci_addresses") &&
	    !rdmad_import_group_find(selectors, "pf_names") &&
	    !rdmad_import_group_find(selectors, "root_devices") &&
	    !rdmad_import_group_find(selectors, "acpi_indexes"))
		rdmad_import_mind(import, path,
				  "the plugin left out the interface of the default route; if it "
				  "is one of these, add netdevs = \"!NAME\"");
}

static gboolean group_is_rdma(RdmadImport *import, const char *path, const Pool *pool,
			      const Group *group)
{
	if (group->vdpa && *group->vdpa)
		return !rdmad_import_lose(import, path,
					  "vdpaType: vDPA devices are not RDMA devices; leave them "
					  "to the SR-IOV plugin");
	if (!group->is_rdma && !pool->is_rdma)
		return !rdmad_import_lose(import, path,
					  "isRdma is not true, so these are network functions "
					  "without RDMA; leave them to the SR-IOV plugin");
	return TRUE;
}

static gboolean import_group(RdmadImport *import, const char *path, const Pool *pool,
			     const json_t *object, GPtrArray *groups, GError **error)
{
	g_autoptr(GArray) selectors = rdmad_import_group_new();
	g_autofree char *vhost_net = g_strconcat(path, ".needVhostNet", NULL);
	const gboolean aux = g_strcmp0(pool->device_type, "auxNetDevice") == 0;
	Group group = { .selectors = selectors };

	if (!rdmad_import_read(import, path, object, GROUP_FIELDS, &group, error))
		return FALSE;
	if (!group_is_rdma(import, path, pool, &group))
		return TRUE;
	if (group.vhost_net)
		rdmad_import_lose(import, vhost_net,
				  "rdmad does not hand out /dev/vhost-net and /dev/net/tun");
	drop_second_range(import, path, selectors, "pf_names");
	drop_second_range(import, path, selectors, "root_devices");
	if (!aux)
		note_default_route(import, path, selectors);
	apply_device_type(import, path, selectors, aux);
	g_ptr_array_add(groups, g_steal_pointer(&selectors));
	return TRUE;
}

/* ---- one pool ---- */

static gboolean import_groups(RdmadImport *import, const char *path, const Pool *pool,
			      GPtrArray *groups, GError **error)
{
	g_autofree char *selectors = g_strconcat(path, ".selectors", NULL);

	if (!json_is_array(pool->selectors))
		return import_group(import, selectors, pool, pool->selectors, groups, error);
	if (json_array_size(pool->selectors) > GROUPS_MAX)
		return rdmad_import_error(import, error, selectors, "more than %u groups",
					  GROUPS_MAX);
	for (gsize i = 0; i < json_array_size(pool->selectors); i++) {
		g_autofree char *entry = g_strdup_printf("%s[%zu]", selectors, i);

		if (!import_group(import, entry, pool, json_array_get(pool->selectors, i), groups,
				  error))
			return FALSE;
	}
	return TRUE;
}

/* A device is in the first pool that selects it, so a second pool with the same selectors is
 * empty. */
static gboolean is_duplicate(RdmadImport *import, const char *path, const GPtrArray *groups)
{
	for (guint i = 0; i < import->resources->len; i++) {
		const RdmadImportResource *other = import->resources->pdata[i];
		g_autofree char *reason = NULL;

		if (!other->exclusive || !rdmad_import_groups_equal(other->groups, groups))
			continue;
		reason = g_strdup_printf("%s takes the same devices before it", other->origin);
		return rdmad_import_lose(import, path, reason);
	}
	return FALSE;
}

static const char *pool_prefix(RdmadImport *import, const char *path, const Pool *pool)
{
	g_autofree char *key = g_strconcat(path, ".resourcePrefix", NULL);

	if (pool->prefix && *pool->prefix)
		return pool->prefix;
	if (import->options->prefix)
		return import->options->prefix;
	rdmad_import_mind(import, key,
			  "absent, so " DEFAULT_PREFIX " as the plugin has it; if that was started "
			  "with -resource-prefix, give --resource-prefix here");
	return DEFAULT_PREFIX;
}

static gboolean device_type_known(const char *type)
{
	return !type || !*type || g_str_equal(type, "netDevice") ||
	       g_str_equal(type, "auxNetDevice") || g_str_equal(type, "accelerator");
}

static gboolean pool_read(RdmadImport *import, const char *path, const json_t *object, Pool *pool,
			  GError **error)
{
	if (!rdmad_import_read(import, path, object, POOL_FIELDS, pool, error))
		return FALSE;
	if (!pool->name)
		return rdmad_import_error(import, error, path, "resourceName is missing");
	if (!device_type_known(pool->device_type))
		return rdmad_import_error(
			import, error, path,
			"deviceType \"%s\" is neither netDevice, auxNetDevice nor "
			"accelerator",
			pool->device_type);
	if (!pool->selectors)
		return rdmad_import_error(import, error, path, "selectors are missing");
	return TRUE;
}

static gboolean import_pool(RdmadImport *import, const char *path, const json_t *object,
			    GError **error)
{
	g_autoptr(GPtrArray) groups = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
	RdmadImportResource *resource;
	Pool pool = { NULL };

	if (!pool_read(import, path, object, &pool, error))
		return FALSE;
	if (g_strcmp0(pool.device_type, "accelerator") == 0)
		return rdmad_import_lose(import, path,
					 "accelerators are not RDMA devices; leave them to the "
					 "SR-IOV plugin");
	if (!import_groups(import, path, &pool, groups, error))
		return FALSE;
	if (groups->len == 0 || is_duplicate(import, path, groups))
		return TRUE;
	resource = rdmad_import_resource_new(pool_prefix(import, path, &pool), pool.name, path);
	resource->exclusive = TRUE;
	resource->numa = !pool.exclude_topology;
	g_ptr_array_extend_and_steal(resource->groups, g_steal_pointer(&groups));
	return rdmad_import_add(import, resource, error);
}

gboolean rdmad_import_sriov(RdmadImport *import, GError **error)
{
	Config config = { NULL };

	if (!rdmad_import_read(import, "", import->source->config, CONFIG_FIELDS, &config, error))
		return FALSE;
	for (gsize i = 0; i < json_array_size(config.list); i++) {
		g_autofree char *path = g_strdup_printf("resourceList[%zu]", i);

		if (!import_pool(import, path, json_array_get(config.list, i), error))
			return FALSE;
	}
	return TRUE;
}
