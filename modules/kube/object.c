/* SPDX-License-Identifier: Apache-2.0 */
#include "object.h"

#include <rdmad/error.h>
#include <rdmad/json.h>
#include <string.h>

#define DEPTH_MAX    100u
#define VERSION_MAX  256u
#define MESSAGE_MAX  200u
#define MAP_MAX	     4096u
#define STATUS_BYTES 65536u /* maximum size of a response with an error that is parsed */

json_t *kube_object_parse(const char *body, gsize size, GError **error)
{
	json_t *object = rdmad_json_parse(body, size, DEPTH_MAX, error);

	if (!object || json_is_object(object))
		return object;
	json_decref(object);
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "not an object");
	return NULL;
}

const char *kube_object_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(json_object_get(object, "metadata"), key));
}

static gboolean version_is_number(const char *version)
{
	return version && *version >= '1' && *version <= '9' &&
	       strspn(version, "0123456789") == strlen(version);
}

gboolean kube_version_is_newer(const char *version, const char *than)
{
	gsize length;

	if (!version_is_number(version) || !version_is_number(than))
		return FALSE;
	length = strlen(version);
	return length != strlen(than) ? length > strlen(than) : strcmp(version, than) > 0;
}

GHashTable *kube_object_map(const json_t *object, const char *key)
{
	GHashTable *map = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	json_t *from = json_object_get(json_object_get(object, "metadata"), key);
	const char *name;
	json_t *value;

	json_object_foreach(from, name, value)
	{
		if (json_is_string(value) && g_hash_table_size(map) < MAP_MAX)
			g_hash_table_insert(map, g_strdup(name),
					    g_strdup(json_string_value(value)));
	}
	return map;
}

/* Converts text from outside to one short line for the log. */
static char *message_clean(const char *text)
{
	char *clean = g_utf8_make_valid(text, (gssize)strnlen(text, MESSAGE_MAX));

	for (char *c = clean; *c; c++)
		if (g_ascii_iscntrl(*c))
			*c = ' ';
	return clean;
}

static RdmadError status_code(guint status)
{
	if (status == 404)
		return RDMAD_ERROR_NOT_FOUND;
	if (status == 410)
		return RDMAD_ERROR_GONE;
	if (status == 408 || status == 429 || status >= 500)
		return RDMAD_ERROR_UNAVAILABLE;
	return RDMAD_ERROR_FAILED;
}

static const char *status_hint(guint status)
{
	if (status == 401)
		return "the token is not accepted";
	if (status == 403)
		return "not allowed: see RBAC in rdmad-kube(7)";
	if (status >= 300 && status < 400)
		return "a redirect, which is not followed";
	if (status == 429)
		return "too many requests";
	return NULL;
}

static gboolean status_set(guint status, const char *message, GError **error)
{
	const char *hint = status_hint(status);
	g_autofree char *clean = message && *message ? message_clean(message) : NULL;

	g_set_error(error, RDMAD_ERROR, status_code(status), "status %u%s%s%s%s", status,
		    hint ? ", " : "", hint ? hint : "", clean ? ": " : "", clean ? clean : "");
	return FALSE;
}

/* Such a namespace accepts no new object: its 403 is not one of RBAC. */
static gboolean namespace_terminates(const json_t *status)
{
	const json_t *causes = json_object_get(json_object_get(status, "details"), "causes");
	const json_t *cause;
	size_t i;

	json_array_foreach(causes, i, cause)
	{
		const char *reason = json_string_value(json_object_get(cause, "reason"));

		if (g_strcmp0(reason, "NamespaceTerminating") == 0)
			return TRUE;
	}
	return FALSE;
}

gboolean kube_status_error(guint status, const char *body, gsize size, GError **error)
{
	json_t *object = size <= STATUS_BYTES ? kube_object_parse(body, size, NULL) : NULL;
	const char *message = json_string_value(json_object_get(object, "message"));

	if (status == 403 && namespace_terminates(object))
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_GONE,
			    "status 403, the namespace is being deleted");
	else
		status_set(status, message, error);
	json_decref(object);
	return FALSE;
}

gboolean kube_status_is_of_object(guint status, const GError *error)
{
	return status == 404 || status == 409 || status == 410 || status == 422 ||
	       g_error_matches(error, RDMAD_ERROR, RDMAD_ERROR_GONE);
}

static KubeEventType error_event(const json_t *object, guint *status, GError **error)
{
	const json_int_t value = json_integer_value(json_object_get(object, "code"));
	const guint code = (guint)CLAMP(value, 0, 999);

	status_set(code, json_string_value(json_object_get(object, "message")), error);
	if (code)
		*status = code;
	return code == 410 ? KUBE_EVENT_EXPIRED : KUBE_EVENT_ERROR;
}

static int type_find(const char *type)
{
	static const struct {
		const char *name;
		KubeEventType type;
	} types[] = {
		{ "ADDED", KUBE_EVENT_CHANGED },   { "MODIFIED", KUBE_EVENT_CHANGED },
		{ "DELETED", KUBE_EVENT_DELETED }, { "BOOKMARK", KUBE_EVENT_BOOKMARK },
		{ "ERROR", KUBE_EVENT_ERROR },
	};

	for (guint i = 0; type && i < G_N_ELEMENTS(types); i++)
		if (g_str_equal(type, types[i].name))
			return (int)types[i].type;
	return -1;
}

static KubeEventType event_read(const json_t *event, json_t **object, char **version, guint *status,
				GError **error)
{
	json_t *about = json_object_get(event, "object");
	const int type = type_find(json_string_value(json_object_get(event, "type")));
	const char *text = kube_object_text(about, "resourceVersion");

	if (type < 0 || !json_is_object(about)) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
			    "a line without type and object");
		return KUBE_EVENT_ERROR;
	}
	if (type == KUBE_EVENT_ERROR)
		return error_event(about, status, error);
	if (!text || !*text || strlen(text) > VERSION_MAX) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "no resourceVersion");
		return KUBE_EVENT_ERROR;
	}
	*version = g_strdup(text);
	if (type != KUBE_EVENT_BOOKMARK)
		*object = json_incref(about);
	return (KubeEventType)type;
}

KubeEventType kube_watch_line_parse(const char *line, gsize length, json_t **object, char **version,
				    guint *status, GError **error)
{
	json_t *event = kube_object_parse(line, length, error);
	KubeEventType type = KUBE_EVENT_ERROR;

	*object = NULL;
	*version = NULL;
	*status = 200;
	if (event)
		type = event_read(event, object, version, status, error);
	json_decref(event);
	return type;
}
