/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/loop.h>

#include "base/loop.h"
#include "service/preparations-private.h"
#include "../support/turns.h"
#include "../support/unit.h"

/* Never dereferenced: an owner and an allocation are only handed on. */
#define PREPARER_MODULE ((RdmadModule *)0x10)
#define STARTING_MODULE ((RdmadModule *)0x20)
#define SOME_ALLOCATION ((const RdmadAllocation *)0x30)

typedef struct {
	RdmadLoop *loop;
	RdmadPreparations *preparations;
	Turns turns;
	GPtrArray *asked; /* RdmadPreparation */
	guint done;
	char *refusal;
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
	f->loop = rdmad_loop_new();
	f->preparations = rdmad_preparations_new(f->loop);
	turns_init(&f->turns, f->loop);
	f->asked = g_ptr_array_new();
}

static void teardown(Fixture *f, gconstpointer data)
{
	g_ptr_array_unref(f->asked);
	turns_clear(&f->turns);
	rdmad_preparations_free(f->preparations);
	rdmad_loop_free(f->loop);
	g_free(f->refusal);
}

static void ask(const RdmadAllocation *allocation, RdmadPreparation *preparation, gpointer data)
{
	Fixture *f = data;

	g_assert_true(allocation == SOME_ALLOCATION);
	g_ptr_array_add(f->asked, preparation);
}

static void count(const char *refusal, gpointer data)
{
	Fixture *f = data;

	f->done++;
	g_free(f->refusal);
	f->refusal = g_strdup(refusal);
}

static RdmadPreparation *begin(Fixture *f)
{
	return rdmad_preparations_begin(f->preparations, STARTING_MODULE, SOME_ALLOCATION, NULL,
					count, f);
}

static void expect_done(Fixture *f, guint done)
{
	turns_run(&f->turns);
	g_assert_cmpuint(f->done, ==, done);
}

static void finish_one(Fixture *f)
{
	rdmad_preparation_finish(g_ptr_array_steal_index(f->asked, 0));
}

static void test_nobody_prepares(Fixture *f, gconstpointer data)
{
	g_assert_false(rdmad_preparations_wanted(f->preparations));
	g_assert_nonnull(begin(f));
	g_assert_cmpuint(f->done, ==, 0); /* never from inside the call */
	expect_done(f, 1);
}

static void test_all_are_waited_for(Fixture *f, gconstpointer data)
{
	RdmadPreparer *a = rdmad_preparations_add(f->preparations, PREPARER_MODULE, ask, f);
	RdmadPreparer *b = rdmad_preparations_add(f->preparations, PREPARER_MODULE, ask, f);

	g_assert_true(rdmad_preparations_wanted(f->preparations));
	g_assert_nonnull(begin(f));
	expect_done(f, 0);
	finish_one(f);
	expect_done(f, 0);
	finish_one(f);
	expect_done(f, 1);
	rdmad_preparer_free(a);
	rdmad_preparer_free(b);
	g_assert_false(rdmad_preparations_wanted(f->preparations));
}

static void test_one_forbids(Fixture *f, gconstpointer data)
{
	RdmadPreparer *a = rdmad_preparations_add(f->preparations, PREPARER_MODULE, ask, f);
	RdmadPreparation *preparation;

	g_assert_false(rdmad_preparations_want_sandbox(f->preparations));
	rdmad_preparer_want_sandbox(a);
	g_assert_true(rdmad_preparations_want_sandbox(f->preparations));
	preparation = begin(f);
	rdmad_preparation_forbid(preparation, "no SMC");
	g_assert_cmpstr(rdmad_preparation_refusal(preparation), ==, "no SMC");
	rdmad_preparation_forbid(preparation, rdmad_preparation_refusal(preparation));
	finish_one(f);
	expect_done(f, 1);
	g_assert_cmpstr(f->refusal, ==, "no SMC");
	preparation = begin(f);
	rdmad_preparation_forbid(preparation, "not yet");
	rdmad_preparation_forbid(preparation, NULL);
	finish_one(f);
	expect_done(f, 2);
	g_assert_null(f->refusal);
	rdmad_preparer_free(a);
}

/* With a pending part at its deadline, and without one in the turn before `done`. */
static void test_cancelled(Fixture *f, gconstpointer data)
{
	RdmadPreparer *a = rdmad_preparations_add(f->preparations, PREPARER_MODULE, ask, f);
	RdmadPreparation *preparation = begin(f);

	rdmad_preparation_cancel(preparation);
	finish_one(f);
	preparation = begin(f);
	finish_one(f);
	rdmad_preparation_cancel(preparation);
	rdmad_preparation_cancel(NULL);
	expect_done(f, 0);
	rdmad_preparer_free(a);
}

static void test_modules_that_end(Fixture *f, gconstpointer data)
{
	g_assert_nonnull(rdmad_preparations_add(f->preparations, PREPARER_MODULE, ask, f));
	g_assert_nonnull(begin(f));
	g_assert_cmpuint(rdmad_preparations_reap(f->preparations, STARTING_MODULE), ==, 1);
	finish_one(f);
	expect_done(f, 0);
	g_assert_cmpuint(rdmad_preparations_reap(f->preparations, PREPARER_MODULE), ==, 1);
	g_assert_nonnull(begin(f));
	expect_done(f, 1);
}

#define TEST(path, test)                                                                           \
	UNIT_FIXTURE_TEST("/preparations/" path, Fixture, NULL, setup, test, teardown)

const UnitTest unit_tests[] = {
	TEST("nobody prepares", test_nobody_prepares),
	TEST("all are waited for", test_all_are_waited_for),
	TEST("one forbids", test_one_forbids),
	TEST("cancelled", test_cancelled),
	TEST("modules that end", test_modules_that_end),
	{ 0 },
};
