/* SPDX-License-Identifier: Apache-2.0 */
/* The subset of YAML that people write: one document, no aliases, unique strings as keys */
#include <rdmad/error.h>
#include <string.h>
#include <yaml.h>

#include "config/source.h"
#include "config/tree.h"

#define DEPTH_MAX 64u
#define NODES_MAX (1u << 18) /* two bytes of input can make a node of 100 bytes */

typedef struct {
	yaml_parser_t parser;
	yaml_event_t event; /* the current event */
	const char *file;
	guint n_nodes;
} Reader;

static gpointer reader_refuse_at(const Reader *reader, const yaml_mark_t *mark, const char *why,
				 GError **error)
{
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG, "%s:%zu:%zu: %s", reader->file,
		    mark->line + 1, mark->column + 1, why);
	return NULL;
}

static gpointer reader_refuse(const Reader *reader, const char *why, GError **error)
{
	return reader_refuse_at(reader, &reader->event.start_mark, why, error);
}

static gboolean reader_next(Reader *reader, GError **error)
{
	yaml_event_delete(&reader->event);
	if (yaml_parser_parse(&reader->parser, &reader->event))
		return TRUE;
	reader_refuse_at(reader, &reader->parser.problem_mark,
			 reader->parser.problem ?: "invalid YAML", error);
	return FALSE;
}

/* Returns the text of the current event. */
static char *reader_text(Reader *reader, GError **error)
{
	const char *text = (const char *)reader->event.data.scalar.value;

	if (strlen(text) != reader->event.data.scalar.length)
		return reader_refuse(reader, "a text with a NUL character", error);
	if (!g_utf8_validate(text, -1, NULL))
		return reader_refuse(reader, "a text that is not UTF-8", error);
	return g_strdup(text);
}

static char *reader_key(Reader *reader, GError **error)
{
	if (reader->event.type != YAML_SCALAR_EVENT)
		return reader_refuse(reader, "a key that is not a string", error);
	return reader_text(reader, error);
}

static RdmadConfigNode *reader_node(const Reader *reader, RdmadConfigKind kind, const char *key)
{
	RdmadConfigNode *node = rdmad_config_node_new(kind, key, reader->file,
						      (guint)reader->event.start_mark.line + 1);

	node->yaml = TRUE;
	return node;
}

static RdmadConfigNode *reader_value(Reader *reader, const char *key, guint depth, GError **error);

static RdmadConfigNode *reader_list(Reader *reader, const char *key, guint depth, GError **error)
{
	g_autoptr(RdmadConfigNode) list = reader_node(reader, RDMAD_CONFIG_KIND_LIST, key);

	while (reader_next(reader, error)) {
		RdmadConfigNode *entry;

		if (reader->event.type == YAML_SEQUENCE_END_EVENT)
			return g_steal_pointer(&list);
		entry = reader_value(reader, NULL, depth, error);
		if (!entry)
			return NULL;
		rdmad_config_node_add(list, entry);
	}
	return NULL;
}

static RdmadConfigNode *reader_group(Reader *reader, const char *key, guint depth, GError **error)
{
	g_autoptr(RdmadConfigNode) group = reader_node(reader, RDMAD_CONFIG_KIND_GROUP, key);
	g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);

	while (reader_next(reader, error)) {
		g_autofree char *name = NULL;
		RdmadConfigNode *value;

		if (reader->event.type == YAML_MAPPING_END_EVENT)
			return g_steal_pointer(&group);
		name = reader_key(reader, error);
		if (!name)
			return NULL;
		if (g_hash_table_contains(names, name))
			return reader_refuse(reader, "this key is here twice", error);
		if (!reader_next(reader, error))
			return NULL;
		value = reader_value(reader, name, depth, error);
		if (!value)
			return NULL;
		g_hash_table_add(names, value->name);
		rdmad_config_node_add(group, value);
	}
	return NULL;
}

/* Sets the kind of a text without quotes. */
static void node_set_plain(RdmadConfigNode *node)
{
	static const char *const yes[] = { "true", "yes", "on", NULL };
	static const char *const no[] = { "false", "no", "off", NULL };
	static const char *const nothing[] = { "", "~", "null", NULL };
	g_autofree char *lower = g_ascii_strdown(node->string, -1);

	if (g_strv_contains(nothing, node->string)) {
		node->kind = RDMAD_CONFIG_KIND_NOTHING;
	} else if (g_strv_contains(yes, lower) || g_strv_contains(no, lower)) {
		node->kind = RDMAD_CONFIG_KIND_BOOL;
		node->integer = g_strv_contains(yes, lower);
	} else if (g_ascii_string_to_signed(node->string, 10, G_MININT64, G_MAXINT64,
					    &node->integer, NULL)) {
		node->kind = RDMAD_CONFIG_KIND_INT;
	}
}

static RdmadConfigNode *reader_scalar(Reader *reader, const char *key, GError **error)
{
	char *text = reader_text(reader, error);
	RdmadConfigNode *node;

	if (!text)
		return NULL;
	node = reader_node(reader, RDMAD_CONFIG_KIND_STRING, key);
	node->string = text;
	if (reader->event.data.scalar.plain_implicit)
		node_set_plain(node);
	return node;
}

/* Reads the value that begins with the current event. */
static RdmadConfigNode *reader_value(Reader *reader, const char *key, guint depth, GError **error)
{
	if (depth == DEPTH_MAX)
		return reader_refuse(reader, "nested too deeply", error);
	if (reader->n_nodes++ == NODES_MAX)
		return reader_refuse(reader, "too many values", error);
	if (reader->event.type == YAML_SCALAR_EVENT)
		return reader_scalar(reader, key, error);
	if (reader->event.type == YAML_SEQUENCE_START_EVENT)
		return reader_list(reader, key, depth + 1, error);
	if (reader->event.type == YAML_MAPPING_START_EVENT)
		return reader_group(reader, key, depth + 1, error);
	return reader_refuse(reader, "aliases are not supported; write the value itself", error);
}

/* Returns FALSE with an error; `*root` stays NULL if there is no document. */
static gboolean reader_document(Reader *reader, RdmadConfigNode **root, GError **error)
{
	while (reader_next(reader, error)) {
		if (reader->event.type == YAML_STREAM_END_EVENT)
			return TRUE;
		if (reader->event.type != YAML_DOCUMENT_START_EVENT)
			continue;
		if (!reader_next(reader, error))
			return FALSE;
		if (*root) {
			rdmad_config_source_error(error, reader->file,
						  (guint)reader->event.start_mark.line + 1,
						  "a second document: there must be one");
			return FALSE;
		}
		*root = reader_value(reader, NULL, 0, error);
		if (!*root)
			return FALSE;
	}
	return FALSE;
}

RdmadConfigNode *rdmad_config_yaml_parse(const char *file, const char *text, gsize size,
					 GError **error)
{
	g_autoptr(RdmadConfigNode) root = NULL;
	Reader reader = { .file = file };
	gboolean good;

	if (!yaml_parser_initialize(&reader.parser))
		g_error("no memory for a YAML parser");
	yaml_parser_set_input_string(&reader.parser, (const guchar *)text, size);
	good = reader_document(&reader, &root, error);
	yaml_event_delete(&reader.event);
	yaml_parser_delete(&reader.parser);
	return good ? g_steal_pointer(&root) : NULL;
}
