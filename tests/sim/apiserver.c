/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver.h"

#include <jansson.h>
#include <string.h>

#include "fetcher.h"
#include "pods.h"

#define NODES  "/api/v1/nodes"
#define NODE   NODES "/" APISERVER_NODE
#define PODS   "/pods/"
#define EVENTS "/events"

typedef enum {
	FAIL_NOT,
	FAIL_REFUSED,
	FAIL_LOST,
	FAIL_ANSWER_LOST,
	FAIL_BUSY,
	FAIL_BROKEN,
	N_FAILS
} Fail;

static struct {
	Decisions *decisions;
	gboolean fails;
	GHashTable *labels, *annotations;
	GHashTable *events; /* names */
	GPtrArray *history; /* lines of a watch; the index is the version, of which 0 is none */
	guint64 oldest;	    /* that a watch may begin after */
	guint made;	    /* of Events */
} api;

/* ---- the Node ---- */

/* The version of an object is the number of its change. */
static char *version_text(void)
{
	return g_strdup_printf("%u", api.history->len - 1);
}

static json_t *map_object(GHashTable *map)
{
	json_t *object = json_object();
	GHashTableIter iter;
	gpointer name, value;

	g_hash_table_iter_init(&iter, map);
	while (g_hash_table_iter_next(&iter, &name, &value))
		json_object_set_new(object, name, json_string(value));
	return object;
}

static json_t *node_object(void)
{
	g_autofree char *version = version_text();

	return json_pack("{s:{s:s, s:s, s:o, s:o}}", "metadata", "name", APISERVER_NODE,
			 "resourceVersion", version, "labels", map_object(api.labels),
			 "annotations", map_object(api.annotations));
}

/* Takes the reference to `value` over. */
static char *text_take(json_t *value)
{
	char *text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);
	char *copy = g_strdup(text);

	free(text);
	json_decref(value);
	return copy;
}

static char *line_of(const char *type, json_t *object)
{
	g_autofree char *text = text_take(json_pack("{s:s, s:o}", "type", type, "object", object));

	return g_strconcat(text, "\n", NULL);
}

static void node_changed(const char *type)
{
	g_ptr_array_add(api.history, NULL);
	api.history->pdata[api.history->len - 1] = line_of(type, node_object());
	fetcher_notify();
}

static void map_set(GHashTable *map, const char *name, const char *value)
{
	if (value)
		g_hash_table_replace(map, g_strdup(name), g_strdup(value));
	else
		g_hash_table_remove(map, name);
}

/* RFC 7396. */
static void map_merge(GHashTable *map, const json_t *patch)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)patch, name, value)
		map_set(map, name, json_string_value(value));
}

static void node_merge(const json_t *patch)
{
	const json_t *metadata = json_object_get(patch, "metadata");

	map_merge(api.labels, json_object_get(metadata, "labels"));
	map_merge(api.annotations, json_object_get(metadata, "annotations"));
	node_changed("MODIFIED");
}

GHashTable *apiserver_labels(void)
{
	return api.labels;
}

void apiserver_change(void)
{
	static const struct {
		const char *name, *value;
	} changes[] = {
		{ "zone", "a" },
		{ "zone", "b" },
		{ "zone", NULL },
		{ "rdmad.io/rails", NULL },
		{ "rdmad.io/rails", "77" },
		{ "rdmad.io/mode.rdma.gone", "shared" },
	};
	const guint which = decide(api.decisions, DECIDE_CLOUD, G_N_ELEMENTS(changes) + 1);

	if (which < G_N_ELEMENTS(changes)) {
		map_set(api.labels, changes[which].name, changes[which].value);
		node_changed("MODIFIED");
		return;
	}
	node_changed("DELETED");
	g_hash_table_remove_all(api.labels);
	g_hash_table_remove_all(api.annotations);
	node_changed("ADDED");
}

/* ---- requests ---- */

static void respond(ApiResponse *response, guint status, json_t *object)
{
	response->status = status;
	response->body = text_take(object);
}

static void refuse(ApiResponse *response, guint status)
{
	respond(response, status,
		json_pack("{s:s, s:i, s:s}", "kind", "Status", "code", (int)status, "message",
			  "no"));
}

static void node_list(ApiResponse *response)
{
	g_autofree char *version = version_text();

	respond(response, 200,
		json_pack("{s:{s:s}, s:[o]}", "metadata", "resourceVersion", version, "items",
			  node_object()));
}

static void node_watch(const char *url, ApiResponse *response)
{
	const char *version = strstr(url, "&resourceVersion=");
	const char *seconds = strstr(url, "&timeoutSeconds=");

	response->status = 200;
	response->version = g_ascii_strtoull(strchr(version, '=') + 1, NULL, 10);
	response->watch_s = (guint)g_ascii_strtoull(strchr(seconds, '=') + 1, NULL, 10);
}

char *apiserver_lines(ApiResponse *watch)
{
	GString *lines = NULL;

	if (watch->version < api.oldest) {
		watch->version = api.history->len - 1;
		return line_of("ERROR", json_pack("{s:s, s:i, s:s}", "kind", "Status", "code", 410,
						  "message", "too old resource version"));
	}
	while (watch->version + 1 < api.history->len) {
		lines = lines ?: g_string_new(NULL);
		g_string_append(lines, api.history->pdata[++watch->version]);
	}
	return lines ? g_string_free(lines, FALSE) : NULL;
}

char *apiserver_bookmark(void)
{
	g_autofree char *version = version_text();

	return line_of("BOOKMARK", json_pack("{s:{s:s}}", "metadata", "resourceVersion", version));
}

static void pod_get(const char *name, ApiResponse *response)
{
	const GPtrArray *pods = pods_all();

	for (guint i = 0; i < pods->len; i++) {
		const Pod *pod = pods->pdata[i];

		if (pod->state == POD_FORCED || !g_str_equal(pod->name, name))
			continue;
		respond(response, 200,
			json_pack("{s:{s:s, s:s, s:s}}", "metadata", "name", pod->name, "namespace",
				  "ns", "uid", pod->uid));
		return;
	}
	refuse(response, 404);
}

static void event_put(const char *name, ApiResponse *response)
{
	g_autofree char *made = NULL;

	if (name && !g_hash_table_contains(api.events, name)) {
		refuse(response, 404);
		return;
	}
	if (!name) {
		made = g_strdup_printf("event-%u", ++api.made);
		g_hash_table_add(api.events, g_strdup(made));
	}
	respond(response, name ? 200 : 201,
		json_pack("{s:{s:s}}", "metadata", "name", name ?: made));
}

static void ask(const RdmadFetchSpec *spec, ApiResponse *response)
{
	const char *path = spec->url + strlen(APISERVER_URL), *at;
	json_t *body = spec->body ? json_loadb(spec->body, spec->body_size, 0, NULL) : NULL;

	if (g_str_has_prefix(path, NODE "?") && body) {
		node_merge(body);
		respond(response, 200, node_object());
	} else if (g_str_has_prefix(path, NODES "?")) {
		if (strstr(path, "&watch=1"))
			node_watch(path, response);
		else
			node_list(response);
	} else if ((at = strstr(path, PODS))) {
		pod_get(at + strlen(PODS), response);
	} else if ((at = strstr(path, EVENTS))) {
		at += strlen(EVENTS);
		event_put(*at ? at + 1 : NULL, response);
	} else {
		refuse(response, 404);
	}
	json_decref(body);
}

void apiserver_ask(const RdmadFetchSpec *spec, ApiResponse *response)
{
	const Fail how = api.fails ? (Fail)decide(api.decisions, DECIDE_CLOUD, N_FAILS) : FAIL_NOT;

	switch (how) {
	case FAIL_REFUSED:
		return;
	case FAIL_LOST:
		response->is_lost = TRUE;
		return;
	case FAIL_BUSY:
		response->retry_after_s = 3;
		refuse(response, 429);
		return;
	case FAIL_BROKEN:
		response->status = 200;
		response->body = g_strdup("<html>");
		return;
	case FAIL_NOT:
	case FAIL_ANSWER_LOST:
	case N_FAILS:
		break;
	}
	ask(spec, response);
	response->is_lost = how == FAIL_ANSWER_LOST;
}

void apiserver_set_failing(gboolean fails)
{
	api.fails = fails;
	if (!fails)
		return;
	api.oldest = api.history->len - 1;
	fetcher_break();
}

/* ---- life cycle ---- */

void apiserver_begin(Decisions *decisions)
{
	api.decisions = decisions;
	api.fails = FALSE;
	api.labels = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	api.annotations = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	api.events = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	api.history = g_ptr_array_new_with_free_func(g_free);
	api.oldest = api.made = 0;
	g_ptr_array_add(api.history, g_strdup(""));
	node_changed("ADDED");
}

void apiserver_end(void)
{
	g_hash_table_unref(api.labels);
	g_hash_table_unref(api.annotations);
	g_hash_table_unref(api.events);
	g_ptr_array_unref(api.history);
}
