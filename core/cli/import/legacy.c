/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The predecessor of both other plugins (Mellanox/k8s-rdma-sriov-dev-plugin, and cloud providers'
 * forks)
 *
 * {"mode": "hca"}: rdma/hca has 1000 slots, each for all devices of the node. {"mode": "sriov",
 * "pfNetdevices": [...]}: rdma/vhca has a slot for each virtual function; the plugin creates the
 * functions itself.
 */
#include <string.h>

#include "cli/import/field.h"

#define HCA_SLOTS 1000

typedef struct {
	const char *mode;
	GArray *group;
} Config;

static const RdmadImportField FIELDS[] = {
	RDMAD_IMPORT_FIELD("mode", RDMAD_IMPORT_TEXT, Config, mode),
	{ .key = "pfNetdevices",
	  .type = RDMAD_IMPORT_SELECTOR,
	  .offset = G_STRUCT_OFFSET(Config, group),
	  .ours = "pf_names",
	  .convert = rdmad_import_convert_pattern },
	{ .key = NULL },
};

static gboolean import_hca(RdmadImport *import, const Config *config, GError **error)
{
	RdmadImportResource *resource = rdmad_import_resource_new("rdma", "hca", "mode");

	if (config->group->len)
		rdmad_import_lose(import, "pfNetdevices",
				  "mode \"hca\" gives all devices and ignores it");
	resource->count = HCA_SLOTS;
	g_ptr_array_add(resource->groups, rdmad_import_group_new());
	return rdmad_import_add(import, resource, error);
}

static gboolean import_vhca(RdmadImport *import, const Config *config, GError **error)
{
	RdmadImportResource *resource;

	if (!config->group->len)
		return rdmad_import_error(import, error, "pfNetdevices",
					  "mode \"sriov\" needs the names of interfaces here");
	rdmad_import_mind(import, "pfNetdevices",
			  "the plugin made the virtual functions itself; make them by "
			  "sriov_numvfs before rdmad starts");
	resource = rdmad_import_resource_new("rdma", "vhca", "mode");
	resource->exclusive = TRUE;
	g_ptr_array_add(resource->groups, g_array_ref(config->group));
	return rdmad_import_add(import, resource, error);
}

gboolean rdmad_import_legacy(RdmadImport *import, GError **error)
{
	g_autoptr(GArray) group = rdmad_import_group_new();
	Config config = { .group = group };

	if (!rdmad_import_read(import, "", import->source->config, FIELDS, &config, error))
		return FALSE;
	if (g_str_equal(config.mode, "hca"))
		return import_hca(import, &config, error);
	if (g_str_equal(config.mode, "sriov"))
		return import_vhca(import, &config, error);
	return rdmad_import_error(import, error, "mode", "\"%s\" is neither \"hca\" nor \"sriov\"",
				  config.mode);
}
