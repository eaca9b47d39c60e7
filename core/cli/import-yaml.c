/* SPDX-License-Identifier: Apache-2.0 */
#include "base/yaml-tree.h"
#include "cli/import-private.h"

static json_t *value_json(const RdmadYaml *node);

static json_t *list_json(const RdmadYaml *node)
{
	json_t *list = json_array();

	for (guint i = 0; i < node->children->len; i++)
		json_array_append_new(list, value_json(g_ptr_array_index(node->children, i)));
	return list;
}

static json_t *map_json(const RdmadYaml *node)
{
	json_t *object = json_object();

	for (guint i = 0; i < node->children->len; i++) {
		const RdmadYaml *value = g_ptr_array_index(node->children, i);

		json_object_set_new(object, value->key, value_json(value));
	}
	return object;
}

/* What a text without quotes means. */
static json_t *plain_json(const char *text)
{
	gint64 number;

	if (g_str_equal(text, "true") || g_str_equal(text, "false"))
		return json_boolean(text[0] == 't');
	if (g_ascii_string_to_signed(text, 10, G_MININT64, G_MAXINT64, &number, NULL))
		return json_integer(number);
	return json_string(text);
}

static json_t *value_json(const RdmadYaml *node)
{
	if (node->type == RDMAD_YAML_LIST)
		return list_json(node);
	if (node->type == RDMAD_YAML_MAP)
		return map_json(node);
	if (rdmad_yaml_is_null(node))
		return json_null();
	return node->plain ? plain_json(node->text) : json_string(node->text);
}

static void value_free(gpointer value)
{
	json_decref(value);
}

GPtrArray *rdmad_import_yaml_parse(const char *place, const char *text, gsize size, GError **error)
{
	g_autoptr(GPtrArray) trees = rdmad_yaml_parse(place, text, size, error);
	GPtrArray *documents;

	if (!trees)
		return NULL;
	documents = g_ptr_array_new_with_free_func(value_free);
	for (guint i = 0; i < trees->len; i++)
		g_ptr_array_add(documents, value_json(g_ptr_array_index(trees, i)));
	return documents;
}
