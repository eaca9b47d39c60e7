/* SPDX-License-Identifier: Apache-2.0 */
/* A sound database on a failing system: it is never set aside */
#include <rdmad/allocations.h>
#include <rdmad/error.h>
#include <sqlite3.h>
#include <string.h>

#include "../scratch.h"
#include "../support/unit.h"
#include "faulty-vfs.h"
#include "service/allocation-private.h"
#include "service/state.h"

#define ALLOCATIONS 40

static RdmadAllocation *allocation_new(guint i)
{
	RdmadAllocation *allocation = rdmad_allocation_new(NULL);

	allocation->resource = g_strdup("rdma/hca");
	allocation->owner = g_strdup("test");
	allocation->slots = g_new0(char *, 2);
	allocation->slots[0] = g_strdup_printf("slot-%u", i);
	allocation->devices = g_strdupv(allocation->slots);
	allocation->since_us = 1;
	allocation->number = i + 1;
	return allocation;
}

static void put(RdmadState *state, guint i)
{
	g_autoptr(RdmadAllocationRef) allocation = allocation_new(i);
	g_autoptr(GError) error = NULL;

	rdmad_state_begin(state, &error);
	g_assert_no_error(error);
	rdmad_state_put_allocation(state, allocation, &error);
	g_assert_no_error(error);
	rdmad_state_commit(state, &error);
	g_assert_no_error(error);
}

static void fill(const char *dir)
{
	g_autoptr(RdmadState) state = rdmad_state_open(dir, NULL, NULL);

	for (guint i = 0; i < ALLOCATIONS; i++)
		put(state, i);
}

static void count(const RdmadAllocation *allocation, gpointer n)
{
	++*(guint *)n;
	rdmad_allocation_unref(allocation);
}

static void expect_all(RdmadState *state)
{
	g_autoptr(GError) error = NULL;
	guint n = 0;

	rdmad_state_load_allocations(state, count, &n, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(n, ==, ALLOCATIONS);
}

static const struct {
	FaultCall call;
	int code;
} faults[] = {
	{ FAULT_OPEN, SQLITE_CANTOPEN },
	{ FAULT_OPEN, SQLITE_IOERR },
	{ FAULT_OPEN_READ, 0 },
	{ FAULT_READ, SQLITE_IOERR_READ },
	{ FAULT_READ, SQLITE_NOMEM },
	{ FAULT_READ, SQLITE_IOERR_SHORT_READ },
	{ FAULT_WRITE, SQLITE_IOERR_WRITE },
	{ FAULT_WRITE, SQLITE_FULL },
	{ FAULT_SYNC, SQLITE_IOERR_FSYNC },
	{ FAULT_LOCK, SQLITE_IOERR_LOCK },
	{ FAULT_LOCK, SQLITE_BUSY },
	{ FAULT_SIZE, SQLITE_IOERR_FSTAT },
	{ FAULT_SIZE, SQLITE_IOERR_NOMEM },
};

/* Opens with a failure of the nth call; returns FALSE if there were fewer calls. */
static gboolean open_with_fault(const char *dir, guint fault, guint nth)
{
	g_autofree char *aside = NULL;
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadState) state = NULL;
	gboolean fired;

	faulty_vfs_arm(faults[fault].call, nth, 0, faults[fault].code);
	state = rdmad_state_open(dir, &aside, &error);
	fired = faulty_vfs_fired();
	faulty_vfs_arm(FAULT_N_CALLS, 0, 0, 0);
	g_assert_cmpstr(aside, ==, NULL);
	g_assert_no_error(error);
	g_assert_nonnull(state);
	expect_all(state);
	/* The handle must accept writes. */
	rdmad_state_try(state, &error);
	g_assert_no_error(error);
	return fired;
}

static void test_one_failure_at_any_call_of_opening_loses_nothing(void)
{
	g_autoptr(Scratch) dir = scratch_new();
	guint tried = 0;

	fill(dir);
	for (guint fault = 0; fault < G_N_ELEMENTS(faults); fault++)
		for (guint nth = 1; open_with_fault(dir, fault, nth); nth++)
			tried++;
	g_test_message("%u points", tried);
	g_assert_cmpuint(tried, >, 50);
}

/* Nothing is renamed, so the next start finds the database. */
static void test_failures_that_last_are_an_error_and_no_damage(void)
{
	static const struct {
		FaultCall call;
		int code;
	} lasting[] = {
		{ FAULT_READ, SQLITE_IOERR_READ },
		{ FAULT_OPEN, SQLITE_CANTOPEN },
		{ FAULT_OPEN_READ, 0 },
	};
	g_autoptr(Scratch) dir = scratch_new();

	fill(dir);
	for (guint i = 0; i < G_N_ELEMENTS(lasting); i++) {
		g_autofree char *aside = NULL;
		g_autoptr(GError) error = NULL;
		g_autoptr(RdmadState) state = NULL;

		faulty_vfs_arm(lasting[i].call, 1, G_MAXUINT - 1, lasting[i].code);
		g_assert_null(rdmad_state_open(dir, &aside, &error));
		faulty_vfs_arm(FAULT_N_CALLS, 0, 0, 0);
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
		g_test_message("%s", error->message);
		g_assert_null(aside);
		state = rdmad_state_open(dir, &aside, NULL);
		expect_all(state);
	}
}

/* A power failure keeps the part before the hole, which would undo a checkpoint. */
static void test_a_log_with_a_hole_is_left_for_the_next_handle(void)
{
	g_autoptr(Scratch) dir = scratch_new();
	g_autofree char *log = g_build_filename(dir, "rdmad.db-wal", NULL);
	g_autoptr(RdmadState) state = rdmad_state_open(dir, NULL, NULL);

	for (guint i = 0; i < ALLOCATIONS; i++)
		put(state, i);
	faulty_vfs_arm(FAULT_SYNC, 1, 0, SQLITE_IOERR_FSYNC);
	g_assert_false(rdmad_state_try(state, NULL));
	g_assert_true(faulty_vfs_fired());
	faulty_vfs_arm(FAULT_N_CALLS, 0, 0, 0);
	rdmad_state_close(g_steal_pointer(&state));
	g_assert_true(g_file_test(log, G_FILE_TEST_EXISTS));
	state = rdmad_state_open(dir, NULL, NULL);
	expect_all(state);
	rdmad_state_close(g_steal_pointer(&state));
	g_assert_false(g_file_test(log, G_FILE_TEST_EXISTS));
}

/* A lock is taken only at the start, so that none can block the loop later. */
static void test_no_lock_is_taken_while_it_runs(void)
{
	g_autoptr(Scratch) dir = scratch_new();
	g_autofree char *shm = g_build_filename(dir, "rdmad.db-shm", NULL);
	g_autoptr(RdmadState) state = rdmad_state_open(dir, NULL, NULL);

	faulty_vfs_arm(FAULT_LOCK, 1, G_MAXUINT - 1, SQLITE_IOERR_LOCK);
	put(state, 0);
	g_assert_false(faulty_vfs_fired());
	faulty_vfs_arm(FAULT_N_CALLS, 0, 0, 0);
	g_assert_false(g_file_test(shm, G_FILE_TEST_EXISTS));
}

#define TEST(name) UNIT_TEST("/state-faults/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(one_failure_at_any_call_of_opening_loses_nothing),
	TEST(failures_that_last_are_an_error_and_no_damage),
	TEST(a_log_with_a_hole_is_left_for_the_next_handle),
	TEST(no_lock_is_taken_while_it_runs),
	{ 0 },
};

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	faulty_vfs_register();
	unit_tests_add();
	return g_test_run();
}
