/* SPDX-License-Identifier: Apache-2.0 */
#include "config/tree.h"

#include <rdmad/error.h>

#include "base/yaml.h"
#include "config/source.h"

static void node_set_scalar(RdmadConfigNode *node, const RdmadYaml *yaml)
{
	static const char *const yes[] = { "true", "yes", "on", NULL };
	static const char *const no[] = { "false", "no", "off", NULL };
	g_autofree char *lower = g_ascii_strdown(yaml->text, -1);

	node->string = g_strdup(yaml->text);
	if (!yaml->plain)
		return;
	if (rdmad_yaml_is_null(yaml)) {
		node->kind = RDMAD_CONFIG_KIND_NOTHING;
	} else if (g_strv_contains(yes, lower) || g_strv_contains(no, lower)) {
		node->kind = RDMAD_CONFIG_KIND_BOOL;
		node->integer = g_strv_contains(yes, lower);
	} else if (g_ascii_string_to_signed(yaml->text, 10, G_MININT64, G_MAXINT64, &node->integer,
					    NULL)) {
		node->kind = RDMAD_CONFIG_KIND_INT;
	}
}

/* rdmad_yaml_parse() limits the depth of the recursion. */
static RdmadConfigNode *node_from(const char *file, const RdmadYaml *yaml)
{
	static const RdmadConfigKind kinds[] = {
		[RDMAD_YAML_TEXT] = RDMAD_CONFIG_KIND_STRING,
		[RDMAD_YAML_LIST] = RDMAD_CONFIG_KIND_LIST,
		[RDMAD_YAML_MAP] = RDMAD_CONFIG_KIND_GROUP,
	};
	RdmadConfigNode *node =
		rdmad_config_node_new(kinds[yaml->type], yaml->key, file, yaml->line);

	node->yaml = TRUE;
	if (yaml->type == RDMAD_YAML_TEXT)
		node_set_scalar(node, yaml);
	for (guint i = 0; yaml->children && i < yaml->children->len; i++)
		rdmad_config_node_add(node, node_from(file, yaml->children->pdata[i]));
	return node;
}

RdmadConfigNode *rdmad_config_yaml_parse(const char *file, const char *text, gsize size,
					 GError **error)
{
	g_autoptr(GError) problem = NULL;
	g_autoptr(GPtrArray) documents = rdmad_yaml_parse(file, text, size, &problem);

	if (!documents) {
		g_set_error_literal(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG, problem->message);
		return NULL;
	}
	if (documents->len > 1) {
		const RdmadYaml *second = documents->pdata[1];

		rdmad_config_source_error(error, file, second->line,
					  "a second document: there must be one");
		return NULL;
	}
	return documents->len ? node_from(file, documents->pdata[0]) : NULL;
}
