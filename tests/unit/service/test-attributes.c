/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/error.h>
#include <rdmad/inventory.h>
#include <rdmad/loop.h>

#include "base/loop.h"
#include "service/attributes-private.h"
#include "../support/turns.h"
#include "../support/unit.h"

/* Never dereferenced: an owner is only compared. */
#define SOME_MODULE ((RdmadModule *)0x10)

typedef struct {
	RdmadLoop *loop;
	RdmadAttributes *attributes;
	Turns turns;
	GString *seen; /* "name=value,", or "name," for a removal */
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
	f->loop = rdmad_loop_new();
	f->attributes = rdmad_attributes_new(f->loop);
	turns_init(&f->turns, f->loop);
	f->seen = g_string_new(NULL);
}

static void teardown(Fixture *f, gconstpointer data)
{
	g_string_free(f->seen, TRUE);
	turns_clear(&f->turns);
	rdmad_attributes_free(f->attributes);
	rdmad_loop_free(f->loop);
}

/* Runs the loop and compares what the watchers got. */
static void expect(Fixture *f, const char *seen)
{
	turns_run(&f->turns);
	g_assert_cmpstr(f->seen->str, ==, seen);
	g_string_truncate(f->seen, 0);
}

static void see(const char *name, const char *value, gpointer data)
{
	Fixture *f = data;

	g_string_append(f->seen, name);
	if (value)
		g_string_append_printf(f->seen, "=%s", value);
	g_string_append_c(f->seen, ',');
}

static void set(Fixture *f, RdmadModule *owner, const char *name, const char *value)
{
	g_autoptr(GError) error = NULL;

	g_assert_true(rdmad_attributes_set(f->attributes, owner, name, value, &error));
	g_assert_no_error(error);
}

static void test_a_attribute_is_what_was_set_last(Fixture *f, gconstpointer data)
{
	g_assert_null(rdmad_attributes_get(f->attributes, "a"));
	set(f, NULL, "a", "1");
	set(f, NULL, "a", "2");
	g_assert_cmpstr(rdmad_attributes_get(f->attributes, "a"), ==, "2");
	set(f, NULL, "a", NULL);
	g_assert_null(rdmad_attributes_get(f->attributes, "a"));
	set(f, NULL, "never set", NULL);
}

static void test_foreach_goes_by_name(Fixture *f, gconstpointer data)
{
	set(f, NULL, "b", "2");
	set(f, NULL, "c", "3");
	set(f, NULL, "a", "1");
	rdmad_attributes_foreach(f->attributes, see, f);
	g_assert_cmpstr(f->seen->str, ==, "a=1,b=2,c=3,");
}

static void test_a_watch_gets_existing_items_then_changes(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadWatch) watch G_GNUC_UNUSED = NULL;

	set(f, NULL, "a", "1");
	set(f, NULL, "b", "1");
	watch = rdmad_attributes_watch(f->attributes, NULL, NULL, see, f);
	g_assert_cmpstr(f->seen->str, ==, "");
	expect(f, "a=1,b=1,");
	set(f, NULL, "b", "2");
	set(f, NULL, "b", "3");
	set(f, NULL, "a", NULL);
	expect(f, "a,b=3,");
	expect(f, "");
}

static void test_the_same_value_again_is_no_news(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadWatch) watch G_GNUC_UNUSED =
		rdmad_attributes_watch(f->attributes, NULL, NULL, see, f);

	set(f, NULL, "a", "1");
	expect(f, "a=1,");
	set(f, NULL, "a", "1");
	expect(f, "");
}

static void test_a_watch_of_one_name_gets_only_that(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadWatch) watch G_GNUC_UNUSED = NULL;

	set(f, NULL, "a", "1");
	set(f, NULL, "b", "1");
	watch = rdmad_attributes_watch(f->attributes, NULL, "b", see, f);
	expect(f, "b=1,");
	set(f, NULL, "a", "2");
	expect(f, "");
}

static void set_from_callback(const char *name, const char *value, gpointer data)
{
	Fixture *f = data;

	if (g_str_equal(value, "1"))
		set(f, NULL, name, "2");
	see(name, value, f);
}

static void test_a_watcher_may_change_the_reported_item(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadWatch) watch G_GNUC_UNUSED =
		rdmad_attributes_watch(f->attributes, NULL, NULL, set_from_callback, f);

	set(f, NULL, "a", "1");
	expect(f, "a=1,a=2,");
}

static void test_attributes_go_with_their_owner(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadWatch) watch G_GNUC_UNUSED =
		rdmad_attributes_watch(f->attributes, NULL, NULL, see, f);

	set(f, SOME_MODULE, "mine", "1");
	set(f, SOME_MODULE, "handed over", "1");
	set(f, NULL, "handed over", "1");
	(void)!rdmad_attributes_watch(f->attributes, SOME_MODULE, NULL, see, f);
	g_assert_cmpuint(rdmad_attributes_reap(f->attributes, SOME_MODULE), ==, 1);
	expect(f, "handed over=1,");
	g_assert_null(rdmad_attributes_get(f->attributes, "mine"));
	set(f, SOME_MODULE, "mine", "1");
	expect(f, "mine=1,");
	g_assert_cmpuint(rdmad_attributes_reap(f->attributes, SOME_MODULE), ==, 0);
	expect(f, "mine,");
}

static void test_bad_text_is_refused(Fixture *f, gconstpointer data)
{
	g_autofree char *big = g_strnfill(254, 'x');
	const char *const bad[][2] = {
		{ "", "value" },  { "name", "\xff" }, { "\xff", "value" },
		{ big, "value" }, { "name", big },
	};

	for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_false(
			rdmad_attributes_set(f->attributes, NULL, bad[i][0], bad[i][1], &error));
		g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
		g_assert_null(rdmad_attributes_get(f->attributes, bad[i][0]));
	}
	set(f, NULL, big + 1, big + 1);
	g_assert_cmpstr(rdmad_attributes_get(f->attributes, big + 1), ==, big + 1);
}

#define TEST(name)                                                                                 \
	UNIT_FIXTURE_TEST("/attributes/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(a_attribute_is_what_was_set_last),
	TEST(foreach_goes_by_name),
	TEST(a_watch_gets_existing_items_then_changes),
	TEST(the_same_value_again_is_no_news),
	TEST(a_watch_of_one_name_gets_only_that),
	TEST(a_watcher_may_change_the_reported_item),
	TEST(attributes_go_with_their_owner),
	TEST(bad_text_is_refused),
	{ 0 },
};
