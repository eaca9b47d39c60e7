/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <rdmad/allocation-dir.h>
#include <rdmad/error.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../scratch.h"
#include "../support/unit.h"

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

/* Another file each time: a process that has mapped the old one keeps it. */
static void test_bytes_are_written_whole(void)
{
	static const guint8 LIBRARY[] = { 0x7f, 'E', 'L', 'F', 0, 0, 1, 0 };
	g_autoptr(Scratch) dir = scratch_new();
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
	g_assert_cmpuint(before.st_ino, !=, after.st_ino);
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

/* The target of a link is never written, listed or removed. */
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

#define TEST(name) UNIT_TEST("/allocation-dir/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(what_was_written_is_read),
	TEST(bytes_are_written_whole),
	TEST(a_longer_file_is_not_read),
	TEST(without_a_directory_there_is_nothing),
	TEST(the_list_names_all_and_remove_takes_one),
	TEST(a_run_directory_that_was_removed_is_made_again),
	TEST(links_are_not_followed),
	TEST(an_id_is_one_name),
	TEST(unfinished_files_are_cleaned),
	{ 0 },
};
