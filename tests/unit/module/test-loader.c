/* SPDX-License-Identifier: Apache-2.0 */
#include <gmodule.h>
#include <rdmad/error.h>
#include <string.h>
#include <unistd.h>

#include "bad-modules.h"
#include "module/loader.h"
#include "../scratch.h"
#include "../support/descriptors.h"
#include "../support/unit.h"

static void test_a_good_module_gives_its_class(void)
{
	g_autofree char *dir = bad_modules_dir();
	g_autoptr(GError) error = NULL;
	const RdmadModuleClass *klass = rdmad_module_load(dir, "good", &error);

	g_assert_no_error(error);
	g_assert_cmpstr(klass->name, ==, "good");
	g_assert_cmpstr(klass->description, ==, "A good module");
}

/* The module is loaded by a descriptor's number, by which the linker identifies it. */
static void test_two_modules_are_two_and_one_is_one(void)
{
	g_autofree char *dir = bad_modules_dir();
	const RdmadModuleClass *good = rdmad_module_load(dir, "good", NULL);
	const RdmadModuleClass *busy = rdmad_module_load(dir, "busy", NULL);

	g_assert_nonnull(good);
	g_assert_nonnull(busy);
	g_assert_cmpstr(busy->name, ==, "busy");
	g_assert_true(rdmad_module_load(dir, "good", NULL) == good);
	g_assert_true(rdmad_module_load(dir, "busy", NULL) == busy);
}

static const struct {
	const char *name;
	RdmadError code;
	const char *words;
} bad[] = {
	{ "absent", RDMAD_ERROR_NOT_FOUND, "absent.so: no such file" },
	{ "wrong-abi", RDMAD_ERROR_ABI, "made for module ABI 4711, this rdmad" },
	{ "wrong-size", RDMAD_ERROR_ABI, "its class has 8 bytes instead of" },
	{ "wrong-name", RDMAD_ERROR_ABI, "its name is \"another\"" },
	{ "no-class", RDMAD_ERROR_ABI, "does not export rdmad_module_class" },
	{ "incomplete", RDMAD_ERROR_ABI, "lacks one of create, start, stop and destroy" },
	{ "missing-symbol", RDMAD_ERROR_ABI, "undefined symbol: rdmad_from_the_future" },
};

static void test_modules_that_do_not_fit_are_refused_by_name(void)
{
	g_autofree char *dir = bad_modules_dir();

	for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(GError) error = NULL;
		g_autofree char *path = g_strdup_printf("%s/%s.so", dir, bad[i].name);
		const guint before = count_descriptors();

		g_assert_null(rdmad_module_load(dir, bad[i].name, &error));
		g_test_message("%s", error->message);
		g_assert_error(error, RDMAD_ERROR, (int)bad[i].code);
		g_assert_nonnull(strstr(error->message, bad[i].words));
		g_assert_nonnull(strstr(error->message, path));
		g_assert_null(strstr(error->message, "/proc/"));
		g_assert_cmpuint(count_descriptors(), ==, before);
	}
}

static const struct {
	const char *name, *symbol;
	RdmadError code;
	const char *words;
} bad_parts[] = {
	{ "absent", "rdmad_part", RDMAD_ERROR_NOT_FOUND, "absent.so: no such file" },
	{ "no-class", "rdmad_part", RDMAD_ERROR_ABI, "does not export rdmad_part" },
	{ "foreign-part", "rdmad_part", RDMAD_ERROR_ABI, "of another rdmad than " },
};

static void test_parts_that_do_not_fit_are_refused(void)
{
	g_autofree char *dir = bad_modules_dir();

	for (gsize i = 0; i < G_N_ELEMENTS(bad_parts); i++) {
		g_autoptr(GError) error = NULL;
		const guint before = count_descriptors();

		g_assert_null(rdmad_module_load_part(dir, bad_parts[i].name, bad_parts[i].symbol,
						     &error));
		g_test_message("%s", error->message);
		g_assert_error(error, RDMAD_ERROR, (int)bad_parts[i].code);
		g_assert_nonnull(strstr(error->message, bad_parts[i].words));
		g_assert_cmpuint(count_descriptors(), ==, before);
	}
}

/* Each makes one property of DIR/mods/good.so invalid. */
typedef void (*SpoilFunc)(const char *mods, const char *file);

static void spoil_text(const char *mods, const char *file)
{
	g_assert_true(g_file_set_contents(file, "#!/bin/sh\n", -1, NULL));
	chmod(file, 0755);
}

static void spoil_empty(const char *mods, const char *file)
{
	g_assert_cmpint(truncate(file, 0), ==, 0);
}

static void spoil_cut_off(const char *mods, const char *file)
{
	g_assert_cmpint(truncate(file, 100), ==, 0);
}

static void spoil_third(const char *mods, const char *file)
{
	struct stat st;

	g_assert_cmpint(stat(file, &st), ==, 0);
	g_assert_cmpint(truncate(file, st.st_size / 3), ==, 0);
}

static void spoil_last_byte(const char *mods, const char *file)
{
	struct stat st;

	g_assert_cmpint(stat(file, &st), ==, 0);
	g_assert_cmpint(truncate(file, st.st_size - 1), ==, 0);
}

static void spoil_link(const char *mods, const char *file)
{
	g_autofree char *target = g_strconcat(file, ".1", NULL);

	g_assert_cmpint(rename(file, target), ==, 0);
	g_assert_cmpint(symlink(target, file), ==, 0);
}

static void spoil_fifo(const char *mods, const char *file)
{
	g_assert_cmpint(unlink(file), ==, 0);
	g_assert_cmpint(mkfifo(file, 0600), ==, 0);
}

static void spoil_directory(const char *mods, const char *file)
{
	g_assert_cmpint(unlink(file), ==, 0);
	g_assert_cmpint(mkdir(file, 0700), ==, 0);
}

static void spoil_file_group(const char *mods, const char *file)
{
	chmod(file, 0664);
}

static void spoil_file_world(const char *mods, const char *file)
{
	chmod(file, 0646);
}

static void spoil_file_owner(const char *mods, const char *file)
{
	g_assert_cmpint(chown(file, 65534, 0), ==, 0);
}

static void spoil_dir_world(const char *mods, const char *file)
{
	chmod(mods, 0777);
}

static void spoil_dir_sticky(const char *mods, const char *file)
{
	chmod(mods, 01777);
}

static void spoil_dir_group(const char *mods, const char *file)
{
	chmod(mods, 0775);
}

static void spoil_dir_owner(const char *mods, const char *file)
{
	g_assert_cmpint(chown(mods, 65534, 0), ==, 0);
}

static void spoil_above_world(const char *mods, const char *file)
{
	g_autofree char *above = g_path_get_dirname(mods);

	chmod(above, 0777);
}

static void spoil_above_owner(const char *mods, const char *file)
{
	g_autofree char *above = g_path_get_dirname(mods);

	g_assert_cmpint(chown(above, 65534, 0), ==, 0);
}

static const struct {
	const char *what;
	SpoilFunc spoil;
	const char *words;
	gboolean needs_root;
} hostile[] = {
	{ "text", spoil_text, "good.so: not a shared object" },
	{ "empty", spoil_empty, "good.so: not a shared object" },
	{ "cut off", spoil_cut_off, "good.so: only 100 bytes of it are there" },
	{ "third", spoil_third, "bytes of it are there; install the module again" },
	{ "last byte", spoil_last_byte, "bytes of it are there; install the module again" },
	{ "link", spoil_link, "good.so: a symbolic link" },
	{ "fifo", spoil_fifo, "good.so: not a regular file" },
	{ "directory", spoil_directory, "good.so: not a regular file" },
	{ "file group", spoil_file_group, "good.so: others may write to this file" },
	{ "file world", spoil_file_world, "good.so: others may write to this file" },
	{ "file owner", spoil_file_owner, "good.so: belongs to user 65534", TRUE },
	{ "dir world", spoil_dir_world, "/mods: others may write to this directory" },
	{ "dir sticky", spoil_dir_sticky, "/mods: others may write to this directory" },
	{ "dir group", spoil_dir_group, "/mods: others may write to this directory" },
	{ "dir owner", spoil_dir_owner, "/mods: belongs to user 65534", TRUE },
	{ "above world", spoil_above_world, ": others may write to this directory" },
	{ "above owner", spoil_above_owner, ": belongs to user 65534", TRUE },
};

static char *copy_good_module(const char *mods)
{
	g_autofree char *dir = bad_modules_dir();
	g_autofree char *from = g_build_filename(dir, "good.so", NULL);
	char *to = g_build_filename(mods, "good.so", NULL);
	g_autofree char *bytes = NULL;
	gsize size;

	g_assert_cmpint(g_mkdir(mods, 0755), ==, 0);
	g_assert_true(g_file_get_contents(from, &bytes, &size, NULL));
	g_assert_true(g_file_set_contents(to, bytes, size, NULL));
	chmod(to, 0644);
	return to;
}

static void test_what_others_could_have_put_there_is_refused(void)
{
	for (gsize i = 0; i < G_N_ELEMENTS(hostile); i++) {
		g_autoptr(Scratch) dir = scratch_new();
		g_autofree char *mods = g_build_filename(dir, "mods", NULL);
		g_autofree char *file = copy_good_module(mods);
		g_autoptr(GError) error = NULL;
		const guint before = count_descriptors();

		if (hostile[i].needs_root && geteuid() != 0)
			continue;
		hostile[i].spoil(mods, file);
		g_assert_null(rdmad_module_load(mods, "good", &error));
		g_test_message("%s: %s", hostile[i].what, error->message);
		g_assert_nonnull(strstr(error->message, hostile[i].words));
		g_assert_cmpuint(count_descriptors(), ==, before);
	}
}

/* Without the fault, the file of the table above loads; /tmp above it is sticky. */
static void test_a_link_to_the_directory_is_followed(void)
{
	g_autoptr(Scratch) dir = scratch_new();
	g_autofree char *mods = g_build_filename(dir, "mods", NULL);
	g_autofree char *link = g_build_filename(dir, "link", NULL);
	g_autofree char *file = copy_good_module(mods);
	g_autoptr(GError) error = NULL;

	g_assert_nonnull(file);
	g_assert_cmpint(symlink("mods", link), ==, 0);
	rdmad_module_load(link, "good", &error);
	g_assert_no_error(error);
}

/* ---- errors of the linker ---- */

static const char *linker_says; /* NULL: the real function is called */

GModule *__real_g_module_open(const char *file, GModuleFlags flags);
GModule *__wrap_g_module_open(const char *file, GModuleFlags flags);
const char *__real_g_module_error(void);
const char *__wrap_g_module_error(void);

GModule *__wrap_g_module_open(const char *file, GModuleFlags flags)
{
	return linker_says ? NULL : __real_g_module_open(file, flags);
}

const char *__wrap_g_module_error(void)
{
	return linker_says ?: __real_g_module_error();
}

static void test_what_may_pass_is_no_fault_of_the_module(void)
{
	static const struct {
		const char *says;
		RdmadError code;
	} cases[] = {
		{ "libnghttp2.so.14: cannot open shared object file: Too many open files",
		  RDMAD_ERROR_FAILED },
		{ "cannot read file data: Input/output error", RDMAD_ERROR_FAILED },
		{ "failed to map segment from shared object", RDMAD_ERROR_FAILED },
		{ "invalid ELF header", RDMAD_ERROR_ABI },
		{ "libc.so.6: version `GLIBC_2.99' not found (required by x.so)", RDMAD_ERROR_ABI },
		{ "libx.so.1: cannot open shared object file: No such file or directory",
		  RDMAD_ERROR_ABI },
		{ "undefined symbol: rdmad_x", RDMAD_ERROR_ABI },
	};
	g_autofree char *dir = bad_modules_dir();

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;

		linker_says = cases[i].says;
		g_assert_null(rdmad_module_load(dir, "good", &error));
		linker_says = NULL;
		g_assert_error(error, RDMAD_ERROR, (int)cases[i].code);
		g_assert_nonnull(strstr(error->message, cases[i].says));
	}
}

#define TEST(name) UNIT_TEST("/module-loader/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(a_good_module_gives_its_class),
	TEST(two_modules_are_two_and_one_is_one),
	TEST(modules_that_do_not_fit_are_refused_by_name),
	TEST(parts_that_do_not_fit_are_refused),
	TEST(what_others_could_have_put_there_is_refused),
	TEST(a_link_to_the_directory_is_followed),
	TEST(what_may_pass_is_no_fault_of_the_module),
	{ 0 },
};
