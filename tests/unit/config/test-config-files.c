/* SPDX-License-Identifier: Apache-2.0 */
/* Files, directories and includes */
#include <glib/gstdio.h>
#include <rdmad/error.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "config/config-private.h"
#include "libconfig-leak.h"
#include "../support/descriptors.h"
#include "../support/entries.h"
#include "../support/unit.h"

typedef struct {
	char *dir, *main, *profiles;
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
	f->dir = g_dir_make_tmp("rdmad-config-XXXXXX", NULL);
	f->main = g_build_filename(f->dir, "rdmad.conf", NULL);
	f->profiles = g_build_filename(f->dir, "profiles", NULL);
}

static void remove_tree(const char *path)
{
	GDir *dir = g_file_test(path, G_FILE_TEST_IS_SYMLINK) ? NULL : g_dir_open(path, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *entry = g_build_filename(path, name, NULL);

		remove_tree(entry);
	}
	g_clear_pointer(&dir, g_dir_close);
	g_remove(path);
}

static void teardown(Fixture *f, gconstpointer data)
{
	remove_tree(f->dir);
	g_free(f->dir);
	g_free(f->main);
	g_free(f->profiles);
}

static void put(const Fixture *f, const char *name, const char *text)
{
	g_autofree char *path = g_build_filename(f->dir, name, NULL);
	g_autofree char *directory = g_path_get_dirname(path);

	g_assert_cmpint(g_mkdir_with_parents(directory, 0700), ==, 0);
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void assert_loads(const Fixture *f, const char *printed)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadConfig) config = rdmad_config_load(f->main, f->profiles, &error);
	g_autofree char *text = NULL;

	g_assert_no_error(error);
	text = rdmad_config_print(config);
	g_assert_cmpstr(text, ==, printed);
}

/* `%s` in the expected message stands for the directory. */
static void assert_fails(const Fixture *f, int code, const char *expected)
{
	g_auto(GStrv) parts = g_strsplit(expected, "%s", -1);
	g_autofree char *message = g_strjoinv(f->dir, parts);
	g_autoptr(GError) error = NULL;

	g_assert_null(rdmad_config_load(f->main, f->profiles, &error));
	g_assert_error(error, RDMAD_ERROR, code);
	g_assert_cmpstr(error->message, ==, message);
}

static void test_a_file_that_is_not_there_is_not_found(Fixture *f, gconstpointer data)
{
	assert_fails(f, RDMAD_ERROR_NOT_FOUND, "%s/rdmad.conf: no such file");
}

static void test_a_directory_is_no_file(Fixture *f, gconstpointer data)
{
	g_assert_cmpint(g_mkdir(f->main, 0700), ==, 0);
	assert_fails(f, RDMAD_ERROR_CONFIG, "%s/rdmad.conf: is a directory, not a file");
}

static void test_a_fifo_does_not_stop_the_daemon(Fixture *f, gconstpointer data)
{
	g_assert_cmpint(mkfifo(f->main, 0600), ==, 0);
	assert_fails(f, RDMAD_ERROR_CONFIG, "%s/rdmad.conf: is not a regular file");
}

static void test_a_path_through_a_file_has_a_reason(Fixture *f, gconstpointer data)
{
	put(f, "rdmad.conf", "");
	g_free(f->main);
	f->main = g_build_filename(f->dir, "rdmad.conf", "x", NULL);
	assert_fails(f, RDMAD_ERROR_CONFIG, "%s/rdmad.conf/x: Not a directory");
}

static void test_a_huge_file_is_refused(Fixture *f, gconstpointer data)
{
	put(f, "rdmad.conf", "");
	g_assert_cmpint(truncate(f->main, 5000000000), ==, 0);
	assert_fails(f, RDMAD_ERROR_CONFIG,
		     "%s/rdmad.conf: larger than 1 MiB, no configuration is");
}

static void test_a_file_without_settings_is_fine(Fixture *f, gconstpointer data)
{
	static const char *const texts[] = { "",	  "\n",		"# nothing\r\n",
					     "# nothing", "// nothing", "/* nothing */" };

	for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
		put(f, "rdmad.conf", texts[i]);
		assert_loads(f, "");
	}
}

static void test_dropins_merge_in_the_order_of_their_names(Fixture *f, gconstpointer data)
{
	put(f, "rdmad.conf", "include = \"conf.d\"; a = 1; g = { x = 1; l = ( 1, 2 ); }; s = 5;");
	put(f, "conf.d/20-b.conf", "a = 3; g = { y = 3; h = {}; };");
	put(f, "conf.d/10-a.conf",
	    "a = 2; g = { y = 2; l = ( 9 ); h = { z = 1 }; }; s = { t = 1 };");
	put(f, "conf.d/README", "this is not read");
	put(f, "conf.d/.hidden.conf", "nor is this");
	put(f, "conf.d/more/30-c.conf", "nor this");
	assert_loads(f, "a = 3;\n"
			"g = {\n\tx = 1;\n\tl = ( 9 );\n\ty = 3;\n\th = {\n\t\tz = 1;\n\t};\n};\n"
			"s = {\n\tt = 1;\n};\n");
}

static void test_a_missing_directory_of_dropins_is_fine(Fixture *f, gconstpointer data)
{
	put(f, "rdmad.conf", "include = \"conf.d\"; a = 1;");
	assert_loads(f, "a = 1;\n");
}

static void test_links_are_followed_as_kubernetes_mounts_them(Fixture *f, gconstpointer data)
{
	g_autofree char *link = g_build_filename(f->dir, "conf.d", "10-a.conf", NULL);

	put(f, "rdmad.conf", "include = \"conf.d\";");
	put(f, "conf.d/..2026/10-a.conf", "a = 1;");
	g_assert_cmpint(symlink("..2026/10-a.conf", link), ==, 0);
	assert_loads(f, "a = 1;\n");
}

/* Not RDMAD_ERROR_NOT_FOUND, with which rdmad would run without the main file. */
static void test_a_link_to_nothing_is_an_error(Fixture *f, gconstpointer data)
{
	static const struct {
		const char *text, *link, *expected;
	} rows[] = {
		{ "\ninclude = \"conf.d\";", "conf.d/10-x.conf",
		  "%s/rdmad.conf:2: include: %s/conf.d/10-x.conf: no such file, or a link to a "
		  "missing one" },
		{ "profile = \"gone\";", "profiles/gone.conf",
		  "%s/rdmad.conf:1: profile: %s/profiles/gone.conf: no such file, or a link to a "
		  "missing one" },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autofree char *link = g_build_filename(f->dir, rows[i].link, NULL);
		g_autofree char *directory = g_path_get_dirname(link);

		put(f, "rdmad.conf", rows[i].text);
		g_assert_cmpint(g_mkdir(directory, 0700), ==, 0);
		g_assert_cmpint(symlink("nothing", link), ==, 0);
		assert_fails(f, RDMAD_ERROR_CONFIG, rows[i].expected);
	}
}

static void test_an_error_in_a_dropin_names_the_dropin(Fixture *f, gconstpointer data)
{
	static const RdmadConfigField fields[] = { RDMAD_CONFIG_FIELDS_END };
	g_autofree char *expected = g_strdup_printf(
		"%s/conf.d/10-a.conf:3: g.b: unknown key; known here are: none", f->dir);
	g_autoptr(RdmadConfig) config = NULL;
	g_autoptr(GError) error = NULL;

	put(f, "rdmad.conf", "include = \"conf.d\"; g = {};");
	put(f, "conf.d/10-a.conf", "\ng = {\n b = 1; };");
	config = rdmad_config_load(f->main, f->profiles, &error);
	g_assert_no_error(error);
	rdmad_config_parse(rdmad_config_child(rdmad_config_root(config), "g"), fields, NULL,
			   &error);
	g_assert_cmpstr(error->message, ==, expected);
}

static void test_a_broken_dropin_is_an_error(Fixture *f, gconstpointer data)
{
	put(f, "rdmad.conf", "include = \"conf.d\";");
	put(f, "conf.d/10-a.conf", "\n\na = \n\n");
	assert_fails(f, RDMAD_ERROR_CONFIG,
		     "%s/conf.d/10-a.conf:3: syntax error here or just before; a setting is "
		     "`key = value;`: `a =`");
}

static void test_a_directory_among_the_dropins_is_an_error(Fixture *f, gconstpointer data)
{
	put(f, "rdmad.conf", "include = \"conf.d\";");
	put(f, "conf.d/a.conf/x", "");
	assert_fails(f, RDMAD_ERROR_CONFIG, "%s/conf.d/a.conf: is a directory, not a file");
}

static void test_include_must_name_a_directory(Fixture *f, gconstpointer data)
{
	put(f, "rdmad.conf", "\ninclude = 5;");
	assert_fails(f, RDMAD_ERROR_CONFIG,
		     "%s/rdmad.conf:2: include: expected the name of a directory, in quotes");
	put(f, "rdmad.conf", "include = \"rdmad.conf\";");
	assert_fails(f, RDMAD_ERROR_CONFIG,
		     "%s/rdmad.conf:1: include: %s/rdmad.conf: Not a directory");
}

static void test_a_dropin_cannot_include_a_directory(Fixture *f, gconstpointer data)
{
	put(f, "rdmad.conf", "include = \"conf.d\";");
	put(f, "conf.d/a.conf", "include = \"more.d\";");
	assert_fails(f, RDMAD_ERROR_CONFIG,
		     "%s/conf.d/a.conf:1: include: works only in the main file");
}

static void test_too_many_dropins_are_refused(Fixture *f, gconstpointer data)
{
	put(f, "rdmad.conf", "include = \"conf.d\";");
	for (int i = 0; i < 257; i++) {
		g_autofree char *name = g_strdup_printf("conf.d/%03d.conf", i);

		put(f, name, "");
	}
	assert_fails(f, RDMAD_ERROR_CONFIG,
		     "%s/rdmad.conf:1: include: %s/conf.d holds more than 256 files");
}

static void test_at_include_puts_text_in_its_place(Fixture *f, gconstpointer data)
{
	put(f, "rdmad.conf", "a = 1;\ng = {\n  @include \"parts/g.inc\"\n};\nz = 2;");
	put(f, "parts/g.inc", "b = 1;\n@include \"parts/h.inc\"\n");
	put(f, "parts/h.inc", "c = \"x\";");
	assert_loads(f, "a = 1;\ng = {\n\tb = 1;\n\tc = \"x\";\n};\nz = 2;\n");
}

static void test_errors_in_an_included_file_name_it(Fixture *f, gconstpointer data)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{ "\nb = 3000000000;",
		  "%s/g.inc:2: 3000000000 does not fit into 32 bits: write 3000000000L" },
		{ "\n\nb = ;", "%s/g.inc:3: syntax error here or just before; a setting is "
			       "`key = value;`: `b = ;`" },
		{ "b = 1;\n# end\nc = ;",
		  "%s/g.inc:3: syntax error here or just before; a setting is "
		  "`key = value;`: `c = ;`" },
		{ "a = 2;", "%s/g.inc:1: this key was given before in the same group: `a = 2;`" },
	};

	put(f, "rdmad.conf", "a = 1;\n@include \"g.inc\"\n");
	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
		put(f, "g.inc", rows[i].text);
		assert_fails(f, RDMAD_ERROR_CONFIG, rows[i].expected);
	}
}

static void test_a_value_from_an_included_file_knows_its_place(Fixture *f, gconstpointer data)
{
	g_autofree char *expected = g_strdup_printf("%s/g.inc:2: b: no", f->dir);
	g_autoptr(RdmadConfig) config = NULL;
	g_autoptr(GError) error = NULL;

	put(f, "rdmad.conf", "\n\n\n@include \"g.inc\"\n");
	put(f, "g.inc", "\nb = 1;");
	config = rdmad_config_load(f->main, f->profiles, NULL);
	rdmad_config_error(rdmad_config_root(config), "b", &error, "no");
	g_assert_cmpstr(error->message, ==, expected);
}

static void assert_place(const Fixture *f, const RdmadConfig *config, const char *key,
			 const char *place)
{
	g_autofree char *expected = g_strdup_printf("%s/%s: %s: no", f->dir, place, key);
	g_autoptr(GError) error = NULL;

	rdmad_config_error(rdmad_config_root(config), key, &error, "no");
	g_assert_cmpstr(error->message, ==, expected);
}

static void test_values_around_an_include_know_their_places(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadConfig) config = NULL;
	g_autoptr(GError) error = NULL;

	put(f, "rdmad.conf",
	    "a = 1;\n  @include \"g.inc\" b = 1;\nc = 1;\n@include \"i.inc\"\nd = 1; # end");
	put(f, "g.inc", "\ne = 1;\n@include \"h.inc\"\n\nf = 1; // end");
	put(f, "h.inc", "/* two\nlines */\ng =\n 1;\n\n");
	put(f, "i.inc", "");
	config = rdmad_config_load(f->main, f->profiles, &error);
	g_assert_no_error(error);
	assert_place(f, config, "a", "rdmad.conf:1");
	assert_place(f, config, "b", "rdmad.conf:2");
	assert_place(f, config, "c", "rdmad.conf:3");
	assert_place(f, config, "d", "rdmad.conf:5");
	assert_place(f, config, "e", "g.inc:2");
	assert_place(f, config, "f", "g.inc:5");
	assert_place(f, config, "g", "h.inc:3");
}

static double seconds_to_load(const Fixture *f)
{
	double best = G_MAXDOUBLE;

	for (int i = 0; i < 3; i++) {
		const clock_t begun = clock();
		g_autoptr(RdmadConfig) config = rdmad_config_load(f->main, f->profiles, NULL);

		g_assert_nonnull(config);
		best = MIN(best, (double)(clock() - begun) / CLOCKS_PER_SEC);
	}
	return best;
}

static void test_a_long_line_takes_no_longer_in_an_included_file(Fixture *f, gconstpointer data)
{
	static const struct {
		const char *before, *after;
		char fill;
	} rows[] = {
		{ "a = \"", "\";\n", 'x' },
		{ "# ", "\n", 'x' },
		{ "/*", "*/\n", 'x' },
		{ "a = 1; ", "\n", ' ' },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autofree char *fill = g_strnfill(1000000, rows[i].fill);
		g_autofree char *text = g_strconcat(rows[i].before, fill, rows[i].after, NULL);
		double main_file;

		put(f, "rdmad.conf", text);
		main_file = seconds_to_load(f);
		put(f, "g.inc", text);
		put(f, "rdmad.conf", "@include \"g.inc\"\n");
		g_assert_cmpfloat(seconds_to_load(f), <, 8 * main_file + 0.01);
	}
}

static void test_all_included_files_together_are_bounded(Fixture *f, gconstpointer data)
{
	g_autofree char *text = g_strnfill(1024 * 1024, '\n');

	put(f, "rdmad.conf",
	    "@include \"g.inc\"\n@include \"g.inc\"\n@include \"g.inc\"\n@include \"g.inc\"\n"
	    "@include \"g.inc\"\n@include \"g.inc\"\n@include \"g.inc\"\n@include \"g.inc\"\n");
	put(f, "g.inc", text);
	assert_fails(f, RDMAD_ERROR_CONFIG,
		     "%s/g.inc:1048577: larger than 8 MiB with all included files");
}

static void test_a_failed_include_is_reported(Fixture *f, gconstpointer data)
{
	put(f, "rdmad.conf", "@include \"none\"\n");
	assert_fails(f, RDMAD_ERROR_CONFIG,
		     "%s/rdmad.conf:1: @include \"none\": %s/none: no such file");
	put(f, "rdmad.conf", "\n@include \"/dev/stdin\"\n");
	assert_fails(f, RDMAD_ERROR_CONFIG,
		     "%s/rdmad.conf:2: @include \"/dev/stdin\": give the path below %s");
	put(f, "rdmad.conf", "@include \"../other/x\"\n");
	assert_fails(f, RDMAD_ERROR_CONFIG,
		     "%s/rdmad.conf:1: @include \"../other/x\": give the path below %s");
	put(f, "rdmad.conf", "a = 1; @include \"none\"\n");
	assert_fails(
		f, RDMAD_ERROR_CONFIG,
		"%s/rdmad.conf:1: `@` starts only an `@include \"file\"` on a line of its own");
	put(f, "rdmad.conf", "@include \"./rdmad.conf\"\n");
	assert_fails(f, RDMAD_ERROR_CONFIG,
		     "%s/rdmad.conf:1: @include \"./rdmad.conf\": the file includes itself");
	put(f, "rdmad.conf", "\n @include \"rdmad.conf\"\n");
	assert_fails(f, RDMAD_ERROR_CONFIG,
		     "%s/rdmad.conf:2: @include \"rdmad.conf\": the file includes itself");
}

#define TEST(name)                                                                                 \
	UNIT_FIXTURE_TEST("/config-files/" #name, Fixture, NULL, setup, test_##name, teardown)

static void test_a_profile_is_below_the_main_file(Fixture *f, gconstpointer data)
{
	put(f, "rdmad.conf", "profile = \"one\"; run_dir = \"/main\"; include = \"conf.d\";");
	put(f, "profiles/one.conf",
	    "run_dir = \"/one\"; state_dir = \"/one\"; modules = { a = { x = 1; y = 2; }; };");
	put(f, "conf.d/10.conf", "modules = { a = { y = 3; }; };");
	assert_loads(f, "run_dir = \"/main\";\nstate_dir = \"/one\";\nmodules = {\n\ta = {\n"
			"\t\tx = 1;\n\t\ty = 3;\n\t};\n};\n");
}

static void test_of_two_profiles_the_later_wins(Fixture *f, gconstpointer data)
{
	put(f, "rdmad.conf", "profile = ( \"two\", \"one\" );");
	put(f, "profiles/one.conf", "a = 1; b = 1;");
	put(f, "profiles/two.conf", "b = 2; c = 2;");
	assert_loads(f, "b = 1;\nc = 2;\na = 1;\n");
}

static void test_an_unknown_profile_names_those_there_are(Fixture *f, gconstpointer data)
{
	put(f, "profiles/vke.conf", "a = 1;");
	put(f, "profiles/ack.conf", "a = 1;");
	put(f, "profiles/README", "not one");
	put(f, "rdmad.conf", "\nprofile = \"vkee\";");
	assert_fails(f, RDMAD_ERROR_CONFIG,
		     "%s/rdmad.conf:2: profile: unknown profile \"vkee\"; did you mean \"vke\"? "
		     "Known in %s/profiles: ack, vke");
	put(f, "rdmad.conf", "profile = \"../conf\";");
	assert_fails(f, RDMAD_ERROR_CONFIG,
		     "%s/rdmad.conf:1: profile: unknown profile \"../conf\"; known in "
		     "%s/profiles: ack, vke");
	put(f, "rdmad.conf", "profile = 3;");
	assert_fails(
		f, RDMAD_ERROR_CONFIG,
		"%s/rdmad.conf:1: profile: expected the name of a profile, in quotes, or a list");
}

static void test_an_incomplete_list_of_files_is_no_configuration(Fixture *f, gconstpointer data)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{ "profile = \"one\";",
		  "cannot read the directory %s/profiles: Input/output error" },
		{ "include = \"profiles\";",
		  "cannot read the directory %s/profiles: Input/output error" },
	};

	put(f, "profiles/one.conf", "a = 1;");
	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
		put(f, "rdmad.conf", rows[i].text);
		entries_before_failure = 1;
		assert_fails(f, RDMAD_ERROR_FAILED, rows[i].expected);
		g_assert_cmpuint(entries_before_failure, >, 1);
	}
}

static void test_a_profile_names_no_other(Fixture *f, gconstpointer data)
{
	put(f, "rdmad.conf", "profile = \"one\";");
	put(f, "profiles/one.conf", "profile = \"one\";");
	assert_fails(f, RDMAD_ERROR_CONFIG,
		     "%s/profiles/one.conf:1: profile: works only in the main file");
	put(f, "profiles/one.conf", "a = ;");
	g_assert_null(rdmad_config_load(f->main, f->profiles, NULL));
}

static void test_without_a_directory_there_are_no_profiles(Fixture *f, gconstpointer data)
{
	put(f, "rdmad.conf", "profile = \"one\";");
	assert_fails(f, RDMAD_ERROR_CONFIG, "%s/rdmad.conf:1: profile: no profiles in %s/profiles");
}

/* With status 2, the service manager would not restart rdmad. */
static void test_no_descriptor_is_no_fault_of_the_configuration(Fixture *f, gconstpointer data)
{
	const int lowest = dup(0);
	rlim_t before;

	close(lowest);
	put(f, "rdmad.conf", "");
	before = limit_descriptors((rlim_t)lowest);
	assert_fails(f, RDMAD_ERROR_FAILED, "%s/rdmad.conf: Too many open files");
	limit_descriptors(before);
}

const UnitTest unit_tests[] = {
	TEST(a_file_that_is_not_there_is_not_found),
	TEST(a_directory_is_no_file),
	TEST(a_fifo_does_not_stop_the_daemon),
	TEST(a_path_through_a_file_has_a_reason),
	TEST(a_huge_file_is_refused),
	TEST(a_file_without_settings_is_fine),
	TEST(dropins_merge_in_the_order_of_their_names),
	TEST(a_missing_directory_of_dropins_is_fine),
	TEST(links_are_followed_as_kubernetes_mounts_them),
	TEST(a_link_to_nothing_is_an_error),
	TEST(an_error_in_a_dropin_names_the_dropin),
	TEST(a_broken_dropin_is_an_error),
	TEST(a_directory_among_the_dropins_is_an_error),
	TEST(include_must_name_a_directory),
	TEST(a_dropin_cannot_include_a_directory),
	TEST(too_many_dropins_are_refused),
	TEST(a_profile_is_below_the_main_file),
	TEST(of_two_profiles_the_later_wins),
	TEST(an_unknown_profile_names_those_there_are),
	TEST(an_incomplete_list_of_files_is_no_configuration),
	TEST(a_profile_names_no_other),
	TEST(without_a_directory_there_are_no_profiles),
	TEST(at_include_puts_text_in_its_place),
	TEST(errors_in_an_included_file_name_it),
	TEST(a_value_from_an_included_file_knows_its_place),
	TEST(values_around_an_include_know_their_places),
	TEST(a_long_line_takes_no_longer_in_an_included_file),
	TEST(all_included_files_together_are_bounded),
	TEST(a_failed_include_is_reported),
	TEST(no_descriptor_is_no_fault_of_the_configuration),
	{ 0 },
};
