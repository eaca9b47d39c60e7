/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/error.h>
#include <rdmad/attributes.h>
#include <rdmad/event-log.h>
#include <string.h>

#include "bad-modules.h"
#include "base/loop.h"
#include "module/host.h"
#include "daemon/services.h"
#include "../scratch.h"
#include "service/stats-private.h"

#include "../stats-text.h"
#include "../support/unit.h"

typedef struct {
	char *dir;
	GPtrArray *all; /* settings that modules may still use */
	RdmadServices *services;
	RdmadSettings *now;
	guint64 heard; /* event log entries */
	guint drained;
} Fixture;

static RdmadSettings *settings_new(Fixture *f, const char *text)
{
	g_autofree char *mods = bad_modules_dir();
	g_autofree char *path = scratch_write(f->dir, "rdmad.conf", text);
	g_autoptr(GError) error = NULL;
	const char *argv[] = { "rdmad",	    "-c",   path,	   "--module-dir", mods,
			       "--run-dir", f->dir, "--state-dir", f->dir,	   NULL };
	g_autoptr(RdmadOptions) options =
		rdmad_options_new(G_N_ELEMENTS(argv) - 1, (char **)argv, &error);
	RdmadSettings *settings = rdmad_settings_load(options, &error);

	g_assert_no_error(error);
	g_ptr_array_add(f->all, settings);
	return settings;
}

static void setup(Fixture *f, gconstpointer data)
{
	f->dir = scratch_new();
	f->all = g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_settings_free);
}

static void teardown(Fixture *f, gconstpointer data)
{
	rdmad_services_free(f->services);
	g_ptr_array_unref(f->all);
	scratch_free(f->dir);
}

static gboolean bring_up(Fixture *f, const char *text, GError **error)
{
	f->now = settings_new(f, text);
	f->services = rdmad_services_new(NULL);
	g_assert_true(rdmad_services_open(f->services, f->now, NULL, TRUE, NULL));
	return rdmad_modules_load(f->services->modules, f->now->modules, f->now->module_dir,
				  error) &&
	       rdmad_modules_create(f->services->modules, f->now->modules, error) &&
	       rdmad_modules_start(f->services->modules, error);
}

static gboolean reload(Fixture *f, const char *text, GError **error)
{
	RdmadSettings *next = settings_new(f, text);

	if (!rdmad_modules_reload(f->services->modules, f->now->modules, next->modules,
				  next->module_dir, error))
		return FALSE;
	f->now = next;
	return TRUE;
}

static void collect(const RdmadEventLogEntry *entry, gpointer data)
{
	if (!strcmp(entry->kind, "recorder"))
		g_ptr_array_add(data, g_strdup(entry->message));
}

/* Returns the records of the modules since the last call: "good create none; good start none". */
static char *heard(Fixture *f)
{
	g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);

	rdmad_event_log_foreach(f->services->event_log, f->heard, collect, lines);
	f->heard += lines->len;
	g_ptr_array_add(lines, NULL);
	return g_strjoinv("; ", (char **)lines->pdata);
}

static void assert_heard(Fixture *f, const char *expected)
{
	g_autofree char *text = heard(f);

	g_assert_cmpstr(text, ==, expected);
}

static void assert_module(Fixture *f, guint index, const char *name, RdmadModuleState state,
			  const char *error_words)
{
	RdmadModuleInfo info;

	g_assert_cmpuint(index, <, rdmad_modules_count(f->services->modules));
	rdmad_modules_info(f->services->modules, index, &info);
	g_assert_cmpstr(info.name, ==, name);
	g_assert_cmpint(info.state, ==, state);
	if (error_words)
		g_assert_nonnull(strstr(info.error, error_words));
	else
		g_assert_null(info.error);
}

static void test_modules_start_in_order_and_stop_in_reverse(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	bring_up(f, "modules = { good = { value = \"1\"; }; busy = { value = \"2\"; }; };", &error);
	g_assert_no_error(error);
	assert_heard(f, "good create 1; busy create 2; good start 1; busy start 2");
	assert_module(f, 0, "good", RDMAD_MODULE_RUNNING, NULL);
	rdmad_modules_stop(f->services->modules);
	assert_heard(f, "busy stop 2; good stop 1");
	assert_module(f, 0, "good", RDMAD_MODULE_STOPPED, NULL);
	g_clear_pointer(&f->services->modules, rdmad_modules_free);
	assert_heard(f, "busy destroy 2; good destroy 1");
}

static const struct {
	const char *text;
	RdmadError code;
	const char *words;
} fatal[] = {
	{ "modules = { good = { }; absent = { }; };", RDMAD_ERROR_CONFIG, "absent.so" },
	{ "modules = { good = { }; wrong-abi = { }; };", RDMAD_ERROR_ABI, "module ABI" },
	{ "modules = { good = { }; create-fails = { }; };", RDMAD_ERROR_FAILED,
	  "module create-fails: create failed without a reason" },
	{ "modules = { good = { }; start-fails = { }; };", RDMAD_ERROR_UNAVAILABLE,
	  "module start-fails: nobody is there" },
	{ "modules = {\n good = { valu = \"1\"; }; };", RDMAD_ERROR_CONFIG, "modules.good" },
};

static void test_a_module_that_fails_is_fatal(Fixture *f, gconstpointer data)
{
	for (gsize i = 0; i < G_N_ELEMENTS(fatal); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_false(bring_up(f, fatal[i].text, &error));
		g_test_message("%s", error->message);
		g_assert_error(error, RDMAD_ERROR, (int)fatal[i].code);
		g_assert_nonnull(strstr(error->message, fatal[i].words));
		g_clear_pointer(&f->services, rdmad_services_free);
	}
}

static void test_an_optional_module_may_fail_at_any_step(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	bring_up(f,
		 "modules = { absent = { optional = true; }; create-fails = { optional = true; };"
		 "start-fails = { optional = true; }; good = { }; };",
		 &error);
	g_assert_no_error(error);
	assert_module(f, 0, "absent", RDMAD_MODULE_FAILED, "no such file");
	assert_module(f, 1, "create-fails", RDMAD_MODULE_FAILED, "failed without a reason");
	assert_module(f, 2, "start-fails", RDMAD_MODULE_FAILED, "nobody is there");
	assert_module(f, 3, "good", RDMAD_MODULE_RUNNING, NULL);
}

static void test_a_module_that_did_not_start_is_destroyed_without_stop(Fixture *f,
								       gconstpointer data)
{
	bring_up(f, "modules = { good = { optional = true; refuse_start = true; }; };", NULL);
	assert_heard(f, "good create none; good start none; good destroy none");
}

static void test_what_a_module_leaves_behind_is_freed(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	bring_up(f, "modules = { leaky = { }; };", &error);
	g_assert_no_error(error);
	g_assert_cmpstr(rdmad_attributes_get(f->services->attributes, "test:leaky"), ==, "yes");
	stats_expect(f->services->stats, "test_leaky", "4;");
	rdmad_modules_stop(f->services->modules);
	/* Leaked timers would call into freed memory, which ASan reports. */
	g_clear_pointer(&f->services->modules, rdmad_modules_free);
	stats_expect(f->services->stats, "test_leaky", "");
	g_assert_null(rdmad_attributes_get(f->services->attributes, "test:leaky"));
}

static void assert_unready(Fixture *f, guint index, const char *reason)
{
	g_autofree char *why = NULL;

	g_assert_false(rdmad_modules_ready(f->services->modules, index, &why));
	g_assert_cmpstr(why, ==, reason);
}

static void test_a_running_module_is_ready_unless_it_reports_otherwise(Fixture *f,
								       gconstpointer data)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *why = NULL;

	bring_up(f,
		 "modules = { good = { }; busy = { value = \"too busy\"; };"
		 " start-fails = { optional = true; }; };",
		 &error);
	g_assert_no_error(error);
	g_assert_true(rdmad_modules_ready(f->services->modules, 0, &why));
	g_assert_null(why);
	assert_unready(f, 1, "too busy");
	assert_unready(f, 2, "it does not run: module start-fails: nobody is there");
	rdmad_modules_stop(f->services->modules);
	assert_unready(f, 0, "it does not run");
}

static void test_an_unready_module_needs_no_reason(Fixture *f, gconstpointer data)
{
	bring_up(f, "modules = { busy = { }; };", NULL);
	assert_unready(f, 0, "it gave no reason");
}

static void count_drained(gpointer data)
{
	((Fixture *)data)->drained++;
}

static void test_a_drain_ends_with_the_last_module(Fixture *f, gconstpointer data)
{
	bring_up(f, "modules = { good = { }; };", NULL);
	rdmad_modules_drain(f->services->modules, count_drained, f);
	g_assert_cmpuint(f->drained, ==, 1);
}

static void test_a_drain_goes_on_while_one_is_busy(Fixture *f, gconstpointer data)
{
	bring_up(f, "modules = { busy = { }; good = { }; };", NULL);
	g_free(heard(f));
	rdmad_modules_drain(f->services->modules, count_drained, f);
	g_assert_cmpuint(f->drained, ==, 0);
	assert_heard(f, "busy drain none; good drain none");
}

static void test_a_reload_gives_new_settings(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	bring_up(f, "modules = { good = { value = \"1\"; }; };", NULL);
	g_free(heard(f));
	reload(f, "modules = { good = { value = \"2\"; }; };", &error);
	g_assert_no_error(error);
	assert_heard(f, "good reload 2");
}

static void test_a_reload_starts_what_is_new_and_ends_what_is_gone(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	bring_up(f, "modules = { good = { }; };", NULL);
	g_free(heard(f));
	reload(f, "modules = { busy = { }; };", &error);
	g_assert_no_error(error);
	assert_heard(f, "busy create none; busy start none; good stop none; good destroy none");
	g_assert_cmpuint(rdmad_modules_count(f->services->modules), ==, 1);
	/* The shared object is still loaded and is used again. */
	reload(f, "modules = { good = { }; busy = { }; };", &error);
	g_assert_no_error(error);
	assert_heard(f, "good create none; good start none");
}

static void test_a_module_that_refuses_takes_the_whole_reload_back(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	bring_up(f, "modules = { good = { value = \"1\"; }; };", NULL);
	g_free(heard(f));
	g_assert_false(
		reload(f, "modules = { good = { value = \"refuse\"; }; busy = { }; };", &error));
	g_assert_nonnull(strstr(error->message, "modules.good.value: told to refuse"));
	assert_heard(f, "");
	g_assert_cmpuint(rdmad_modules_count(f->services->modules), ==, 1);
}

static void test_a_new_module_that_fails_takes_the_whole_reload_back(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	bring_up(f, "modules = { good = { value = \"1\"; }; };", NULL);
	g_free(heard(f));
	g_assert_false(reload(f,
			      "modules = { good = { value = \"2\"; }; busy = { }; "
			      "start-fails = { }; };",
			      &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE);
	assert_heard(f, "good reload 2; busy create none; busy start none; "
			"start-fails create none; start-fails destroy none; "
			"busy stop none; busy destroy none; good reload 1");
	g_assert_cmpuint(rdmad_modules_count(f->services->modules), ==, 1);
	assert_module(f, 0, "good", RDMAD_MODULE_RUNNING, NULL);
}

static void test_a_reload_tries_an_optional_module_again(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	bring_up(f, "modules = { good = { optional = true; refuse_start = true; }; };", NULL);
	assert_module(f, 0, "good", RDMAD_MODULE_FAILED, "told to refuse");
	reload(f, "modules = { good = { }; };", &error);
	g_assert_no_error(error);
	assert_module(f, 0, "good", RDMAD_MODULE_RUNNING, NULL);
}

static void test_a_refused_reload_leaves_an_optional_module_as_it_was(Fixture *f,
								      gconstpointer data)
{
	RdmadModuleInfo info;

	bring_up(f, "modules = { good = { optional = true; refuse_start = true; }; };", NULL);
	g_assert_false(reload(f, "modules = { good = { }; start-fails = { }; };", NULL));
	assert_module(f, 0, "good", RDMAD_MODULE_FAILED, "a reload that was refused");
	rdmad_modules_info(f->services->modules, 0, &info);
	g_assert_true(info.optional);
}

#define TEST(name) UNIT_FIXTURE_TEST("/modules/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(modules_start_in_order_and_stop_in_reverse),
	TEST(a_module_that_fails_is_fatal),
	TEST(an_optional_module_may_fail_at_any_step),
	TEST(a_module_that_did_not_start_is_destroyed_without_stop),
	TEST(what_a_module_leaves_behind_is_freed),
	TEST(a_running_module_is_ready_unless_it_reports_otherwise),
	TEST(an_unready_module_needs_no_reason),
	TEST(a_drain_ends_with_the_last_module),
	TEST(a_drain_goes_on_while_one_is_busy),
	TEST(a_reload_gives_new_settings),
	TEST(a_reload_starts_what_is_new_and_ends_what_is_gone),
	TEST(a_module_that_refuses_takes_the_whole_reload_back),
	TEST(a_new_module_that_fails_takes_the_whole_reload_back),
	TEST(a_reload_tries_an_optional_module_again),
	TEST(a_refused_reload_leaves_an_optional_module_as_it_was),
	{ 0 },
};
