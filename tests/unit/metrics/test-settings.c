/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/config.h>
#include <rdmad/error.h>
#include <string.h>

#include "config/config-private.h"
#include "settings.h"
#include "../support/refused.h"
#include "../support/unit.h"

/* `text` is the contents of the module's group. */
static MetricsSettings *parse(const char *text, GError **error)
{
	g_autofree char *whole = g_strdup_printf("metrics = { %s };", text);
	g_autoptr(RdmadConfig) config =
		rdmad_config_load_text("test.conf", whole, strlen(whole), error);

	if (!config)
		return NULL;
	return metrics_settings_parse(rdmad_config_child(rdmad_config_root(config), "metrics"),
				      error);
}

static void test_no_configuration_reads_everything_for_this_node_alone(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(MetricsSettings) settings = metrics_settings_parse(NULL, &error);

	g_assert_no_error(error);
	g_assert_cmpstr(settings->listen[0], ==, "127.0.0.1:9889");
	g_assert_null(settings->listen[1]);
	g_assert_null(settings->web_config);
	g_assert_cmpint(settings->names, ==, NAMES_NATIVE);
	g_assert_cmpint(metrics_settings_what(settings), ==,
			RDMAD_READ_COUNTERS | RDMAD_READ_NETDEVS | RDMAD_READ_USERS);
	g_assert_true(settings->gids && settings->page);
	g_assert_cmpuint(settings->timeout_ms, ==, 10000);
	g_assert_cmpstr(settings->pod_log_dir, ==, "/var/log/pods");
	g_assert_cmpint(settings->open_files, ==, 512);
	g_assert_true(rdmad_config_patterns_match(settings->devices, "mlx5_0"));
}

static void test_every_option_is_read(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(MetricsSettings) settings =
		parse("listen = ( \":9889\", \"[::1]:1\" ); web_config = \"/etc/web.yml\"; "
		      "names = \"both\"; devices = \"mlx5_*\"; counters = false; netdevs = false; "
		      "users = false; gids = false; timeout = \"250ms\"; pod_log_dir = \"/x\"; "
		      "open_files = 0; "
		      "page = false;",
		      &error);

	g_assert_no_error(error);
	g_assert_cmpstr(settings->listen[1], ==, "[::1]:1");
	g_assert_cmpstr(settings->web_config, ==, "/etc/web.yml");
	g_assert_cmpint(settings->names, ==, NAMES_BOTH);
	g_assert_cmpint(metrics_settings_what(settings), ==, 0);
	g_assert_false(settings->gids || settings->page);
	g_assert_cmpuint(settings->timeout_ms, ==, 250);
	g_assert_cmpstr(settings->pod_log_dir, ==, "/x");
	g_assert_cmpint(settings->open_files, ==, 0);
}

static void test_an_empty_list_listens_nowhere(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(MetricsSettings) settings = parse("listen = ( ); web_config = \"\";", &error);

	g_assert_no_error(error);
	g_assert_true(!settings->listen || !settings->listen[0]);
	g_assert_null(settings->web_config);
}

static const struct {
	const char *name, *text, *message;
} BAD[] = {
	{ "a misspelt key", "lissten = \"127.0.0.1:1\";", "listen" },
	{ "an address that is there twice", "listen = ( \"[::1]:1\", \"[::1]:1\" );", "twice" },
	{ "an address without a port", "listen = \"127.0.0.1\";", "no port" },
	{ "names that it does not have", "names = \"prometheus\";", "native" },
	{ "a relative file", "web_config = \"web.yml\";", "absolute" },
	{ "a pattern of nothing", "devices = \"!\";", "matches no name" },
	{ "a timeout that no scraper has", "timeout = \"10ms\";", "timeout" },
	{ "a relative directory", "pod_log_dir = \"pods\";", "absolute" },
};

static void test_bad(gconstpointer data)
{
	const typeof(BAD[0]) *bad = data;
	g_autoptr(GError) error = NULL;
	g_autoptr(MetricsSettings) settings = parse(bad->text, &error);

	g_assert_null(settings);
	assert_refused(error, bad->message);
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/metrics/settings/no configuration reads everything, for this node alone",
		  test_no_configuration_reads_everything_for_this_node_alone),
	UNIT_TEST("/metrics/settings/every option is read", test_every_option_is_read),
	UNIT_TEST("/metrics/settings/an empty list listens nowhere",
		  test_an_empty_list_listens_nowhere),
	UNIT_CASES("/metrics/settings/refuses ", BAD, test_bad),
	{ 0 },
};
