/* SPDX-License-Identifier: Apache-2.0 */
#define G_LOG_DOMAIN	"test-domain"
#define RDMAD_LOG_TOPIC "test"
#include <rdmad/log.h>

#include <errno.h>
#include <fcntl.h>
#include <rdmad/fd.h>
#include <string.h>

#include "base/log.h"
#include "../support/unit.h"

/* stderr is a file during a test. */
typedef struct {
	int stderr_was, file;
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
	f->stderr_was = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	f->file = open(g_get_tmp_dir(), O_RDWR | O_TMPFILE | O_APPEND | O_CLOEXEC, 0600);
	g_assert_cmpint(f->file, >=, 0);
	g_assert_cmpint(dup2(f->file, STDERR_FILENO), ==, STDERR_FILENO);
	rdmad_log_setup(RDMAD_LOG_INFO, RDMAD_LOG_TEXT, NULL);
}

static void teardown(Fixture *f, gconstpointer data)
{
	g_assert_cmpint(dup2(f->stderr_was, STDERR_FILENO), ==, STDERR_FILENO);
	rdmad_clear_fd(&f->stderr_was);
	rdmad_clear_fd(&f->file);
}

/* Returns all lines so far, without their times. */
static char **lines(const Fixture *f)
{
	g_autofree char *text = g_malloc0(1 << 20);
	char **all;

	g_assert_cmpint(pread(f->file, text, (1 << 20) - 1, 0), >=, 0);
	g_strchomp(text);
	all = g_strsplit(text, "\n", -1);
	for (guint i = 0; all[i]; i++) {
		g_assert_cmpuint(strlen(all[i]), >, 25);
		memmove(all[i], all[i] + 25, strlen(all[i] + 25) + 1);
	}
	return all;
}

#define assert_lines(f, ...)                                                                       \
	do {                                                                                       \
		g_auto(GStrv) all_ = lines(f);                                                     \
		g_assert_cmpstrv(all_, ((const char *const[]){ __VA_ARGS__, NULL }));              \
	} while (0)

static void test_a_line_carries_level_topic_and_message(Fixture *f, gconstpointer data)
{
	const RdmadLogFields fields = { .device = "mlx5_0" };

	rdmad_err("e%d", 1);
	rdmad_warn("w");
	rdmad_notice("n");
	rdmad_info("i");
	rdmad_debug("d");
	rdmad_log_full(RDMAD_LOG_INFO, &fields, "f");
	assert_lines(f, "error   test: e1", "warning test: w", "notice  test: n", "info    test: i",
		     "info    test: f device=mlx5_0");
}

static void test_a_topic_has_a_level_of_its_own(Fixture *f, gconstpointer data)
{
	g_autoptr(GHashTable) topics = g_hash_table_new(g_str_hash, g_str_equal);

	g_hash_table_insert(topics, (gpointer) "kubelet", GINT_TO_POINTER(RDMAD_LOG_DEBUG));
	g_hash_table_insert(topics, (gpointer) "quiet", GINT_TO_POINTER(RDMAD_LOG_ERR));
	rdmad_log_setup(RDMAD_LOG_NOTICE, RDMAD_LOG_TEXT, topics);
	g_assert_true(rdmad_log_enabled("kubelet", RDMAD_LOG_DEBUG));
	g_assert_false(rdmad_log_enabled("quiet", RDMAD_LOG_WARNING));
	g_assert_true(rdmad_log_enabled("quiet", RDMAD_LOG_ERR));
	g_assert_false(rdmad_log_enabled("other", RDMAD_LOG_INFO));
	g_assert_true(rdmad_log_enabled("other", RDMAD_LOG_NOTICE));

	rdmad_log_setup(RDMAD_LOG_INFO, RDMAD_LOG_TEXT, NULL);
	g_assert_false(rdmad_log_enabled("kubelet", RDMAD_LOG_DEBUG));
}

static void test_errno_stays_as_it_was(Fixture *f, gconstpointer data)
{
	errno = EXDEV;
	rdmad_err("%m");
	g_assert_cmpint(errno, ==, EXDEV);
	assert_lines(f, "error   test: Invalid cross-device link");
}

static void test_a_call_site_that_talks_too_much_is_held_back(Fixture *f, gconstpointer data)
{
	RdmadLogSite site = { 0 };
	g_auto(GStrv) first = NULL;
	g_auto(GStrv) second = NULL;

	for (int i = 0; i < 50; i++)
		rdmad_log_write("test", RDMAD_LOG_ERR, &site, NULL, "flap %d", i);
	rdmad_err("another site");
	first = lines(f);
	g_assert_cmpuint(g_strv_length(first), ==, 21);
	g_assert_cmpstr(first[19], ==, "error   test: flap 19");
	g_assert_cmpstr(first[20], ==, "error   test: another site");

	/* Five seconds later. */
	site.window_us -= 6 * G_USEC_PER_SEC;
	rdmad_log_write("test", RDMAD_LOG_ERR, &site, NULL, "flap %d", 50);
	rdmad_log_write("test", RDMAD_LOG_ERR, &site, NULL, "flap %d", 51);
	second = lines(f);
	g_assert_cmpstr(second[21], ==, "error   test: flap 50 (30 like it held back)");
	g_assert_cmpstr(second[22], ==, "error   test: flap 51");
}

static void test_debug_lines_are_never_held_back(Fixture *f, gconstpointer data)
{
	g_auto(GStrv) all = NULL;

	rdmad_log_setup(RDMAD_LOG_DEBUG, RDMAD_LOG_TEXT, NULL);
	for (int i = 0; i < 50; i++)
		rdmad_debug("step %d", i);
	all = lines(f);
	g_assert_cmpuint(g_strv_length(all), ==, 50);
}

static void test_a_long_message_is_cut(Fixture *f, gconstpointer data)
{
	g_autofree char *big = g_strnfill(100000, 'x');
	g_auto(GStrv) all = NULL;

	rdmad_info("%s", big);
	all = lines(f);
	g_assert_cmpuint(g_strv_length(all), ==, 1);
	g_assert_cmpuint(strlen(all[0]), <, 8192);
	g_assert_true(g_str_has_suffix(all[0], "xxx..."));
}

static void test_messages_of_glib_are_logged(Fixture *f, gconstpointer data)
{
	g_message("hello");
	g_log_structured("other", G_LOG_LEVEL_INFO, "MESSAGE", "structured");
	g_debug("not shown");
	assert_lines(f, "notice  glib: test-domain: hello", "info    glib: other: structured");
}

static gpointer chatter(gpointer data)
{
	for (int i = 0; i < 200; i++)
		rdmad_log_write("test", RDMAD_LOG_INFO, NULL, NULL, "thread %s line %d",
				(const char *)data, i);
	return NULL;
}

static void test_lines_of_several_threads_stay_whole(Fixture *f, gconstpointer data)
{
	static const char *const names[] = { "a", "b", "c", "d" };
	GThread *threads[G_N_ELEMENTS(names)];
	g_auto(GStrv) all = NULL;

	for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
		threads[i] = g_thread_new("chatter", chatter, (gpointer)names[i]);
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
		g_thread_join(threads[i]);
	all = lines(f);
	g_assert_cmpuint(g_strv_length(all), ==, 800);
	for (guint i = 0; all[i]; i++)
		g_assert_true(g_str_has_prefix(all[i], "info    test: thread "));
}

static void test_levels_are_read_by_name(Fixture *f, gconstpointer data)
{
	static const char *const good[] = { "error", "warning", "notice", "info", "debug" };
	static const char *const bad[] = { "", "Error", "err", "7", "debug " };
	RdmadLogLevel level;

	for (gsize i = 0; i < G_N_ELEMENTS(good); i++) {
		g_assert_true(rdmad_log_parse_level(good[i], &level));
		g_assert_cmpint(level, ==, RDMAD_LOG_ERR + (int)i);
		g_assert_cmpstr(rdmad_log_level_name(level), ==, good[i]);
	}
	for (gsize i = 0; i < G_N_ELEMENTS(bad); i++)
		g_assert_false(rdmad_log_parse_level(bad[i], &level));
}

static void test_format_names_are_in_the_order_of_the_formats(Fixture *f, gconstpointer data)
{
	g_assert_cmpstr(rdmad_log_format_names[RDMAD_LOG_AUTO], ==, "auto");
	g_assert_cmpstr(rdmad_log_format_names[RDMAD_LOG_TEXT], ==, "text");
	g_assert_cmpstr(rdmad_log_format_names[RDMAD_LOG_JSON], ==, "json");
	g_assert_cmpstr(rdmad_log_format_names[RDMAD_LOG_JOURNAL], ==, "journal");
	g_assert_null(rdmad_log_format_names[RDMAD_LOG_JOURNAL + 1]);
}

#define TEST(name) UNIT_FIXTURE_TEST("/log/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(a_line_carries_level_topic_and_message),
	TEST(a_topic_has_a_level_of_its_own),
	TEST(errno_stays_as_it_was),
	TEST(a_call_site_that_talks_too_much_is_held_back),
	TEST(debug_lines_are_never_held_back),
	TEST(a_long_message_is_cut),
	TEST(messages_of_glib_are_logged),
	TEST(lines_of_several_threads_stay_whole),
	TEST(levels_are_read_by_name),
	TEST(format_names_are_in_the_order_of_the_formats),
	{ 0 },
};
