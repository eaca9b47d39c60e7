/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/error.h>
#include <string.h>
#include <unistd.h>

#include "base/loop.h"
#include "daemon/settings-attributes.h"
#include "../scratch.h"
#include "../support/unit.h"
#include "service/attributes-private.h"

static RdmadSettings *load(const char *text, const char *line, GError **error)
{
	g_autoptr(Scratch) dir = scratch_new();
	g_autofree char *path = scratch_write(dir, "rdmad.conf", text);
	g_autofree char *whole = g_strdup_printf("rdmad -c %s%s", path, line);
	g_auto(GStrv) argv = g_strsplit(whole, " ", -1);
	g_autofree char **copy = g_memdup2(argv, (g_strv_length(argv) + 1) * sizeof(*argv));
	g_autoptr(RdmadOptions) options = rdmad_options_new(g_strv_length(argv), copy, error);

	g_assert_nonnull(options);
	return rdmad_settings_load(options, error);
}

static char *module_names(const RdmadSettings *settings)
{
	GString *names = g_string_new(NULL);

	for (guint i = 0; i < settings->modules->len; i++) {
		const RdmadModuleEntry *entry = g_ptr_array_index(settings->modules, i);

		g_string_append_printf(names, "%s%s%s%s", i ? " " : "", entry->name,
				       entry->optional ? "?" : "", entry->config ? "" : "-");
	}
	return g_string_free(names, FALSE);
}

static void test_a_file_with_modules_alone_means_the_defaults(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadSettings) settings = load("modules = { a = { }; };", "", &error);

	g_assert_no_error(error);
	if (geteuid() == 0) {
		g_assert_cmpstr(settings->run_dir, ==, "/run/rdmad");
		g_assert_cmpstr(settings->state_dir, ==, "/var/lib/rdmad");
	}
	g_assert_cmpstr(settings->kubelet_dir, ==, "/var/lib/kubelet");
	g_assert_cmpint(settings->log_level, ==, RDMAD_LOG_INFO);
	g_assert_cmpint(settings->log_format, ==, RDMAD_LOG_AUTO);
	g_assert_cmpuint(settings->http.max_connections, ==, 0);
}

static const char all_keys[] =
	"log = { level = \"warning\"; format = \"json\"; topics = { loop = \"debug\"; x = "
	"\"error\"; }; };\n"
	"instance = \"a/b\"; run_dir = \"/r/\"; state_dir = \"/s\"; module_dir = \"/m/../n\"; "
	"include = \"conf.d\";\n"
	"kubelet = { root_dir = \"/k\"; };\n"
	"http = { max_connections = 5; idle_timeout = \"2m\"; max_header = \"8K\"; max_body = "
	"4096; hosts = \"a.example\"; };\n"
	"modules = { a = { }; };\n";

static void test_every_key_is_read(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadSettings) settings = load(all_keys, "", &error);

	g_assert_no_error(error);
	g_assert_cmpint(settings->log_level, ==, RDMAD_LOG_WARNING);
	g_assert_cmpint(settings->log_format, ==, RDMAD_LOG_JSON);
	g_assert_cmpint(GPOINTER_TO_INT(g_hash_table_lookup(settings->log_topics, "loop")), ==,
			RDMAD_LOG_DEBUG);
	g_assert_cmpint(GPOINTER_TO_INT(g_hash_table_lookup(settings->log_topics, "x")), ==,
			RDMAD_LOG_ERR);
	g_assert_cmpstr(settings->run_dir, ==, "/r");
	g_assert_cmpstr(settings->state_dir, ==, "/s");
	g_assert_cmpstr(settings->module_dir, ==, "/n");
	g_assert_cmpstr(settings->kubelet_dir, ==, "/k");
	g_assert_cmpuint(settings->http.max_connections, ==, 5);
	g_assert_cmpuint(settings->http.idle_ms, ==, 120000);
	g_assert_cmpuint(settings->http.max_header, ==, 8192);
	g_assert_cmpuint(settings->http.max_body, ==, 4096);
	g_assert_cmpstr(settings->http_hosts[0], ==, "a.example");
	g_assert_null(settings->http_hosts[1]);
}

static void test_attributes_are_read_and_follow_the_configuration(void)
{
	g_autoptr(RdmadSettings) before =
		load("attributes = ( { name = \"label:a/b\"; value = \"1\"; }, "
		     "{ name = \"x\"; value = \"2\"; } );",
		     " -m a", NULL);
	g_autoptr(RdmadSettings) now =
		load("attributes = ( { name = \"x\"; value = \"3\"; } );", " -m a", NULL);
	RdmadLoop *loop = rdmad_loop_new();
	RdmadAttributes *attributes = rdmad_attributes_new(loop);

	rdmad_settings_apply_attributes(NULL, before, attributes);
	g_assert_cmpstr(rdmad_attributes_get(attributes, "label:a/b"), ==, "1");
	g_assert_cmpstr(rdmad_attributes_get(attributes, "x"), ==, "2");
	rdmad_settings_apply_attributes(before, now, attributes);
	g_assert_null(rdmad_attributes_get(attributes, "label:a/b"));
	g_assert_cmpstr(rdmad_attributes_get(attributes, "x"), ==, "3");
	rdmad_attributes_free(attributes);
	rdmad_loop_free(loop);
}

static void test_the_command_line_wins(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadSettings) settings =
		load(all_keys,
		     " --run-dir /1 --state-dir /2 --module-dir /3 --kubelet-dir /4 "
		     "--log-level error --log-format text",
		     &error);

	g_assert_no_error(error);
	g_assert_cmpstr(settings->run_dir, ==, "/1");
	g_assert_cmpstr(settings->state_dir, ==, "/2");
	g_assert_cmpstr(settings->module_dir, ==, "/3");
	g_assert_cmpstr(settings->kubelet_dir, ==, "/4");
	g_assert_cmpint(settings->log_level, ==, RDMAD_LOG_ERR);
	g_assert_cmpint(settings->log_format, ==, RDMAD_LOG_TEXT);
}

static const struct {
	const char *text, *line, *names;
} selections[] = {
	{ "modules = { b = { }; a = { }; };", "", "b a" },
	{ "modules = { b = { enabled = false; }; a = { optional = true; }; };", "", "a?" },
	{ "modules = { b = { enabled = false; }; a = { }; };", " -m b", "b" },
	{ "modules = { a = { optional = true; }; b = { }; };", " -m c -m b -m a", "c- b a?" },
	{ "", " -m c", "c-" },
};

static void test_modules_come_in_the_order_that_was_asked_for(void)
{
	for (gsize i = 0; i < G_N_ELEMENTS(selections); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(RdmadSettings) settings =
			load(selections[i].text, selections[i].line, &error);
		g_autofree char *names = NULL;

		g_assert_no_error(error);
		names = module_names(settings);
		g_assert_cmpstr(names, ==, selections[i].names);
	}
}

typedef struct {
	char *own;
} OwnKeys;

static const RdmadConfigField own_fields[] = {
	RDMAD_CONFIG_STRING_FIELD("own", OwnKeys, own),
	RDMAD_CONFIG_FIELDS_END,
};

static void test_a_module_does_not_see_the_keys_of_the_core(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadSettings) settings =
		load("modules = { a = { enabled = true; optional = true; own = \"x\"; }; };", "",
		     &error);
	const RdmadModuleEntry *entry;
	OwnKeys keys = { 0 };

	g_assert_no_error(error);
	entry = rdmad_modules_entry(settings->modules, "a");
	g_assert_true(entry->optional);
	rdmad_config_parse(entry->config, own_fields, &keys, &error);
	g_assert_no_error(error);
	g_assert_cmpstr(keys.own, ==, "x");
	g_free(keys.own);
}

static const struct {
	const char *text, *words;
} wrong[] = {
	{ "", "no module to run: name some in `modules = { device-plugin = { }; };`" },
	{ "modules = { };", "no module to run" },
	{ "modules = { a = { enabled = false; }; };", "no module to run" },
	{ "modules = 5;", "rdmad.conf:1: modules" },
	{ "modules = { a = 5; };", "rdmad.conf:1: modules.a" },
	{ "modules = {\n a = { optional = 1; }; };", "rdmad.conf:2: modules.a.optional" },
	{ "modules = {\n a = { enabled = \"yes\"; }; };", "rdmad.conf:2: modules.a.enabled" },
	{ "modules = { A = { }; };", "rdmad.conf:1: modules.A: not a module name" },
	{ "\nmodule = { };", "rdmad.conf:2: module" },
	{ "rundir = \"/x\";", "run_dir" },
	{ "run_dir = \"run\";", "rdmad.conf:1: run_dir: \"run\" is not absolute" },
	{ "kubelet = { root_dir = \"x\"; };", "rdmad.conf:1: kubelet.root_dir" },
	{ "kubelet = { root = \"/x\"; };", "root" },
	{ "log = { level = \"loud\"; };", "log.level" },
	{ "log = { format = \"xml\"; };", "log.format" },
	{ "log = { topics = { x = \"loud\"; }; };", "log.topics.x" },
	{ "log = { topics = { x = 3; }; };", "log.topics.x" },
	{ "log = { topics = \"debug\"; };", "log.topics" },
	{ "http = { max_connections = 0; };", "http.max_connections" },
	{ "http = { idle_timeout = \"10ms\"; };", "http.idle_timeout" },
	{ "http = { max_body = \"1G\"; };", "http.max_body" },
	{ "http = {\n hosts = ( \"a.example\", \"b.example:80\" ); };",
	  "rdmad.conf:2: http.hosts[1]: invalid host name \"b.example:80\"" },
	{ "http = [ 1 ];", "http" },
};

static void test_wrong_configurations_are_explained(void)
{
	for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(RdmadSettings) settings = load(wrong[i].text, "", &error);

		g_test_message("%s", wrong[i].text);
		g_assert_null(settings);
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG);
		g_test_message("%s", error->message);
		g_assert_nonnull(strstr(error->message, wrong[i].words));
	}
}

static void test_a_file_that_was_asked_for_must_be_there(void)
{
	char *argv[] = { (char *)"rdmad", (char *)"-c", (char *)"/nowhere/rdmad.conf", NULL };
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadOptions) options = rdmad_options_new(3, argv, &error);
	g_autoptr(RdmadSettings) settings = rdmad_settings_load(options, &error);

	g_assert_null(settings);
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
	g_assert_nonnull(strstr(error->message, "/nowhere/rdmad.conf"));
}

static void test_what_needs_a_restart_is_named(void)
{
	g_autoptr(RdmadSettings) before = load("modules = { a = { }; };", " --instance i", NULL);
	g_autoptr(RdmadSettings) same = load("modules = { b = { }; };", " --instance i", NULL);
	g_autoptr(RdmadSettings) other = load(all_keys, "", NULL);
	g_autofree char *text = rdmad_settings_need_restart(before, other);

	g_assert_null(rdmad_settings_need_restart(before, same));
	g_assert_cmpstr(text, ==, "run_dir, state_dir, kubelet.root_dir, instance, http");
}

#define TEST(name) UNIT_TEST("/settings/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(a_file_with_modules_alone_means_the_defaults),
	TEST(every_key_is_read),
	TEST(attributes_are_read_and_follow_the_configuration),
	TEST(the_command_line_wins),
	TEST(modules_come_in_the_order_that_was_asked_for),
	TEST(a_module_does_not_see_the_keys_of_the_core),
	TEST(wrong_configurations_are_explained),
	TEST(a_file_that_was_asked_for_must_be_there),
	TEST(what_needs_a_restart_is_named),
	{ 0 },
};
