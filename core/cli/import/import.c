/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/import/import.h"

#include <rdmad/error.h>
#include <string.h>

#include "cli/import/field.h"

static gboolean import_source(RdmadImport *import, GError **error)
{
	const json_t *config = import->source->config;

	if (rdmad_import_get(config, "configList"))
		return rdmad_import_shared(import, error);
	if (rdmad_import_get(config, "resourceList"))
		return rdmad_import_sriov(import, error);
	if (rdmad_import_get(config, "mode"))
		return rdmad_import_legacy(import, error);
	if (rdmad_import_is_erdma(config))
		return rdmad_import_erdma(import, error);
	if (rdmad_import_is_cello(config))
		return rdmad_import_cello(import, error);
	return rdmad_import_error(import, error, "",
				  "neither configList, resourceList or mode, as device plugins "
				  "have them");
}

static gboolean import_sources(RdmadImport *import, const GPtrArray *sources, GError **error)
{
	for (guint i = 0; i < sources->len; i++) {
		import->source = sources->pdata[i];
		if (!import_source(import, error))
			return FALSE;
	}
	if (import->resources->len)
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
		    "%s: no resource in it that rdmad could offer", import->options->file);
	return FALSE;
}

char *rdmad_import_convert(const char *text, gsize size, const RdmadImportOptions *options,
			   GPtrArray *notes, GError **error)
{
	g_autofree char *config = NULL;
	g_autoptr(GPtrArray) sources = rdmad_import_sources_find(text, size, options, error);
	g_autoptr(GPtrArray) resources =
		g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_import_resource_free);
	RdmadImport import = { .options = options, .resources = resources, .notes = notes };

	if (sources && import_sources(&import, sources, error))
		config = rdmad_import_write(&import);
	g_free(import.erdma_driver);
	g_free(import.cni_network);
	if (!config)
		return NULL;
	if (strlen(config) > RDMAD_IMPORT_MAX) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
			    "%s: more than one rdmad.conf may hold, 1 MiB", options->file);
		return NULL;
	}
	return g_steal_pointer(&config);
}
