/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/error.h>
#include <string.h>

#include "base/yaml.h"
#include "cli/import/parts.h"
#include "cli/import/field.h"

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

/* The type of a text without quotes. */
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

/* The documents of a text, each as JSON; errors begin with "`place`:line:column". */
static GPtrArray *yaml_parse(const char *place, const char *text, gsize size, GError **error)
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

/*
 * Source of the configuration: the text itself, or ConfigMaps in it
 *
 * A ConfigMap may hold one configuration a key, for different nodes or with other files beside it; a
 * file may have several ConfigMaps, one for each plugin, and the manifests of everything else.
 * NVIDIA's network operator has the configurations in its own NicClusterPolicy, and the eRDMA controller has
 * the settings of its agent in the arguments of a DaemonSet.
 */

#define LIST_DEPTH_MAX 4u

typedef struct {
	const RdmadImportOptions *options;
	GPtrArray *sources;
	GString *keys;	 /* seen in ConfigMaps, for messages */
	guint n_daemons; /* sources that are no ConfigMap's */
} Finder;

static void source_free(gpointer data)
{
	RdmadImportSource *source = data;

	g_free(source->place);
	g_free(source->label);
	json_decref(source->config);
	g_free(source);
}

/* `name` NULL: the file itself. */
static void source_add(Finder *finder, const char *name, json_t *config)
{
	RdmadImportSource *source = g_new0(RdmadImportSource, 1);

	source->place = g_strconcat(finder->options->file, name ? ": " : NULL, name, NULL);
	source->label = name ? g_strconcat(name, ": ", NULL) : g_strdup("");
	source->config = json_incref(config);
	g_ptr_array_add(finder->sources, source);
}

static gboolean finder_refuse(const Finder *finder, GError **error, const char *why)
{
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "%s: %s", finder->options->file, why);
	return FALSE;
}

static json_t *json_parse(const char *place, const char *text, gsize size, GError **error)
{
	json_error_t where;
	json_t *value = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);

	if (!value)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "%s:%d:%d: %s", place,
			    where.line, MAX(where.column, 1), where.text);
	return value;
}

static gboolean is_config(const json_t *value)
{
	return rdmad_import_get(value, "configList") || rdmad_import_get(value, "resourceList") ||
	       rdmad_import_get(value, "mode") || rdmad_import_is_erdma(value) ||
	       rdmad_import_is_cello(value);
}

/* ---- ConfigMaps ---- */

static char first_character(const char *text, gsize size)
{
	for (gsize i = 0; i < size; i++)
		if (!g_ascii_isspace(text[i]))
			return text[i];
	return '\0';
}

/* One key of `data`; a file that is not a JSON object is skipped, unless it was requested. */
static gboolean find_in_value(Finder *finder, const char *map, const char *key, const json_t *value,
			      GError **error)
{
	const char *text = json_string_value(value) ?: "";
	const gsize size = strlen(text);
	g_autofree char *name = g_strconcat(map, "/", key, NULL);
	g_autofree char *place = g_strconcat(finder->options->file, ": ", name, NULL);
	json_auto_t *config = NULL;

	if (finder->options->key && !g_str_equal(finder->options->key, key))
		return TRUE;
	if (!finder->options->key && first_character(text, size) != '{')
		return TRUE;
	config = json_parse(place, text, size, error);
	if (!config)
		return FALSE;
	if (is_config(config) || finder->options->key)
		source_add(finder, name, config);
	return TRUE;
}

static gboolean only_one(const Finder *finder, guint before, const char *map, GError **error)
{
	if (finder->sources->len - before < 2)
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
		    "%s: ConfigMap %s has a configuration in each of several keys, choose with "
		    "--key:%s",
		    finder->options->file, map, finder->keys->str);
	return FALSE;
}

static gboolean find_in_map(Finder *finder, const json_t *object, GError **error)
{
	const json_t *data = json_object_get(object, "data");
	const char *map =
		json_string_value(json_object_get(json_object_get(object, "metadata"), "name"));
	const guint before = finder->sources->len;
	const char *key;
	json_t *value;

	map = map ?: "ConfigMap";
	json_object_foreach((json_t *)data, key, value)
	{
		g_string_append_printf(finder->keys, " %s", key);
		if (!find_in_value(finder, map, key, value, error))
			return FALSE;
	}
	return only_one(finder, before, map, error);
}

/* ---- NicClusterPolicy: spec.<plugin>.config ---- */

static gboolean find_in_policy(Finder *finder, const json_t *object, GError **error)
{
	static const char *const plugins[] = { "rdmaSharedDevicePlugin", "sriovDevicePlugin" };
	const json_t *spec = json_object_get(object, "spec");

	for (guint i = 0; i < G_N_ELEMENTS(plugins); i++) {
		const json_t *plugin = json_object_get(spec, plugins[i]);

		if (!find_in_value(finder, "NicClusterPolicy", plugins[i],
				   json_object_get(plugin, "config"), error))
			return FALSE;
	}
	return TRUE;
}

/* ---- DaemonSet of the eRDMA controller: the arguments of its agent ---- */

/* Returns the name of an argument with one or two dashes, or NULL. */
static const char *argument_name(const char *word)
{
	if (word[0] != '-')
		return NULL;
	return word + (word[1] == '-' ? 2 : 1);
}

/* `next` is the word after the argument. */
static void argument_read(const char *name, const char *next, json_t *agent)
{
	const char *equals = strchr(name, '=');
	g_autofree char *key = g_strndup(name, equals ? (gsize)(equals - name) : strlen(name));
	const char *value = equals ? equals + 1 : next;

	if (g_str_equal(key, "prefer-driver"))
		json_object_set_new(agent, "preferDriver", json_string(value ?: ""));
	if (g_str_equal(key, "allocate-all-devices"))
		json_object_set_new(agent, "allocateAllDevices",
				    json_boolean(!equals ||
						 g_ascii_strcasecmp(value, "true") == 0 ||
						 g_ascii_strcasecmp(value, "t") == 0 ||
						 g_str_equal(value, "1")));
}

static json_t *container_agent(const json_t *container)
{
	json_auto_t *words = json_array();
	json_t *agent = json_object();

	json_array_extend(words, json_object_get(container, "command"));
	json_array_extend(words, json_object_get(container, "args"));
	for (gsize i = 0; i < json_array_size(words); i++) {
		const char *word = json_string_value(json_array_get(words, i)) ?: "";
		const char *name = argument_name(word);

		if (name)
			argument_read(name, json_string_value(json_array_get(words, i + 1)), agent);
	}
	return agent;
}

/* Of the agents without arguments, which have the defaults, the controller's has this program. */
static gboolean is_agent(const json_t *object, const json_t *container, const json_t *agent)
{
	const json_t *metadata = json_object_get(object, "metadata");
	const char *name = json_string_value(json_object_get(metadata, "name")) ?: "";
	const json_t *command = json_object_get(container, "command");
	const char *program = json_string_value(json_array_get(command, 0)) ?: "";

	return json_object_size(agent) ||
	       (strstr(name, "erdma") && g_str_has_suffix(program, "/agent"));
}

/* Adds the source before the others, which are read with regard to the agent. */
static void daemon_add(Finder *finder, const json_t *object, json_t *agent)
{
	const json_t *metadata = json_object_get(object, "metadata");
	const char *name = json_string_value(json_object_get(metadata, "name"));
	g_autofree char *label = g_strconcat("DaemonSet", name ? "/" : NULL, name, NULL);
	json_auto_t *config = json_pack("{s:O}", "agent", agent);

	if (!json_object_get(agent, "preferDriver"))
		json_object_set_new(agent, "preferDriver", json_string(""));
	source_add(finder, label, config);
	g_ptr_array_insert(finder->sources, 0,
			   g_ptr_array_steal_index(finder->sources, finder->sources->len - 1));
	finder->n_daemons++;
}

static void find_in_daemon_set(Finder *finder, const json_t *object)
{
	const json_t *template = json_object_get(json_object_get(object, "spec"), "template");
	const json_t *containers = json_object_get(json_object_get(template, "spec"), "containers");

	for (gsize i = 0; i < json_array_size(containers); i++) {
		const json_t *container = json_array_get(containers, i);
		json_auto_t *agent = container_agent(container);

		if (is_agent(object, container, agent))
			daemon_add(finder, object, agent);
	}
}

/* ---- any document ---- */

static gboolean find_in_document(Finder *finder, json_t *document, guint depth, GError **error)
{
	const char *kind = json_string_value(json_object_get(document, "kind"));
	const json_t *items = json_object_get(document, "items");

	if (g_strcmp0(kind, "ConfigMap") == 0)
		return find_in_map(finder, document, error);
	if (g_strcmp0(kind, "NicClusterPolicy") == 0)
		return find_in_policy(finder, document, error);
	if (g_strcmp0(kind, "DaemonSet") == 0)
		find_in_daemon_set(finder, document);
	if (!kind && is_config(document))
		source_add(finder, NULL, document);
	if (!kind || !g_str_has_suffix(kind, "List") || depth == LIST_DEPTH_MAX)
		return TRUE;
	for (gsize i = 0; i < json_array_size(items); i++)
		if (!find_in_document(finder, json_array_get(items, i), depth + 1, error))
			return FALSE;
	return TRUE;
}

static gboolean find_in_text(Finder *finder, const char *text, gsize size, GError **error)
{
	g_autoptr(GPtrArray) documents = NULL;

	if (first_character(text, size) == '{') {
		json_auto_t *document = json_parse(finder->options->file, text, size, error);

		return document && find_in_document(finder, document, 0, error);
	}
	documents = yaml_parse(finder->options->file, text, size, error);
	for (guint i = 0; documents && i < documents->len; i++)
		if (!find_in_document(finder, documents->pdata[i], 0, error))
			return FALSE;
	return documents != NULL;
}

static gboolean found_some(const Finder *finder, GError **error)
{
	g_autofree char *why = NULL;

	if (finder->sources->len > (finder->options->key ? finder->n_daemons : 0))
		return TRUE;
	if (!finder->options->key)
		return finder_refuse(finder, error,
				     "neither configList, resourceList or mode, as device plugins "
				     "have them, nor a ConfigMap with one of them");
	why = g_strdup_printf("no ConfigMap with the key \"%s\"; there are:%s",
			      finder->options->key,
			      finder->keys->len ? finder->keys->str : " none");
	return finder_refuse(finder, error, why);
}

GPtrArray *rdmad_import_sources_find(const char *text, gsize size,
				     const RdmadImportOptions *options, GError **error)
{
	g_autoptr(GPtrArray) sources = g_ptr_array_new_with_free_func(source_free);
	g_autoptr(GString) keys = g_string_new(NULL);
	Finder finder = { options, sources, keys };

	if (size > RDMAD_IMPORT_MAX)
		return finder_refuse(&finder, error, "larger than 1 MiB, no ConfigMap is"), NULL;
	if (!find_in_text(&finder, text, size, error) || !found_some(&finder, error))
		return NULL;
	return g_steal_pointer(&sources);
}
