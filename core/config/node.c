/* SPDX-License-Identifier: Apache-2.0 */
#include "config/node.h"

#include <rdmad/intern.h>
#include <stdarg.h>

#include "config/config-private.h"
#include "config/source.h"

static void node_unref(gpointer node)
{
	rdmad_config_node_free(node);
}

RdmadConfigNode *rdmad_config_node_new(RdmadConfigKind kind, const char *name, const char *file,
				       guint line)
{
	RdmadConfigNode *node = g_new0(RdmadConfigNode, 1);

	node->kind = kind;
	node->name = g_strdup(name);
	node->file = rdmad_intern(file);
	node->line = line;
	if (kind == RDMAD_CONFIG_KIND_GROUP || kind == RDMAD_CONFIG_KIND_LIST)
		node->children = g_ptr_array_new_with_free_func(node_unref);
	return node;
}

void rdmad_config_node_free(RdmadConfigNode *node)
{
	if (!node)
		return;
	g_clear_pointer(&node->children, g_ptr_array_unref);
	rdmad_intern_release(node->file);
	g_free(node->name);
	g_free(node->string);
	g_free(node);
}

void rdmad_config_node_add(RdmadConfigNode *parent, RdmadConfigNode *child)
{
	child->parent = parent;
	g_ptr_array_add(parent->children, child);
}

static guint node_position(const RdmadConfigNode *group, const char *key)
{
	guint i;

	for (i = 0; i < group->children->len; i++) {
		const RdmadConfigNode *child = g_ptr_array_index(group->children, i);

		if (g_strcmp0(child->name, key) == 0)
			break;
	}
	return i;
}

RdmadConfigNode *rdmad_config_node_find(const RdmadConfigNode *group, const char *key)
{
	const guint i = node_position(group, key);

	return i < group->children->len ? g_ptr_array_index(group->children, i) : NULL;
}

void rdmad_config_node_remove(RdmadConfigNode *group, const char *key)
{
	const guint i = node_position(group, key);

	if (i < group->children->len)
		g_ptr_array_remove_index(group->children, i);
}

static void node_replace(RdmadConfigNode *group, RdmadConfigNode *child)
{
	const guint i = node_position(group, child->name);

	if (i == group->children->len) {
		rdmad_config_node_add(group, child);
		return;
	}
	rdmad_config_node_free(g_ptr_array_index(group->children, i));
	g_ptr_array_index(group->children, i) = child;
	child->parent = group;
}

void rdmad_config_node_merge(RdmadConfigNode *into, RdmadConfigNode *from)
{
	while (from->children->len > 0) {
		RdmadConfigNode *child = g_ptr_array_steal_index(from->children, 0);
		RdmadConfigNode *old = rdmad_config_node_find(into, child->name);

		if (old && old->kind == RDMAD_CONFIG_KIND_GROUP &&
		    child->kind == RDMAD_CONFIG_KIND_GROUP)
			rdmad_config_node_merge(old, child);
		else
			node_replace(into, child);
	}
	rdmad_config_node_free(from);
}

/* Escapes and truncates YAML keys, which may contain any character, for messages of one line. */
static char *name_printable(const RdmadConfigNode *node)
{
	g_autofree char *start = NULL;

	if (!node->yaml)
		return g_strdup(node->name);
	start = g_utf8_substring(node->name, 0, MIN(g_utf8_strlen(node->name, -1), 64));
	return g_strescape(start, NULL);
}

char *rdmad_config_node_path(const RdmadConfigNode *node)
{
	g_autofree char *above = NULL, *name = NULL;
	guint index;

	if (!node->parent)
		return g_strdup("");
	above = rdmad_config_node_path(node->parent);
	if (node->name) {
		name = name_printable(node);
		return g_strconcat(above, *above ? "." : "", name, NULL);
	}
	if (!g_ptr_array_find(node->parent->children, node, &index))
		g_assert_not_reached();
	return g_strdup_printf("%s[%u]", above, index);
}

char *rdmad_config_node_describe(const RdmadConfigNode *node)
{
	switch (node->kind) {
	case RDMAD_CONFIG_KIND_BOOL:
		return g_strdup(node->integer ? "true" : "false");
	case RDMAD_CONFIG_KIND_INT:
		return node->yaml ? g_strdup("an integer")
				  : g_strdup_printf("the integer %" G_GINT64_FORMAT, node->integer);
	case RDMAD_CONFIG_KIND_FLOAT:
		return g_strdup_printf("the fraction %g", node->real);
	case RDMAD_CONFIG_KIND_STRING:
		return node->yaml ? g_strdup("a text")
				  : g_strdup_printf("the string \"%.*s\"", 80, node->string);
	case RDMAD_CONFIG_KIND_GROUP:
		return g_strdup(node->yaml ? "keys and values" : "a group");
	case RDMAD_CONFIG_KIND_LIST:
		return g_strdup("a list");
	case RDMAD_CONFIG_KIND_NOTHING:
		return g_strdup("nothing");
	}
	g_assert_not_reached();
}

static gboolean is_group(const RdmadConfigNode *node)
{
	return node && node->kind == RDMAD_CONFIG_KIND_GROUP;
}

guint rdmad_config_length(const RdmadConfigNode *list)
{
	if (is_group(list))
		return 1;
	return list && list->kind == RDMAD_CONFIG_KIND_LIST ? list->children->len : 0;
}

const RdmadConfigNode *rdmad_config_entry(const RdmadConfigNode *list, guint index)
{
	if (index >= rdmad_config_length(list))
		return NULL;
	return is_group(list) ? list : g_ptr_array_index(list->children, index);
}

const RdmadConfigNode *rdmad_config_child(const RdmadConfigNode *node, const char *key)
{
	const RdmadConfigNode *child;

	if (!node || node->kind != RDMAD_CONFIG_KIND_GROUP)
		return NULL;
	child = rdmad_config_node_find(node, key);
	return child && child->kind == RDMAD_CONFIG_KIND_GROUP ? child : NULL;
}

char **rdmad_config_keys(const RdmadConfigNode *group)
{
	GPtrArray *keys = g_ptr_array_new();

	for (guint i = 0;
	     group && group->kind == RDMAD_CONFIG_KIND_GROUP && i < group->children->len; i++) {
		const RdmadConfigNode *child = g_ptr_array_index(group->children, i);

		g_ptr_array_add(keys, g_strdup(child->name));
	}
	g_ptr_array_add(keys, NULL);
	return (char **)g_ptr_array_free(keys, FALSE);
}

gboolean rdmad_config_error(const RdmadConfigNode *node, const char *key, GError **error,
			    const char *format, ...)
{
	g_autofree char *what = NULL, *above = NULL, *path = NULL;
	const RdmadConfigNode *at = node;
	va_list args;

	va_start(args, format);
	what = g_strdup_vprintf(format, args);
	va_end(args);
	if (node && key && node->kind == RDMAD_CONFIG_KIND_GROUP)
		at = rdmad_config_node_find(node, key) ?: node;
	if (at != node)
		key = NULL;
	above = at ? rdmad_config_node_path(at) : g_strdup("");
	path = g_strconcat(above, *above && key ? "." : "", key, NULL);
	return rdmad_config_source_error(error, at ? at->file : "configuration", at ? at->line : 0,
					 "%s%s%s", path, *path ? ": " : "", what);
}
