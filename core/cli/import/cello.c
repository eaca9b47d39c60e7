/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CNI configuration of Volcano Engine (volcengine/cello)
 *
 * A list of CNI plugins, one of which attaches the devices of a resource to pods:
 * `meta.resourceName` of the plugin or of the list.  Pods name the list in an annotation.  A label
 * of the node sets the mode of the devices, as in the profile "vke".
 */
#include <string.h>

#include "cli/import/field.h"

#define MODE_LABEL "label:vke.node.rdma.mode"

typedef struct {
	const char *name;
	json_t *plugins, *meta;
} List;

typedef struct {
	const char *type;
	json_t *meta;
} Plugin;

typedef struct {
	const char *resource, *ranges;
} Meta;

static const RdmadImportField LIST_FIELDS[] = {
	RDMAD_IMPORT_FIELD("name", RDMAD_IMPORT_TEXT, List, name),
	RDMAD_IMPORT_FIELD("plugins", RDMAD_IMPORT_LIST, List, plugins),
	RDMAD_IMPORT_FIELD("meta", RDMAD_IMPORT_OBJECT, List, meta),
	{ .key = "cniVersion",
	  .type = RDMAD_IMPORT_LOST,
	  .lost = "rdmad-cni speaks every version" },
	{ .key = NULL },
};

static const RdmadImportField PLUGIN_FIELDS[] = {
	RDMAD_IMPORT_FIELD("type", RDMAD_IMPORT_TEXT, Plugin, type),
	RDMAD_IMPORT_FIELD("meta", RDMAD_IMPORT_OBJECT, Plugin, meta),
	{ .key = NULL },
};

static const RdmadImportField META_FIELDS[] = {
	RDMAD_IMPORT_FIELD("resourceName", RDMAD_IMPORT_TEXT, Meta, resource),
	RDMAD_IMPORT_FIELD("ipRangesSource", RDMAD_IMPORT_TEXT, Meta, ranges),
	{ .key = NULL },
};

static gboolean names_resource(const json_t *object)
{
	return rdmad_import_get(rdmad_import_get(object, "meta"), "resourceName") != NULL;
}

gboolean rdmad_import_is_cello(const json_t *config)
{
	const json_t *plugins = rdmad_import_get(config, "plugins"), *plugin;
	size_t i;

	json_array_foreach(plugins, i, plugin) if (names_resource(plugin)) return TRUE;
	return plugins && names_resource(config);
}

static gboolean add_resource(RdmadImport *import, const char *path, const json_t *object,
			     GError **error)
{
	Meta meta = { NULL };
	RdmadImportResource *resource;
	g_auto(GStrv) parts = NULL;

	if (!rdmad_import_read(import, path, object, META_FIELDS, &meta, error))
		return FALSE;
	parts = g_strsplit(meta.resource ?: "", "/", 2);
	if (g_strv_length(parts) != 2)
		return rdmad_import_error(import, error, path,
					  "resourceName is not of the form \"vendor/name\"");
	if (meta.ranges)
		rdmad_import_mind(
			import, path,
			"ipRangesSource: a NIC that goes into a pod has its own addresses; "
			"for others give netDeviceSubnet to rdmad-cni");
	resource = rdmad_import_resource_new(parts[0], parts[1], path);
	resource->mode_from = MODE_LABEL;
	resource->count = 1;
	resource->numa = TRUE;
	g_ptr_array_add(resource->groups, rdmad_import_group_new());
	return rdmad_import_add(import, resource, error);
}

static gboolean import_plugin(RdmadImport *import, guint index, const json_t *object,
			      GError **error)
{
	g_autofree char *path = g_strdup_printf("plugins[%u]", index);
	Plugin plugin = { NULL };

	if (!rdmad_import_read(import, path, object, PLUGIN_FIELDS, &plugin, error))
		return FALSE;
	if (!plugin.meta)
		return TRUE;
	rdmad_import_mind(
		import, path,
		"put the plugin rdmad-cni in its place, as contrib/cni/30-vke.conflist has "
		"it");
	return add_resource(import, path, plugin.meta, error);
}

gboolean rdmad_import_cello(RdmadImport *import, GError **error)
{
	List list = { NULL };

	if (!rdmad_import_read(import, "", import->source->config, LIST_FIELDS, &list, error))
		return FALSE;
	if (!list.name)
		return rdmad_import_error(import, error, "", "name is missing");
	g_free(import->cni_network);
	import->cni_network = g_strdup(list.name);
	if (list.meta && !add_resource(import, "meta", list.meta, error))
		return FALSE;
	for (gsize i = 0; i < json_array_size(list.plugins); i++)
		if (!import_plugin(import, (guint)i, json_array_get(list.plugins, i), error))
			return FALSE;
	return TRUE;
}
