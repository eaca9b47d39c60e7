/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <glib/gstdio.h>
#include <limits.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <string.h>
#include <sys/stat.h>

#include "hardware/sysroot.h"
#include "../scratch.h"
#include "../support/unit.h"

typedef struct {
	char *outside; /* target of a link that leads out of the root */
	char *dir;
	RdmadSysroot *root;
} Fixture;

static void put(const char *dir, const char *path, const char *value, gssize len)
{
	g_autofree char *full = g_build_filename(dir, path, NULL);
	g_autofree char *parent = g_path_get_dirname(full);

	g_assert_cmpint(g_mkdir_with_parents(parent, 0755), ==, 0);
	g_assert_true(g_file_set_contents(full, value, len, NULL));
}

static void put_link(const char *dir, const char *path, const char *target)
{
	g_autofree char *full = g_build_filename(dir, path, NULL);
	g_autofree char *parent = g_path_get_dirname(full);

	g_assert_cmpint(g_mkdir_with_parents(parent, 0755), ==, 0);
	g_assert_cmpint(symlink(target, full), ==, 0);
}

static void setup(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	f->outside = g_dir_make_tmp("rdmad-sysroot-XXXXXX", &error);
	g_assert_no_error(error);
	f->dir = g_build_filename(f->outside, "root", NULL);
	g_assert_cmpint(g_mkdir(f->dir, 0755), ==, 0);
	f->root = rdmad_sysroot_new(f->dir, &error);
	g_assert_no_error(error);
}

static void teardown(Fixture *f, gconstpointer data)
{
	rdmad_sysroot_free(f->root);
	scratch_free(f->outside);
	g_free(f->dir);
}

static void test_a_value_is_read_without_trailing_space(Fixture *f, gconstpointer data)
{
	static const struct {
		const char *raw;
		gssize len;
		const char *value;
	} table[] = {
		{ "4: ACTIVE\n", -1, "4: ACTIVE" },
		{ "", 0, "" },
		{ " x \n\n", -1, " x" },
		{ "MT_1\0\0\n", 7, "MT_1" },
		{ "a\nb\n", -1, "a\nb" },
		{ "caf\xe9\n", -1, "caf\xef\xbf\xbd" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(table); i++) {
		g_autoptr(GError) error = NULL;
		g_autofree char *value = NULL;

		put(f->dir, "sys/value", table[i].raw, table[i].len);
		value = rdmad_sysroot_read(f->root, "sys/value", &error);
		g_assert_no_error(error);
		g_assert_cmpstr(value, ==, table[i].value);
	}
}

static void test_what_is_no_text_is_refused(Fixture *f, gconstpointer data)
{
	g_autofree char *huge = g_strnfill(RDMAD_SYSROOT_MAX + 1, 'x');
	g_autoptr(GError) error = NULL;

	put(f->dir, "sys/binary", "a\0b", 3);
	g_assert_null(rdmad_sysroot_read(f->root, "sys/binary", &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
	g_clear_error(&error);

	put(f->dir, "sys/huge", huge, -1);
	g_assert_null(rdmad_sysroot_read(f->root, "sys/huge", &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
	g_clear_error(&error);

	g_assert_null(rdmad_sysroot_read(f->root, "sys", &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
}

static void test_the_largest_value_is_read_whole(Fixture *f, gconstpointer data)
{
	g_autofree char *large = g_strnfill(RDMAD_SYSROOT_MAX, 'x');
	g_autoptr(GError) error = NULL;
	g_autofree char *value = NULL;

	put(f->dir, "sys/large", large, -1);
	value = rdmad_sysroot_read(f->root, "sys/large", &error);
	g_assert_no_error(error);
	g_assert_cmpuint(strlen(value), ==, RDMAD_SYSROOT_MAX);
}

static void test_a_fifo_does_not_hold_the_reader(Fixture *f, gconstpointer data)
{
	g_autofree char *path = g_build_filename(f->dir, "fifo", NULL);
	g_autoptr(GError) error = NULL;

	g_assert_cmpint(mkfifo(path, 0600), ==, 0);
	g_assert_null(rdmad_sysroot_read(f->root, "fifo", &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
	g_clear_error(&error);
	g_assert_false(rdmad_sysroot_write(f->root, "fifo", "1", &error));
	g_assert_nonnull(error);
}

static void test_no_link_leads_out_of_the_root(Fixture *f, gconstpointer data)
{
	static const char *const targets[] = {
		"/secret",    "../secret",	  "../../../../../../secret",
		"/../secret", "sys/../../secret",
	};

	put(f->outside, "secret", "outside", -1);
	put(f->dir, "sys/x", "1", -1);
	for (guint i = 0; i < G_N_ELEMENTS(targets); i++) {
		g_autofree char *link = g_strdup_printf("link%u", i);
		g_autoptr(GError) error = NULL;

		put_link(f->dir, link, targets[i]);
		g_assert_null(rdmad_sysroot_read(f->root, link, &error));
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
	}
	put(f->dir, "secret", "inside", -1);
	for (guint i = 0; i < G_N_ELEMENTS(targets); i++) {
		g_autofree char *link = g_strdup_printf("link%u", i);
		g_autofree char *value = rdmad_sysroot_read(f->root, link, NULL);

		g_assert_cmpstr(value, ==, "inside");
	}
	g_assert_false(rdmad_sysroot_exists(f->root, "../root/../secret2"));
}

static void test_magic_links_are_refused(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadSysroot) live = rdmad_sysroot_new("/", NULL);
	g_autoptr(GError) error = NULL;

	g_assert_cmpint(rdmad_sysroot_open(live, "proc/self/root", O_RDONLY, &error), ==, -1);
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
}

static void test_an_error_names_the_path_and_its_kind(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	put_link(f->dir, "loop", "loop");
	g_assert_null(rdmad_sysroot_read(f->root, "sys/none", &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
	g_assert_cmpstr(error->message, ==, "sys/none: No such file or directory");
	g_clear_error(&error);
	g_assert_null(rdmad_sysroot_read(f->root, "loop", &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
	g_clear_error(&error);
	g_assert_null(rdmad_sysroot_new("/no/such/root", &error));
	g_assert_nonnull(strstr(error->message, "/no/such/root"));
}

static void test_numbers_are_decimal_or_hexadecimal_and_nothing_else(Fixture *f, gconstpointer data)
{
	static const struct {
		const char *text;
		gboolean good;
		gint64 value;
	} table[] = {
		{ "0\n", TRUE, 0 },
		{ "-1\n", TRUE, -1 },
		{ "010\n", TRUE, 10 },
		{ "0x15b3\n", TRUE, 0x15b3 },
		{ "9223372036854775807", TRUE, G_MAXINT64 },
		{ "9223372036854775808", FALSE, 0 },
		{ "", FALSE, 0 },
		{ "x", FALSE, 0 },
		{ "0x", FALSE, 0 },
		{ "1x", FALSE, 0 },
		{ " 1", FALSE, 0 },
		{ "1 2", FALSE, 0 },
		{ "1\n2\n", FALSE, 0 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(table); i++) {
		g_autoptr(GError) error = NULL;
		gint64 value = 0;

		put(f->dir, "n", table[i].text, -1);
		g_assert_cmpint(rdmad_sysroot_read_int(f->root, "n", &value, &error), ==,
				table[i].good);
		g_assert_cmpint(value, ==, table[i].value);
		if (!table[i].good)
			g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
	}
}

static void test_links_are_named_and_resolved_within_the_root(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *name = NULL, *path = NULL, *absolute = NULL;

	put(f->dir, "sys/devices/pci0000:3a/0000:3b:00.0/vendor", "0x15b3", -1);
	put_link(f->dir, "sys/class/x/mlx5_0", "../../devices/pci0000:3a/0000:3b:00.0");
	put_link(f->dir, "sys/absolute", "/sys/class/x/mlx5_0");
	put_link(f->dir, "sys/dangling", "../../../bus/drivers/mlx5_core");

	name = rdmad_sysroot_link_name(f->root, "sys/dangling", &error);
	g_assert_no_error(error);
	g_assert_cmpstr(name, ==, "mlx5_core");
	path = rdmad_sysroot_resolve(f->root, "sys/class/x/mlx5_0", &error);
	g_assert_cmpstr(path, ==, "sys/devices/pci0000:3a/0000:3b:00.0");
	absolute = rdmad_sysroot_resolve(f->root, "sys/absolute", &error);
	g_assert_cmpstr(absolute, ==, path);

	g_assert_null(rdmad_sysroot_link_name(f->root, "sys/class", &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
	g_clear_error(&error);
	g_assert_null(rdmad_sysroot_resolve(f->root, "sys/dangling", &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
}

static void test_a_directory_is_listed_in_natural_order(Fixture *f, gconstpointer data)
{
	static const char *const expected[] = { "mlx5_0", "mlx5_2", "mlx5_10", NULL };
	g_autoptr(GError) error = NULL;
	g_auto(GStrv) names = NULL;

	put(f->dir, "d/mlx5_10", "", -1);
	put(f->dir, "d/mlx5_2", "", -1);
	put(f->dir, "d/mlx5_0", "", -1);
	names = rdmad_sysroot_list(f->root, "d", &error);
	g_assert_no_error(error);
	g_assert_true(g_strv_equal((const char *const *)names, expected));
	g_assert_null(rdmad_sysroot_list(f->root, "d/mlx5_0", &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
}

static void append_line(const char *name, const char *value, const GError *error, gpointer data)
{
	g_string_append_printf(data, "%s=%s;", name, value ? value : error->message);
}

static void test_a_directory_of_attributes_is_read_at_once(Fixture *f, gconstpointer data)
{
	g_autofree char *largest = g_strnfill(4096, 'x');
	g_autofree char *too_large = g_strnfill(4097, 'x');
	g_autoptr(GString) seen = g_string_new(NULL);
	g_autoptr(GError) error = NULL;

	put(f->outside, "secret", "outside", -1);
	put(f->dir, "d/10", "ten\n", -1);
	put(f->dir, "d/2", "two\n", -1);
	put(f->dir, "d/binary", "a\0b", 3);
	put(f->dir, "d/dir/x", "", -1);
	put(f->dir, "d/large", too_large, -1);
	put_link(f->dir, "d/link", "../../secret");
	g_assert_true(rdmad_sysroot_read_dir(f->root, "d", append_line, seen, &error));
	g_assert_no_error(error);
	g_assert_cmpstr(seen->str, ==,
			"2=two;10=ten;binary=d/binary: not text;dir=d/dir: Is a directory;"
			"large=d/large: more than 4096 bytes;"
			"link=d/link: Too many levels of symbolic links;");

	g_string_truncate(seen, 0);
	put(f->dir, "e/large", largest, -1);
	g_assert_true(rdmad_sysroot_read_dir(f->root, "e", append_line, seen, &error));
	g_assert_cmpuint(seen->len, ==, strlen("large=;") + 4096);
	g_assert_false(rdmad_sysroot_read_dir(f->root, "none", append_line, seen, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
}

static void test_a_written_value_replaces_the_old_one(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *value = NULL;

	put(f->dir, "sriov_numvfs", "128", -1);
	g_assert_true(rdmad_sysroot_write(f->root, "sriov_numvfs", "4", &error));
	g_assert_no_error(error);
	value = rdmad_sysroot_read(f->root, "sriov_numvfs", &error);
	g_assert_cmpstr(value, ==, "4");
	g_assert_false(rdmad_sysroot_write(f->root, "none", "4", &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
}

static void test_a_recorded_machine_has_programs_of_its_own(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadSysroot) live = rdmad_sysroot_new(NULL, NULL);
	g_autofree char *ours = rdmad_sysroot_program(live, "/bin/sh", NULL);
	g_autofree char *inside = g_build_filename(f->dir, "sbin/tool", NULL);
	g_autofree char *program = NULL;
	g_autoptr(GError) error = NULL;

	g_assert_cmpstr(ours, ==, "/bin/sh");
	put(f->dir, "sbin/tool", "", 0);
	program = rdmad_sysroot_program(f->root, "/sbin/tool", &error);
	g_assert_no_error(error);
	g_assert_cmpstr(program, ==, inside);
	g_assert_null(rdmad_sysroot_program(f->root, "/bin/sh", &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
}

/* The path below the root is shorter than PATH_MAX, and the whole path is longer. */
static void test_a_program_that_the_kernel_cannot_name_is_refused(Fixture *f, gconstpointer data)
{
	rdmad_autofd int dir = open(f->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	g_autofree char *name = g_strnfill(NAME_MAX - 1, 'd');
	g_autoptr(GString) path = g_string_new("");
	g_autoptr(GError) error = NULL;

	while (path->len + NAME_MAX < PATH_MAX) {
		g_string_append_printf(path, "/%s", name);
		g_assert_cmpint(mkdirat(dir, path->str + 1, 0755), ==, 0);
	}
	g_assert_null(rdmad_sysroot_program(f->root, path->str, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
	for (; path->len; g_string_truncate(path, path->len - NAME_MAX))
		g_assert_cmpint(unlinkat(dir, path->str + 1, AT_REMOVEDIR), ==, 0);
}

static void test_only_the_real_root_is_live(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadSysroot) by_default = rdmad_sysroot_new(NULL, NULL);
	g_autoptr(RdmadSysroot) by_path = rdmad_sysroot_new("/", NULL);

	g_assert_true(rdmad_sysroot_is_live(by_default));
	g_assert_true(rdmad_sysroot_is_live(by_path));
	g_assert_false(rdmad_sysroot_is_live(f->root));
}

static void test_descriptors_are_not_inherited(Fixture *f, gconstpointer data)
{
	rdmad_autofd int fd = -1;

	put(f->dir, "x", "1", -1);
	fd = rdmad_sysroot_open(f->root, "x", O_RDONLY, NULL);
	g_assert_cmpint(fcntl(fd, F_GETFD), ==, FD_CLOEXEC);
}

#define TEST(name) UNIT_FIXTURE_TEST("/sysroot/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(a_value_is_read_without_trailing_space),
	TEST(what_is_no_text_is_refused),
	TEST(the_largest_value_is_read_whole),
	TEST(a_fifo_does_not_hold_the_reader),
	TEST(no_link_leads_out_of_the_root),
	TEST(magic_links_are_refused),
	TEST(an_error_names_the_path_and_its_kind),
	TEST(numbers_are_decimal_or_hexadecimal_and_nothing_else),
	TEST(links_are_named_and_resolved_within_the_root),
	TEST(a_directory_is_listed_in_natural_order),
	TEST(a_directory_of_attributes_is_read_at_once),
	TEST(a_written_value_replaces_the_old_one),
	TEST(a_recorded_machine_has_programs_of_its_own),
	TEST(a_program_that_the_kernel_cannot_name_is_refused),
	TEST(only_the_real_root_is_live),
	TEST(descriptors_are_not_inherited),
	{ 0 },
};
