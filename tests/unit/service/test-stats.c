/* SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>
#include <rdmad/error.h>

#include "service/stats-private.h"
#include "../support/unit.h"

/* Never dereferenced: an owner is only compared. */
#define SOME_MODULE  ((RdmadModule *)0x10)
#define OTHER_MODULE ((RdmadModule *)0x20)

#define LABELS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const RdmadStatClass calls = {
	.type = RDMAD_STAT_COUNTER,
	.name = "test_calls",
	.help = "Calls",
	.labels = { "method", "code" },
};
static const RdmadStatClass plain = {
	.type = RDMAD_STAT_GAUGE,
	.name = "test_plain",
	.help = "Plain",
};
static const RdmadStatClass duration = {
	.type = RDMAD_STAT_HISTOGRAM,
	.name = "test_duration_seconds",
	.unit = "seconds",
	.help = "Duration",
	.labels = { "method" },
	.bounds = (const double[]){ 0.001, 0.5, 10, 0 },
};

typedef struct {
	RdmadStats *stats;
	GString *seen;
	guint collected;
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
	f->stats = rdmad_stats_new();
	f->seen = g_string_new(NULL);
}

static void teardown(Fixture *f, gconstpointer data)
{
	g_string_free(f->seen, TRUE);
	rdmad_stats_free(f->stats);
}

static RdmadStat *add(Fixture *f, RdmadModule *owner, const RdmadStatClass *klass)
{
	g_autoptr(GError) error = NULL;
	RdmadStat *stat = rdmad_stats_add(f->stats, owner, klass, f, &error);

	g_assert_no_error(error);
	g_assert_nonnull(stat);
	return stat;
}

static void see_series(GString *seen, const RdmadStatClass *klass, const RdmadStatSeries *series)
{
	g_autofree char *labels = g_strjoinv(",", (char **)series->labels);

	g_string_append_printf(seen, " {%s} %g", labels, series->value);
	if (klass->type != RDMAD_STAT_HISTOGRAM)
		return;
	g_string_append_printf(seen, " of %" G_GUINT64_FORMAT ":", series->count);
	for (guint i = 0; i == 0 || klass->bounds[i - 1] != 0; i++)
		g_string_append_printf(seen, " %" G_GUINT64_FORMAT, series->buckets[i]);
}

static void see(const RdmadStatClass *klass, const RdmadStatSeries *series, guint n, gpointer data)
{
	Fixture *f = data;

	g_string_append_printf(f->seen, "%s%s", f->seen->len ? "; " : "", klass->name);
	for (guint i = 0; i < n; i++)
		see_series(f->seen, klass, &series[i]);
}

static void expect(Fixture *f, const char *seen)
{
	g_string_truncate(f->seen, 0);
	rdmad_stats_foreach(f->stats, see, f);
	g_assert_cmpstr(f->seen->str, ==, seen);
}

static void test_families_come_by_name_and_series_by_first_use(Fixture *f, gconstpointer data)
{
	RdmadStat *second = add(f, NULL, &plain);
	RdmadStat *first = add(f, NULL, &calls);

	expect(f, "test_calls; test_plain");
	rdmad_stat_add(first, 0, LABELS("z", "0"));
	rdmad_stat_add(first, 1, LABELS("a", "0"));
	rdmad_stat_add(first, 2.5, LABELS("a", "0"));
	rdmad_stat_add(first, 1, LABELS("a", "14"));
	rdmad_stat_set(second, 7, NULL);
	rdmad_stat_add(second, -9, NULL);
	expect(f, "test_calls {z,0} 0 {a,0} 3.5 {a,14} 1; test_plain {} -2");
}

static void test_labels_that_join_alike_are_different_series(Fixture *f, gconstpointer data)
{
	RdmadStat *stat = add(f, NULL, &calls);

	rdmad_stat_add(stat, 1, LABELS("ab", "c"));
	rdmad_stat_add(stat, 1, LABELS("a", "bc"));
	rdmad_stat_add(stat, 1, LABELS("", "abc"));
	expect(f, "test_calls {ab,c} 1 {a,bc} 1 {,abc} 1");
}

static void test_a_series_keeps_its_own_copy_of_the_labels(Fixture *f, gconstpointer data)
{
	RdmadStat *stat = add(f, NULL, &calls);
	char method[] = "a";

	rdmad_stat_add(stat, 1, LABELS(method, "0"));
	method[0] = 'b';
	expect(f, "test_calls {a,0} 1");
}

static void test_a_histogram_counts_what_is_at_most_the_bound(Fixture *f, gconstpointer data)
{
	RdmadStat *stat = add(f, NULL, &duration);
	const double values[] = { 0, 0.001, 0.0011, 0.5, 10, 10.5, 1e9 };

	rdmad_stat_add(stat, 0, LABELS("idle"));
	for (guint i = 0; i < G_N_ELEMENTS(values); i++)
		rdmad_stat_observe(stat, values[i], LABELS("busy"));
	expect(f, "test_duration_seconds {idle} 0 of 0: 0 0 0 0 {busy} 1e+09 of 7: 2 2 1 2");
}

static void test_a_name_can_be_had_once_until_it_is_freed(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;
	RdmadStat *stat = add(f, SOME_MODULE, &plain);

	g_assert_null(rdmad_stats_add(f->stats, OTHER_MODULE, &plain, NULL, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY);
	g_assert_nonnull(strstr(error->message, "test_plain"));
	rdmad_stat_set(stat, 1, NULL);
	rdmad_stat_free(stat);
	expect(f, "");
	add(f, OTHER_MODULE, &plain);
	expect(f, "test_plain");
}

static void test_a_dropped_series_is_gone_and_begins_again(Fixture *f, gconstpointer data)
{
	RdmadStat *stat = add(f, NULL, &calls);

	rdmad_stat_add(stat, 5, LABELS("a", "0"));
	rdmad_stat_add(stat, 6, LABELS("b", "0"));
	rdmad_stat_drop(stat, LABELS("a", "0"));
	rdmad_stat_drop(stat, LABELS("never", "0"));
	expect(f, "test_calls {b,0} 6");
	rdmad_stat_add(stat, 1, LABELS("a", "0"));
	expect(f, "test_calls {b,0} 6 {a,0} 1");
}

static void collect_twice(RdmadStat *stat, gpointer data)
{
	Fixture *f = data;

	rdmad_stat_set(stat, ++f->collected, NULL);
}

static void test_collect_is_asked_at_each_reading(Fixture *f, gconstpointer data)
{
	const RdmadStatClass klass = {
		.type = RDMAD_STAT_GAUGE,
		.name = "test_asked",
		.help = "Asked",
		.collect = collect_twice,
	};

	add(f, NULL, &klass);
	expect(f, "test_asked {} 1");
	expect(f, "test_asked {} 2");
}

static void collect_others(RdmadStat *stat, gpointer data)
{
	Fixture *f = data;
	g_autofree char *name = g_strdup_printf("m%u", ++f->collected);

	rdmad_stat_set(stat, f->collected, LABELS(name));
}

static void collect_full(RdmadStat *stat, gpointer data)
{
	Fixture *f = data;

	f->collected++;
	for (guint i = 0; i < RDMAD_STAT_SERIES; i++) {
		g_autofree char *name = g_strdup_printf("m%u-%u", f->collected, i);

		rdmad_stat_add(stat, 1, LABELS(name));
	}
}

static void count_series(const RdmadStatClass *klass, const RdmadStatSeries *series, guint n,
			 gpointer data)
{
	guint *sum = data;

	for (guint i = 0; i < n; i++)
		*sum += (guint)series[i].value;
}

static void test_what_collect_names_has_the_room_of_what_it_does_not(Fixture *f, gconstpointer data)
{
	static const RdmadStatClass klass = {
		.type = RDMAD_STAT_GAUGE,
		.name = "rdmad_full",
		.help = "h",
		.labels = { "module" },
		.collect = collect_full,
	};

	rdmad_stats_add(f->stats, NULL, &klass, f, NULL);
	for (guint i = 0; i < 2; i++) {
		guint sum = 0;

		rdmad_stats_foreach(f->stats, count_series, &sum);
		g_assert_cmpuint(sum, ==, RDMAD_STAT_SERIES);
	}
}

static void test_what_collect_does_not_name_again_is_gone(Fixture *f, gconstpointer data)
{
	const RdmadStatClass klass = {
		.type = RDMAD_STAT_GAUGE,
		.name = "test_others",
		.help = "Others",
		.labels = { "name" },
		.collect = collect_others,
	};

	add(f, NULL, &klass);
	expect(f, "test_others {m1} 1");
	expect(f, "test_others {m2} 2");
}

static void test_series_over_the_limit_are_not_counted(Fixture *f, gconstpointer data)
{
	RdmadStat *stat = add(f, NULL, &calls);

	for (guint i = 0; i < RDMAD_STAT_SERIES + 2; i++) {
		g_autofree char *method = g_strdup_printf("m%u", i);

		rdmad_stat_add(stat, 1, LABELS(method, ""));
	}
	rdmad_stat_add(stat, 1, LABELS("m1", ""));
	rdmad_stats_foreach(f->stats, see, f);
	g_assert_nonnull(strstr(f->seen->str, " {m1,} 2 "));
	g_assert_nonnull(strstr(f->seen->str, " {m4095,} 1"));
	g_assert_null(strstr(f->seen->str, " {m4096,}"));
	/* Dropping the series of a removed link makes room. */
	rdmad_stat_drop(stat, LABELS("m1", ""));
	rdmad_stat_add(stat, 3, LABELS("late", ""));
	g_string_truncate(f->seen, 0);
	rdmad_stats_foreach(f->stats, see, f);
	g_assert_true(g_str_has_suffix(f->seen->str, " {late,} 3"));
}

static void test_families_go_with_their_owner(Fixture *f, gconstpointer data)
{
	RdmadStat *stat = add(f, SOME_MODULE, &calls);

	add(f, OTHER_MODULE, &plain);
	add(f, SOME_MODULE, &duration);
	rdmad_stat_add(stat, 1, LABELS("a", "0"));
	rdmad_stats_reap(f->stats, SOME_MODULE);
	expect(f, "test_plain");
}

static void test_no_stat_is_nothing(Fixture *f, gconstpointer data)
{
	rdmad_stat_set(add(f, NULL, &plain), 7, NULL);
	rdmad_stat_add(NULL, 1, NULL);
	rdmad_stat_set(NULL, 1, LABELS("a"));
	rdmad_stat_observe(NULL, 1, LABELS("a"));
	rdmad_stat_drop(NULL, LABELS("a"));
	rdmad_stat_free(NULL);
	expect(f, "test_plain {} 7");
}

static void test_counting_in_a_series_that_is_there_takes_no_memory(Fixture *f, gconstpointer data)
{
	RdmadStat *counter = add(f, NULL, &calls), *histogram = add(f, NULL, &duration);
	gsize before;

	rdmad_stat_add(counter, 1, LABELS("a", "0"));
	rdmad_stat_observe(histogram, 1, LABELS("a"));
	before = mallinfo2().uordblks;
	for (guint i = 0; i < 1000; i++) {
		rdmad_stat_add(counter, 1, LABELS("a", "0"));
		rdmad_stat_observe(histogram, i, LABELS("a"));
	}
	g_assert_cmpuint(mallinfo2().uordblks, ==, before);
}

#define TEST(name) UNIT_FIXTURE_TEST("/stats/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(families_come_by_name_and_series_by_first_use),
	TEST(labels_that_join_alike_are_different_series),
	TEST(a_series_keeps_its_own_copy_of_the_labels),
	TEST(a_histogram_counts_what_is_at_most_the_bound),
	TEST(a_name_can_be_had_once_until_it_is_freed),
	TEST(a_dropped_series_is_gone_and_begins_again),
	TEST(collect_is_asked_at_each_reading),
	TEST(what_collect_names_has_the_room_of_what_it_does_not),
	TEST(what_collect_does_not_name_again_is_gone),
	TEST(series_over_the_limit_are_not_counted),
	TEST(families_go_with_their_owner),
	TEST(no_stat_is_nothing),
	TEST(counting_in_a_series_that_is_there_takes_no_memory),
	{ 0 },
};
