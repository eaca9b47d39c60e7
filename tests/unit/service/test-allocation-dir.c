/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <rdmad/allocation-dir.h>
#include <rdmad/error.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../scratch.h"
#include "../support/unit.h"
#include "base/loop.h"

#define ID "0123456789abcdef"

static void make(const char *run_dir)
{
	g_autoptr(GError) error = NULL;

	rdmad_allocation_dir_make(run_dir, ID, &error);
	g_assert_no_error(error);
}

static void put(const char *run_dir, const char *text)
{
	g_autoptr(GError) error = NULL;

	rdmad_allocation_dir_write(run_dir, ID, "file", text, &error);
	g_assert_no_error(error);
}

static void test_what_was_written_is_read(void)
{
	g_autoptr(Scratch) dir = scratch_new();
	g_autofree char *text = NULL;

	make(dir);
	g_assert_false(rdmad_allocation_dir_has(dir, ID, "file", NULL));
	put(dir, "old");
	put(dir, "text");
	g_assert_true(rdmad_allocation_dir_has(dir, ID, "file", NULL));
	text = rdmad_allocation_dir_read(dir, ID, "file", 4, NULL);
	g_assert_cmpstr(text, ==, "text");
}

/* Writes a new file if the bytes are others: a process may have mapped the old one. */
static void test_bytes_are_written_whole(void)
{
	static const guint8 LIBRARY[] = { 0x7f, 'E', 'L', 'F', 0, 0, 1, 0 };
	static const guint8 OTHER[] = { 0x7f, 'E', 'L', 'F', 0, 0, 2, 0 };
	g_autoptr(Scratch) dir = scratch_new();
	g_autoptr(GBytes) other = g_bytes_new_static(OTHER, sizeof(OTHER));
	g_autoptr(GBytes) bytes = g_bytes_new_static(LIBRARY, sizeof(LIBRARY));
	g_autofree char *path = rdmad_allocation_dir_path(dir, ID);
	g_autofree char *file = g_build_filename(path, "library", NULL);
	g_autofree char *content = NULL;
	g_autoptr(GError) error = NULL;
	struct stat before, after;
	gsize size;

	g_assert_false(rdmad_allocation_dir_write_bytes(dir, ID, "library", bytes, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
	make(dir);
	g_assert_true(rdmad_allocation_dir_write_bytes(dir, ID, "library", bytes, NULL));
	g_assert_cmpint(stat(file, &before), ==, 0);
	g_assert_true(rdmad_allocation_dir_write_bytes(dir, ID, "library", bytes, NULL));
	g_assert_cmpint(stat(file, &after), ==, 0);
	g_assert_cmpuint(before.st_mode & 07777, ==, 0644);
	g_assert_cmpuint(before.st_ino, ==, after.st_ino);
	g_assert_true(rdmad_allocation_dir_write_bytes(dir, ID, "library", other, NULL));
	g_assert_cmpint(stat(file, &after), ==, 0);
	g_assert_cmpuint(before.st_ino, !=, after.st_ino);
	g_assert_cmpint(chmod(file, 0600), ==, 0);
	g_assert_true(rdmad_allocation_dir_write_bytes(dir, ID, "library", bytes, NULL));
	g_assert_cmpint(stat(file, &after), ==, 0);
	g_assert_cmpuint(after.st_mode & 07777, ==, 0644);
	g_assert_true(g_file_get_contents(file, &content, &size, NULL));
	g_assert_cmpmem(content, size, LIBRARY, sizeof(LIBRARY));
}

static void test_a_longer_file_is_not_read(void)
{
	g_autoptr(Scratch) dir = scratch_new();
	g_autoptr(GError) error = NULL;

	make(dir);
	put(dir, "texts");
	g_assert_null(rdmad_allocation_dir_read(dir, ID, "file", 4, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_LIMIT);
}

static void test_without_a_directory_there_is_nothing(void)
{
	g_autoptr(Scratch) dir = scratch_new();
	g_auto(GStrv) names = rdmad_allocation_dir_list(dir, NULL);
	g_autoptr(GError) error = NULL;

	g_assert_cmpuint(g_strv_length(names), ==, 0);
	g_assert_true(rdmad_allocation_dir_remove(dir, ID, NULL));
	g_assert_false(rdmad_allocation_dir_has(dir, ID, "file", &error));
	g_assert_no_error(error);
	g_assert_null(rdmad_allocation_dir_read(dir, ID, "file", 4, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
	g_clear_error(&error);
	g_assert_false(rdmad_allocation_dir_write(dir, ID, "file", "x", &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
}

static void test_the_list_names_all_and_remove_takes_one(void)
{
	g_autoptr(Scratch) dir = scratch_new();
	g_auto(GStrv) names = NULL, none = NULL;

	make(dir);
	put(dir, "text");
	names = rdmad_allocation_dir_list(dir, NULL);
	g_assert_cmpuint(g_strv_length(names), ==, 1);
	g_assert_cmpstr(names[0], ==, ID);
	g_assert_true(rdmad_allocation_dir_remove(dir, ID, NULL));
	none = rdmad_allocation_dir_list(dir, NULL);
	g_assert_cmpuint(g_strv_length(none), ==, 0);
}

/* The removal fails at an unexpected entry. */
static void test_a_failed_removal_is_continued(void)
{
	g_autoptr(Scratch) dir = scratch_new();
	g_autofree char *odd = g_build_filename(dir, "allocations", ID, "odd", NULL);
	g_autofree char *hidden = g_build_filename(dir, "allocations", ".ended-" ID, NULL);
	g_autofree char *hidden_odd = g_build_filename(hidden, "odd", NULL);
	g_auto(GStrv) names = NULL;
	g_autoptr(GError) error = NULL;

	make(dir);
	put(dir, "text");
	g_assert_cmpint(mkdir(odd, 0700), ==, 0);
	g_assert_false(rdmad_allocation_dir_remove(dir, ID, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	names = rdmad_allocation_dir_list(dir, NULL);
	g_assert_cmpuint(g_strv_length(names), ==, 0);
	g_assert_cmpint(rmdir(hidden_odd), ==, 0);
	g_assert_true(rdmad_allocation_dir_remove(dir, ID, NULL));
	g_assert_false(g_file_test(hidden, G_FILE_TEST_EXISTS));
}

static void test_a_run_directory_that_was_removed_is_made_again(void)
{
	g_autoptr(Scratch) dir = scratch_new();
	g_autofree char *run_dir = g_build_filename(dir, "run", NULL);

	make(run_dir);
	put(run_dir, "text");
	scratch_remove(run_dir);
	make(run_dir);
	put(run_dir, "text");
	g_assert_true(rdmad_allocation_dir_has(run_dir, ID, "file", NULL));
}

/* The target of a link must not be written, listed or removed. */
static void test_links_are_not_followed(void)
{
	static const char *const links[] = { "allocations", "allocations/" ID };

	for (guint i = 0; i < G_N_ELEMENTS(links); i++) {
		g_autoptr(Scratch) dir = scratch_new(), behind = scratch_new();
		g_autofree char *allocations = g_build_filename(dir, "allocations", NULL);
		g_autofree char *link = g_build_filename(dir, links[i], NULL);
		g_autofree char *precious = scratch_write(behind, "file", "precious");
		g_autofree char *text = NULL;

		if (i)
			g_assert_cmpint(mkdir(allocations, 0755), ==, 0);
		g_assert_cmpint(symlink(behind, link), ==, 0);
		g_assert_false(rdmad_allocation_dir_make(dir, ID, NULL));
		g_assert_false(rdmad_allocation_dir_write(dir, ID, "file", "x", NULL));
		g_assert_false(rdmad_allocation_dir_remove(dir, ID, NULL));
		g_assert_null(rdmad_allocation_dir_read(dir, ID, "file", 99, NULL));
		rdmad_allocation_dir_clean(dir, ID);
		g_assert_true(g_file_get_contents(precious, &text, NULL, NULL));
		g_assert_cmpstr(text, ==, "precious");
	}
}

static void test_an_id_is_one_name(void)
{
	static const char *const ids[] = { "", ".", "..", "../x", "a/b" };

	for (guint i = 0; i < G_N_ELEMENTS(ids); i++) {
		g_autoptr(Scratch) dir = scratch_new();

		g_assert_false(rdmad_allocation_dir_make(dir, ids[i], NULL));
		g_assert_false(rdmad_allocation_dir_remove(dir, ids[i], NULL));
	}
}

static void test_unfinished_files_are_cleaned(void)
{
	g_autoptr(Scratch) dir = scratch_new();
	g_autofree char *path = rdmad_allocation_dir_path(dir, ID), *unfinished = NULL;

	make(dir);
	put(dir, "text");
	unfinished = scratch_write(path, ".file.tmp", "te");
	rdmad_allocation_dir_clean(dir, ID);
	g_assert_false(g_file_test(unfinished, G_FILE_TEST_EXISTS));
	g_assert_true(rdmad_allocation_dir_has(dir, ID, "file", NULL));
}

static void test_what_a_kill_left_unfinished_is_replaced(void)
{
	g_autoptr(Scratch) dir = scratch_new();
	g_autofree char *path = rdmad_allocation_dir_path(dir, ID), *unfinished = NULL;

	make(dir);
	unfinished = scratch_write(path, ".file.tmp", "te");
	put(dir, "text");
	g_assert_false(g_file_test(unfinished, G_FILE_TEST_EXISTS));
	g_assert_true(rdmad_allocation_dir_has(dir, ID, "file", NULL));
}

/* ---- spare ones ---- */

static const RdmadSpareDirsClass CLASS = { "file", "text", "own" };

typedef struct {
	Scratch *dir;
	char *run_dir;
	RdmadLoop *loop;
	RdmadSpareDirs *spares;
} Fixture;

/* Counts all names in <run_dir>/allocations, including hidden ones. */
static guint count_all(const char *run_dir)
{
	g_autofree char *path = g_build_filename(run_dir, "allocations", NULL);
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	guint n = 0;

	while (dir && g_dir_read_name(dir))
		n++;
	return n;
}

static void setup(Fixture *f, gconstpointer data)
{
	umask(0077);
	f->dir = scratch_new();
	f->run_dir = g_build_filename(f->dir, "run", NULL);
	f->loop = rdmad_loop_new();
	f->spares = rdmad_spare_dirs_new(f->loop, NULL, f->run_dir, &CLASS);
	while (count_all(f->run_dir) < 3)
		rdmad_loop_turn(f->loop);
}

static void teardown(Fixture *f, gconstpointer data)
{
	rdmad_spare_dirs_free(f->spares);
	rdmad_loop_free(f->loop);
	g_free(f->run_dir);
	scratch_free(f->dir);
}

static void expect_file(const char *run_dir, const char *id, const char *name, const char *text)
{
	g_autofree char *is = rdmad_allocation_dir_read(run_dir, id, name, 99, NULL);
	g_autofree char *path = rdmad_allocation_dir_path(run_dir, id);
	g_autofree char *file = g_build_filename(path, name, NULL);
	struct stat st;

	g_assert_cmpstr(is, ==, text);
	g_assert_cmpint(stat(path, &st), ==, 0);
	g_assert_cmpuint(st.st_mode & 07777, ==, 0755);
	g_assert_cmpint(stat(file, &st), ==, 0);
	g_assert_cmpuint(st.st_mode & 07777, ==, 0644);
}

/* More allocations than spare directories. */
static void test_a_spare_directory_becomes_that_of_an_allocation(Fixture *f, gconstpointer data)
{
	g_auto(GStrv) names = NULL;

	for (guint i = 0; i < 20; i++) {
		g_autofree char *id = g_strdup_printf("%016x", i);

		g_assert_true(rdmad_spare_dirs_take(f->spares, id, id));
		expect_file(f->run_dir, id, "file", "text");
		expect_file(f->run_dir, id, "own", id);
	}
	names = rdmad_allocation_dir_list(f->run_dir, NULL);
	g_assert_cmpuint(g_strv_length(names), ==, 20);
	g_clear_pointer(&f->spares, rdmad_spare_dirs_free);
	g_assert_cmpuint(count_all(f->run_dir), ==, 20);
}

static void test_what_four_calls_have_taken_is_made_again_in_one_turn(Fixture *f,
								      gconstpointer data)
{
	const guint n = count_all(f->run_dir);

	for (guint i = 0; i < 4; i++) {
		g_autofree char *id = g_strdup_printf("%016x", i);

		g_assert_true(rdmad_spare_dirs_take(f->spares, id, id));
	}
	g_assert_cmpuint(count_all(f->run_dir), ==, n);
	rdmad_loop_turn(f->loop);
	g_assert_cmpuint(count_all(f->run_dir), ==, n + 4);
}

/* Directories share a file until it is written in one of them. */
static void test_a_file_of_one_is_not_that_of_another(Fixture *f, gconstpointer data)
{
	static const char other[] = "fedcba9876543210";

	g_assert_true(rdmad_spare_dirs_take(f->spares, ID, ""));
	g_assert_true(rdmad_spare_dirs_take(f->spares, other, ""));
	put(f->run_dir, "mine");
	expect_file(f->run_dir, ID, "file", "mine");
	expect_file(f->run_dir, other, "file", "text");
}

static void test_an_id_that_has_a_directory_gets_no_other(Fixture *f, gconstpointer data)
{
	g_assert_true(rdmad_spare_dirs_take(f->spares, ID, "mine"));
	g_assert_false(rdmad_spare_dirs_take(f->spares, ID, "yours"));
	expect_file(f->run_dir, ID, "own", "mine");
}

static void test_directories_of_a_killed_run_are_removed(Fixture *f, gconstpointer data)
{
	static const char *const names[] = { ".spare-0", ".ended-" ID };

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *path = rdmad_allocation_dir_path(f->run_dir, names[i]);

		g_clear_pointer(&f->spares, rdmad_spare_dirs_free);
		g_assert_cmpint(mkdir(path, 0700), ==, 0);
		g_free(scratch_write(path, ".file.tmp", "te"));
		f->spares = rdmad_spare_dirs_new(f->loop, NULL, f->run_dir, &CLASS);
		g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
	}
}

static void place_is_removed(Fixture *f)
{
	scratch_remove(f->run_dir);
}

static void place_is_moved(Fixture *f)
{
	g_autofree char *to = g_build_filename(f->dir, "away", NULL);

	g_assert_cmpint(rename(f->run_dir, to), ==, 0);
}

static void spares_are_removed(Fixture *f)
{
	g_autofree char *path = g_build_filename(f->run_dir, "allocations", NULL);

	scratch_remove(path);
}

static void test_where_the_place_is_lost_the_usual_way_makes_it(Fixture *f, gconstpointer data)
{
	static void (*const losses[])(Fixture *) = { place_is_removed, place_is_moved,
						     spares_are_removed };

	for (guint i = 0; i < G_N_ELEMENTS(losses); i++) {
		g_autofree char *id = g_strdup_printf("%016x", i);

		losses[i](f);
		g_assert_false(rdmad_spare_dirs_take(f->spares, ID, "mine"));
		g_assert_true(rdmad_spare_dirs_take(f->spares, id, "mine"));
		expect_file(f->run_dir, id, "own", "mine");
	}
}

static void test_a_link_in_their_place_is_not_followed(Fixture *f, gconstpointer data)
{
	g_autofree char *path = g_build_filename(f->run_dir, "allocations", NULL);
	g_autofree char *away = g_build_filename(f->run_dir, "away", NULL);
	g_autoptr(Scratch) behind = scratch_new();
	g_autofree char *spare = scratch_write(behind, ".spare-1", "precious");

	g_assert_cmpint(rename(path, away), ==, 0);
	g_assert_cmpint(symlink(behind, path), ==, 0);
	g_assert_false(rdmad_spare_dirs_take(f->spares, ID, "mine"));
	g_assert_false(rdmad_spare_dirs_take(f->spares, ID, "mine"));
	g_clear_pointer(&f->spares, rdmad_spare_dirs_free);
	g_assert_true(g_file_test(spare, G_FILE_TEST_IS_REGULAR));
	g_assert_cmpint(unlink(path), ==, 0);
}

#define SPARE_TEST(name)                                                                           \
	UNIT_FIXTURE_TEST("/allocation-dir/spare/" #name, Fixture, NULL, setup, test_##name,       \
			  teardown)
#define TEST(name) UNIT_TEST("/allocation-dir/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(what_was_written_is_read),
	TEST(bytes_are_written_whole),
	TEST(a_longer_file_is_not_read),
	TEST(without_a_directory_there_is_nothing),
	TEST(the_list_names_all_and_remove_takes_one),
	TEST(a_failed_removal_is_continued),
	TEST(a_run_directory_that_was_removed_is_made_again),
	TEST(links_are_not_followed),
	TEST(an_id_is_one_name),
	TEST(unfinished_files_are_cleaned),
	TEST(what_a_kill_left_unfinished_is_replaced),
	SPARE_TEST(a_spare_directory_becomes_that_of_an_allocation),
	SPARE_TEST(what_four_calls_have_taken_is_made_again_in_one_turn),
	SPARE_TEST(a_file_of_one_is_not_that_of_another),
	SPARE_TEST(an_id_that_has_a_directory_gets_no_other),
	SPARE_TEST(directories_of_a_killed_run_are_removed),
	SPARE_TEST(where_the_place_is_lost_the_usual_way_makes_it),
	SPARE_TEST(a_link_in_their_place_is_not_followed),
	{ 0 },
};
