/* SPDX-License-Identifier: Apache-2.0 */
#include "pod-names.h"

#include <glib/gstdio.h>

#include "../support/descriptors.h"
#include "../support/unit.h"

#define UID    "0f3c2ab1-1d9c-4bfb-9c3c-5d1f0a3c77aa"
#define STATIC "0123456789abcdef0123456789abcdef"

typedef struct {
	char *directory;
} Fixture;

static void set_up(Fixture *fixture, gconstpointer data)
{
	fixture->directory = g_dir_make_tmp("rdmad-XXXXXX", NULL);
}

static void directory_add(const Fixture *fixture, const char *name)
{
	g_autofree char *path = g_build_filename(fixture->directory, name, NULL);

	g_assert_cmpint(g_mkdir(path, 0700), ==, 0);
}

static void tear_down(Fixture *fixture, gconstpointer data)
{
	g_autoptr(GDir) dir = g_dir_open(fixture->directory, 0, NULL);
	const char *name;

	while ((name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(fixture->directory, name, NULL);

		g_rmdir(path);
	}
	g_rmdir(fixture->directory);
	g_free(fixture->directory);
}

static void assert_pod(const PodNames *names, const char *uid, const char *namespace,
		       const char *name)
{
	const PodName *pod = pod_names_lookup(names, uid);

	g_assert_nonnull(pod);
	g_assert_cmpstr(pod->namespace, ==, namespace);
	g_assert_cmpstr(pod->name, ==, name);
}

static void test_a_uid_has_a_pod(Fixture *fixture, gconstpointer data)
{
	g_autoptr(PodNames) names = NULL;

	directory_add(fixture, "team-a_train-0.x_" UID);
	directory_add(fixture, "kube-system_etcd-node1_" STATIC);
	names = pod_names_follow(NULL, fixture->directory, UID, 0);
	assert_pod(names, UID, "team-a", "train-0.x");
	assert_pod(names, STATIC, "kube-system", "etcd-node1");
	g_assert_null(pod_names_lookup(names, "other"));
	g_assert_null(pod_names_lookup(NULL, UID));
}

static void test_names_that_are_none_are_left_out(Fixture *fixture, gconstpointer data)
{
	static const char *const bad[] = { "x",	      "_" UID,	  "a_b",	"a_b_c_" UID,
					   "a__" UID, "A_b_" UID, "a_b\n_" UID, "a_\"b\"_" UID,
					   "a_b_x y", "a_b_" };
	g_autoptr(PodNames) names = NULL;

	for (guint i = 0; i < G_N_ELEMENTS(bad); i++)
		directory_add(fixture, bad[i]);
	names = pod_names_follow(NULL, fixture->directory, UID, 0);
	g_assert_null(pod_names_lookup(names, UID));
	g_assert_null(pod_names_lookup(names, ""));
	g_assert_null(pod_names_lookup(names, "x y"));
}

static void test_a_known_uid_reads_nothing(Fixture *fixture, gconstpointer data)
{
	g_autoptr(PodNames) first = NULL, second = NULL;

	directory_add(fixture, "a_b_" UID);
	first = pod_names_follow(NULL, fixture->directory, UID, 0);
	second = pod_names_follow(first, fixture->directory, UID,
				  G_GINT64_CONSTANT(3600) * G_USEC_PER_SEC);
	g_assert_true(first == second);
}

static void test_a_lack_of_descriptors_tells_nothing(Fixture *fixture, gconstpointer data)
{
	g_autoptr(PodNames) first = NULL, second = NULL, third = NULL;
	rlim_t before;

	directory_add(fixture, "a_b_" UID);
	directory_add(fixture, "c_d_" STATIC);
	first = pod_names_follow(NULL, fixture->directory, "other", 0);
	before = limit_descriptors(0);
	second = pod_names_follow(first, fixture->directory, "another", 1);
	limit_descriptors(before);
	g_assert_true(second == first);
	third = pod_names_follow(NULL, fixture->directory, STATIC, 2);
	assert_pod(third, STATIC, "c", "d");
}

static void test_a_new_pod_is_found_at_once(Fixture *fixture, gconstpointer data)
{
	g_autoptr(PodNames) first = NULL, second = NULL;

	directory_add(fixture, "a_b_" UID);
	first = pod_names_follow(NULL, fixture->directory, UID, 0);
	directory_add(fixture, "c_d_" STATIC);
	second = pod_names_follow(first, fixture->directory, STATIC, 1);
	assert_pod(second, STATIC, "c", "d");
	g_assert_true(pod_names_newer(first, second) == second);
	g_assert_true(pod_names_newer(second, first) == second);
	g_assert_true(pod_names_newer(NULL, first) == first);
}

static void test_what_was_not_found_is_looked_for_again_later(Fixture *fixture, gconstpointer data)
{
	g_autoptr(PodNames) first = NULL, soon = NULL, other = NULL, still = NULL, later = NULL;

	first = pod_names_follow(NULL, fixture->directory, UID, 0);
	soon = pod_names_follow(first, fixture->directory, UID, G_USEC_PER_SEC);
	g_assert_true(soon == first);
	/* Another UID in between does not cause the first one to be searched again. */
	other = pod_names_follow(soon, fixture->directory, STATIC, 2 * G_USEC_PER_SEC);
	still = pod_names_follow(other, fixture->directory, UID, 3 * G_USEC_PER_SEC);
	g_assert_true(still == other);
	directory_add(fixture, "a_b_" UID);
	later = pod_names_follow(still, fixture->directory, UID, 20 * G_USEC_PER_SEC);
	assert_pod(later, UID, "a", "b");
}

static void test_a_directory_that_cannot_be_read_is_empty(Fixture *fixture, gconstpointer data)
{
	g_autoptr(PodNames) names = pod_names_follow(NULL, "/nonexistent/pods", UID, 0);

	g_assert_null(pod_names_lookup(names, UID));
}

const UnitTest unit_tests[] = {
	UNIT_FIXTURE_TEST("/metrics/pod-names/a uid has a pod", Fixture, NULL, set_up,
			  test_a_uid_has_a_pod, tear_down),
	UNIT_FIXTURE_TEST("/metrics/pod-names/names that are none are left out", Fixture, NULL,
			  set_up, test_names_that_are_none_are_left_out, tear_down),
	UNIT_FIXTURE_TEST("/metrics/pod-names/a known uid reads nothing", Fixture, NULL, set_up,
			  test_a_known_uid_reads_nothing, tear_down),
	UNIT_FIXTURE_TEST("/metrics/pod-names/a lack of descriptors tells nothing", Fixture, NULL,
			  set_up, test_a_lack_of_descriptors_tells_nothing, tear_down),
	UNIT_FIXTURE_TEST("/metrics/pod-names/a new pod is found at once", Fixture, NULL, set_up,
			  test_a_new_pod_is_found_at_once, tear_down),
	UNIT_FIXTURE_TEST("/metrics/pod-names/what was not found is looked for again later",
			  Fixture, NULL, set_up, test_what_was_not_found_is_looked_for_again_later,
			  tear_down),
	UNIT_FIXTURE_TEST("/metrics/pod-names/a directory that cannot be read is empty", Fixture,
			  NULL, set_up, test_a_directory_that_cannot_be_read_is_empty, tear_down),
	{ 0 },
};
