/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <string.h>

#include "daemon/lock.h"
#include "../scratch.h"
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

static void test_the_second_gets_the_holder(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *expected = g_strdup_printf("process %d", (int)getpid());
	pid_t holder;
	rdmad_autofd int first = rdmad_lock_try(f->path, &holder, &error);

	g_assert_no_error(error);
	g_assert_cmpint(fcntl(first, F_GETFD) & FD_CLOEXEC, ==, FD_CLOEXEC);
	g_assert_cmpint(rdmad_lock_try(f->path, &holder, &error), ==, -1);
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY);
	g_assert_cmpint(holder, ==, getpid());
	g_assert_nonnull(strstr(error->message, expected));
	g_assert_nonnull(strstr(error->message, f->path));
}

static void test_it_is_free_once_the_first_has_ended(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;
	pid_t holder;
	rdmad_autofd int first = rdmad_lock_try(f->path, &holder, &error);
	rdmad_autofd int second = -1;

	rdmad_clear_fd(&first);
	second = rdmad_lock_try(f->path, &holder, &error);
	g_assert_no_error(error);
	g_assert_cmpint(second, >=, 0);
}

static void test_junk_in_the_file_is_no_pid(Fixture *f, gconstpointer data)
{
	static const char *const junk[] = { "", "abc", "-1", "0", "99999999999", "1 2" };

	for (gsize i = 0; i < G_N_ELEMENTS(junk); i++) {
		g_autoptr(GError) error = NULL;
		pid_t holder;
		rdmad_autofd int first = rdmad_lock_try(f->path, &holder, NULL);

		g_assert_cmpint(ftruncate(first, 0), ==, 0);
		g_assert_cmpint(pwrite(first, junk[i], strlen(junk[i]), 0), ==, strlen(junk[i]));
		g_assert_cmpint(rdmad_lock_try(f->path, &holder, &error), ==, -1);
		g_assert_cmpint(holder, ==, 0);
	}
}

static void test_a_link_is_not_followed(Fixture *f, gconstpointer data)
{
	g_autofree char *target = g_build_filename(f->dir, "target", NULL);
	g_autoptr(GError) error = NULL;
	pid_t holder;

	g_assert_cmpint(symlink(target, f->path), ==, 0);
	g_assert_cmpint(rdmad_lock_try(f->path, &holder, &error), ==, -1);
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	g_assert_false(g_file_test(target, G_FILE_TEST_EXISTS));
}

#define TEST(name) UNIT_FIXTURE_TEST("/lock/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(the_second_gets_the_holder),
	TEST(it_is_free_once_the_first_has_ended),
	TEST(junk_in_the_file_is_no_pid),
	TEST(a_link_is_not_followed),
	{ 0 },
};
