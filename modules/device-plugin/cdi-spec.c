/* SPDX-License-Identifier: Apache-2.0 */
#include "cdi-spec.h"

#include <rdmad/error.h>
#include <jansson.h>

#define ANY_USER 0666

const RdmadChardevKind rdmad_cdi_kinds[] = { RDMAD_CHARDEV_UVERBS, RDMAD_CHARDEV_UMAD,
					     RDMAD_CHARDEV_ISSM, RDMAD_CHARDEV_UCM,
					     RDMAD_CHARDEV_RDMA_CM };

static const char *kind_suffix(RdmadChardevKind kind)
{
	switch (kind) {
	case RDMAD_CHARDEV_UMAD:
		return ".umad";
	case RDMAD_CHARDEV_ISSM:
		return ".issm";
	case RDMAD_CHARDEV_UCM:
		return ".ucm";
	case RDMAD_CHARDEV_UVERBS:
	case RDMAD_CHARDEV_RDMA_CM:
		return "";
	}
	return "";
}

char *rdmad_cdi_name(const char *device_id, RdmadChardevKind kind)
{
	return g_strconcat(device_id, kind_suffix(kind), NULL);
}

/* ---- text ---- */

/* Numbers and type of the node are left to the runtime, which finds them when the container starts.
 * The kernel gives management nodes to root only; who is handed one shall be able to open it. */
static json_t *node_json(const RdmadChardev *node)
{
	json_t *json = json_pack("{s:s, s:s}", "path", node->path, "permissions", "rw");

	if (kind_suffix(node->kind)[0])
		json_object_set_new(json, "fileMode", json_integer(ANY_USER));
	return json;
}

static json_t *nodes_json(const RdmadDevice *dev, RdmadChardevKind kind)
{
	json_t *nodes = json_array();

	for (guint i = 0; i < dev->n_chardevs; i++)
		if (dev->chardevs[i].kind == kind)
			json_array_append_new(nodes, node_json(&dev->chardevs[i]));
	return nodes;
}

static json_t *entry_json(const RdmadCdiEntry *entry)
{
	g_autofree char *name = rdmad_cdi_name(entry->dev->id, entry->kind);

	return json_pack("{s:s, s:{s:o}}", "name", name, "containerEdits", "deviceNodes",
			 nodes_json(entry->dev, entry->kind));
}

/* For whichever of the names is used. */
static void add_common(json_t *spec, const GArray *entries)
{
	for (guint i = 0; i < entries->len; i++) {
		const RdmadDevice *dev = g_array_index(entries, RdmadCdiEntry, i).dev;

		if (!rdmad_device_chardev(dev, RDMAD_CHARDEV_RDMA_CM))
			continue;
		json_object_set_new(
			spec, "containerEdits",
			json_pack("{s:o}", "deviceNodes", nodes_json(dev, RDMAD_CHARDEV_RDMA_CM)));
		return;
	}
}

static const char *lowest_version(const GArray *entries)
{
	for (guint i = 0; i < entries->len; i++)
		if (g_ascii_isdigit(g_array_index(entries, RdmadCdiEntry, i).dev->id[0]))
			return "0.5.0";
	return "0.3.0";
}

char *rdmad_cdi_spec_text(const GArray *entries)
{
	json_t *devices = json_array(), *spec;
	char *dumped, *text;

	for (guint i = 0; i < entries->len; i++)
		json_array_append_new(devices,
				      entry_json(&g_array_index(entries, RdmadCdiEntry, i)));
	spec = json_pack("{s:s, s:s, s:o}", "cdiVersion", lowest_version(entries), "kind",
			 RDMAD_CDI_KIND, "devices", devices);
	add_common(spec, entries);
	dumped = json_dumps(spec, JSON_INDENT(1));
	text = entries->len ? g_strdup(dumped) : NULL;
	free(dumped);
	json_decref(spec);
	return text;
}

/* ---- names ---- */

static json_t *spec_load(const char *text, gsize size, GError **error)
{
	json_error_t problem;
	json_t *spec = json_loadb(text, size, 0, &problem);

	if (!spec)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "line %d: %s", problem.line,
			    problem.text);
	return spec;
}

static gboolean kind_check(const json_t *spec, GError **error)
{
	const char *kind = json_string_value(json_object_get(spec, "kind"));

	if (!kind)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "it has no kind");
	else if (!g_str_equal(kind, RDMAD_CDI_KIND))
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY,
			    "it is of kind \"%.64s\", not " RDMAD_CDI_KIND, kind);
	else
		return TRUE;
	return FALSE;
}

GHashTable *rdmad_cdi_spec_names(const char *text, gsize size, GError **error)
{
	json_t *spec = spec_load(text, size, error), *device;
	GHashTable *names = NULL;
	size_t i;

	if (spec && kind_check(spec, error)) {
		names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
		json_array_foreach(json_object_get(spec, "devices"), i, device)
		{
			const char *name = json_string_value(json_object_get(device, "name"));

			if (name)
				g_hash_table_add(names, g_strdup(name));
		}
	}
	json_decref(spec);
	return names;
}
