/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/error.h>
#include <string.h>
#include <unistd.h>

#include "base/directory.h"
#include "../scratch.h"
#include "../support/unit.h"

static int mode_of(const char *path)
{
	struct stat st;

	g_assert_cmpint(lstat(path, &st), ==, 0);
	return st.st_mode & 07777;
}

static void test_missing_directories_are_made_whatever_the_umask(void)
{
	g_autoptr(Scratch) dir = scratch_new();
	g_autofree char *above = g_build_filename(dir, "a", NULL);
	g_autofree char *path = g_build_filename(above, "b", NULL);
	g_autoptr(GError) error = NULL;
	const mode_t before = umask(0077);

	rdmad_directory_prepare(path, 0700, RDMAD_DISK_FOR_GOOD, &error);
	umask(before);
	g_assert_no_error(error);
	g_assert_cmpint(mode_of(above), ==, 0755);
	g_assert_cmpint(mode_of(path), ==, 0700);
}

static void test_one_that_is_there_gets_the_mode(void)
{
	g_autoptr(Scratch) dir = scratch_new();
	g_autoptr(GError) error = NULL;

	chmod(dir, 0750);
	rdmad_directory_prepare(dir, 0700, RDMAD_DISK_FOR_GOOD, &error);
	g_assert_no_error(error);
	g_assert_cmpint(mode_of(dir), ==, 0700);
}

typedef void (*MakeFunc)(const char *path);

static void make_file(const char *path)
{
	g_assert_true(g_file_set_contents(path, "", 0, NULL));
}

static void make_link(const char *path)
{
	g_assert_cmpint(symlink("/", path), ==, 0);
}

static void make_dangling_link(const char *path)
{
	g_assert_cmpint(symlink("nowhere", path), ==, 0);
}

static void make_writable(const char *path)
{
	g_assert_cmpint(mkdir(path, 0700), ==, 0);
	g_assert_cmpint(chmod(path, 01777), ==, 0);
}

static void make_group_writable(const char *path)
{
	g_assert_cmpint(mkdir(path, 0700), ==, 0);
	g_assert_cmpint(chmod(path, 0775), ==, 0);
}

static void make_strangers(const char *path)
{
	g_assert_cmpint(mkdir(path, 0755), ==, 0);
	g_assert_cmpint(chown(path, 65534, 65534), ==, 0);
}

static const struct {
	MakeFunc make;
	const char *words;
	gboolean needs_root;
} hostile[] = {
	{ make_file, "is not a directory" },
	{ make_link, "is not a directory" },
	{ make_dangling_link, "is not a directory" },
	{ make_writable, "may be written to by others (mode 1777)" },
	{ make_group_writable, "may be written to by others (mode 0775)" },
	{ make_strangers, "belongs to user 65534", TRUE },
};

static void test_what_others_could_have_prepared_is_refused(void)
{
	for (gsize i = 0; i < G_N_ELEMENTS(hostile); i++) {
		g_autoptr(Scratch) dir = scratch_new();
		g_autofree char *path = g_build_filename(dir, "x", NULL);
		g_autoptr(GError) error = NULL;

		if (hostile[i].needs_root && geteuid() != 0)
			continue;
		hostile[i].make(path);
		g_assert_false(rdmad_directory_prepare(path, 0755, RDMAD_DISK_FOR_GOOD, &error));
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
		g_test_message("%s", error->message);
		g_assert_nonnull(strstr(error->message, hostile[i].words));
		g_assert_nonnull(strstr(error->message, path));
	}
}

/* procfs returns ENOENT, which once caused an endless recursion to the parents. */
static void test_a_directory_that_cannot_be_made_is_an_error(void)
{
	g_autoptr(GError) error = NULL;

	g_assert_false(
		rdmad_directory_prepare("/proc/nothing/below", 0755, RDMAD_DISK_FOR_GOOD, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED);
	g_assert_nonnull(strstr(error->message, "/proc/nothing"));
}

#define TEST(name) UNIT_TEST("/directory/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(missing_directories_are_made_whatever_the_umask),
	TEST(one_that_is_there_gets_the_mode),
	TEST(a_directory_that_cannot_be_made_is_an_error),
	TEST(what_others_could_have_prepared_is_refused),
	{ 0 },
};
