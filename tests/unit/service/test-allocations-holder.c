/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a slot's holder: init containers, ended pods, kubelets without their checkpoint */
#include <rdmad/error.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "allocations-fixture.h"
#include "hardware/sysroot.h"
#include "pod-list-text.h"
#include "../support/unit.h"

#define SECOND	    G_USEC_PER_SEC
#define SOME_MODULE ((RdmadModule *)0x10)

static RdmadPodLife life_of(const char *pod_namespace, const char *pod_name, const char *pod_cgroup,
			    gpointer data)
{
	g_assert_cmpstr(pod_namespace, ==, "ns");
	return *(const RdmadPodLife *)data;
}

static void list_read_logs(RdmadPodList *list, const char *dir, const char *logs)
{
	g_autofree char *top = g_build_filename(dir, "var", NULL);
	g_autofree char *all = g_build_filename(top, "log", "pods", NULL);
	const char *const remove[] = { "/bin/rm", "-r", top, NULL };
	g_autoptr(RdmadSysroot) root = rdmad_sysroot_new(dir, NULL);
	g_auto(GStrv) names = g_strsplit(logs, " ", -1);

	g_mkdir_with_parents(all, 0700);
	for (guint i = 0; names[i]; i++) {
		g_autofree char *one = g_build_filename(all, names[i], NULL);

		g_mkdir_with_parents(one, 0700);
	}
	rdmad_pod_list_read_logs(list, root);
	g_assert_true(
		g_spawn_sync(NULL, (char **)remove, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL));
}

/* `logs` NULL: they cannot be seen. */
static void list_take(AllocationsFixture *f, const char *resource, const char *text,
		      const char *logs, const char *kubelet, gint64 after_us)
{
	g_autoptr(GBytes) bytes = pod_list_text_pack_of(resource, text);
	gsize size;
	const guint8 *message = g_bytes_get_data(bytes, &size);
	g_autoptr(RdmadPodList) list = rdmad_pod_list_parse(message, size, NULL);

	list->kubelet = g_strdup(kubelet);
	list->asked_us = g_get_monotonic_time() + after_us;
	list->kubelet_since_us = 1;
	if (logs)
		list_read_logs(list, f->dir, logs);
	rdmad_allocations_reconcile(f->allocations, list);
}

static void list_of(AllocationsFixture *f, const char *resource, const char *text,
		    const char *kubelet, gint64 after_us)
{
	list_take(f, resource, text, NULL, kubelet, after_us);
}

static void list_with_logs(AllocationsFixture *f, const char *text, const char *logs,
			   const char *kubelet, gint64 after_us)
{
	list_take(f, "rdma/hca", text, logs, kubelet, after_us);
}

static void list_at(AllocationsFixture *f, const char *text, const char *kubelet, gint64 after_us)
{
	list_of(f, "rdma/hca", text, kubelet, after_us);
}

static const RdmadAllocation *grant(AllocationsFixture *f, const char *slot, const char *mode,
				    gboolean *doubt, GError **error)
{
	const char *const slots[] = { slot, NULL };
	const RdmadGrant wanted = {
		"test", "rdma/hca", slots, slots, mode, g_get_monotonic_time(),
	};

	if (doubt)
		*doubt = rdmad_allocations_in_doubt(f->allocations, &wanted);
	return rdmad_allocations_grant(f->allocations, &wanted, error);
}

static void expect(AllocationsFixture *f, const char *text)
{
	g_autofree char *is = allocations_fixture_text(f);

	g_assert_cmpstr(is, ==, text);
}

/* Kubelet k1 assigns "a" in boot b1, and lists it with pod p if that is named.  Then something
 * changes, a list is requested, and "a" is assigned again in mode exclusive. */
typedef struct {
	const char *name;
	gboolean named;
	const char *boot, *kubelet;
	RdmadPodLife life;
	const char *list;    /* NULL: no list since then */
	gboolean stale;	     /* the list is older than the request */
	const char *refused; /* NULL: granted; else a word of the message */
	const char *after;   /* the allocations afterwards */
	gboolean doubt;
	/* The previous kubelet, of the same boot, which started after the change. */
	const char *first;
	gboolean late; /* this one is not the first of the boot */
} Case;

#define UNKNOWN RDMAD_POD_LIFE_UNKNOWN
#define ALIVE	RDMAD_POD_LIFE_ALIVE
#define EMPTY	RDMAD_POD_LIFE_EMPTY
#define GONE	RDMAD_POD_LIFE_GONE

static const Case cases[] = {
	{ "an init container before it", FALSE, "b1", "k1", UNKNOWN, NULL, FALSE, NULL, "a a" },
	{ "the pod before it", TRUE, "b1", "k1", UNKNOWN, NULL, FALSE, NULL, "a=p a" },
	{ "completed, and listed without", TRUE, "b1", "k1", UNKNOWN, "p=", FALSE, NULL, "a=p a" },
	{ "its cgroup lives", TRUE, "b1", "k1", ALIVE, "p=a", FALSE, "pod ns/p, container main",
	  "a=p" },
	{ "its cgroup lives, not asked", TRUE, "b1", "k1", ALIVE, NULL, FALSE, "not show", "a=p",
	  TRUE },
	{ "its cgroup lives, asked before", TRUE, "b1", "k1", ALIVE, "p=a", TRUE, "not show", "a=p",
	  TRUE },
	{ "its cgroup is gone", TRUE, "b1", "k1", GONE, NULL, FALSE, NULL, "a" },
	{ "checkpoint lost", TRUE, "b1", "k2", UNKNOWN, "p=", FALSE, "pod ns/p", "a=p" },
	{ "checkpoint lost, cgroup lives", TRUE, "b1", "k2", ALIVE, "p=", FALSE, "pod ns/p",
	  "a=p" },
	{ "checkpoint lost, cgroup gone", TRUE, "b1", "k2", GONE, NULL, FALSE, NULL, "a" },
	{ "another kubelet, not listed", TRUE, "b1", "k2", UNKNOWN, "q=b", FALSE, NULL, "a" },
	{ "another kubelet, listed with it", TRUE, "b1", "k2", UNKNOWN, "p=a", FALSE, NULL,
	  "a=p a" },
	{ "another kubelet, not asked", TRUE, "b1", "k2", UNKNOWN, NULL, FALSE, "not show", "a=p",
	  TRUE },
	{ "another kubelet, asked before", TRUE, "b1", "k2", UNKNOWN, "q=b", TRUE, "not show",
	  "a=p", TRUE },
	{ "unnamed, another kubelet", FALSE, "b1", "k2", UNKNOWN, "q=b", FALSE, "not named", "a" },
	{ "another boot", TRUE, "b2", "k2", UNKNOWN, "p=", FALSE, NULL, "a" },
	{ "another boot, not asked", TRUE, "b2", "k2", UNKNOWN, NULL, FALSE, NULL, "a" },
	{ "unnamed, another boot", FALSE, "b2", "k2", UNKNOWN, NULL, FALSE, NULL, "a" },
	{ "another boot, its first kubelet", TRUE, "b2", "k2", UNKNOWN, "p=", FALSE, NULL, "a",
	  FALSE, "k2" },
	{ "unnamed, another boot, its first kubelet", FALSE, "b2", "k2", UNKNOWN, NULL, FALSE, NULL,
	  "a a", FALSE, "k2" },
	{ "another boot, checkpoint lost in it", TRUE, "b2", "k3", UNKNOWN, "p=", FALSE, "pod ns/p",
	  "a=p", FALSE, "k2" },
	{ "another boot, checkpoint lost in it, not asked", TRUE, "b2", "k3", UNKNOWN, NULL, FALSE,
	  "not show", "a=p", TRUE, "k2" },
	{ "another boot, checkpoint lost in it, pod ended", TRUE, "b2", "k3", UNKNOWN, "q=b", FALSE,
	  NULL, "a", FALSE, "k2" },
	{ "unnamed, another boot, checkpoint lost in it", FALSE, "b2", "k3", UNKNOWN, "p=", FALSE,
	  "not named", "a", FALSE, "k2" },
	{ "unnamed, another boot, not its first kubelet", FALSE, "b2", "k2", UNKNOWN, "p=", FALSE,
	  "not named", "a", FALSE, "k2", TRUE },
	{ "another boot, not its first kubelet, not asked", TRUE, "b2", "k2", UNKNOWN, NULL, FALSE,
	  "not show", "a=p", TRUE, "k2", TRUE },
	{ "another boot, not its first kubelet, pod ended", TRUE, "b2", "k2", UNKNOWN, "q=b", FALSE,
	  NULL, "a", FALSE, "k2", TRUE },
	{ "another boot, not its first kubelet, listed with it", TRUE, "b2", "k2", UNKNOWN, "p=a",
	  FALSE, NULL, "a=p a", FALSE, "k2", TRUE },
	{ "its socket is missing", TRUE, "b1", NULL, UNKNOWN, NULL, FALSE, "not show", "a=p",
	  TRUE },
	{ "unnamed, its socket is missing", FALSE, "b1", NULL, UNKNOWN, NULL, FALSE, "not show",
	  "a", TRUE },
};

/* Restarts the node; the first kubelet starts the pods of its checkpoint. */
static void begin_boot(AllocationsFixture *f, const char *boot, const char *kubelet,
		       gboolean is_first, gboolean reopen)
{
	rdmad_allocations_set_boot(f->allocations, boot);
	rdmad_allocations_set_kubelet(f->allocations, kubelet);
	g_assert_true(rdmad_allocations_begin_boot(f->allocations, is_first));
	if (reopen)
		allocations_fixture_reopen(f);
}

static void check_case(AllocationsFixture *f, const Case *c, gboolean reopen)
{
	RdmadPodLife life = UNKNOWN;
	g_autoptr(RdmadAllocationRef) again = NULL;
	g_autoptr(GError) error = NULL;
	gboolean doubt;

	rdmad_allocations_set_boot(f->allocations, "b1");
	rdmad_allocations_set_kubelet(f->allocations, "k1");
	rdmad_allocation_unref(grant(f, "a", "exclusive", NULL, NULL));
	if (c->named)
		list_at(f, "p=a", "k1", 0);
	if (reopen)
		allocations_fixture_reopen(f);
	if (c->first)
		begin_boot(f, c->boot, c->first, !c->late,
			   reopen && !g_str_equal(c->first, c->kubelet));
	life = c->life;
	rdmad_allocations_set_liveness(f->allocations, life_of, &life);
	rdmad_allocations_set_boot(f->allocations, c->boot);
	rdmad_allocations_set_kubelet(f->allocations, c->kubelet);
	if (c->list)
		list_at(f, c->list, c->kubelet, c->stale ? 0 : SECOND);
	again = grant(f, "a", "exclusive", &doubt, &error);
	g_assert_cmpint(doubt, ==, c->doubt);
	g_assert_true((again == NULL) == (c->refused != NULL));
	if (c->refused) {
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY);
		g_assert_nonnull(strstr(error->message, c->refused));
	}
	expect(f, c->after);
	rdmad_allocations_set_liveness(f->allocations, NULL, NULL);
}

static void test_an_exclusive_slot_is_refused_while_its_holder_lives(AllocationsFixture *f,
								     gconstpointer data)
{
	for (guint i = 0; i < 2 * G_N_ELEMENTS(cases); i++) {
		AllocationsFixture one = { 0 };

		g_test_message("%s%s", cases[i / 2].name, i % 2 ? ", after a restart" : "");
		allocations_fixture_setup(&one, NULL);
		check_case(&one, &cases[i / 2], i % 2);
		allocations_fixture_teardown(&one, NULL);
	}
}

/* Its cgroup, found by the name, is taken for that of the holder. */
static void test_the_slot_of_an_earlier_pod_of_a_name_is_given_after_a_list(AllocationsFixture *f,
									    gconstpointer data)
{
	RdmadPodLife life = ALIVE;
	g_autoptr(RdmadAllocationRef) later = NULL;
	g_autoptr(RdmadAllocationRef) again = NULL;
	g_autoptr(GError) error = NULL;
	gboolean doubt;

	rdmad_allocations_set_kubelet(f->allocations, "k1");
	g_free(allocations_fixture_must_grant(f, "a"));
	list_at(f, "p=a", "k1", 0);
	later = grant(f, "b", "exclusive", NULL, NULL);
	rdmad_allocations_set_liveness(f->allocations, life_of, &life);
	g_assert_null(grant(f, "a", "exclusive", &doubt, NULL));
	g_assert_true(doubt);
	list_at(f, "p=b", "k1", SECOND);
	again = grant(f, "a", "exclusive", &doubt, &error);
	g_assert_no_error(error);
	g_assert_false(doubt);
	expect(f, "b=p a");
	rdmad_allocations_set_liveness(f->allocations, NULL, NULL);
}

/* The first kubelet of a boot starts the pod by its checkpoint while the database cannot be
 * written. */
static void test_the_first_kubelet_of_a_boot_counts_though_the_disk_was_full(AllocationsFixture *f,
									     gconstpointer data)
{
	static const struct {
		const char *kubelet;
		gboolean is_given;
	} givers[] = { { "k2", TRUE }, { "k3", FALSE } };
	struct rlimit old;

	signal(SIGXFSZ, SIG_IGN);
	g_assert_cmpint(getrlimit(RLIMIT_FSIZE, &old), ==, 0);
	for (guint i = 0; i < G_N_ELEMENTS(givers); i++) {
		const struct rlimit none = { 1, old.rlim_max };
		AllocationsFixture one = { 0 };
		g_autoptr(RdmadAllocationRef) again = NULL;

		allocations_fixture_setup(&one, NULL);
		rdmad_allocations_set_boot(one.allocations, "b1");
		rdmad_allocations_set_kubelet(one.allocations, "k1");
		g_free(allocations_fixture_must_grant(&one, "a"));
		rdmad_allocations_set_boot(one.allocations, "b2");
		rdmad_allocations_set_kubelet(one.allocations, "k2");
		g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &none), ==, 0);
		g_assert_false(rdmad_allocations_begin_boot(one.allocations, TRUE));
		g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &old), ==, 0);
		rdmad_allocations_set_kubelet(one.allocations, givers[i].kubelet);
		g_assert_true(rdmad_allocations_begin_boot(one.allocations, TRUE));
		list_at(&one, "p=", givers[i].kubelet, SECOND);
		again = grant(&one, "a", "exclusive", NULL, NULL);
		g_assert_cmpint(again != NULL, ==, givers[i].is_given);
		allocations_fixture_teardown(&one, NULL);
	}
}

static void kind_append(const RdmadEventLogEntry *entry, gpointer data)
{
	g_string_append_printf(data, "%s ", entry->kind);
}

static void expect_event_log(AllocationsFixture *f, const char *kinds)
{
	g_string_truncate(f->seen, 0);
	allocations_fixture_run(f);
	rdmad_event_log_foreach(f->event_log, 0, kind_append, f->seen);
	g_assert_cmpstr(f->seen->str, ==, kinds);
}

static void test_a_shared_slot_whose_holder_lives_is_given_with_a_warning(AllocationsFixture *f,
									  gconstpointer data)
{
	g_autoptr(RdmadAllocationRef) again = NULL;

	rdmad_allocations_set_kubelet(f->allocations, "k1");
	g_free(allocations_fixture_must_grant(f, "a"));
	list_at(f, "p=a", "k1", 0);
	rdmad_allocations_set_kubelet(f->allocations, "k2");
	list_at(f, "p=", "k2", SECOND);
	list_at(f, "p=", "k2", 20 * SECOND);
	again = grant(f, "a", "shared", NULL, NULL);
	g_assert_nonnull(again);
	expect(f, "a=p a");
	list_at(f, "p= q=a", "k2", 40 * SECOND);
	expect(f, "a=p a=q");
	expect_event_log(f, "allocation-granted allocation-named allocation-forgotten "
			    "allocation-granted allocation-overlap "
			    "allocation-named ");
}

static void test_the_next_pod_has_another_allocation_and_both_are_reported(AllocationsFixture *f,
									   gconstpointer data)
{
	g_autofree char *first = allocations_fixture_must_grant(f, "a");
	g_autofree char *second = NULL;

	list_at(f, "p=a", NULL, 0);
	second = allocations_fixture_must_grant(f, "a");
	g_assert_cmpstr(first, !=, second);
	list_at(f, "q=a", NULL, 0);
	expect(f, "a=q");
	g_assert_nonnull(rdmad_allocations_lookup(f->allocations, second));
	expect_event_log(f, "allocation-granted allocation-named allocation-granted "
			    "allocation-named allocation-ended ");
}

/* Appends "slots=pod/container". */
static void container_append(const RdmadAllocation *allocation, gpointer data)
{
	g_autofree char *slots = g_strjoinv(",", allocation->slots);

	g_string_append_printf(data, "%s=%s/%s ", slots, allocation->pod_name ?: "-",
			       allocation->container ?: "-");
}

static void expect_containers(AllocationsFixture *f, const char *text)
{
	g_string_truncate(f->seen, 0);
	rdmad_allocations_foreach(f->allocations, container_append, f->seen);
	g_assert_cmpstr(f->seen->str, ==, text);
}

/* The entry of a pod in podresources, which omits the other devices of its init containers. */
static const struct {
	const char *grants[4], *list, *named;
} inits[] = {
	{ { "a,b", "a" }, "p=a", "a,b=p/- a=p/main " },
	{ { "a", "a,b" }, "p=a,b", "a=p/- a,b=p/main " },
	{ { "a", "a" }, "p=a", "a=p/- a=p/main " },
	{ { "a,b", "b,c", "c" }, "p=c", "a,b=-/- b,c=p/- c=p/main " },
};

static void
test_each_container_of_a_pod_keeps_its_allocation_while_the_pod_lives(AllocationsFixture *f,
								      gconstpointer data)
{
	for (guint i = 0; i < G_N_ELEMENTS(inits); i++) {
		AllocationsFixture one = { 0 };

		allocations_fixture_setup(&one, NULL);
		for (guint k = 0; inits[i].grants[k]; k++)
			g_free(allocations_fixture_must_grant(&one, inits[i].grants[k]));
		for (guint second = 0; second < 50; second += 10) {
			list_at(&one, inits[i].list, NULL, second * SECOND);
			expect_containers(&one, inits[i].named);
			allocations_fixture_reopen(&one);
		}
		list_at(&one, "", NULL, 100 * SECOND);
		list_at(&one, "", NULL, 200 * SECOND);
		expect_containers(&one, "");
		allocations_fixture_teardown(&one, NULL);
	}
}

/* The List was requested between the two Allocates, and answered after the second. */
static void
test_an_init_container_is_not_taken_for_the_one_that_has_its_slots_next(AllocationsFixture *f,
									gconstpointer data)
{
	gint64 asked_us;

	g_free(allocations_fixture_must_grant(f, "a"));
	asked_us = g_get_monotonic_time() + G_USEC_PER_SEC / 100;
	g_usleep(G_USEC_PER_SEC / 50);
	g_free(allocations_fixture_must_grant(f, "a"));
	list_at(f, "p=a", NULL, asked_us - g_get_monotonic_time());
	expect_containers(f, "a=-/- a=-/- ");
	list_at(f, "p=a", NULL, SECOND);
	expect_containers(f, "a=p/- a=p/main ");
}

/* The machine may be paused, also while a call waits for a List: only Lists that lack the pod show
 * that its admission has failed. */
static void test_the_length_of_an_admission_ends_when_kubelet_asks(AllocationsFixture *f,
								   gconstpointer data)
{
	static const char *const slots[] = { "a", NULL };
	static const struct {
		const char *kubelet; /* NULL: no podresources */
		gint64 lists_s[2];   /* 0: none */
		gint64 asked_s;
		const char *after;
	} calls[] = {
		{ NULL, { 0, 0 }, 0, "a a" },	      { NULL, { 0, 0 }, 59, "a a" },
		{ NULL, { 0, 0 }, 61, "a" },	      { "k1", { 1, 11 }, 59, "a a" },
		{ "k1", { 1, 11 }, 61, "a" },	      { "k1", { 0, 0 }, 61, "a a" },
		{ "k1", { 1, 10 }, 61, "a a" },	      { "k1", { 86400, 0 }, 86401, "a a" },
		{ "k1", { 1, 86400 }, 86401, "a a" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(calls); i++) {
		AllocationsFixture one = { 0 };
		RdmadGrant next = { "test", "rdma/hca", slots, slots, "exclusive", 0 };

		allocations_fixture_setup(&one, NULL);
		rdmad_allocations_set_kubelet(one.allocations, calls[i].kubelet);
		rdmad_allocation_unref(grant(&one, "a", "exclusive", NULL, NULL));
		next.asked_us = g_get_monotonic_time() + calls[i].asked_s * SECOND;
		for (guint k = 0; k < 2 && calls[i].lists_s[k]; k++)
			list_at(&one, "", calls[i].kubelet, calls[i].lists_s[k] * SECOND);
		rdmad_allocation_unref(rdmad_allocations_grant(one.allocations, &next, NULL));
		g_test_message("call %u", i);
		expect(&one, calls[i].after);
		allocations_fixture_teardown(&one, NULL);
	}
}

/* The kubelets of the two Allocates and of the list.  A pod that is listed without devices may be
 * one that kubelet has forgotten, whose allocation is then the first. */
static void
test_an_init_container_of_before_a_restart_of_kubelet_keeps_its_allocation(AllocationsFixture *f,
									   gconstpointer data)
{
	static const struct {
		const char *init, *main, *lists, *list, *after;
	} restarts[] = {
		{ "k1", "k1", "k2", "p=a", "a=p/- a=p/main " },
		{ "k1", "k2", "k2", "p=a", "a=p/- a=p/main " },
		{ "k1", "k2", "k3", "p=a", "a=p/- a=p/main " },
		{ "k1", "k2", "k3", "p=a q=", "a=-/- a=p/main " },
	};

	for (guint i = 0; i < G_N_ELEMENTS(restarts); i++) {
		AllocationsFixture one = { 0 };

		allocations_fixture_setup(&one, NULL);
		rdmad_allocations_set_kubelet(one.allocations, restarts[i].init);
		g_free(allocations_fixture_must_grant(&one, "a"));
		g_usleep(10);
		rdmad_allocations_set_kubelet(one.allocations, restarts[i].main);
		g_free(allocations_fixture_must_grant(&one, "a"));
		rdmad_allocations_set_kubelet(one.allocations, restarts[i].lists);
		list_at(&one, restarts[i].list, restarts[i].lists, SECOND);
		expect_containers(&one, restarts[i].after);
		allocations_fixture_teardown(&one, NULL);
	}
}

/* The allocation may be of a pod that ended before it was listed: a kubelet with its checkpoint
 * knows. */
static void
test_a_slot_that_was_never_listed_is_given_again_though_the_pod_lives(AllocationsFixture *f,
								      gconstpointer data)
{
	static const struct {
		const char *kubelet;
		gboolean is_given;
	} givers[] = { { "k1", TRUE }, { "k2", FALSE } };

	for (guint i = 0; i < G_N_ELEMENTS(givers); i++) {
		AllocationsFixture one = { 0 };
		RdmadPodLife life = ALIVE;
		g_autoptr(RdmadAllocationRef) again = NULL;

		allocations_fixture_setup(&one, NULL);
		rdmad_allocations_set_boot(one.allocations, "b1");
		rdmad_allocations_set_kubelet(one.allocations, "k1");
		g_free(allocations_fixture_must_grant(&one, "a,b"));
		g_free(allocations_fixture_must_grant(&one, "a"));
		list_at(&one, "p=a", "k1", 0);
		expect_containers(&one, "a,b=p/- a=p/main ");
		rdmad_allocations_set_liveness(one.allocations, life_of, &life);
		rdmad_allocations_set_kubelet(one.allocations, givers[i].kubelet);
		again = grant(&one, "b", "exclusive", NULL, NULL);
		g_assert_cmpint(again != NULL, ==, givers[i].is_given);
		rdmad_allocations_set_liveness(one.allocations, NULL, NULL);
		allocations_fixture_teardown(&one, NULL);
	}
}

/* The cgroup of the second pod is found by the name of the first one. */
static void
test_a_pod_of_the_same_name_with_another_resource_follows_one_that_ended(AllocationsFixture *f,
									 gconstpointer data)
{
	static const char *const slots[] = { "x", NULL };
	static const RdmadGrant other = { "test", "rdma/other", slots, slots, "shared", 0 };
	static const struct {
		const char *kubelet;
		gboolean reopens;
	} lists[] = { { "k1", FALSE }, { "k2", FALSE }, { "k2", TRUE } };

	for (guint i = 0; i < G_N_ELEMENTS(lists); i++) {
		AllocationsFixture one = { 0 };
		RdmadPodLife life = ALIVE;

		allocations_fixture_setup(&one, NULL);
		rdmad_allocations_set_boot(one.allocations, "b1");
		rdmad_allocations_set_kubelet(one.allocations, "k1");
		g_free(allocations_fixture_must_grant(&one, "a"));
		list_at(&one, "p=a", "k1", 0);
		rdmad_allocations_set_kubelet(one.allocations, lists[i].kubelet);
		rdmad_allocation_unref(rdmad_allocations_grant(one.allocations, &other, NULL));
		if (lists[i].reopens)
			allocations_fixture_reopen(&one);
		rdmad_allocations_set_boot(one.allocations, "b1");
		rdmad_allocations_set_liveness(one.allocations, life_of, &life);
		list_of(&one, "rdma/other", "p=x", lists[i].kubelet, SECOND);
		expect_containers(&one, "x=p/main ");
		rdmad_allocations_set_liveness(one.allocations, NULL, NULL);
		allocations_fixture_teardown(&one, NULL);
	}
}

/* Lists of kubelet k1, or of k2 after a "|", one second apart from the hundredth on. */
static const struct {
	const char *name;
	RdmadPodLife life;
	const char *lists[6];
	guint allocations, forgotten;
	gboolean unsettled; /* another list is needed soon */
} fates[] = {
	{ "listed", UNKNOWN, { "p=a", "p=a" }, 1, 0 },
	{ "completed, listed without", UNKNOWN, { "p=a", "p=", "p=" }, 0, 0 },
	{ "completed, listed with, cgroup unknown", UNKNOWN, { "p=a", "p=a", "p=a" }, 1, 0 },
	{ "completed, listed with", GONE, { "p=a", "p=a", "p=a" }, 0, 0 },
	{ "completed, listed with once", GONE, { "p=a" }, 1, 0, TRUE },
	{ "ended, cgroup gone", GONE, { "" }, 0, 0 },
	{ "not listed, cgroup lives", ALIVE, { "", "", "" }, 1, 1 },
	{ "checkpoint lost", UNKNOWN, { "p=a", "|", "p=", "p=", "p=" }, 1, 1 },
	{ "checkpoint lost, cgroup lives", ALIVE, { "p=a", "|", "p=", "p=", "p=" }, 1, 1 },
	{ "checkpoint lost, cgroup gone", GONE, { "|", "p=" }, 0, 0 },
	{ "checkpoint lost, then the pod ended", UNKNOWN, { "|", "p=", "q=b", "q=b" }, 0, 0 },
	{ "checkpoint found again", UNKNOWN, { "|", "p=", "p=a" }, 1, 0 },
	{ "checkpoint kept, then completed", UNKNOWN, { "|", "p=a", "p=", "p=" }, 0, 0 },
	{ "given to another though it lives", UNKNOWN, { "|", "p= q=a", "p= q=a" }, 1, 1 },
	{ "a kubelet that reads its checkpoint later", UNKNOWN, { "|", "p=" }, 1, 0, TRUE },
};

static void forgotten_count(const RdmadAllocation *allocation, gpointer data)
{
	++*(guint *)data;
}

static void forgotten_told(const RdmadEventLogEntry *entry, gpointer data)
{
	*(guint *)data += g_str_equal(entry->kind, "allocation-forgotten");
}

/* Kubelet loses its checkpoint before it has named the pod: "new" is that pod, "old" existed
 * before. */
static void test_a_pod_that_was_never_named_may_live(AllocationsFixture *f, gconstpointer data)
{
	rdmad_allocations_set_kubelet(f->allocations, "k1");
	list_with_logs(f, "old=", "ns_old_1", "k1", -SECOND);
	g_free(allocations_fixture_must_grant(f, "a"));
	rdmad_allocations_set_kubelet(f->allocations, "k2");
	for (guint second = 100; second < 200; second += 20) {
		list_with_logs(f, second < 150 ? "old= new=" : "old= new= newer=",
			       "ns_old_1 ns_new_2 ns_newer_3", "k2", second * SECOND);
		expect(f, "a");
	}
	list_with_logs(f, "old= newer=", "ns_old_1 ns_newer_3", "k2", 200 * SECOND);
	list_with_logs(f, "old= newer=", "ns_old_1 ns_newer_3", "k2", 300 * SECOND);
	expect(f, "");
}

/* The pod has the name of one that was listed before the grant. */
static void test_a_pod_that_was_never_named_is_told_by_its_logs(AllocationsFixture *f,
								gconstpointer data)
{
	static const struct {
		const char *list, *before, *after;
		gboolean may_live;
	} logs[] = {
		{ "p= other=", "ns_p_1 ns_other_1", "ns_p_1 ns_other_1", FALSE },
		{ "p= other=", "ns_p_1 ns_other_1", "ns_p_2 ns_other_1", TRUE },
		{ "p= other=", "ns_p_1 ns_other_1", "ns_p_1 ns_p_2 ns_other_1", TRUE },
		{ "p= other=", "ns_p_1 ns_other_1", "ns_pod_1 ns_other_1", TRUE },
		/* It had been admitted in the last boot. */
		{ "other=", "ns_p_1 ns_other_1", "ns_p_1 ns_other_1", TRUE },
		{ "p= other=", "", "ns_p_1 ns_other_1", TRUE },
		{ "p= other=", NULL, "ns_p_1 ns_other_1", TRUE },
		{ "p= other=", "ns_p_1 ns_other_1", NULL, TRUE },
	};

	for (guint i = 0; i < G_N_ELEMENTS(logs); i++) {
		AllocationsFixture one = { 0 };

		allocations_fixture_setup(&one, NULL);
		rdmad_allocations_set_kubelet(one.allocations, "k1");
		list_with_logs(&one, logs[i].list, logs[i].before, "k1", -SECOND);
		g_free(allocations_fixture_must_grant(&one, "a"));
		rdmad_allocations_set_kubelet(one.allocations, "k2");
		for (guint second = 100; second < 200; second += 50)
			list_with_logs(&one, "p= other=", logs[i].after, "k2", second * SECOND);
		expect(&one, logs[i].may_live ? "a" : "");
		allocations_fixture_teardown(&one, NULL);
	}
}

/* The second kubelet has lost the checkpoint, and gives another container of "p" its devices; so
 * has the third.  No allocation is of "other". */
static void test_a_pod_that_was_admitted_again_may_live(AllocationsFixture *f, gconstpointer data)
{
	static const char logs[] = "ns_p_1 ns_other_1";

	rdmad_allocations_set_kubelet(f->allocations, "k1");
	g_free(allocations_fixture_must_grant(f, "a"));
	list_with_logs(f, "p=a other=", logs, "k1", SECOND);
	rdmad_allocations_set_kubelet(f->allocations, "k2");
	list_with_logs(f, "p= other=", logs, "k2", 2 * SECOND);
	g_free(allocations_fixture_must_grant(f, "b"));
	rdmad_allocations_set_kubelet(f->allocations, "k3");
	for (guint second = 100; second < 200; second += 50) {
		list_with_logs(f, "p= other=", logs, "k3", second * SECOND);
		expect(f, "a=p b");
	}
	for (guint second = 200; second < 300; second += 50)
		list_with_logs(f, "other=", logs, "k3", second * SECOND);
	expect(f, "");
}

static void test_a_list_without_its_devices_does_not_end_a_pod_that_lives(AllocationsFixture *f,
									  gconstpointer data)
{
	for (guint i = 0; i < G_N_ELEMENTS(fates); i++) {
		AllocationsFixture one = { 0 };
		RdmadPodLife life = fates[i].life;
		const char *kubelet = "k1";
		guint forgotten = 0, told = 0;

		g_test_message("%s", fates[i].name);
		allocations_fixture_setup(&one, NULL);
		rdmad_allocations_set_kubelet(one.allocations, kubelet);
		g_free(allocations_fixture_must_grant(&one, "a"));
		list_at(&one, "p=a", kubelet, 10 * SECOND);
		rdmad_allocations_set_liveness(one.allocations, life_of, &life);
		for (guint k = 0; fates[i].lists[k]; k++)
			if (*fates[i].lists[k] == '|')
				rdmad_allocations_set_kubelet(one.allocations, kubelet = "k2");
			else
				list_at(&one, fates[i].lists[k], kubelet, (100 + 20 * k) * SECOND);
		rdmad_allocations_foreach_forgotten(one.allocations, forgotten_count, &forgotten);
		g_assert_cmpuint(rdmad_allocations_count(one.allocations), ==,
				 fates[i].allocations);
		g_assert_cmpuint(forgotten, ==, fates[i].forgotten);
		allocations_fixture_run(&one);
		rdmad_event_log_foreach(one.event_log, 0, forgotten_told, &told);
		g_assert_cmpuint(told, ==, fates[i].forgotten);
		g_assert_cmpint(rdmad_allocations_unsettled(one.allocations), ==,
				fates[i].unsettled);
		rdmad_allocations_set_liveness(one.allocations, NULL, NULL);
		allocations_fixture_teardown(&one, NULL);
	}
}

/* The machine is paused between two lists. */
static void test_lists_that_are_far_apart_end_nothing(AllocationsFixture *f, gconstpointer data)
{
	static const struct {
		gint64 second;
		const char *after;
	} lists[] = { { 100, "a" }, { 10000, "a" }, { 20000, "a" }, { 20005, "a" }, { 20010, "" } };

	g_free(allocations_fixture_must_grant(f, "a"));
	for (guint i = 0; i < G_N_ELEMENTS(lists); i++) {
		list_at(f, "", NULL, lists[i].second * SECOND);
		expect(f, lists[i].after);
	}
}

static const char *device_of(const char *slot, gpointer data)
{
	return slot;
}

static char *id_of(const char *const *slots, gpointer id)
{
	return g_strdup(id);
}

/* A static pod whose manifest changes: kubelet admits the second pod, then ends the first one, and
 * starts the second one later.  Both have the same name. */
static void test_a_pod_that_starts_after_one_of_its_name_has_ended_is_adopted(AllocationsFixture *f,
									      gconstpointer data)
{
	static const struct {
		const char *now, *list, *after;
	} steps[] = {
		{ "ns_p_1", "p=a", "" },	   { NULL, "p=a", "" },
		{ "ns_p_1 ns_pq_2", "p=a", "" },   { "ns_p_1 ns_p_2", "p=a", "a=p" },
		{ "ns_p_1 ns_p_2", "p=a", "a=p" },
	};
	const RdmadAllocationResolver resolver = { "test", "rdma/hca", device_of, id_of };
	RdmadPodLife life = GONE;
	g_autofree char *id = NULL;

	rdmad_allocations_set_kubelet(f->allocations, "k1");
	id = allocations_fixture_must_grant(f, "a");
	rdmad_allocations_set_resolver(f->allocations, SOME_MODULE, &resolver, id);
	list_at(f, "p=a", "k1", 10 * SECOND);
	rdmad_allocations_set_liveness(f->allocations, life_of, &life);
	list_with_logs(f, "p=a", "ns_p_1", "k1", 100 * SECOND);
	list_with_logs(f, "p=a", "ns_p_1", "k1", 120 * SECOND);
	expect(f, "");
	life = UNKNOWN;
	for (guint i = 0; i < G_N_ELEMENTS(steps); i++) {
		list_with_logs(f, steps[i].list, steps[i].now, "k1", (130 + 10 * i) * SECOND);
		expect(f, steps[i].after);
		g_assert_cmpint(rdmad_allocations_some_listed_after_end(f->allocations), ==,
				!*steps[i].after);
	}
	rdmad_allocations_set_liveness(f->allocations, NULL, NULL);
}

/* The allocation "a" of a pod, whose deletion was forced, and "b" of a later one that has its
 * name. */
typedef struct {
	const char *name;
	const char *cgroup_a, *cgroup_b; /* NULL: not found */
	gboolean found_late;		 /* the first one's, after the grant of "b" */
	const char *kubelet_b;		 /* which lists "b"; NULL: that of "a" */
	gboolean reopen;
	RdmadPodLife life; /* of the first pod */
	const char *soon;  /* NULL: as `after` */
	const char *after;
	gboolean late; /* the lists of the first seconds fail */
} Forced;

static const Forced forced[] = {
	{ "not found", NULL, NULL, FALSE, NULL, FALSE, ALIVE, NULL, "b=p" },
	{ "found", "c/a", NULL, FALSE, NULL, FALSE, ALIVE, NULL, "a=p b=p" },
	{ "found, after a restart", "c/a", NULL, FALSE, NULL, TRUE, ALIVE, NULL, "a=p b=p" },
	{ "both found", "c/a", "c/b", FALSE, NULL, FALSE, ALIVE, NULL, "a=p b=p" },
	{ "both found, after a restart", "c/a", "c/b", FALSE, NULL, TRUE, ALIVE, NULL, "a=p b=p" },
	{ "the pod is admitted again", "c/a", "c/a", FALSE, NULL, FALSE, ALIVE, NULL, "b=p" },
	{ "found when both were granted", "c/a", NULL, TRUE, NULL, FALSE, ALIVE, NULL, "b=p" },
	{ "it may be admitted again", "c/a", NULL, FALSE, "k2", FALSE, ALIVE, "a=p b=p", "b=p" },
	{ "it is listed late", "c/a", NULL, FALSE, "k2", FALSE, ALIVE, "a=p b", "a=p b=p", TRUE },
	{ "both found, another kubelet", "c/a", "c/b", FALSE, "k2", FALSE, ALIVE, NULL, "a=p b=p" },
	{ "its last process has ended", "c/a", NULL, FALSE, NULL, FALSE, EMPTY, NULL, "b=p" },
	{ "its cgroup is removed", "c/a", "c/b", FALSE, NULL, TRUE, GONE, NULL, "b=p" },
};

/* The life of "c/a"; all others live. */
static RdmadPodLife life_of_first(const char *pod_namespace, const char *pod_name,
				  const char *pod_cgroup, gpointer data)
{
	return g_strcmp0(pod_cgroup, "c/a") == 0 ? *(const RdmadPodLife *)data : ALIVE;
}

static void find_cgroup(AllocationsFixture *f, const char *cgroup, const char *last)
{
	const gint64 number = rdmad_allocations_by_slot(f->allocations, "rdma/hca", last)->number;

	if (cgroup)
		rdmad_allocations_set_pod_cgroup(f->allocations, "ns", "p", cgroup, number);
}

/* A list names "b" before its cgroup is found. */
static void find_second(AllocationsFixture *f, const char *cgroup)
{
	static const RdmadPodLife alive = ALIVE;

	rdmad_allocations_set_liveness(f->allocations, life_of_first, (gpointer)&alive);
	list_at(f, "p=b", "k1", SECOND);
	find_cgroup(f, cgroup, "b");
}

static void check_forced(AllocationsFixture *f, const Forced *c)
{
	RdmadPodLife life = c->life;

	rdmad_allocations_set_kubelet(f->allocations, "k1");
	g_free(allocations_fixture_must_grant(f, "a"));
	list_at(f, "p=a", "k1", 0);
	if (!c->found_late)
		find_cgroup(f, c->cgroup_a, "a");
	if (!c->cgroup_b)
		rdmad_allocations_set_kubelet(f->allocations, c->kubelet_b ?: "k1");
	g_free(allocations_fixture_must_grant(f, "b"));
	if (c->found_late)
		find_cgroup(f, c->cgroup_a, "b");
	if (c->cgroup_b)
		find_second(f, c->cgroup_b);
	if (c->reopen)
		allocations_fixture_reopen(f);
	rdmad_allocations_set_liveness(f->allocations, life_of_first, &life);
	for (guint i = 2; !c->late && i <= 3; i++)
		list_at(f, "p=b", c->kubelet_b ?: "k1", i * SECOND);
	expect(f, c->soon ?: c->after);
	list_at(f, "p=b", c->kubelet_b ?: "k1", 20 * SECOND);
	expect(f, c->after);
	rdmad_allocations_set_liveness(f->allocations, NULL, NULL);
}

static void test_a_pod_outlives_its_deletion_beside_one_of_its_name(AllocationsFixture *f,
								    gconstpointer data)
{
	for (guint i = 0; i < G_N_ELEMENTS(forced); i++) {
		AllocationsFixture one = { 0 };

		g_test_message("%s", forced[i].name);
		allocations_fixture_setup(&one, NULL);
		check_forced(&one, &forced[i]);
		allocations_fixture_teardown(&one, NULL);
	}
}

/* Kubelet gives one device of a pod that has ended, whose other one it still lists. */
static void test_a_pod_that_ended_before_a_grant_is_not_adopted(AllocationsFixture *f,
								gconstpointer data)
{
	const RdmadAllocationResolver resolver = { "test", "rdma/hca", device_of };
	RdmadPodLife life = GONE;

	rdmad_allocations_set_kubelet(f->allocations, "k1");
	rdmad_allocations_set_resolver(f->allocations, SOME_MODULE, &resolver, NULL);
	g_free(allocations_fixture_must_grant(f, "a,b"));
	list_at(f, "p=a,b", "k1", 10 * SECOND);
	rdmad_allocations_set_liveness(f->allocations, life_of, &life);
	g_free(allocations_fixture_must_grant(f, "a"));
	life = UNKNOWN;
	list_at(f, "q=a p=b", "k1", 20 * SECOND);
	expect(f, "a=q");
	list_at(f, "q=a", "k1", 30 * SECOND);
	list_at(f, "q=a r=b", "k1", 40 * SECOND);
	expect(f, "a=q b=r");
	rdmad_allocations_set_liveness(f->allocations, NULL, NULL);
}

#define TEST(name)                                                                                 \
	UNIT_FIXTURE_TEST("/allocations-holder/" #name, AllocationsFixture, NULL,                  \
			  allocations_fixture_setup, test_##name, allocations_fixture_teardown)

const UnitTest unit_tests[] = {
	TEST(an_exclusive_slot_is_refused_while_its_holder_lives),
	TEST(the_first_kubelet_of_a_boot_counts_though_the_disk_was_full),
	TEST(a_shared_slot_whose_holder_lives_is_given_with_a_warning),
	TEST(the_slot_of_an_earlier_pod_of_a_name_is_given_after_a_list),
	TEST(the_next_pod_has_another_allocation_and_both_are_reported),
	TEST(each_container_of_a_pod_keeps_its_allocation_while_the_pod_lives),
	TEST(an_init_container_is_not_taken_for_the_one_that_has_its_slots_next),
	TEST(the_length_of_an_admission_ends_when_kubelet_asks),
	TEST(an_init_container_of_before_a_restart_of_kubelet_keeps_its_allocation),
	TEST(a_slot_that_was_never_listed_is_given_again_though_the_pod_lives),
	TEST(a_pod_of_the_same_name_with_another_resource_follows_one_that_ended),
	TEST(a_pod_that_was_never_named_may_live),
	TEST(a_pod_that_was_never_named_is_told_by_its_logs),
	TEST(a_pod_that_was_admitted_again_may_live),
	TEST(a_list_without_its_devices_does_not_end_a_pod_that_lives),
	TEST(lists_that_are_far_apart_end_nothing),
	TEST(a_pod_outlives_its_deletion_beside_one_of_its_name),
	TEST(a_pod_that_ended_before_a_grant_is_not_adopted),
	TEST(a_pod_that_starts_after_one_of_its_name_has_ended_is_adopted),
	{ 0 },
};
