/* SPDX-License-Identifier: Apache-2.0 */
/* A series is found by the hash of its label values.  Counting code passes the labels each time
 * instead of keeping a handle, so that a series can be dropped at any time. */
#define RDMAD_LOG_TOPIC "stats"

#include "service/stats-private.h"

#include <rdmad/error.h>
#include <rdmad/log.h>
#include <string.h>

struct RdmadStats {
	GPtrArray *families; /* RdmadStat, in the order of their names */
};

struct RdmadStat {
	RdmadStats *stats;
	RdmadModule *owner;
	const RdmadStatClass *klass;
	gpointer data;
	guint n_labels, n_bounds;
	GHashTable *by_labels; /* set of Series; borrows from `series` */
	GPtrArray *series;     /* Series, in the order of their first use */
	gboolean full;	       /* the warning was logged */
};

typedef struct {
	const RdmadStat *stat;
	char **labels;
	double value;
	guint64 count;
	guint64 *buckets;   /* HISTOGRAM */
	gboolean collected; /* set since stat_collect() began */
} Series;

/* ---- series ---- */

static guint series_hash(gconstpointer key)
{
	const Series *series = key;
	guint hash = 0;

	for (guint i = 0; i < series->stat->n_labels; i++)
		hash = hash * 31 + g_str_hash(series->labels[i]);
	return hash;
}

static gboolean series_equal(gconstpointer a, gconstpointer b)
{
	const Series *x = a, *y = b;

	for (guint i = 0; i < x->stat->n_labels; i++)
		if (strcmp(x->labels[i], y->labels[i]) != 0)
			return FALSE;
	return TRUE;
}

static void series_free(gpointer data)
{
	Series *series = data;

	g_strfreev(series->labels);
	g_free(series->buckets);
	g_free(series);
}

static Series *series_new(RdmadStat *stat, const char *const *labels)
{
	Series *series = g_new0(Series, 1);

	series->stat = stat;
	series->labels = g_new0(char *, stat->n_labels + 1);
	for (guint i = 0; i < stat->n_labels; i++)
		series->labels[i] = g_strdup(labels[i]);
	if (stat->klass->type == RDMAD_STAT_HISTOGRAM)
		series->buckets = g_new0(guint64, stat->n_bounds + 1);
	g_ptr_array_add(stat->series, series);
	g_hash_table_add(stat->by_labels, series);
	return series;
}

static Series *stat_find(RdmadStat *stat, const char *const *labels)
{
	const Series key = { .stat = stat, .labels = (char **)labels };

	g_assert((labels ? g_strv_length((char **)labels) : 0) == stat->n_labels);
	return g_hash_table_lookup(stat->by_labels, &key);
}

static void stat_remove(RdmadStat *stat, Series *series)
{
	g_hash_table_remove(stat->by_labels, series);
	g_ptr_array_remove(stat->series, series);
}

/* During a collection, a series that was not set yet makes room for a new one. */
static gboolean stat_has_room(RdmadStat *stat)
{
	if (stat->series->len < RDMAD_STAT_SERIES)
		return TRUE;
	for (guint i = 0; stat->klass->collect && i < stat->series->len; i++) {
		Series *series = g_ptr_array_index(stat->series, i);

		if (series->collected)
			continue;
		stat_remove(stat, series);
		return TRUE;
	}
	return FALSE;
}

/* Returns NULL if there is no more room. */
static Series *stat_series(RdmadStat *stat, const char *const *labels)
{
	Series *series = stat_find(stat, labels);

	if (series)
		return series;
	if (stat_has_room(stat))
		return series_new(stat, labels);
	if (!stat->full)
		rdmad_warn("%s has %u series already, further ones are not counted",
			   stat->klass->name, RDMAD_STAT_SERIES);
	stat->full = TRUE;
	return NULL;
}

void rdmad_stat_add(RdmadStat *stat, double amount, const char *const *labels)
{
	Series *series = stat ? stat_series(stat, labels) : NULL;

	if (!series)
		return;
	/* Counters do not decrease, and histograms change only by observations. */
	g_assert(stat->klass->type == RDMAD_STAT_GAUGE || !(amount < 0));
	g_assert(stat->klass->type != RDMAD_STAT_HISTOGRAM || amount == 0);
	series->value += amount;
	series->collected = TRUE;
}

void rdmad_stat_set(RdmadStat *stat, double value, const char *const *labels)
{
	Series *series = stat ? stat_series(stat, labels) : NULL;

	if (!series)
		return;
	g_assert(stat->klass->type != RDMAD_STAT_HISTOGRAM);
	series->value = value;
	series->collected = TRUE;
}

void rdmad_stat_observe(RdmadStat *stat, double value, const char *const *labels)
{
	Series *series = stat ? stat_series(stat, labels) : NULL;
	guint i = 0;

	if (!series)
		return;
	g_assert(stat->klass->type == RDMAD_STAT_HISTOGRAM);
	while (i < stat->n_bounds && value > stat->klass->bounds[i])
		i++;
	series->buckets[i]++;
	series->count++;
	series->value += value;
}

void rdmad_stat_drop(RdmadStat *stat, const char *const *labels)
{
	Series *series = stat ? stat_find(stat, labels) : NULL;

	if (series)
		stat_remove(stat, series);
}

/* ---- families ---- */

static guint bounds_count(const RdmadStatClass *klass)
{
	guint n = 0;

	if (klass->type != RDMAD_STAT_HISTOGRAM)
		return 0;
	for (; klass->bounds[n] != 0; n++)
		g_assert(n == 0 || klass->bounds[n] > klass->bounds[n - 1]);
	return n;
}

static void class_check(const RdmadStatClass *klass)
{
	g_assert(klass->help && !g_str_has_suffix(klass->name, "_total"));
	g_assert(!klass->unit || g_str_has_suffix(klass->name, klass->unit));
	g_assert(g_strv_length((char **)klass->labels) <= RDMAD_STAT_LABELS);
}

static void stat_release(gpointer data)
{
	RdmadStat *stat = data;

	g_hash_table_unref(stat->by_labels);
	g_ptr_array_unref(stat->series);
	g_free(stat);
}

/* Returns the index of `name`, or where to insert it. */
static guint stats_place(const RdmadStats *stats, const char *name, gboolean *found)
{
	guint i = 0;
	int order = 1;

	for (; i < stats->families->len; i++) {
		const RdmadStat *stat = g_ptr_array_index(stats->families, i);

		order = strcmp(stat->klass->name, name);
		if (order >= 0)
			break;
	}
	*found = order == 0;
	return i;
}

RdmadStat *rdmad_stats_add(RdmadStats *stats, RdmadModule *owner, const RdmadStatClass *klass,
			   gpointer data, GError **error)
{
	RdmadStat *stat;
	gboolean found;
	const guint place = stats_place(stats, klass->name, &found);

	class_check(klass);
	if (found) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY, "there is a stat %s already",
			    klass->name);
		return NULL;
	}
	stat = g_new0(RdmadStat, 1);
	stat->stats = stats;
	stat->owner = owner;
	stat->klass = klass;
	stat->data = data;
	stat->n_labels = g_strv_length((char **)klass->labels);
	stat->n_bounds = bounds_count(klass);
	stat->by_labels = g_hash_table_new(series_hash, series_equal);
	stat->series = g_ptr_array_new_with_free_func(series_free);
	g_ptr_array_insert(stats->families, (gint)place, stat);
	return stat;
}

void rdmad_stat_free(RdmadStat *stat)
{
	if (stat)
		g_ptr_array_remove(stat->stats->families, stat);
}

/* ---- reading ---- */

/* Keeps the series, because most of them are set again; removes those that were not. */
static void stat_collect(RdmadStat *stat)
{
	if (!stat->klass->collect)
		return;
	for (guint i = 0; i < stat->series->len; i++) {
		Series *series = g_ptr_array_index(stat->series, i);

		series->value = 0;
		series->collected = FALSE;
	}
	stat->klass->collect(stat, stat->data);
	for (guint i = stat->series->len; i-- > 0;) {
		Series *series = g_ptr_array_index(stat->series, i);

		if (!series->collected)
			stat_remove(stat, series);
	}
}

static void stat_read(const RdmadStat *stat, RdmadStatFunc fn, gpointer data)
{
	g_autofree RdmadStatSeries *all = g_new(RdmadStatSeries, stat->series->len);

	for (guint i = 0; i < stat->series->len; i++) {
		const Series *series = g_ptr_array_index(stat->series, i);

		all[i] = (RdmadStatSeries){
			.labels = (const char *const *)series->labels,
			.value = series->value,
			.count = series->count,
			.buckets = series->buckets,
		};
	}
	fn(stat->klass, all, stat->series->len, data);
}

void rdmad_stats_foreach(RdmadStats *stats, RdmadStatFunc fn, gpointer data)
{
	for (guint i = 0; i < stats->families->len; i++) {
		RdmadStat *stat = g_ptr_array_index(stats->families, i);

		stat_collect(stat);
		stat_read(stat, fn, data);
	}
}

/* ---- life ---- */

RdmadStats *rdmad_stats_new(void)
{
	RdmadStats *stats = g_new0(RdmadStats, 1);

	stats->families = g_ptr_array_new_with_free_func(stat_release);
	return stats;
}

void rdmad_stats_free(RdmadStats *stats)
{
	if (!stats)
		return;
	g_ptr_array_unref(stats->families);
	g_free(stats);
}

void rdmad_stats_reap(RdmadStats *stats, const RdmadModule *owner)
{
	for (guint i = stats->families->len; i-- > 0;) {
		const RdmadStat *stat = g_ptr_array_index(stats->families, i);

		if (stat->owner == owner)
			g_ptr_array_remove_index(stats->families, i);
	}
}
