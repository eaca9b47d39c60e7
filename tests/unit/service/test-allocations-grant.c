/* SPDX-License-Identifier: Apache-2.0 */
/* Grants of several holders in one transaction, each with its own result */
#include <rdmad/error.h>
#include <sqlite3.h>
#include <string.h>

#include "../support/unit.h"
#include "allocations-fixture.h"
#include "faulty-vfs.h"

#define CALLS_MAX 70

static void setup(AllocationsFixture *f, gconstpointer data)
{
	faulty_vfs_register();
	allocations_fixture_setup(f, data);
	/* The first write creates the log. */
	g_free(allocations_fixture_must_grant(f, "first"));
}

static void teardown(AllocationsFixture *f, gconstpointer data)
{
	faulty_vfs_arm(FAULT_N_CALLS, 0, 0, 0);
	allocations_fixture_teardown(f, data);
}

/* "a,b|c|": three holders, the last one without slots.  Returns "+" for granted, "-" for rejected;
 * g_free(). */
static char *grant_all(AllocationsFixture *f, const char *text, GError **first_error)
{
	g_auto(GStrv) asked = g_strsplit(text, "|", -1);
	g_autoptr(GPtrArray) lists = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
	RdmadGrantCall calls[CALLS_MAX] = { 0 }, *pointers[CALLS_MAX];
	const guint n = g_strv_length(asked);
	GString *results = g_string_new(NULL);

	g_assert_cmpuint(n, <=, CALLS_MAX);
	for (guint i = 0; i < n; i++) {
		const char *const *slots;

		g_ptr_array_add(lists, g_strsplit(asked[i], ",", -1));
		slots = lists->pdata[i];
		calls[i].grant = (RdmadGrant){ "test", "rdma/hca", slots, slots, "exclusive" };
		pointers[i] = &calls[i];
	}
	rdmad_allocations_grant_all(f->allocations, pointers, n);
	for (guint i = 0; i < n; i++) {
		g_assert_true((calls[i].allocation == NULL) == (calls[i].error != NULL));
		g_string_append_c(results, calls[i].allocation ? '+' : '-');
		if (calls[i].error && first_error && !*first_error)
			*first_error = g_error_copy(calls[i].error);
		g_clear_error(&calls[i].error);
		rdmad_allocation_unref(calls[i].allocation);
	}
	return g_string_free(results, FALSE);
}

static const struct {
	const char *name;
	const char *before; /* slots held since before a restart of the node */
	const char *asked, *results, *after;
	guint syncs;
} cases[] = {
	{ "free slots", NULL, "a|b,c|d", "+++", "first a b,c d", 1 },
	{ "one asks for nothing", NULL, "a||b", "+-+", "first a b", 1 },
	{ "one asks for a slot twice", NULL, "a,a|b", "-+", "first b", 1 },
	{ "all are refused", NULL, "|", "--", "first", 0 },
	{ "a slot of a holder that is over", "a", "a|b", "++", "first a b", 1 },
	{ "slots of one holder that is over", "a,b", "a|b", "++", "first a b", 2 },
	{ "two containers of a pod share a slot", NULL, "a|a|b", "+++", "first a a b", 2 },
};

static void test_each_has_its_own_answer(AllocationsFixture *f, gconstpointer data)
{
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		AllocationsFixture one = { 0 };
		g_autofree char *results = NULL;

		g_test_message("%s", cases[i].name);
		setup(&one, NULL);
		rdmad_allocations_set_boot(one.allocations, "b1");
		if (cases[i].before)
			g_free(allocations_fixture_must_grant(&one, cases[i].before));
		rdmad_allocations_set_boot(one.allocations, "b2");
		faulty_vfs_arm(FAULT_SYNC, cases[i].syncs + 1, 0, SQLITE_IOERR_FSYNC);
		results = grant_all(&one, cases[i].asked, NULL);
		g_assert_false(faulty_vfs_fired());
		g_assert_cmpstr(results, ==, cases[i].results);
		allocations_fixture_expect(&one, cases[i].after);
		allocations_fixture_reopen(&one);
		allocations_fixture_expect(&one, cases[i].after);
		teardown(&one, NULL);
	}
}

static void test_as_many_as_may_call_wait_for_the_disk_once(AllocationsFixture *f,
							    gconstpointer data)
{
	g_autoptr(GString) asked = g_string_new("s0");
	g_autofree char *results = NULL, *all = NULL;

	for (guint i = 1; i < 64; i++)
		g_string_append_printf(asked, "|s%u", i);
	faulty_vfs_arm(FAULT_SYNC, 2, 0, SQLITE_IOERR_FSYNC);
	results = grant_all(f, asked->str, NULL);
	g_assert_false(faulty_vfs_fired());
	all = g_strnfill(64, '+');
	g_assert_cmpstr(results, ==, all);
	g_assert_cmpuint(rdmad_allocations_count(f->allocations), ==, 65);
}

/* The replaced holder is still in the table, and a retry succeeds. */
static void test_what_cannot_be_written_is_refused_to_all(AllocationsFixture *f, gconstpointer data)
{
	g_autofree char *results = NULL, *again = NULL;
	g_autoptr(GError) error = NULL;

	rdmad_allocations_set_boot(f->allocations, "b1");
	g_free(allocations_fixture_must_grant(f, "a"));
	rdmad_allocations_set_boot(f->allocations, "b2");
	faulty_vfs_arm(FAULT_SYNC, 1, 0, SQLITE_IOERR_FSYNC);
	results = grant_all(f, "a|b||c", &error);
	g_assert_true(faulty_vfs_fired());
	g_assert_cmpstr(results, ==, "----");
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	g_assert_nonnull(strstr(error->message, "rdmad.db"));
	allocations_fixture_expect(f, "first a");
	again = grant_all(f, "a|b||c", NULL);
	g_assert_cmpstr(again, ==, "++-+");
	allocations_fixture_reopen(f);
	allocations_fixture_expect(f, "first a b c");
}

static void test_a_holder_that_lives_is_no_concern_of_the_others(AllocationsFixture *f,
								 gconstpointer data)
{
	g_autofree char *results = NULL;
	g_autoptr(GError) error = NULL;

	/* Another kubelet, which has not listed the holder. */
	rdmad_allocations_set_kubelet(f->allocations, "k2");
	results = grant_all(f, "a|first|b", &error);
	g_assert_cmpstr(results, ==, "+-+");
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY);
	allocations_fixture_expect(f, "first a b");
}

#define TEST(name)                                                                                 \
	UNIT_FIXTURE_TEST("/allocations-grant/" #name, AllocationsFixture, NULL, setup,            \
			  test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(each_has_its_own_answer),
	TEST(as_many_as_may_call_wait_for_the_disk_once),
	TEST(what_cannot_be_written_is_refused_to_all),
	TEST(a_holder_that_lives_is_no_concern_of_the_others),
	{ 0 },
};
