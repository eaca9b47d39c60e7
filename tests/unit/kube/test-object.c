/* SPDX-License-Identifier: Apache-2.0 */
#include "object.h"

#include <rdmad/error.h>
#include <string.h>

#include "support/unit.h"

typedef struct {
	const char *name, *line;
	KubeEventType type;
	const char *version; /* NULL: none */
	const char *error;   /* a part of it; NULL: none */
} LineCase;

static const LineCase lines[] = {
	{ "an added object",
	  "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\"}}}",
	  KUBE_EVENT_CHANGED, "7", NULL },
	{ "a changed object",
	  "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"resourceVersion\":\"8\"}}}",
	  KUBE_EVENT_CHANGED, "8", NULL },
	{ "a deleted object",
	  "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"resourceVersion\":\"9\"}}}",
	  KUBE_EVENT_DELETED, "9", NULL },
	{ "a bookmark",
	  "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"10\"}}}",
	  KUBE_EVENT_BOOKMARK, "10", NULL },
	{ "an expired version",
	  "{\"type\":\"ERROR\",\"object\":{\"code\":410,\"message\":\"too old\"}}",
	  KUBE_EVENT_EXPIRED, NULL, "status 410: too old" },
	{ "another error", "{\"type\":\"ERROR\",\"object\":{\"code\":500,\"message\":\"a\\nb\"}}",
	  KUBE_EVENT_ERROR, NULL, "status 500: a b" },
	{ "an error without a code", "{\"type\":\"ERROR\",\"object\":{}}", KUBE_EVENT_ERROR, NULL,
	  "status 0" },
	{ "an error with a code that is none", "{\"type\":\"ERROR\",\"object\":{\"code\":-5}}",
	  KUBE_EVENT_ERROR, NULL, "status 0" },
	{ "no version", "{\"type\":\"ADDED\",\"object\":{\"metadata\":{}}}", KUBE_EVENT_ERROR, NULL,
	  "resourceVersion" },
	{ "an empty version",
	  "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"\"}}}",
	  KUBE_EVENT_ERROR, NULL, "resourceVersion" },
	{ "a version that is a number",
	  "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":7}}}",
	  KUBE_EVENT_ERROR, NULL, "resourceVersion" },
	{ "no type", "{\"object\":{}}", KUBE_EVENT_ERROR, NULL, "without type" },
	{ "an unknown type", "{\"type\":\"X\",\"object\":{}}", KUBE_EVENT_ERROR, NULL,
	  "without type" },
	{ "no object", "{\"type\":\"ADDED\"}", KUBE_EVENT_ERROR, NULL, "without type" },
	{ "an object that is a list", "{\"type\":\"ADDED\",\"object\":[]}", KUBE_EVENT_ERROR, NULL,
	  "without type" },
	{ "a list", "[]", KUBE_EVENT_ERROR, NULL, "not an object" },
	{ "nothing", "", KUBE_EVENT_ERROR, NULL, "byte" },
	{ "a part", "{\"type\":", KUBE_EVENT_ERROR, NULL, "byte" },
};

static void test_line(gconstpointer data)
{
	const LineCase *expected = data;
	g_autofree char *version = NULL;
	g_autoptr(GError) error = NULL;
	json_t *object;
	guint status;
	const KubeEventType type = kube_watch_line_parse(expected->line, strlen(expected->line),
							 &object, &version, &status, &error);

	g_assert_cmpint(type, ==, expected->type);
	g_assert_cmpstr(version, ==, expected->version);
	g_assert_cmpint(object != NULL, ==,
			type == KUBE_EVENT_CHANGED || type == KUBE_EVENT_DELETED);
	g_assert_cmpint(error != NULL, ==, expected->error != NULL);
	if (error)
		g_assert_nonnull(strstr(error->message, expected->error));
	json_decref(object);
}

typedef struct {
	const char *name;
	guint status;
	const char *body;
	RdmadError code;
	const char *message;
} StatusCase;

static const StatusCase statuses[] = {
	{ "401", 401, "{\"message\":\"Unauthorized\"}", RDMAD_ERROR_FAILED,
	  "status 401, the token is not accepted: Unauthorized" },
	{ "403", 403, "{\"message\":\"no\"}", RDMAD_ERROR_FAILED,
	  "status 403, not allowed: see RBAC in rdmad-kube(7): no" },
	{ "403 of a namespace that is being deleted", 403,
	  "{\"message\":\"no\",\"details\":{\"causes\":[{\"reason\":\"NamespaceTerminating\"}]}}",
	  RDMAD_ERROR_GONE, "status 403, the namespace is being deleted" },
	{ "403 of another cause", 403,
	  "{\"details\":{\"causes\":[7,{\"reason\":\"FieldValueInvalid\"}]}}", RDMAD_ERROR_FAILED,
	  "status 403, not allowed: see RBAC in rdmad-kube(7)" },
	{ "404", 404, "", RDMAD_ERROR_NOT_FOUND, "status 404" },
	{ "410", 410, "{}", RDMAD_ERROR_GONE, "status 410" },
	{ "429", 429, "<html>", RDMAD_ERROR_UNAVAILABLE, "status 429, too many requests" },
	{ "503", 503, "{\"message\":7}", RDMAD_ERROR_UNAVAILABLE, "status 503" },
	{ "a redirect", 307, "", RDMAD_ERROR_FAILED,
	  "status 307, a redirect, which is not followed" },
};

static void test_status(gconstpointer data)
{
	const StatusCase *expected = data;
	g_autoptr(GError) error = NULL;

	g_assert_false(kube_status_error(expected->status, expected->body, strlen(expected->body),
					 &error));
	g_assert_error(error, RDMAD_ERROR, (gint)expected->code);
	g_assert_cmpstr(error->message, ==, expected->message);
}

typedef struct {
	const char *name, *version, *than;
	gboolean is_newer;
} VersionCase;

static const VersionCase versions[] = {
	{ "a newer one", "1002", "1001", TRUE },
	{ "an older one", "1001", "1002", FALSE },
	{ "the same", "1001", "1001", FALSE },
	{ "one of more digits", "1000", "999", TRUE },
	{ "one of fewer digits", "999", "1000", FALSE },
	{ "one that no integer holds", "99999999999999999999999", "99999999999999999999998", TRUE },
	{ "none", NULL, "1", FALSE },
	{ "one against none", "1", NULL, FALSE },
	{ "a text", "b", "a", FALSE },
	{ "a number against a text", "2", "a", FALSE },
	{ "an empty one", "", "1", FALSE },
	{ "one of zeros", "01", "1", FALSE },
	{ "a sign", "+2", "1", FALSE },
};

static void test_version(gconstpointer data)
{
	const VersionCase *expected = data;

	g_assert_cmpint(kube_version_is_newer(expected->version, expected->than), ==,
			expected->is_newer);
}

static void test_map(void)
{
	static const char text[] = "{\"metadata\":{\"labels\":{\"a\":\"1\",\"b\":2,\"c\":null,"
				   "\"d\":\"\"}}}";
	json_t *object = kube_object_parse(text, strlen(text), NULL);
	g_autoptr(GHashTable) labels = kube_object_map(object, "labels");
	g_autoptr(GHashTable) annotations = kube_object_map(object, "annotations");

	g_assert_cmpuint(g_hash_table_size(labels), ==, 2);
	g_assert_cmpstr(g_hash_table_lookup(labels, "a"), ==, "1");
	g_assert_cmpstr(g_hash_table_lookup(labels, "d"), ==, "");
	g_assert_cmpuint(g_hash_table_size(annotations), ==, 0);
	json_decref(object);
}

const UnitTest unit_tests[] = {
	UNIT_CASES("/kube-object/line/", lines, test_line),
	UNIT_CASES("/kube-object/status/", statuses, test_status),
	UNIT_CASES("/kube-object/version/", versions, test_version),
	UNIT_TEST("/kube-object/only-texts-are-in-a-map", test_map),
	{ NULL },
};
