/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <string.h>

#include "daemon/lock.h"
#include "../scratch.h"
#include "../support/descriptors.h"
#include "../support/unit.h"

typedef struct {
	char *dir, *path;
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
	f->dir = scratch_new();
	f->path = g_build_filename(f->dir, "rdmad.lock", NULL);
}

static void teardown(Fixture *f, gconstpointer data)
{
	scratch_free(f->dir);
	g_free(f->path);
}

static const RdmadLockHolder one = { 4711, G_GUINT64_CONSTANT(0x8000000000000001) };
static const RdmadLockHolder other = { 4711, 2 };

static gboolean is_unknown(const RdmadLockHolder *holder)
{
	return !holder->pid && !holder->id && !rdmad_lock_holder_equal(holder, holder);
}

static void test_the_second_gets_the_holder(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;
	RdmadLockHolder holder;
	rdmad_autofd int first = rdmad_lock_try(f->path, &one, &holder, &error);

	g_assert_no_error(error);
	g_assert_true(is_unknown(&holder));
	g_assert_cmpint(fcntl(first, F_GETFD) & FD_CLOEXEC, ==, FD_CLOEXEC);
	g_assert_cmpint(rdmad_lock_try(f->path, &other, &holder, &error), ==, -1);
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY);
	g_assert_true(rdmad_lock_holder_equal(&holder, &one));
	g_assert_nonnull(strstr(error->message, "process 4711"));
	g_assert_nonnull(strstr(error->message, f->path));
}

static void test_it_is_free_once_the_first_has_ended(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;
	RdmadLockHolder holder;
	rdmad_autofd int first = rdmad_lock_try(f->path, &one, &holder, &error);
	rdmad_autofd int second = -1, third = -1;

	rdmad_clear_fd(&first);
	second = rdmad_lock_try(f->path, &other, &holder, &error);
	g_assert_no_error(error);
	g_assert_cmpint(second, >=, 0);
	g_assert_true(rdmad_lock_holder_equal(&holder, &one));
	rdmad_clear_fd(&second);
	third = rdmad_lock_try(f->path, &one, &holder, &error);
	g_assert_true(rdmad_lock_holder_equal(&holder, &other));
}

static void test_a_shorter_pid_leaves_nothing_of_a_longer_one(Fixture *f, gconstpointer data)
{
	static const RdmadLockHolder short_one = { 1, 3 };
	g_autofree char *text = NULL;
	RdmadLockHolder holder;
	rdmad_autofd int first = rdmad_lock_try(f->path, &one, &holder, NULL);
	rdmad_autofd int second = -1;

	rdmad_clear_fd(&first);
	second = rdmad_lock_try(f->path, &short_one, &holder, NULL);
	g_assert_cmpint(second, >=, 0);
	g_assert_true(g_file_get_contents(f->path, &text, NULL, NULL));
	g_assert_cmpstr(text, ==, "1\n0000000000000003\n");
}

static void test_two_of_a_process_id_are_two(Fixture *f, gconstpointer data)
{
	const RdmadLockHolder first = rdmad_lock_holder_new(), second = rdmad_lock_holder_new();

	g_assert_cmpint(first.pid, ==, getpid());
	g_assert_cmpint(first.pid, ==, second.pid);
	g_assert_true(rdmad_lock_holder_equal(&first, &first));
	g_assert_false(rdmad_lock_holder_equal(&first, &second));
}

static void test_junk_in_the_file_is_no_holder(Fixture *f, gconstpointer data)
{
	static const char *const junk[] = {
		"",
		"4711",
		"4711\n",
		"abc\n0000000000000001\n",
		"-1\n0000000000000001\n",
		"0\n0000000000000001\n",
		"99999999999\n0000000000000001\n",
		"1 2\n0000000000000001\n",
		"4711\n1\n",
		"4711\n-000000000000001\n",
		"4711\n000000000000000g\n",
	};

	for (gsize i = 0; i < G_N_ELEMENTS(junk); i++) {
		g_autoptr(GError) error = NULL;
		RdmadLockHolder holder;
		rdmad_autofd int first = rdmad_lock_try(f->path, &one, &holder, NULL);

		g_assert_cmpint(ftruncate(first, 0), ==, 0);
		g_assert_cmpint(pwrite(first, junk[i], strlen(junk[i]), 0), ==, strlen(junk[i]));
		g_assert_cmpint(rdmad_lock_try(f->path, &other, &holder, &error), ==, -1);
		g_assert_true(is_unknown(&holder));
	}
}

static void test_a_link_is_not_followed(Fixture *f, gconstpointer data)
{
	g_autofree char *target = g_build_filename(f->dir, "target", NULL);
	g_autoptr(GError) error = NULL;
	RdmadLockHolder holder;

	g_assert_cmpint(symlink(target, f->path), ==, 0);
	g_assert_cmpint(rdmad_lock_try(f->path, &one, &holder, &error), ==, -1);
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	g_assert_false(g_file_test(target, G_FILE_TEST_EXISTS));
}

/* A process that waits for the end of its successor must not take an error for this end. */
static void test_it_is_held_until_it_is_known_to_be_free(Fixture *f, gconstpointer data)
{
	RdmadLockHolder holder;
	rdmad_autofd int held = -1;
	rlim_t before;

	g_assert_false(rdmad_lock_is_held(f->path));
	held = rdmad_lock_try(f->path, &one, &holder, NULL);
	g_assert_true(rdmad_lock_is_held(f->path));
	rdmad_clear_fd(&held);
	g_assert_false(rdmad_lock_is_held(f->path));
	before = limit_descriptors(0);
	g_assert_true(rdmad_lock_is_held(f->path));
	limit_descriptors(before);
	g_assert_false(rdmad_lock_is_held(f->path));
}

#define TEST(name) UNIT_FIXTURE_TEST("/lock/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(the_second_gets_the_holder),
	TEST(it_is_free_once_the_first_has_ended),
	TEST(a_shorter_pid_leaves_nothing_of_a_longer_one),
	TEST(two_of_a_process_id_are_two),
	TEST(junk_in_the_file_is_no_holder),
	TEST(a_link_is_not_followed),
	TEST(it_is_held_until_it_is_known_to_be_free),
	{ 0 },
};
