/* SPDX-License-Identifier: Apache-2.0 */
/* Names and values of labels, reasons of Events, paths of pods */
#include <string.h>

#include "events.h"
#include "pods.h"
#include "publish.h"
#include "support/unit.h"

typedef struct {
	const char *name, *prefix, *labels, *owned, *wanted;
	const char *patch; /* NULL: nothing to do */
} PatchCase;

static const PatchCase patches[] = {
	{ "what is missing is added", "x.io/", "", NULL, "x.io/capable=true",
	  "{\"annotations\":{\"rdmad.io/labels\":\"x.io/capable\"},\"labels\":{\"x.io/"
	  "capable\":\"true\"}}" },
	{ "what is as it should be is left alone", "x.io/", "x.io/capable=true", "x.io/capable",
	  "x.io/capable=true", NULL },
	{ "another value is set", "x.io/", "x.io/rails=7", "x.io/rails", "x.io/rails=8",
	  "{\"labels\":{\"x.io/rails\":\"8\"}}" },
	{ "what is no longer true is removed", "x.io/", "x.io/mode.a=shared", "x.io/mode.a", "",
	  "{\"annotations\":{\"rdmad.io/labels\":null},\"labels\":{\"x.io/mode.a\":null}}" },
	{ "labels of before the annotation are taken over", "x.io/",
	  "x.io/capable=true x.io/mode.a=shared", NULL, "x.io/capable=true",
	  "{\"annotations\":{\"rdmad.io/labels\":\"x.io/capable\"},\"labels\":{\"x.io/"
	  "mode.a\":null}}" },
	{ "those of another prefix are removed", "x.io/", "y.io/capable=true y.io/rails=8",
	  "y.io/capable y.io/rails", "x.io/rails=8 x.io/capable=true",
	  "{\"annotations\":{\"rdmad.io/labels\":\"x.io/capable "
	  "x.io/rails\"},\"labels\":{\"x.io/capable\":\"true\","
	  "\"x.io/rails\":\"8\",\"y.io/capable\":null,\"y.io/rails\":null}}" },
	{ "without a prefix what is listed is removed", NULL, "y.io/capable=true x.io/rails=8",
	  "x.io/mode.gone y.io/capable", "",
	  "{\"annotations\":{\"rdmad.io/labels\":null},\"labels\":{\"y.io/capable\":null}}" },
	{ "without a prefix what is not listed stays", NULL, "x.io/capable=true", NULL, "", NULL },
	{ "others below the prefix stay", "x.io/", "x.io/mine=1", NULL, "", NULL },
	{ "others stay", "x.io/", "capable=1 y.io/capable=1 x.iox/capable=1", NULL, "", NULL },
	{ "the annotation lists no labels of others", NULL, "capable=1 y.io/zone=a",
	  " capable y.io/zone", "", "{\"annotations\":{\"rdmad.io/labels\":null}}" },
};

static GHashTable *map_of(const char *text)
{
	GHashTable *map = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	g_auto(GStrv) pairs = g_strsplit(text, " ", -1);

	for (char **pair = pairs; *pair; pair++) {
		g_auto(GStrv) parts = g_strsplit(*pair, "=", 2);

		g_hash_table_insert(map, g_strdup(parts[0]), g_strdup(parts[1]));
	}
	return map;
}

static void test_patch(gconstpointer data)
{
	const PatchCase *expected = data;
	g_autoptr(GHashTable) labels = map_of(expected->labels);
	g_autoptr(GHashTable) wanted = map_of(expected->wanted);
	json_t *patch = kube_publish_patch(expected->prefix, labels, expected->owned, wanted);
	char *text = patch ? json_dumps(json_object_get(patch, "metadata"),
					JSON_COMPACT | JSON_SORT_KEYS)
			   : NULL;

	g_assert_cmpstr(text, ==, expected->patch);
	free(text);
	json_decref(patch);
}

typedef struct {
	const char *name, *given, *expected;
} TextCase;

static const TextCase keys[] = {
	{ "a resource", "rdma/hca", "mode.rdma.hca" },
	{ "one with an underscore", "rdma/a_b", "mode.rdma.a_b" },
	{ "a long one", "very.long.example.com/rdma-shared-device-with-a-name-that-is-too.--long",
	  "mode.very.long.example.com.rdma-shared-device-with-a-name-that" },
};

static void test_key(gconstpointer data)
{
	const TextCase *expected = data;
	g_autofree char *key = kube_publish_mode_key(expected->given);

	g_assert_cmpstr(key, ==, expected->expected);
}

static const TextCase reasons[] = {
	{ "a kind", "port-flap", "RdmaPortFlap" },
	{ "one that is not an Event", "device-added", NULL },
	{ "one that does not exist", "", NULL },
};

static void test_reason(gconstpointer data)
{
	const TextCase *expected = data;
	g_autofree char *reason = kube_event_reason(expected->given);

	g_assert_cmpstr(reason, ==, expected->expected);
}

static void test_path(void)
{
	g_autofree char *path = kube_pod_path("ns", "web-0.a");
	static const char *const bad[] = { "", ".", "..", "a/b", "a?b", "A", "a b", "a%2f" };

	g_assert_cmpstr(path, ==, "/api/v1/namespaces/ns/pods/web-0.a");
	for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_assert_null(kube_pod_path("ns", bad[i]));
		g_assert_null(kube_pod_path(bad[i], "pod"));
	}
}

const UnitTest unit_tests[] = {
	UNIT_CASES("/kube-labels/patch/", patches, test_patch),
	UNIT_CASES("/kube-labels/mode/", keys, test_key),
	UNIT_CASES("/kube-labels/reason/", reasons, test_reason),
	UNIT_TEST("/kube-labels/names-of-pods-are-no-paths", test_path),
	{ NULL },
};
