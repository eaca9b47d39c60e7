/* SPDX-License-Identifier: Apache-2.0 */
#include "base/yaml.h"

#include <rdmad/error.h>
#include <string.h>
#include <yaml.h>

#define DEPTH_MAX     64u
#define DOCUMENTS_MAX 256u
#define NODES_MAX     (1u << 18) /* two bytes of input can make a node of 100 bytes */

typedef struct {
	yaml_parser_t parser;
	yaml_event_t event; /* the current event */
	const char *place;
	guint n_nodes;
} Reader;

static void node_free(gpointer data)
{
	RdmadYaml *node = data;

	if (!node)
		return;
	g_free(node->key);
	g_free(node->text);
	g_clear_pointer(&node->children, g_ptr_array_unref);
	g_free(node);
}

static void node_clear(RdmadYaml **node)
{
	node_free(*node);
}

#define node_auto __attribute__((cleanup(node_clear)))

static gpointer reader_refuse_at(const Reader *reader, const yaml_mark_t *mark, const char *why,
				 GError **error)
{
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "%s:%zu:%zu: %s", reader->place,
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

static RdmadYaml *reader_node(Reader *reader, RdmadYamlType type)
{
	RdmadYaml *node = g_new0(RdmadYaml, 1);

	node->type = type;
	node->line = reader->event.start_mark.line + 1;
	node->column = reader->event.start_mark.column + 1;
	if (type != RDMAD_YAML_TEXT)
		node->children = g_ptr_array_new_with_free_func(node_free);
	return node;
}

static RdmadYaml *reader_value(Reader *reader, guint depth, GError **error);

static RdmadYaml *reader_list(Reader *reader, guint depth, GError **error)
{
	node_auto RdmadYaml *list = reader_node(reader, RDMAD_YAML_LIST);

	while (reader_next(reader, error)) {
		RdmadYaml *entry;

		if (reader->event.type == YAML_SEQUENCE_END_EVENT)
			return g_steal_pointer(&list);
		entry = reader_value(reader, depth, error);
		if (!entry)
			return NULL;
		g_ptr_array_add(list->children, entry);
	}
	return NULL;
}

static RdmadYaml *reader_map(Reader *reader, guint depth, GError **error)
{
	node_auto RdmadYaml *map = reader_node(reader, RDMAD_YAML_MAP);
	g_autoptr(GHashTable) keys = g_hash_table_new(g_str_hash, g_str_equal);

	while (reader_next(reader, error)) {
		g_autofree char *key = NULL;
		RdmadYaml *value;

		if (reader->event.type == YAML_MAPPING_END_EVENT)
			return g_steal_pointer(&map);
		key = reader_key(reader, error);
		if (!key)
			return NULL;
		if (g_hash_table_contains(keys, key))
			return reader_refuse(reader, "this key is here twice", error);
		if (!reader_next(reader, error))
			return NULL;
		value = reader_value(reader, depth, error);
		if (!value)
			return NULL;
		value->key = g_steal_pointer(&key);
		g_hash_table_add(keys, value->key);
		g_ptr_array_add(map->children, value);
	}
	return NULL;
}

static RdmadYaml *reader_scalar(Reader *reader, GError **error)
{
	char *text = reader_text(reader, error);
	RdmadYaml *node;

	if (!text)
		return NULL;
	node = reader_node(reader, RDMAD_YAML_TEXT);
	node->text = text;
	node->plain = reader->event.data.scalar.plain_implicit;
	return node;
}

/* Reads the value that begins with the current event. */
static RdmadYaml *reader_value(Reader *reader, guint depth, GError **error)
{
	if (depth == DEPTH_MAX)
		return reader_refuse(reader, "nested too deeply", error);
	if (reader->n_nodes++ == NODES_MAX)
		return reader_refuse(reader, "too many values", error);
	if (reader->event.type == YAML_SCALAR_EVENT)
		return reader_scalar(reader, error);
	if (reader->event.type == YAML_SEQUENCE_START_EVENT)
		return reader_list(reader, depth + 1, error);
	if (reader->event.type == YAML_MAPPING_START_EVENT)
		return reader_map(reader, depth + 1, error);
	return reader_refuse(reader, "aliases are not supported; write the value itself", error);
}

/* Reads a document, from the current event to its end. */
static gboolean reader_document(Reader *reader, GPtrArray *documents, GError **error)
{
	RdmadYaml *value;

	if (documents->len == DOCUMENTS_MAX)
		return reader_refuse(reader, "too many documents", error) != NULL;
	if (!reader_next(reader, error))
		return FALSE;
	value = reader_value(reader, 0, error);
	if (!value)
		return FALSE;
	g_ptr_array_add(documents, value);
	return reader_next(reader, error);
}

static gboolean reader_documents(Reader *reader, GPtrArray *documents, GError **error)
{
	while (reader_next(reader, error)) {
		if (reader->event.type == YAML_STREAM_END_EVENT)
			return TRUE;
		if (reader->event.type == YAML_DOCUMENT_START_EVENT &&
		    !reader_document(reader, documents, error))
			return FALSE;
	}
	return FALSE;
}

GPtrArray *rdmad_yaml_parse(const char *place, const char *text, gsize size, GError **error)
{
	g_autoptr(GPtrArray) documents = g_ptr_array_new_with_free_func(node_free);
	Reader reader = { .place = place };
	gboolean good;

	if (!yaml_parser_initialize(&reader.parser))
		g_error("no memory for a YAML parser");
	yaml_parser_set_input_string(&reader.parser, (const guchar *)text, size);
	good = reader_documents(&reader, documents, error);
	yaml_event_delete(&reader.event);
	yaml_parser_delete(&reader.parser);
	return good ? g_steal_pointer(&documents) : NULL;
}

gboolean rdmad_yaml_is_null(const RdmadYaml *node)
{
	return node->type == RDMAD_YAML_TEXT && node->plain &&
	       (!*node->text || g_str_equal(node->text, "~") || g_str_equal(node->text, "null"));
}
