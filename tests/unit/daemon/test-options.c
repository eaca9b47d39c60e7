/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/error.h>
#include <rdmad/log.h>
#include <string.h>

#include "daemon/options.h"
#include "../support/unit.h"

static RdmadOptions *parse(const char *line, GError **error)
{
	g_auto(GStrv) argv = g_strsplit(line, " ", -1);
	/* getopt_long() reorders it. */
	g_autofree char **copy = g_memdup2(argv, (g_strv_length(argv) + 1) * sizeof(*argv));

	return rdmad_options_new(g_strv_length(argv), copy, error);
}

static void test_nothing_given_means_the_defaults(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadOptions) options = parse("rdmad", &error);

	g_assert_no_error(error);
	g_assert_cmpint(options->action, ==, RDMAD_ACTION_RUN);
	g_assert_null(options->config);
	g_assert_null(options->modules);
	g_assert_cmpint(options->log_level, ==, -1);
	g_assert_cmpint(options->log_format, ==, -1);
	g_assert_cmpuint(options->lock_wait_s, ==, 60);
}

static void test_every_option_is_kept(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadOptions) options =
		parse("rdmad -c /a/../b --module-dir=/m/ --sysroot /s --run-dir /r --state-dir /t "
		      "--kubelet-dir /k --log-level debug --log-format json --lock-wait 7 -m x-1 "
		      "--module y --check",
		      &error);

	g_assert_no_error(error);
	g_assert_cmpint(options->action, ==, RDMAD_ACTION_CHECK);
	g_assert_cmpstr(options->config, ==, "/b");
	g_assert_cmpstr(options->module_dir, ==, "/m");
	g_assert_cmpstr(options->sysroot, ==, "/s");
	g_assert_cmpstr(options->run_dir, ==, "/r");
	g_assert_cmpstr(options->state_dir, ==, "/t");
	g_assert_cmpstr(options->kubelet_dir, ==, "/k");
	g_assert_cmpint(options->log_level, ==, RDMAD_LOG_DEBUG);
	g_assert_cmpint(options->log_format, ==, 2);
	g_assert_cmpuint(options->lock_wait_s, ==, 7);
	g_assert_cmpstr(options->modules[0], ==, "x-1");
	g_assert_cmpstr(options->modules[1], ==, "y");
	g_assert_null(options->modules[2]);
}

static void test_a_relative_path_begins_here(void)
{
	g_autofree char *here = g_get_current_dir();
	g_autofree char *expected = g_build_filename(here, "x", NULL);
	g_autoptr(RdmadOptions) options = parse("rdmad --run-dir x", NULL);

	g_assert_cmpstr(options->run_dir, ==, expected);
}

static const struct {
	const char *line, *words;
} wrong[] = {
	{ "rdmad --bogus", "unknown option '--bogus'" },
	{ "rdmad -x", "unknown option '-x'" },
	{ "rdmad -xy", "unknown option '-x'" },
	{ "rdmad --run-dir=/r -xy", "unknown option '-x'" },
	{ "rdmad --help=1", "option '--help=1' takes no value" },
	{ "rdmad --check=1", "option '--check=1' takes no value" },
	{ "rdmad -m", "option '-m' needs a value" },
	{ "rdmad --config", "option '--config' needs a value" },
	{ "rdmad --config=", "--config needs a path" },
	{ "rdmad --run-dir=", "--run-dir needs a path" },
	{ "rdmad start", "unknown command \"start\"" },
	{ "rdmad --check start", "unexpected \"start\": a command comes before options" },
	{ "rdmad -m Metrics", "\"Metrics\" cannot be the name of a module" },
	{ "rdmad -m ../x", "\"../x\" cannot be the name of a module" },
	{ "rdmad -m a.so", "\"a.so\" cannot be the name of a module" },
	{ "rdmad --module=", "\"\" cannot be the name of a module" },
	{ "rdmad -m a12345678901234567890123456789012", "cannot be the name of a module" },
	{ "rdmad -m a -m b -m a", "--module a is given twice" },
	{ "rdmad --log-level loud", "--log-level cannot be \"loud\"; it is one of error, warning" },
	{ "rdmad --log-format xml", "--log-format cannot be \"xml\"; it is one of auto, text" },
	{ "rdmad --lock-wait -1", "--lock-wait cannot be \"-1\"" },
	{ "rdmad --lock-wait 1h", "--lock-wait cannot be \"1h\"" },
	{ "rdmad --lock-wait 86401", "0 to 86400 seconds" },
	{ "rdmad --lock-wait 99999999999999999999", "--lock-wait cannot be" },
};

static void test_wrong_command_lines_are_explained(void)
{
	for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(RdmadOptions) options = parse(wrong[i].line, &error);

		g_test_message("%s", wrong[i].line);
		g_assert_null(options);
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
		g_test_message("%s", error->message);
		g_assert_nonnull(strstr(error->message, wrong[i].words));
		g_assert_true(g_str_has_suffix(error->message, "; see rdmad --help"));
		g_assert_null(strchr(error->message, '\n'));
	}
}

static void test_the_help_names_every_option(void)
{
	static const char *const names[] = {
		"--config",    "--module",	"--module-dir", "--sysroot",	  "--run-dir",
		"--state-dir", "--kubelet-dir", "--check",	"--print-config", "--privileges",
		"--log-level", "--log-format",	"--lock-wait",	"--version",	  "--help",
	};

	for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
		g_assert_nonnull(strstr(rdmad_options_help(), names[i]));
}

#define TEST(name) UNIT_TEST("/options/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(nothing_given_means_the_defaults), TEST(every_option_is_kept),
	TEST(a_relative_path_begins_here),	TEST(wrong_command_lines_are_explained),
	TEST(the_help_names_every_option),	{ 0 },
};
