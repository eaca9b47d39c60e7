/* SPDX-License-Identifier: Apache-2.0 */
/* Pods whose cgroups appear and disappear in a directory that imitates the kernel's */
#include "service/pod-watch.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <rdmad/grpc.h>
#include <rdmad/work.h>
#include <string.h>

#include "base/work.h"
#include "allocations-fixture.h"
#include "hardware/sysroot.h"
#include "pod-list-text.h"
#include "service/allocations-table.h"
#include "service/pods-private.h"
#include "../support/unit.h"

#define UID	  "0f3c2ab1-1d9c-4bfb-9c3c-5d1f0a3c77aa"
#define SLICE_UID "0f3c2ab1_1d9c_4bfb_9c3c_5d1f0a3c77aa"
#define OTHER	  "77777777-1d9c-4bfb-9c3c-5d1f0a3c77aa"
#define CONTAINER "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define V2	  "sys/fs/cgroup/kubepods/burstable"
#define POD	  V2 "/pod" UID
#define LOGS	  "var/log/pods"
#define DIRECTORY LOGS "/ns_train-0_" UID
#define TICK_MS	  5

typedef struct {
	AllocationsFixture base; /* first: its functions take the fixture */
	char *root, *socket_dir, *socket;
	RdmadGrpcServer *server;
	RdmadWorkers *workers;
	RdmadSysroot *sysroot;
	RdmadPods *pods;
	RdmadPodWatch *watch;
	RdmadEvent *tick;
	const char *text; /* kubelet's list */
	guint lists;
	guint turns; /* of the loop, each of at most TICK_MS */
} Fixture;

/* ---- kubelet ---- */

static void list_asked(RdmadGrpcCall *call, const guint8 *message, gsize size, gpointer data)
{
	Fixture *f = data;
	g_autoptr(GBytes) bytes = pod_list_text_pack(f->text);

	f->lists++;
	rdmad_grpc_call_reply(call, g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes));
}

static const RdmadGrpcMethod kubelet[] = { { "/v1.PodResourcesLister/List", list_asked }, { 0 } };

/* ---- cgroups ---- */

static void make(const Fixture *f, const char *path)
{
	g_autofree char *full = g_build_filename(f->root, path, NULL);

	g_assert_cmpint(g_mkdir_with_parents(full, 0700), ==, 0);
}

static void put(const Fixture *f, const char *path, const char *name, const char *text)
{
	g_autofree char *full = g_build_filename(f->root, path, name, NULL);
	const int fd = open(full, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	g_assert_cmpint(fd, >=, 0);
	g_assert_cmpint(write(fd, text, strlen(text)), ==, (gssize)strlen(text));
	close(fd);
}

static void take_away(const Fixture *f, const char *path)
{
	g_autofree char *full = g_build_filename(f->root, path, NULL);
	const char *const command[] = { "rm", "-r", full, NULL };
	int status = -1;

	g_assert_true(g_spawn_sync(NULL, (char **)command, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL,
				   NULL, NULL, &status, NULL));
	g_assert_cmpint(status, ==, 0);
}

static void move(const Fixture *f, const char *from, const char *to)
{
	g_autofree char *before = g_build_filename(f->root, from, NULL);
	g_autofree char *after = g_build_filename(f->root, to, NULL);

	g_assert_cmpint(rename(before, after), ==, 0);
}

static void populate(const Fixture *f, const char *path)
{
	put(f, path, "cgroup.events", "populated 1\nfrozen 0\n");
}

static void empty(const Fixture *f, const char *path)
{
	put(f, path, "cgroup.events", "populated 0\nfrozen 0\n");
}

static void make_v2(const Fixture *f)
{
	make(f, POD);
	make(f, LOGS);
	put(f, "sys/fs/cgroup", "cgroup.controllers", "cpu memory\n");
	populate(f, POD);
}

/* ---- life ---- */

static void nothing(gpointer data)
{
}

static void watch_begin(Fixture *f)
{
	f->pods = rdmad_pods_new(f->base.loop, f->sysroot, f->base.allocations, f->base.dir);
	f->watch = rdmad_pod_watch_new(f->base.loop, f->workers, f->sysroot, f->base.allocations,
				       f->pods);
}

static void watch_end(Fixture *f)
{
	rdmad_pods_free(f->pods);
	rdmad_pod_watch_free(f->watch);
}

static void setup(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	allocations_fixture_setup(&f->base, NULL);
	f->root = g_dir_make_tmp("rdmad-root-XXXXXX", NULL);
	f->socket_dir = g_build_filename(f->base.dir, "pod-resources", NULL);
	f->socket = g_build_filename(f->socket_dir, "kubelet.sock", NULL);
	f->text = "";
	g_mkdir(f->socket_dir, 0700);
	f->server = rdmad_grpc_server_new(f->base.loop, NULL, f->socket, kubelet, f, NULL, &error);
	g_assert_no_error(error);
	f->workers = rdmad_workers_new(f->base.loop, 1, NULL);
	f->sysroot = rdmad_sysroot_new(f->root, &error);
	g_assert_no_error(error);
	watch_begin(f);
	f->tick = rdmad_loop_add_timer(f->base.loop, NULL, nothing, NULL);
}

static void teardown(Fixture *f, gconstpointer data)
{
	rdmad_event_free(f->tick);
	watch_end(f);
	rdmad_workers_free(f->workers);
	rdmad_sysroot_free(f->sysroot);
	rdmad_grpc_server_free(f->server);
	g_rmdir(f->socket_dir);
	take_away(f, "");
	g_free(f->root);
	g_free(f->socket);
	g_free(f->socket_dir);
	allocations_fixture_teardown(&f->base, NULL);
}

#define RUN_UNTIL(f, condition)                                                                    \
	do {                                                                                       \
		const gint64 end_us = g_get_monotonic_time() + 20 * G_USEC_PER_SEC;                \
                                                                                                   \
		while (!(condition) && g_get_monotonic_time() < end_us) {                          \
			rdmad_event_arm((f)->tick, TICK_MS);                                       \
			rdmad_loop_turn((f)->base.loop);                                           \
			(f)->turns++;                                                              \
		}                                                                                  \
		g_assert_true(condition);                                                          \
	} while (0)

static void run_for(Fixture *f, guint ms)
{
	const gint64 until_us = g_get_monotonic_time() + ms * 1000;

	RUN_UNTIL(f, g_get_monotonic_time() >= until_us);
}

static RdmadPodLife life(const Fixture *f)
{
	return rdmad_allocations_pod_life(f->base.allocations, "ns", "train-0");
}

static guint count(const Fixture *f)
{
	return rdmad_allocations_count(f->base.allocations);
}

static gboolean has_text(const Fixture *f, const char *part)
{
	g_autofree char *text = allocations_fixture_text((AllocationsFixture *)&f->base);

	return strstr(text, part) != NULL;
}

/* Makes an allocation that podresources has named. */
static void hold(Fixture *f, const char *slot)
{
	g_autofree char *id G_GNUC_UNUSED = allocations_fixture_must_grant(&f->base, slot);

	f->text = "train-0=a";
	rdmad_pods_refresh(f->pods, NULL, NULL, NULL);
	RUN_UNTIL(f, has_text(f, "=train-0"));
}

/* Counts turns, which take longer if the machine is busy with something else. */
static void assert_ends_within_half_a_second(Fixture *f)
{
	f->turns = 0;
	RUN_UNTIL(f, count(f) == 0);
	g_assert_cmpuint(f->turns, <, 500 / TICK_MS);
}

/* ---- tests ---- */

static const struct {
	const char *path;
	gboolean v2;
} layouts[] = {
	{ V2 "/pod" UID, TRUE },
	{ "sys/fs/cgroup/kubepods/pod" UID, TRUE },
	{ "sys/fs/cgroup/kubelet/kubepods/besteffort/pod" UID, TRUE },
	{ "sys/fs/cgroup/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" SLICE_UID
	  ".slice",
	  TRUE },
	{ "sys/fs/cgroup/kubepods.slice/kubepods-pod" SLICE_UID ".slice", TRUE },
	{ "sys/fs/cgroup/a.slice/a-kubepods.slice/a-kubepods-burstable.slice/"
	  "a-kubepods-burstable-pod" SLICE_UID ".slice",
	  TRUE },
	{ "sys/fs/cgroup/memory/kubepods/burstable/pod" UID, FALSE },
	{ "sys/fs/cgroup/systemd/kubepods.slice/kubepods-pod" SLICE_UID ".slice", FALSE },
};

static void test_the_end_of_a_pod_ends_its_allocation_at_once(Fixture *f, gconstpointer data)
{
	for (guint i = 0; i < G_N_ELEMENTS(layouts); i++) {
		g_autofree char *child = g_build_filename(layouts[i].path, CONTAINER, NULL);

		g_test_message("%s", layouts[i].path);
		make(f, child);
		make(f, DIRECTORY);
		put(f, child, "cgroup.procs", "1\n");
		if (layouts[i].v2) {
			put(f, "sys/fs/cgroup", "cgroup.controllers", "cpu\n");
			populate(f, layouts[i].path);
		}
		hold(f, "a");
		RUN_UNTIL(f, rdmad_pod_watch_count(f->watch) == 1);
		g_assert_cmpint(life(f), ==, RDMAD_POD_LIFE_ALIVE);
		f->text = "";
		take_away(f, child);
		if (layouts[i].v2)
			empty(f, layouts[i].path);
		assert_ends_within_half_a_second(f);
		g_assert_cmpuint(rdmad_pod_watch_count(f->watch), ==, 0);
		take_away(f, "sys");
		take_away(f, "var");
	}
}

static void test_a_pod_is_found_whatever_comes_last(Fixture *f, gconstpointer data)
{
	make(f, V2);
	make(f, LOGS);
	put(f, "sys/fs/cgroup", "cgroup.controllers", "cpu\n");
	hold(f, "a");
	run_for(f, 300);
	g_assert_cmpint(life(f), ==, RDMAD_POD_LIFE_UNKNOWN);
	make(f, POD);
	empty(f, POD);
	make(f, DIRECTORY);
	RUN_UNTIL(f, rdmad_pod_watch_count(f->watch) == 1);
	g_assert_cmpint(life(f), ==,
			RDMAD_POD_LIFE_UNKNOWN); /* its first process has not started */
	populate(f, POD);
	RUN_UNTIL(f, life(f) == RDMAD_POD_LIFE_ALIVE);
	f->text = "";
	empty(f, POD);
	assert_ends_within_half_a_second(f);
}

/* Makes a watched pod with an allocation, a log directory and a cgroup (version 2). */
static void watch_pod(Fixture *f)
{
	make_v2(f);
	make(f, DIRECTORY);
	hold(f, "a");
	RUN_UNTIL(f, rdmad_pod_watch_count(f->watch) == 1);
}

static void test_kubelet_is_asked_until_it_has_seen_the_end(Fixture *f, gconstpointer data)
{
	watch_pod(f);
	empty(f, POD);
	run_for(f, 300);
	g_assert_cmpuint(count(f), ==, 1);
	f->text = "";
	assert_ends_within_half_a_second(f);
}

/* A sandbox that died is recreated in the same cgroup. */
static void test_a_pod_that_goes_on_keeps_its_allocation(Fixture *f, gconstpointer data)
{
	watch_pod(f);
	empty(f, POD);
	RUN_UNTIL(f, life(f) == RDMAD_POD_LIFE_EMPTY);
	run_for(f, 100);
	populate(f, POD);
	RUN_UNTIL(f, life(f) == RDMAD_POD_LIFE_ALIVE);
	g_assert_cmpuint(count(f), ==, 1);
	run_for(f, 300);
	f->lists = 0;
	run_for(f, 500);
	g_assert_cmpuint(f->lists, ==, 0);
}

/* Kubelet lists nothing before it has read its checkpoint. */
static void test_a_kubelet_that_has_just_started_is_no_proof(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	watch_pod(f);
	rdmad_grpc_server_free(f->server);
	f->server = rdmad_grpc_server_new(f->base.loop, NULL, f->socket, kubelet, f, NULL, &error);
	g_assert_no_error(error);
	f->text = "";
	f->lists = 0;
	empty(f, POD);
	RUN_UNTIL(f, f->lists >= 3);
	g_assert_cmpuint(count(f), ==, 1);
	take_away(f, POD);
	RUN_UNTIL(f, count(f) == 0);
}

static void test_a_removed_cgroup_is_gone_though_kubelet_lists_the_pod(Fixture *f,
								       gconstpointer data)
{
	watch_pod(f);
	take_away(f, POD);
	RUN_UNTIL(f, life(f) == RDMAD_POD_LIFE_GONE);
}

/* The last process of a pod ends while rdmad is updated: kernfs has no event for the removal. */
static void test_a_cgroup_that_is_removed_without_an_event_is_gone(Fixture *f, gconstpointer data)
{
	make_v2(f);
	empty(f, POD);
	make(f, DIRECTORY);
	hold(f, "a");
	RUN_UNTIL(f, rdmad_pod_watch_count(f->watch) == 1);
	g_assert_cmpint(life(f), ==, RDMAD_POD_LIFE_UNKNOWN);
	move(f, POD, "elsewhere");
	f->text = "";
	rdmad_pods_refresh(f->pods, NULL, NULL, NULL);
	RUN_UNTIL(f, count(f) == 0);
}

static void test_an_end_that_could_not_be_read_is_seen_later(Fixture *f, gconstpointer data)
{
	watch_pod(f);
	/* The event of a directory in the place of the file: reading that fails. */
	move(f, POD "/cgroup.events", "elsewhere.events");
	make(f, POD "/cgroup.events");
	run_for(f, 100);
	g_assert_cmpint(life(f), ==, RDMAD_POD_LIFE_ALIVE);
	move(f, POD, "elsewhere");
	f->text = "";
	rdmad_pods_refresh(f->pods, NULL, NULL, NULL);
	RUN_UNTIL(f, count(f) == 0);
}

static void make_successor(const Fixture *f)
{
	make(f, LOGS "/ns_train-0_" OTHER);
	make(f, V2 "/pod" OTHER);
	populate(f, V2 "/pod" OTHER);
}

static void test_a_successor_of_the_same_name_is_another_pod(Fixture *f, gconstpointer data)
{
	watch_pod(f);
	take_away(f, POD);
	RUN_UNTIL(f, life(f) == RDMAD_POD_LIFE_GONE);
	g_free(allocations_fixture_must_grant(&f->base, "b"));
	f->text = "train-0=a,b";
	rdmad_pods_refresh(f->pods, NULL, NULL, NULL);
	RUN_UNTIL(f, life(f) == RDMAD_POD_LIFE_UNKNOWN);
	make_successor(f);
	RUN_UNTIL(f, life(f) == RDMAD_POD_LIFE_ALIVE);
}

/* Kubelet admits another pod of the name while the processes of the one whose deletion was forced
 * end. */
static void test_a_successor_outlives_a_pod_that_goes_on(Fixture *f, gconstpointer data)
{
	watch_pod(f);
	g_free(allocations_fixture_must_grant(&f->base, "b"));
	f->text = "train-0=b";
	rdmad_pods_refresh(f->pods, NULL, NULL, NULL);
	RUN_UNTIL(f, has_text(f, "b=train-0"));
	allocations_fixture_expect(&f->base, "a=train-0 b=train-0");
	allocations_fixture_run(&f->base); /* the watch hears of it */
	rdmad_pods_refresh(f->pods, NULL, NULL, NULL);
	f->lists = 0;
	RUN_UNTIL(f, f->lists > 0);
	run_for(f, 100);
	allocations_fixture_expect(&f->base, "a=train-0 b=train-0");
	empty(f, POD);
	RUN_UNTIL(f, count(f) == 1);
	allocations_fixture_expect(&f->base, "b=train-0");
	g_assert_cmpint(life(f), ==, RDMAD_POD_LIFE_UNKNOWN);
	make_successor(f);
	take_away(f, POD);
	RUN_UNTIL(f, life(f) == RDMAD_POD_LIFE_ALIVE);
	g_assert_cmpuint(count(f), ==, 1);
}

/* Of the newest allocation. */
static const char *cgroup_of(Fixture *f)
{
	const GList *last = f->base.allocations->order.tail;

	return last ? ((const RdmadAllocationRecord *)last->data)->allocation->pod_cgroup : NULL;
}

/* The deletion of the first pod was forced; the one that has its name has started. */
static void watch_both(Fixture *f)
{
	watch_pod(f);
	RUN_UNTIL(f, g_strcmp0(cgroup_of(f), POD) == 0);
	g_free(allocations_fixture_must_grant(&f->base, "b"));
	f->text = "train-0=b";
	rdmad_pods_refresh(f->pods, NULL, NULL, NULL);
	RUN_UNTIL(f, has_text(f, "b=train-0"));
	make_successor(f);
}

/* First with the rdmad that has seen both pods, then with another one. */
static void test_a_pod_outlives_its_deletion_while_rdmad_is_restarted(Fixture *f,
								      gconstpointer data)
{
	watch_both(f);
	for (guint i = 0; i < 2; i++) {
		if (i > 0) {
			watch_end(f);
			allocations_fixture_reopen(&f->base);
			watch_begin(f);
		}
		rdmad_pods_refresh(f->pods, NULL, NULL, NULL);
		RUN_UNTIL(f, g_strcmp0(cgroup_of(f), V2 "/pod" OTHER) == 0);
		f->lists = 0;
		rdmad_pods_refresh(f->pods, NULL, NULL, NULL);
		RUN_UNTIL(f, f->lists > 0);
		run_for(f, 100);
		allocations_fixture_expect(&f->base, "a=train-0 b=train-0");
	}
	empty(f, POD);
	RUN_UNTIL(f, count(f) == 1);
	allocations_fixture_expect(&f->base, "b=train-0");
}

/* Kubelet admits a pod again while the cgroup of the one whose name it has is not yet removed. */
static void test_an_empty_cgroup_is_not_taken_for_that_of_a_later_pod(Fixture *f,
								      gconstpointer data)
{
	watch_both(f);
	RUN_UNTIL(f, g_strcmp0(cgroup_of(f), V2 "/pod" OTHER) == 0);
	empty(f, POD);
	RUN_UNTIL(f, count(f) == 1);
	g_free(allocations_fixture_must_grant(&f->base, "c"));
	f->text = "train-0=b,c";
	rdmad_pods_refresh(f->pods, NULL, NULL, NULL);
	RUN_UNTIL(f, has_text(f, "c=train-0"));
	run_for(f, 400);
	g_assert_null(cgroup_of(f));
}

/* The cgroup was removed while rdmad was down. */
static void test_a_pod_that_ended_unseen_is_gone(Fixture *f, gconstpointer data)
{
	watch_pod(f);
	RUN_UNTIL(f, g_strcmp0(cgroup_of(f), POD) == 0);
	watch_end(f);
	take_away(f, POD);
	allocations_fixture_reopen(&f->base);
	watch_begin(f);
	f->text = "";
	RUN_UNTIL(f, count(f) == 0);
	g_assert_cmpuint(f->turns, <, 10000 / TICK_MS);
}

static void test_an_allocation_of_another_boot_has_no_cgroup(Fixture *f, gconstpointer data)
{
	rdmad_allocations_set_boot(f->base.allocations, "b1");
	watch_pod(f);
	RUN_UNTIL(f, g_strcmp0(cgroup_of(f), POD) == 0);
	rdmad_allocations_set_boot(f->base.allocations, "b2");
	g_assert_true(rdmad_allocations_begin_boot(f->base.allocations, TRUE));
	g_assert_null(cgroup_of(f));
}

static guint watches(void)
{
	g_autoptr(GDir) dir = g_dir_open("/proc/self/fdinfo", 0, NULL);
	const char *name;
	guint n = 0;

	while ((name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename("/proc/self/fdinfo", name, NULL);
		g_autofree char *text = NULL;

		if (!g_file_get_contents(path, &text, NULL, NULL))
			continue;
		for (const char *at = text; (at = strstr(at, "inotify wd:")); at++)
			n++;
	}
	return n;
}

/* The pod of the name has ended, and kubelet has not removed its cgroup. */
static void end_pod(Fixture *f)
{
	watch_pod(f);
	f->text = "";
	empty(f, POD);
	RUN_UNTIL(f, count(f) == 0);
}

static void test_a_successor_does_not_have_the_cgroup_of_an_ended_pod(Fixture *f,
								      gconstpointer data)
{
	end_pod(f);
	hold(f, "a");
	RUN_UNTIL(f, watches() == 3); /* log directories, kubepods, burstable */
	run_for(f, 300);
	g_assert_cmpuint(rdmad_pod_watch_count(f->watch), ==, 0);
	make_successor(f);
	RUN_UNTIL(f, life(f) == RDMAD_POD_LIFE_ALIVE);
	take_away(f, POD);
	run_for(f, 100);
	g_assert_cmpint(life(f), ==, RDMAD_POD_LIFE_ALIVE);
	g_assert_cmpuint(count(f), ==, 1);
}

static void test_a_static_pod_has_its_uid_again(Fixture *f, gconstpointer data)
{
	end_pod(f);
	hold(f, "a");
	RUN_UNTIL(f, watches() == 3);
	move(f, POD, "elsewhere");
	make(f, POD);
	populate(f, POD);
	RUN_UNTIL(f, life(f) == RDMAD_POD_LIFE_ALIVE);
}

/* Runs until `*input` is set. */
static gpointer run_until_released(gpointer input, const RdmadJob *job, GError **error)
{
	while (!g_atomic_int_get((gint *)input))
		g_usleep(1000);
	return NULL;
}

static void test_a_scan_that_is_refused_is_repeated(Fixture *f, gconstpointer data)
{
	static const RdmadJobClass klass = { .name = "long", .run = run_until_released };
	gint released = FALSE;

	make_v2(f);
	make(f, DIRECTORY);
	while (rdmad_work_submit(f->workers, NULL, &klass, &released, 0, NULL, NULL))
		;
	hold(f, "a");
	run_for(f, 100);
	g_atomic_int_set(&released, TRUE);
	RUN_UNTIL(f, rdmad_pod_watch_count(f->watch) == 1);
}

static void test_only_what_is_needed_is_watched(Fixture *f, gconstpointer data)
{
	make_v2(f);
	g_assert_cmpuint(watches(), ==, 0);
	hold(f, "a");
	RUN_UNTIL(f, watches() == 3); /* log directories, kubepods, burstable */
	make(f, DIRECTORY);
	RUN_UNTIL(f, watches() == 2); /* the pod's cgroup and its cgroup.events */
	f->text = "";
	empty(f, POD);
	RUN_UNTIL(f, count(f) == 0);
	RUN_UNTIL(f, watches() == 0);
}

static void test_invisible_cgroups_are_reported(Fixture *f, gconstpointer data)
{
	make(f, "sys");
	g_assert_null(rdmad_pod_watch_problem(f->watch));
	hold(f, "a");
	RUN_UNTIL(f, rdmad_pod_watch_problem(f->watch));
	g_assert_nonnull(strstr(rdmad_pod_watch_problem(f->watch), "/var/log/pods"));
	g_assert_cmpint(life(f), ==, RDMAD_POD_LIFE_UNKNOWN);
}

#define TEST(name)                                                                                 \
	UNIT_FIXTURE_TEST("/pod-watch/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(the_end_of_a_pod_ends_its_allocation_at_once),
	TEST(a_pod_is_found_whatever_comes_last),
	TEST(kubelet_is_asked_until_it_has_seen_the_end),
	TEST(a_pod_that_goes_on_keeps_its_allocation),
	TEST(a_kubelet_that_has_just_started_is_no_proof),
	TEST(a_removed_cgroup_is_gone_though_kubelet_lists_the_pod),
	TEST(a_cgroup_that_is_removed_without_an_event_is_gone),
	TEST(an_end_that_could_not_be_read_is_seen_later),
	TEST(a_successor_of_the_same_name_is_another_pod),
	TEST(a_successor_outlives_a_pod_that_goes_on),
	TEST(a_pod_outlives_its_deletion_while_rdmad_is_restarted),
	TEST(an_empty_cgroup_is_not_taken_for_that_of_a_later_pod),
	TEST(a_pod_that_ended_unseen_is_gone),
	TEST(an_allocation_of_another_boot_has_no_cgroup),
	TEST(a_successor_does_not_have_the_cgroup_of_an_ended_pod),
	TEST(a_static_pod_has_its_uid_again),
	TEST(a_scan_that_is_refused_is_repeated),
	TEST(only_what_is_needed_is_watched),
	TEST(invisible_cgroups_are_reported),
	{ 0 },
};
