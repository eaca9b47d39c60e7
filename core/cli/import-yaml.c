/* SPDX-License-Identifier: Apache-2.0 */
/* YAML as kubectl and people write it: no aliases, keys are texts. */
#include <rdmad/error.h>
#include <string.h>
#include <yaml.h>

#include "cli/import-private.h"

#define DEPTH_MAX     64u
#define DOCUMENTS_MAX 256u

typedef struct {
	yaml_parser_t parser;
	yaml_event_t event; /* the one that is read now */
	const char *place;
} Yaml;

static json_t *yaml_value(Yaml *yaml, guint depth, GError **error);

static void yaml_refuse(const Yaml *yaml, const yaml_mark_t *mark, const char *why, GError **error)
{
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "%s:%zu:%zu: %s", yaml->place,
		    mark->line + 1, mark->column + 1, why);
}

static json_t *yaml_refuse_event(const Yaml *yaml, const char *why, GError **error)
{
	yaml_refuse(yaml, &yaml->event.start_mark, why, error);
	return NULL;
}

static gboolean yaml_next(Yaml *yaml, GError **error)
{
	yaml_event_delete(&yaml->event);
	if (yaml_parser_parse(&yaml->parser, &yaml->event))
		return TRUE;
	yaml_refuse(yaml, &yaml->parser.problem_mark, yaml->parser.problem ?: "this is no YAML",
		    error);
	return FALSE;
}

/* What a text without quotes means. */
static json_t *plain_value(const char *text)
{
	gint64 number;

	if (!*text || g_str_equal(text, "~") || g_str_equal(text, "null"))
		return json_null();
	if (g_str_equal(text, "true") || g_str_equal(text, "false"))
		return json_boolean(text[0] == 't');
	if (g_ascii_string_to_signed(text, 10, G_MININT64, G_MAXINT64, &number, NULL))
		return json_integer(number);
	return json_string(text);
}

static json_t *yaml_scalar(Yaml *yaml, GError **error)
{
	const char *text = (const char *)yaml->event.data.scalar.value;
	json_t *value;

	if (strlen(text) != yaml->event.data.scalar.length)
		return yaml_refuse_event(yaml, "a text with a NUL character", error);
	if (yaml->event.data.scalar.plain_implicit)
		value = plain_value(text);
	else
		value = json_string(text);
	return value ?: yaml_refuse_event(yaml, "a text that is not UTF-8", error);
}

static json_t *yaml_list(Yaml *yaml, guint depth, GError **error)
{
	json_auto_t *list = json_array();

	while (yaml_next(yaml, error)) {
		json_t *entry;

		if (yaml->event.type == YAML_SEQUENCE_END_EVENT)
			return json_incref(list);
		entry = yaml_value(yaml, depth, error);
		if (!entry)
			return NULL;
		json_array_append_new(list, entry);
	}
	return NULL;
}

/* The key that is the current event, when it is good and new. */
static char *yaml_key(Yaml *yaml, const json_t *object, GError **error)
{
	const char *key = (const char *)yaml->event.data.scalar.value;

	if (yaml->event.type != YAML_SCALAR_EVENT || strlen(key) != yaml->event.data.scalar.length)
		return yaml_refuse_event(yaml, "a key that is no text", error), NULL;
	if (json_object_get(object, key))
		return yaml_refuse_event(yaml, "this key is here twice", error), NULL;
	return g_strdup(key);
}

static json_t *yaml_object(Yaml *yaml, guint depth, GError **error)
{
	json_auto_t *object = json_object();

	while (yaml_next(yaml, error)) {
		g_autofree char *key = NULL;
		json_t *value;

		if (yaml->event.type == YAML_MAPPING_END_EVENT)
			return json_incref(object);
		key = yaml_key(yaml, object, error);
		if (!key || !yaml_next(yaml, error))
			return NULL;
		value = yaml_value(yaml, depth, error);
		if (!value)
			return NULL;
		if (json_object_set_new(object, key, value) < 0)
			return yaml_refuse_event(yaml, "a key that is not UTF-8", error);
	}
	return NULL;
}

/* What begins with the current event. */
static json_t *yaml_value(Yaml *yaml, guint depth, GError **error)
{
	if (depth == DEPTH_MAX)
		return yaml_refuse_event(yaml, "nested too deeply", error);
	if (yaml->event.type == YAML_SCALAR_EVENT)
		return yaml_scalar(yaml, error);
	if (yaml->event.type == YAML_SEQUENCE_START_EVENT)
		return yaml_list(yaml, depth + 1, error);
	if (yaml->event.type == YAML_MAPPING_START_EVENT)
		return yaml_object(yaml, depth + 1, error);
	return yaml_refuse_event(yaml, "aliases are not taken; write the value itself", error);
}

static void value_free(gpointer value)
{
	json_decref(value);
}

/* The value of a document whose start is the current event, to the document's end. */
static gboolean yaml_document(Yaml *yaml, GPtrArray *documents, GError **error)
{
	json_t *value;

	if (documents->len == DOCUMENTS_MAX)
		return yaml_refuse_event(yaml, "too many documents", error) != NULL;
	if (!yaml_next(yaml, error))
		return FALSE;
	value = yaml_value(yaml, 0, error);
	if (!value)
		return FALSE;
	g_ptr_array_add(documents, value);
	return yaml_next(yaml, error);
}

static gboolean yaml_documents(Yaml *yaml, GPtrArray *documents, GError **error)
{
	while (yaml_next(yaml, error)) {
		if (yaml->event.type == YAML_STREAM_END_EVENT)
			return TRUE;
		if (yaml->event.type == YAML_DOCUMENT_START_EVENT &&
		    !yaml_document(yaml, documents, error))
			return FALSE;
	}
	return FALSE;
}

GPtrArray *rdmad_import_yaml_parse(const char *place, const char *text, gsize size, GError **error)
{
	g_autoptr(GPtrArray) documents = g_ptr_array_new_with_free_func(value_free);
	Yaml yaml = { .place = place };
	gboolean good;

	if (!yaml_parser_initialize(&yaml.parser))
		g_error("no memory for a YAML parser");
	yaml_parser_set_input_string(&yaml.parser, (const guchar *)text, size);
	good = yaml_documents(&yaml, documents, error);
	yaml_event_delete(&yaml.event);
	yaml_parser_delete(&yaml.parser);
	return good ? g_steal_pointer(&documents) : NULL;
}
