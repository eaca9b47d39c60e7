/* SPDX-License-Identifier: Apache-2.0 */
#include "service/pod-cgroups.h"

#include <errno.h>

#include "hardware/sysroot.h"
#include "../scratch.h"
#include "../support/descriptors.h"
#include "../support/unit.h"

#define UID   "0f3c2ab1-1d9c-4bfb-9c3c-5d1f0a3c77aa"
#define OTHER "77777777-1d9c-4bfb-9c3c-5d1f0a3c77aa"
#define PODS  "sys/fs/cgroup/kubepods/burstable/pod"
#define LOGS  "var/log/pods/ns_train-0_"

typedef struct {
	char *root;
	RdmadSysroot *sysroot;
	RdmadPodCgroups *cgroups;
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	f->root = scratch_new();
	f->sysroot = rdmad_sysroot_new(f->root, &error);
	g_assert_no_error(error);
	f->cgroups = rdmad_pod_cgroups_new(f->sysroot);
}

static void teardown(Fixture *f, gconstpointer data)
{
	rdmad_pod_cgroups_free(f->cgroups);
	rdmad_sysroot_free(f->sysroot);
	scratch_free(f->root);
}

static void make(const Fixture *f)
{
	g_autofree char *path = g_build_filename(f->root, "pod", NULL);

	g_assert_cmpint(g_mkdir(path, 0700), ==, 0);
}

/* The former directory stays, so that the new one has another inode. */
static void make_again(const Fixture *f)
{
	g_autofree char *path = g_build_filename(f->root, "pod", NULL);
	g_autofree char *former = g_build_filename(f->root, "former", NULL);

	g_assert_cmpint(g_rename(path, former), ==, 0);
	make(f);
}

static void test_an_ended_pod_may_have_its_uid_again(Fixture *f, gconstpointer data)
{
	make(f);
	g_assert_false(rdmad_pod_cgroups_has_ended(f->cgroups, UID, "pod"));
	rdmad_pod_cgroups_add(f->cgroups, UID, "pod");
	g_assert_false(rdmad_pod_cgroups_has_ended(f->cgroups, UID, "pod"));
	rdmad_pod_cgroups_end(f->cgroups, UID);
	g_assert_true(rdmad_pod_cgroups_has_ended(f->cgroups, UID, "pod"));
	g_assert_true(rdmad_pod_cgroups_has_ended(f->cgroups, UID, NULL));
	make_again(f);
	g_assert_false(rdmad_pod_cgroups_has_ended(f->cgroups, UID, "pod"));
}

static void make_all(const Fixture *f, const char *path)
{
	g_autofree char *full = g_build_filename(f->root, path, NULL);

	g_assert_cmpint(g_mkdir_with_parents(full, 0700), ==, 0);
}

/* Each pod of the name: the number of processes in its cgroup (-1: it has none), whether it has
 * ended, whether it has an allocation. */
static const struct {
	struct {
		int processes;
		gboolean ended, known;
	} pods[2];
	const char *newcomer, *populated;
} newcomers[] = {
	{ { { -1, 0, 0 }, { -1, 0, 0 } }, NULL, NULL },
	{ { { 0, 0, 0 }, { -1, 0, 0 } }, PODS UID, NULL },
	{ { { 1, 0, 0 }, { -1, 0, 0 } }, PODS UID, PODS UID },
	{ { { 0, 0, 1 }, { -1, 0, 0 } }, NULL, NULL },
	{ { { 0, 1, 0 }, { -1, 0, 0 } }, NULL, NULL },
	{ { { 0, 0, 0 }, { 0, 0, 0 } }, NULL, NULL },
	{ { { 0, 0, 0 }, { 1, 0, 0 } }, NULL, PODS OTHER },
	{ { { 1, 0, 0 }, { 1, 0, 0 } }, NULL, NULL },
	{ { { 0, 0, 1 }, { 0, 0, 0 } }, PODS OTHER, NULL },
	{ { { 0, 1, 0 }, { 0, 0, 0 } }, PODS OTHER, NULL },
	{ { { -1, 0, 1 }, { 0, 0, 0 } }, PODS OTHER, NULL },
	{ { { 0, 0, 1 }, { 0, 0, 1 } }, NULL, NULL },
};

static void make_cgroup(const Fixture *f, const char *path, int processes)
{
	g_autofree char *events = g_build_filename(f->root, path, "cgroup.events", NULL);

	make_all(f, path);
	g_assert_true(g_file_set_contents(events, processes ? "populated 1\n" : "populated 0\n", -1,
					  NULL));
}

static const char *newcomer_find(const Fixture *f, const RdmadPodScan *scan, const GPtrArray *known,
				 gboolean populated)
{
	return rdmad_pod_cgroups_newcomer(
		f->cgroups, scan, g_hash_table_lookup(scan->uids, "ns/train-0"), known, populated);
}

static void test_a_newcomer_is_the_only_pod_without_allocations(Fixture *f, gconstpointer data)
{
	static const char *const uids[] = { UID, OTHER };

	for (guint i = 0; i < G_N_ELEMENTS(newcomers); i++) {
		Fixture one = { 0 };
		g_autoptr(GPtrArray) known = g_ptr_array_new();
		RdmadPodScan *scan;
		const char *newcomer;

		g_test_message("case %u", i);
		setup(&one, NULL);
		make_all(&one, "sys/fs/cgroup/cgroup.controllers");
		for (guint n = 0; n < G_N_ELEMENTS(uids); n++) {
			g_autofree char *cgroup = g_strconcat(PODS, uids[n], NULL);
			g_autofree char *logs = g_strconcat(LOGS, uids[n], NULL);

			make_all(&one, logs);
			if (newcomers[i].pods[n].processes >= 0)
				make_cgroup(&one, cgroup, newcomers[i].pods[n].processes);
			if (newcomers[i].pods[n].ended) {
				rdmad_pod_cgroups_add(one.cgroups, uids[n], cgroup);
				rdmad_pod_cgroups_end(one.cgroups, uids[n]);
			}
			if (newcomers[i].pods[n].known)
				g_ptr_array_add(known, (gpointer)uids[n]);
		}
		scan = rdmad_pod_scan_run(one.sysroot, NULL, NULL);
		newcomer = newcomer_find(&one, scan, known, TRUE);
		g_assert_cmpstr(newcomer, ==, newcomers[i].populated);
		newcomer = newcomer_find(&one, scan, known, FALSE);
		g_assert_cmpstr(newcomer, ==, newcomers[i].newcomer);
		if (newcomer)
			rdmad_pod_cgroups_end_empty(one.cgroups, newcomer);
		g_assert_cmpstr(newcomer_find(&one, scan, known, FALSE), ==,
				newcomers[i].populated ? newcomer : NULL);
		rdmad_pod_scan_free(scan);
		teardown(&one, NULL);
	}
}

/* rdmad_pod_process_precedes() counts the errors of its whole search. */
static void test_a_search_of_cgroups_keeps_earlier_errors(Fixture *f, gconstpointer data)
{
	rlim_t before;

	make_all(f, PODS UID);
	before = limit_descriptors(3);
	g_assert_false(rdmad_sysroot_exists(f->sysroot, PODS UID));
	limit_descriptors(before);
	rdmad_cgroup_tree_free(rdmad_cgroup_tree_scan(f->sysroot));
	g_assert_cmpint(rdmad_sysroot_passing_error(), ==, EMFILE);
}

#define TEST(name)                                                                                 \
	UNIT_FIXTURE_TEST("/pod-cgroups/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(an_ended_pod_may_have_its_uid_again),
	TEST(a_newcomer_is_the_only_pod_without_allocations),
	TEST(a_search_of_cgroups_keeps_earlier_errors),
	{ 0 },
};
