/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <rdmad/directory-watch.h>
#include <rdmad/fd.h>
#include <rdmad/loop.h>
#include <unistd.h>

#include "base/loop.h"
#include "../scratch.h"
#include "../support/unit.h"

#define PATIENCE_MS 20000

typedef struct {
	RdmadLoop *loop;
	RdmadEvent *late;
	RdmadDirectoryWatch *watch;
	char *dir, *path, *file;
	guint made;
} Fixture;

static void make(gpointer data)
{
	Fixture *f = data;

	if (g_mkdir(f->path, 0700) < 0)
		return;
	f->made++;
	rdmad_loop_stop(f->loop);
}

static void give_up(gpointer data)
{
	g_test_message("the directory is not made again");
	g_test_fail();
	rdmad_loop_stop(((Fixture *)data)->loop);
}

static void setup(Fixture *f, gconstpointer data)
{
	f->loop = rdmad_loop_new();
	f->late = rdmad_loop_add_timer(f->loop, NULL, give_up, f);
	f->dir = scratch_new();
	f->path = g_build_filename(f->dir, "run", NULL);
	f->file = g_build_filename(f->path, "lock", NULL);
	g_assert_cmpint(g_mkdir(f->path, 0700), ==, 0);
	f->watch = rdmad_directory_watch_new(f->loop, NULL, f->path, make, f);
}

static void teardown(Fixture *f, gconstpointer data)
{
	rdmad_directory_watch_free(f->watch);
	rdmad_event_free(f->late);
	rdmad_loop_free(f->loop);
	scratch_free(f->dir);
	g_free(f->path);
	g_free(f->file);
}

static void await(Fixture *f, guint made)
{
	rdmad_event_arm(f->late, PATIENCE_MS);
	rdmad_loop_run(f->loop);
	rdmad_event_disarm(f->late);
	g_assert_cmpuint(f->made, ==, made);
}

static void test_each_removal_is_noticed(Fixture *f, gconstpointer data)
{
	for (guint n = 1; n <= 5; n++) {
		g_assert_cmpint(g_rmdir(f->path), ==, 0);
		await(f, n);
	}
}

/* The kernel reports the removal of a directory that is still open only when it is closed. */
static void test_a_removal_is_noticed_after_one_that_was_not(Fixture *f, gconstpointer data)
{
	rdmad_autofd int held = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	g_assert_cmpint(held, >=, 0);
	g_assert_true(g_file_set_contents(f->file, "", 0, NULL));
	g_assert_cmpint(g_unlink(f->file), ==, 0);
	rdmad_loop_turn(f->loop);
	g_assert_cmpint(g_rmdir(f->path), ==, 0);
	await(f, 1);
	g_assert_cmpint(g_rmdir(f->path), ==, 0);
	await(f, 2);
}

#define TEST(name)                                                                                 \
	UNIT_FIXTURE_TEST("/directory-watch/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(each_removal_is_noticed),
	TEST(a_removal_is_noticed_after_one_that_was_not),
	{ 0 },
};
