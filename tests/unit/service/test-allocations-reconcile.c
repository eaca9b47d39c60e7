/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/error.h>
#include <string.h>

#include "allocations-fixture.h"
#include "pod-list-text.h"
#include "../support/unit.h"

/* Never dereferenced: an owner is only compared. */
#define SOME_MODULE ((RdmadModule *)0x10)

#define SECOND G_USEC_PER_SEC

/* Applies a list that is requested `after_us` from now, of a kubelet that has run for long. */
static void reconcile_at(AllocationsFixture *f, const char *text, gint64 after_us)
{
	g_autoptr(GBytes) bytes = pod_list_text_pack(text);
	gsize size;
	const guint8 *data = g_bytes_get_data(bytes, &size);
	g_autoptr(RdmadPodList) list = rdmad_pod_list_parse(data, size, NULL);

	list->asked_us = g_get_monotonic_time() + after_us;
	list->kubelet_since_us = 1;
	rdmad_allocations_reconcile(f->allocations, list);
}

static void test_allocations_get_the_names_of_their_pods(AllocationsFixture *f, gconstpointer data)
{
	g_autofree char *id = allocations_fixture_must_grant(f, "a,b");
	const RdmadAllocation *allocation;

	g_free(allocations_fixture_must_grant(f, "c"));
	g_assert_true(rdmad_allocations_unsettled(f->allocations));
	reconcile_at(f, "train-0=a,b train-1=c", 0);
	g_assert_false(rdmad_allocations_unsettled(f->allocations));
	for (guint round = 0; round < 2; round++) {
		allocations_fixture_expect(f, "a,b=train-0 c=train-1");
		allocation = rdmad_allocations_lookup(f->allocations, id);
		g_assert_cmpstr(allocation->pod_namespace, ==, "ns");
		g_assert_cmpstr(allocation->container, ==, "main");
		allocations_fixture_reopen(f);
	}
}

static void test_a_list_older_than_the_grant_is_ignored(AllocationsFixture *f, gconstpointer data)
{
	g_free(allocations_fixture_must_grant(f, "a"));
	reconcile_at(f, "before=a", -SECOND);
	allocations_fixture_expect(f, "a");
}

static void test_a_slot_that_moved_is_of_a_new_allocation(AllocationsFixture *f, gconstpointer data)
{
	g_free(allocations_fixture_must_grant(f, "a"));
	reconcile_at(f, "before=a", 0);
	allocations_fixture_expect(f, "a=before");
	g_free(allocations_fixture_must_grant(f, "a"));
	allocations_fixture_expect(f, "a=before a");
	reconcile_at(f, "after=a", 0);
	allocations_fixture_expect(f, "a=after");
}

static RdmadPodLife every_pod_lives(const char *pod_namespace, const char *pod_name,
				    const char *pod_cgroup, gpointer data)
{
	return RDMAD_POD_LIFE_ALIVE;
}

static RdmadPodLife every_pod_is_gone(const char *pod_namespace, const char *pod_name,
				      const char *pod_cgroup, gpointer data)
{
	return RDMAD_POD_LIFE_GONE;
}

/* The lists show different reasons, as after a suspension of the machine. */
static void test_lists_end_an_allocation_for_one_reason(AllocationsFixture *f, gconstpointer data)
{
	g_free(allocations_fixture_must_grant(f, "a"));
	reconcile_at(f, "train-0=a", 0);
	reconcile_at(f, "", 100 * SECOND);
	rdmad_allocations_set_liveness(f->allocations, every_pod_is_gone, NULL);
	reconcile_at(f, "train-0=a", 200 * SECOND);
	allocations_fixture_expect(f, "a=train-0");
	reconcile_at(f, "train-0=a", 300 * SECOND);
	allocations_fixture_expect(f, "");
}

/* As a StatefulSet makes them.  The cgroup of that name belongs to the second pod. */
static void test_a_pod_of_the_same_name_has_the_younger_allocation(AllocationsFixture *f,
								   gconstpointer data)
{
	rdmad_allocations_set_liveness(f->allocations, every_pod_lives, NULL);
	g_free(allocations_fixture_must_grant(f, "a"));
	reconcile_at(f, "db-0=a", 0);
	g_free(allocations_fixture_must_grant(f, "b"));
	reconcile_at(f, "db-0=a db-0=b", 0);
	allocations_fixture_expect(f, "a=db-0 b=db-0");
	reconcile_at(f, "db-0=b", 0);
	allocations_fixture_expect(f, "b=db-0");
}

/* Kubelet assigned the slot after another one of the container, and lists only the earlier one:
 * there is no later container of that name. */
static void test_an_older_allocation_that_is_listed_replaces_none(AllocationsFixture *f,
								  gconstpointer data)
{
	rdmad_allocations_set_liveness(f->allocations, every_pod_lives, NULL);
	g_free(allocations_fixture_must_grant(f, "a"));
	g_free(allocations_fixture_must_grant(f, "b"));
	reconcile_at(f, "db-0=a db-0=b", 0);
	reconcile_at(f, "db-0=a", 0);
	allocations_fixture_expect(f, "a=db-0 b=db-0");
}

/* Each list has its time in seconds after the grant, and its contents; the result is whether the
 * allocation remains. */
typedef struct {
	const char *name;
	struct {
		gint64 second;
		const char *list;
	} lists[4];
	gboolean stays;
} Life;

static const Life lives[] = {
	{ "shown", { { 100, "p=a" }, { 200, "p=a" }, { 300, "p=a" } }, TRUE },
	{ "missing once", { { 100, "" } }, TRUE },
	{ "missing twice", { { 100, "" }, { 200, "" } }, FALSE },
	{ "missing twice in a moment", { { 100, "" }, { 101, "" } }, TRUE },
	{ "missing thrice, then long enough", { { 100, "" }, { 101, "" }, { 110, "" } }, FALSE },
	{ "missing, shown, missing", { { 100, "" }, { 150, "p=a" }, { 200, "" } }, TRUE },
	{ "shown, missing once", { { 1, "p=a" }, { 2, "" } }, TRUE },
	{ "shown, missing for a moment", { { 1, "p=a" }, { 2, "" }, { 2, "" } }, TRUE },
	{ "shown, missing twice", { { 1, "p=a" }, { 2, "" }, { 3, "" } }, FALSE },
	{ "shown, missing, shown", { { 1, "p=a" }, { 2, "" }, { 3, "p=a" }, { 4, "" } }, TRUE },
	{ "missing twice while young", { { 5, "" }, { 59, "" } }, TRUE },
	{ "missing while young and after", { { 5, "" }, { 60, "" } }, FALSE },
	{ "others are shown", { { 100, "p=b" }, { 200, "p=b" } }, FALSE },
};

static void check_life(AllocationsFixture *f, const Life *life)
{
	g_free(allocations_fixture_must_grant(f, "a"));
	for (guint i = 0; i < G_N_ELEMENTS(life->lists) && life->lists[i].list; i++)
		reconcile_at(f, life->lists[i].list, life->lists[i].second * SECOND);
	g_test_message("%s", life->name);
	g_assert_cmpuint(rdmad_allocations_count(f->allocations), ==, life->stays);
	allocations_fixture_reopen(f);
	g_assert_cmpuint(rdmad_allocations_count(f->allocations), ==, life->stays);
}

static void test_a_allocation_ends_when_kubelet_no_longer_lists_it(AllocationsFixture *f,
								   gconstpointer data)
{
	for (guint i = 0; i < G_N_ELEMENTS(lives); i++) {
		AllocationsFixture one = { 0 };

		allocations_fixture_setup(&one, NULL);
		check_life(&one, &lives[i]);
		allocations_fixture_teardown(&one, NULL);
	}
}

/* Its slots are listed, but not whose they are. */
static void test_an_entry_without_a_name_ends_no_allocation(AllocationsFixture *f,
							    gconstpointer data)
{
	g_free(allocations_fixture_must_grant(f, "a"));
	g_free(allocations_fixture_must_grant(f, "b"));
	reconcile_at(f, "train-0=a train-1=b", 0);
	reconcile_at(f, "=a train-1=b", 100 * SECOND);
	reconcile_at(f, "=a", 200 * SECOND);
	reconcile_at(f, "=a", 300 * SECOND);
	reconcile_at(f, "=a", 400 * SECOND);
	allocations_fixture_expect(f, "a=train-0");
	reconcile_at(f, "", 500 * SECOND);
	reconcile_at(f, "", 600 * SECOND);
	reconcile_at(f, "", 700 * SECOND);
	allocations_fixture_expect(f, "");
}

static void test_a_new_kubelet_is_given_time(AllocationsFixture *f, gconstpointer data)
{
	g_autoptr(RdmadPodList) list = rdmad_pod_list_parse(NULL, 0, NULL);
	const gint64 now = g_get_monotonic_time();

	g_free(allocations_fixture_must_grant(f, "a"));
	list->kubelet_since_us = now + 1000 * SECOND;
	for (guint second = 1001; second < 1060; second += 10) {
		list->asked_us = now + second * SECOND;
		rdmad_allocations_reconcile(f->allocations, list);
	}
	allocations_fixture_expect(f, "a");
	list->asked_us = now + 1060 * SECOND;
	rdmad_allocations_reconcile(f->allocations, list);
	allocations_fixture_expect(f, "");
}

static void test_a_new_kubelet_does_not_know_what_the_old_one_showed(AllocationsFixture *f,
								     gconstpointer data)
{
	g_autoptr(RdmadPodList) list = rdmad_pod_list_parse(NULL, 0, NULL);
	const gint64 now = g_get_monotonic_time();

	g_free(allocations_fixture_must_grant(f, "a"));
	reconcile_at(f, "p=a", SECOND);
	g_assert_false(rdmad_allocations_some_missing(f->allocations));
	list->kubelet_since_us = now + 100 * SECOND;
	for (guint second = 101; second < 160; second += 10) {
		list->asked_us = now + second * SECOND;
		rdmad_allocations_reconcile(f->allocations, list);
		g_assert_true(rdmad_allocations_some_missing(f->allocations));
	}
	allocations_fixture_expect(f, "a=p");
}

static void test_loaded_allocations_are_given_time(AllocationsFixture *f, gconstpointer data)
{
	g_free(allocations_fixture_must_grant(f, "a"));
	allocations_fixture_reopen(f);
	reconcile_at(f, "", 30 * SECOND);
	reconcile_at(f, "", 59 * SECOND);
	allocations_fixture_expect(f, "a");
	reconcile_at(f, "", 61 * SECOND);
	allocations_fixture_expect(f, "");
}

/* ---- after the database was lost ---- */

static const char *device_of(const char *slot, gpointer data)
{
	GString *text = data;

	if (*slot == 'x')
		return NULL;
	g_string_printf(text, "dev-%s", slot);
	return text->str;
}

/* Only "a,b" has a directory. */
static char *id_of(const char *const *slots, gpointer data)
{
	g_autofree char *text = g_strjoinv(",", (char **)slots);

	return g_str_equal(text, "a,b") ? g_strdup("0123456789abcdef") : g_strdup("../../etc");
}

static void resolver_set(AllocationsFixture *f, gboolean on)
{
	const RdmadAllocationResolver resolver = { "test", "rdma/hca", on ? device_of : NULL,
						   id_of };

	rdmad_allocations_set_resolver(f->allocations, SOME_MODULE, &resolver, f->seen);
}

static void test_held_slots_are_adopted(AllocationsFixture *f, gconstpointer data)
{
	const RdmadAllocation *allocation;

	resolver_set(f, TRUE);
	g_free(allocations_fixture_must_grant(f, "c"));
	reconcile_at(f, "train-0=b,a,x1 train-1=c other=x2", 0);
	for (guint round = 0; round < 2; round++) {
		allocations_fixture_expect(f, "c=train-1 a,b=train-0");
		allocation = rdmad_allocations_by_slot(f->allocations, "rdma/hca", "b");
		g_assert_cmpstr(allocation->id, ==, "0123456789abcdef");
		g_assert_cmpstr(allocation->devices[0], ==, "dev-a");
		g_assert_cmpstr(allocation->devices[1], ==, "dev-b");
		g_assert_cmpstr(allocation->owner, ==, "test");
		allocations_fixture_reopen(f);
		resolver_set(f, TRUE);
		reconcile_at(f, "train-0=b,a train-1=c", 0);
	}
}

static void test_without_a_resolver_nothing_is_adopted(AllocationsFixture *f, gconstpointer data)
{
	reconcile_at(f, "train-0=a", 0);
	allocations_fixture_expect(f, "");
	resolver_set(f, TRUE);
	resolver_set(f, FALSE);
	reconcile_at(f, "train-0=a", 0);
	allocations_fixture_expect(f, "");
	resolver_set(f, TRUE);
	rdmad_allocations_reap(f->allocations, SOME_MODULE);
	reconcile_at(f, "train-0=a", 0);
	allocations_fixture_expect(f, "");
}

static void test_what_a_module_ended_is_not_adopted(AllocationsFixture *f, gconstpointer data)
{
	g_autofree char *id = allocations_fixture_must_grant(f, "a");

	resolver_set(f, TRUE);
	g_assert_true(rdmad_allocations_end(f->allocations, id, "enough", NULL));
	reconcile_at(f, "p=a", 0);
	allocations_fixture_expect(f, "");
	/* After kubelet has forgotten it, the slot can be adopted like any other. */
	reconcile_at(f, "", 0);
	reconcile_at(f, "p=a", 0);
	allocations_fixture_expect(f, "a=p");
}

static void test_the_event_log_has_what_kubelet_listed(AllocationsFixture *f, gconstpointer data)
{
	resolver_set(f, TRUE);
	g_free(allocations_fixture_must_grant(f, "a"));
	reconcile_at(f, "p=a q=b", 0);
	reconcile_at(f, "q=b", 100 * SECOND);
	reconcile_at(f, "q=b", 200 * SECOND);
	allocations_fixture_expect_events(
		f, "allocation-granted allocation-named allocation-adopted allocation-ended ");
}

static void entry_count(const RdmadEventLogEntry *entry, gpointer data)
{
	++*(guint *)data;
}

static void test_the_same_list_again_changes_nothing(AllocationsFixture *f, gconstpointer data)
{
	guint once = 0, twice = 0;

	resolver_set(f, TRUE);
	reconcile_at(f, "p=a,b q=c", 0);
	allocations_fixture_expect(f, "a,b=p c=q");
	allocations_fixture_run(f);
	rdmad_event_log_foreach(f->event_log, 0, entry_count, &once);
	reconcile_at(f, "p=a,b q=c", SECOND);
	allocations_fixture_expect(f, "a,b=p c=q");
	allocations_fixture_run(f);
	rdmad_event_log_foreach(f->event_log, 0, entry_count, &twice);
	g_assert_cmpuint(once, ==, 2);
	g_assert_cmpuint(twice, ==, once);
}

#define TEST(name)                                                                                 \
	UNIT_FIXTURE_TEST("/allocations-reconcile/" #name, AllocationsFixture, NULL,               \
			  allocations_fixture_setup, test_##name, allocations_fixture_teardown)

const UnitTest unit_tests[] = {
	TEST(allocations_get_the_names_of_their_pods),
	TEST(a_list_older_than_the_grant_is_ignored),
	TEST(a_slot_that_moved_is_of_a_new_allocation),
	TEST(lists_end_an_allocation_for_one_reason),
	TEST(a_pod_of_the_same_name_has_the_younger_allocation),
	TEST(an_older_allocation_that_is_listed_replaces_none),
	TEST(a_allocation_ends_when_kubelet_no_longer_lists_it),
	TEST(an_entry_without_a_name_ends_no_allocation),
	TEST(a_new_kubelet_is_given_time),
	TEST(a_new_kubelet_does_not_know_what_the_old_one_showed),
	TEST(loaded_allocations_are_given_time),
	TEST(held_slots_are_adopted),
	TEST(without_a_resolver_nothing_is_adopted),
	TEST(what_a_module_ended_is_not_adopted),
	TEST(the_event_log_has_what_kubelet_listed),
	TEST(the_same_list_again_changes_nothing),
	{ 0 },
};
