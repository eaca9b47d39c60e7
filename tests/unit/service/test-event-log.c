/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/inventory.h>
#include <rdmad/loop.h>
#include <string.h>

#include "base/loop.h"
#include "service/event-log-private.h"
#include "../support/turns.h"
#include "../support/unit.h"

/* Never dereferenced: an owner is only compared. */
#define SOME_MODULE ((RdmadModule *)0x10)

typedef struct {
	RdmadLoop *loop;
	RdmadEventLog *event_log;
	Turns turns;
	RdmadWatch *watch;
	GString *seen; /* messages, each followed by a comma */
	guint64 last;
	guint count;
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
	f->loop = rdmad_loop_new();
	f->event_log = rdmad_event_log_new(f->loop);
	turns_init(&f->turns, f->loop);
	f->seen = g_string_new(NULL);
}

static void teardown(Fixture *f, gconstpointer data)
{
	g_string_free(f->seen, TRUE);
	turns_clear(&f->turns);
	rdmad_event_log_free(f->event_log);
	rdmad_loop_free(f->loop);
}

static void run(Fixture *f)
{
	turns_run(&f->turns);
}

static void see(const RdmadEventLogEntry *entry, gpointer data)
{
	Fixture *f = data;

	g_string_append_printf(f->seen, "%s,", entry->message);
	g_assert_cmpuint(entry->sequence, >, f->last);
	f->last = entry->sequence;
	f->count++;
}

static void post(Fixture *f, const char *message)
{
	rdmad_event_log_post(f->event_log, RDMAD_LOG_DEBUG, "test", NULL, "%s", message);
}

static void check_entry(const RdmadEventLogEntry *entry, gpointer data)
{
	Fixture *f = data;

	f->count++;
	g_assert_cmpuint(entry->sequence, ==, 1);
	g_assert_cmpint(ABS(entry->time_us - g_get_real_time()), <, 60 * G_USEC_PER_SEC);
	g_assert_cmpint(entry->level, ==, RDMAD_LOG_DEBUG);
	g_assert_cmpstr(entry->kind, ==, "port-state");
	g_assert_cmpstr(entry->device, ==, "0000:3b:00.0");
	g_assert_cmpstr(entry->pod, ==, "default/train-0");
	g_assert_null(entry->resource);
	g_assert_null(entry->allocation);
	g_assert_cmpstr(entry->message, ==, "port 1: active -> down");
}

static void test_an_entry_holds_what_was_posted(Fixture *f, gconstpointer data)
{
	const RdmadLogFields about = { .device = "0000:3b:00.0", .pod = "default/train-0" };

	rdmad_event_log_post(f->event_log, RDMAD_LOG_DEBUG, "port-state", &about,
			     "port %d: %s -> %s", 1, "active", "down");
	rdmad_event_log_foreach(f->event_log, 0, check_entry, f);
	g_assert_cmpuint(f->count, ==, 1);
}

static void test_foreach_starts_after_a_sequence(Fixture *f, gconstpointer data)
{
	post(f, "a");
	post(f, "b");
	post(f, "c");
	rdmad_event_log_foreach(f->event_log, 1, see, f);
	g_assert_cmpstr(f->seen->str, ==, "b,c,");
	rdmad_event_log_foreach(f->event_log, 3, see, f);
	rdmad_event_log_foreach(f->event_log, G_MAXUINT64, see, f);
	g_assert_cmpuint(f->count, ==, 2);
}

static void test_only_the_newest_are_kept(Fixture *f, gconstpointer data)
{
	for (guint i = 0; i < RDMAD_EVENT_LOG_MAX + 10; i++)
		post(f, "x");
	rdmad_event_log_foreach(f->event_log, 0, see, f);
	g_assert_cmpuint(f->count, ==, RDMAD_EVENT_LOG_MAX);
	g_assert_cmpuint(f->last, ==, RDMAD_EVENT_LOG_MAX + 10);
}

static void test_a_watch_gets_later_entries_on_the_next_turn(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadWatch) watch G_GNUC_UNUSED = NULL;

	post(f, "before");
	watch = rdmad_event_log_watch(f->event_log, NULL, see, f);
	post(f, "after");
	g_assert_cmpstr(f->seen->str, ==, "");
	run(f);
	g_assert_cmpstr(f->seen->str, ==, "after,");
	run(f);
	g_assert_cmpstr(f->seen->str, ==, "after,");
}

static void post_many(const RdmadEventLogEntry *entry, gpointer data)
{
	Fixture *f = data;
	g_autofree char *message = g_strdup(entry->message);

	if (f->count++ == 0)
		for (guint i = 0; i < RDMAD_EVENT_LOG_MAX + 1; i++)
			post(f, "more");
	/* Its place in the ring has another entry, but the entry still exists. */
	g_assert_cmpstr(entry->message, ==, message);
}

static void test_a_watcher_may_post(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadWatch) watch G_GNUC_UNUSED =
		rdmad_event_log_watch(f->event_log, NULL, post_many, f);

	post(f, "first");
	run(f);
	g_assert_cmpuint(f->count, ==, 1 + RDMAD_EVENT_LOG_MAX);
}

static void see_once(const RdmadEventLogEntry *entry, gpointer data)
{
	Fixture *f = data;

	f->count++;
	g_clear_pointer(&f->watch, rdmad_watch_free);
}

static void test_a_watch_may_end_in_its_own_callback(Fixture *f, gconstpointer data)
{
	f->watch = rdmad_event_log_watch(f->event_log, NULL, see_once, f);
	post(f, "a");
	post(f, "b");
	run(f);
	g_assert_cmpuint(f->count, ==, 1);
}

static void test_what_a_module_leaves_is_reaped(Fixture *f, gconstpointer data)
{
	f->watch = rdmad_event_log_watch(f->event_log, SOME_MODULE, see, f);
	g_assert_cmpuint(rdmad_event_log_reap(f->event_log, NULL), ==, 0);
	g_assert_cmpuint(rdmad_event_log_reap(f->event_log, SOME_MODULE), ==, 1);
	post(f, "a");
	run(f);
	g_assert_cmpuint(f->count, ==, 0);
}

static void check_bounded(const RdmadEventLogEntry *entry, gpointer data)
{
	g_assert_cmpuint(strlen(entry->message), <=, 1030);
	g_assert_true(g_utf8_validate(entry->message, -1, NULL));
}

static void test_a_message_is_bounded_and_utf8(Fixture *f, gconstpointer data)
{
	g_autofree char *big = g_strnfill(100000, 'x');

	post(f, big);
	post(f, "bad \xff byte");
	rdmad_event_log_foreach(f->event_log, 0, check_bounded, f);
}

#define TEST(name)                                                                                 \
	UNIT_FIXTURE_TEST("/event log/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(an_entry_holds_what_was_posted),
	TEST(foreach_starts_after_a_sequence),
	TEST(only_the_newest_are_kept),
	TEST(a_watch_gets_later_entries_on_the_next_turn),
	TEST(a_watcher_may_post),
	TEST(a_watch_may_end_in_its_own_callback),
	TEST(what_a_module_leaves_is_reaped),
	TEST(a_message_is_bounded_and_utf8),
	{ 0 },
};
