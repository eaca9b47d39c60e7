/* SPDX-License-Identifier: Apache-2.0 */
/* Names and values of labels, reasons of Events, paths of pods */
#include <string.h>

#include "events.h"
#include "pods.h"
#include "publish.h"
#include "support/unit.h"

typedef struct {
	const char *name, *labels, *wanted, *difference; /* NULL: nothing to do */
} DifferenceCase;

static const DifferenceCase differences[] = {
	{ "what is missing is added", "", "capable=true", "{\"x.io/capable\":\"true\"}" },
	{ "what is as it should be is left alone", "x.io/capable=true", "capable=true", NULL },
	{ "another value is set", "x.io/rails=7", "rails=8", "{\"x.io/rails\":\"8\"}" },
	{ "what is no longer true is removed", "x.io/mode.a=shared", "", "{\"x.io/mode.a\":null}" },
	{ "others below the prefix stay", "x.io/mine=1", "", NULL },
	{ "others stay", "capable=1 y.io/capable=1 x.iox/capable=1", "", NULL },
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

static void test_difference(gconstpointer data)
{
	const DifferenceCase *expected = data;
	g_autoptr(GHashTable) labels = map_of(expected->labels);
	g_autoptr(GHashTable) wanted = map_of(expected->wanted);
	json_t *difference = kube_publish_difference("x.io/", labels, wanted);
	char *text = difference ? json_dumps(difference, JSON_COMPACT | JSON_SORT_KEYS) : NULL;

	g_assert_cmpstr(text, ==, expected->difference);
	free(text);
	json_decref(difference);
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
	UNIT_CASES("/kube-labels/difference/", differences, test_difference),
	UNIT_CASES("/kube-labels/mode/", keys, test_key),
	UNIT_CASES("/kube-labels/reason/", reasons, test_reason),
	UNIT_TEST("/kube-labels/names-of-pods-are-no-paths", test_path),
	{ NULL },
};
