/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A series is found by the hash of its label values.  Those who count name a series each time instead of
 * keeping a handle, so that a series can be dropped under them.
 */
#define RDMAD_LOG_TOPIC "meters"

#include "service/meters-private.h"

#include <rdmad/error.h>
#include <rdmad/log.h>
#include <string.h>

struct RdmadMeters {
	GPtrArray *families; /* RdmadMeter, in the order of their names */
};

struct RdmadMeter {
	RdmadMeters *meters;
	RdmadModule *owner;
	const RdmadMeterClass *klass;
	gpointer data;
	guint n_labels, n_bounds;
	GHashTable *by_labels; /* set of Series; borrows from `series` */
	GPtrArray *series;     /* Series, in the order of their first use */
	gboolean full;	       /* said so */
};

typedef struct {
	const RdmadMeter *meter;
	char **labels;
	double value;
	guint64 count;
	guint64 *buckets; /* HISTOGRAM */
} Series;

/* ---- series ---- */

static guint series_hash(gconstpointer key)
{
	const Series *series = key;
	guint hash = 0;

	for (guint i = 0; i < series->meter->n_labels; i++)
		hash = hash * 31 + g_str_hash(series->labels[i]);
	return hash;
}

static gboolean series_equal(gconstpointer a, gconstpointer b)
{
	const Series *x = a, *y = b;

	for (guint i = 0; i < x->meter->n_labels; i++)
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

static Series *series_new(RdmadMeter *meter, const char *const *labels)
{
	Series *series = g_new0(Series, 1);

	series->meter = meter;
	series->labels = g_new0(char *, meter->n_labels + 1);
	for (guint i = 0; i < meter->n_labels; i++)
		series->labels[i] = g_strdup(labels[i]);
	if (meter->klass->type == RDMAD_METER_HISTOGRAM)
		series->buckets = g_new0(guint64, meter->n_bounds + 1);
	g_ptr_array_add(meter->series, series);
	g_hash_table_add(meter->by_labels, series);
	return series;
}

static Series *meter_find(RdmadMeter *meter, const char *const *labels)
{
	const Series key = { .meter = meter, .labels = (char **)labels };

	g_assert((labels ? g_strv_length((char **)labels) : 0) == meter->n_labels);
	return g_hash_table_lookup(meter->by_labels, &key);
}

/* NULL where there is no more room. */
static Series *meter_series(RdmadMeter *meter, const char *const *labels)
{
	Series *series = meter_find(meter, labels);

	if (series)
		return series;
	if (meter->series->len < RDMAD_METER_SERIES)
		return series_new(meter, labels);
	if (!meter->full)
		rdmad_warn("%s has %u series already, what comes beyond is not counted",
			   meter->klass->name, RDMAD_METER_SERIES);
	meter->full = TRUE;
	return NULL;
}

void rdmad_meter_add(RdmadMeter *meter, double amount, const char *const *labels)
{
	Series *series = meter ? meter_series(meter, labels) : NULL;

	if (!series)
		return;
	/* A counter does not fall, a histogram has no value but what it observes. */
	g_assert(meter->klass->type == RDMAD_METER_GAUGE || !(amount < 0));
	g_assert(meter->klass->type != RDMAD_METER_HISTOGRAM || amount == 0);
	series->value += amount;
}

void rdmad_meter_set(RdmadMeter *meter, double value, const char *const *labels)
{
	Series *series = meter ? meter_series(meter, labels) : NULL;

	if (!series)
		return;
	g_assert(meter->klass->type != RDMAD_METER_HISTOGRAM);
	series->value = value;
}

void rdmad_meter_observe(RdmadMeter *meter, double value, const char *const *labels)
{
	Series *series = meter ? meter_series(meter, labels) : NULL;
	guint i = 0;

	if (!series)
		return;
	g_assert(meter->klass->type == RDMAD_METER_HISTOGRAM);
	while (i < meter->n_bounds && value > meter->klass->bounds[i])
		i++;
	series->buckets[i]++;
	series->count++;
	series->value += value;
}

void rdmad_meter_drop(RdmadMeter *meter, const char *const *labels)
{
	Series *series = meter ? meter_find(meter, labels) : NULL;

	if (!series)
		return;
	g_hash_table_remove(meter->by_labels, series);
	g_ptr_array_remove(meter->series, series);
}

/* ---- families ---- */

static guint bounds_count(const RdmadMeterClass *klass)
{
	guint n = 0;

	if (klass->type != RDMAD_METER_HISTOGRAM)
		return 0;
	for (; klass->bounds[n] != 0; n++)
		g_assert(n == 0 || klass->bounds[n] > klass->bounds[n - 1]);
	return n;
}

static void class_check(const RdmadMeterClass *klass)
{
	g_assert(klass->help && !g_str_has_suffix(klass->name, "_total"));
	g_assert(!klass->unit || g_str_has_suffix(klass->name, klass->unit));
	g_assert(g_strv_length((char **)klass->labels) <= RDMAD_METER_LABELS);
}

static void meter_release(gpointer data)
{
	RdmadMeter *meter = data;

	g_hash_table_unref(meter->by_labels);
	g_ptr_array_unref(meter->series);
	g_free(meter);
}

/* The place of `name`, or where it would be. */
static guint meters_place(const RdmadMeters *meters, const char *name, gboolean *found)
{
	guint i = 0;
	int order = 1;

	for (; i < meters->families->len; i++) {
		const RdmadMeter *meter = g_ptr_array_index(meters->families, i);

		order = strcmp(meter->klass->name, name);
		if (order >= 0)
			break;
	}
	*found = order == 0;
	return i;
}

RdmadMeter *rdmad_meters_add(RdmadMeters *meters, RdmadModule *owner, const RdmadMeterClass *klass,
			     gpointer data, GError **error)
{
	RdmadMeter *meter;
	gboolean found;
	const guint place = meters_place(meters, klass->name, &found);

	class_check(klass);
	if (found) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY, "there is a meter %s already",
			    klass->name);
		return NULL;
	}
	meter = g_new0(RdmadMeter, 1);
	meter->meters = meters;
	meter->owner = owner;
	meter->klass = klass;
	meter->data = data;
	meter->n_labels = g_strv_length((char **)klass->labels);
	meter->n_bounds = bounds_count(klass);
	meter->by_labels = g_hash_table_new(series_hash, series_equal);
	meter->series = g_ptr_array_new_with_free_func(series_free);
	g_ptr_array_insert(meters->families, (gint)place, meter);
	return meter;
}

void rdmad_meter_free(RdmadMeter *meter)
{
	if (meter)
		g_ptr_array_remove(meter->meters->families, meter);
}

/* ---- reading ---- */

static void meter_collect(RdmadMeter *meter)
{
	if (!meter->klass->collect)
		return;
	g_hash_table_remove_all(meter->by_labels);
	g_ptr_array_set_size(meter->series, 0);
	meter->klass->collect(meter, meter->data);
}

static void meter_read(const RdmadMeter *meter, RdmadMeterFunc fn, gpointer data)
{
	g_autofree RdmadMeterSeries *all = g_new(RdmadMeterSeries, meter->series->len);

	for (guint i = 0; i < meter->series->len; i++) {
		const Series *series = g_ptr_array_index(meter->series, i);

		all[i] = (RdmadMeterSeries){
			.labels = (const char *const *)series->labels,
			.value = series->value,
			.count = series->count,
			.buckets = series->buckets,
		};
	}
	fn(meter->klass, all, meter->series->len, data);
}

void rdmad_meters_foreach(RdmadMeters *meters, RdmadMeterFunc fn, gpointer data)
{
	for (guint i = 0; i < meters->families->len; i++) {
		RdmadMeter *meter = g_ptr_array_index(meters->families, i);

		meter_collect(meter);
		meter_read(meter, fn, data);
	}
}

/* ---- life ---- */

RdmadMeters *rdmad_meters_new(void)
{
	RdmadMeters *meters = g_new0(RdmadMeters, 1);

	meters->families = g_ptr_array_new_with_free_func(meter_release);
	return meters;
}

void rdmad_meters_free(RdmadMeters *meters)
{
	if (!meters)
		return;
	g_ptr_array_unref(meters->families);
	g_free(meters);
}

void rdmad_meters_reap(RdmadMeters *meters, const RdmadModule *owner)
{
	for (guint i = meters->families->len; i-- > 0;) {
		const RdmadMeter *meter = g_ptr_array_index(meters->families, i);

		if (meter->owner == owner)
			g_ptr_array_remove_index(meters->families, i);
	}
}
