/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/counters/reading.h"

#include <errno.h>
#include <rdmad/work.h>
#include <string.h>

#include "hardware/device.h"

/* Small: hundreds of readings exist, and most names are in lists. */
#define STRING_BLOCK 1024

void rdmad_reading_builder_init(RdmadReadingBuilder *builder)
{
	builder->time_us = builder->clock();
	builder->missing = FALSE;
	builder->strings = g_string_chunk_new(STRING_BLOCK);
	builder->names = g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_name_list_unref);
	builder->counters = g_array_new(FALSE, FALSE, sizeof(RdmadCounter));
	builder->ports = g_array_new(FALSE, FALSE, sizeof(RdmadPortReading));
	builder->users = g_array_new(FALSE, FALSE, sizeof(RdmadDeviceUser));
	builder->users_errnum = 0;
	builder->users_unlisted = 0;
}

void rdmad_reading_builder_clear(RdmadReadingBuilder *builder)
{
	g_clear_pointer(&builder->strings, g_string_chunk_free);
	g_clear_pointer(&builder->names, g_ptr_array_unref);
	g_clear_pointer(&builder->counters, g_array_unref);
	g_clear_pointer(&builder->ports, g_array_unref);
	g_clear_pointer(&builder->users, g_array_unref);
}

gboolean rdmad_reading_builder_cancelled(const RdmadReadingBuilder *builder)
{
	return builder->job && rdmad_job_cancelled(builder->job);
}

void rdmad_reading_builder_hold(RdmadReadingBuilder *builder, RdmadNameList *names)
{
	g_ptr_array_add(builder->names, rdmad_name_list_ref(names));
}

static void add_counter(RdmadReadingBuilder *builder, const RdmadCounterKey *key, guint64 value,
			int errnum)
{
	const gboolean copy_netdev = key->netdev && !key->held;
	const gboolean copy_name = key->name && !key->held;
	const RdmadCounter counter = {
		.group = key->group,
		.port = key->port,
		.netdev = copy_netdev ? g_string_chunk_insert_const(builder->strings, key->netdev)
				      : key->netdev,
		.name = copy_name ? g_string_chunk_insert(builder->strings, key->name) : key->name,
		.value = value,
		.errnum = errnum,
	};

	g_array_append_val(builder->counters, counter);
}

gboolean rdmad_reading_builder_may_read(RdmadReadingBuilder *builder, const RdmadCounterKey *key)
{
	const int errnum = rdmad_backoff_errnum(builder->backoff, key, builder->time_us);

	if (errnum)
		add_counter(builder, key, 0, errnum);
	return errnum == 0;
}

void rdmad_reading_builder_add(RdmadReadingBuilder *builder, const RdmadCounterKey *key,
			       guint64 value)
{
	rdmad_backoff_lift(builder->backoff, key);
	add_counter(builder, key, value, 0);
}

void rdmad_reading_builder_add_failed(RdmadReadingBuilder *builder, const RdmadCounterKey *key,
				      int errnum)
{
	/* Reads the clock again, because the failure may have taken long. */
	rdmad_backoff_hold(builder->backoff, key, errnum, builder->clock());
	builder->missing |= errnum == ENOENT || errnum == ENODEV;
	add_counter(builder, key, 0, errnum);
}

void rdmad_reading_builder_add_result(RdmadReadingBuilder *builder, const RdmadCounterKey *key,
				      guint64 value, int errnum)
{
	if (errnum)
		rdmad_reading_builder_add_failed(builder, key, errnum);
	else
		rdmad_reading_builder_add(builder, key, value);
}

void rdmad_reading_builder_put_last(RdmadReadingBuilder *builder, guint place)
{
	const RdmadCounter counter = g_array_index(builder->counters, RdmadCounter, place);

	g_array_remove_index(builder->counters, place);
	g_array_append_val(builder->counters, counter);
}

/* NULL, a group or no interface, comes first. */
static int compare_names(const char *a, const char *b)
{
	if (a == b)
		return 0;
	if (!a || !b)
		return a ? 1 : -1;
	return rdmad_natural_compare(a, b);
}

static int compare_counters(gconstpointer a, gconstpointer b)
{
	const RdmadCounter *x = a, *y = b;
	int order;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->port != y->port)
		return x->port < y->port ? -1 : 1;
	order = compare_names(x->netdev, y->netdev);
	return order ? order : compare_names(x->name, y->name);
}

static gboolean is_in_order(const RdmadCounter *counters, guint n)
{
	for (guint i = 1; i < n; i++)
		if (compare_counters(&counters[i - 1], &counters[i]) >= 0)
			return FALSE;
	return TRUE;
}

/* Keeps the first counter of each name, because a driver may have duplicates. */
static guint drop_doubles(RdmadCounter *counters, guint n)
{
	guint kept = 0;

	for (guint i = 0; i < n; i++)
		if (kept == 0 || compare_counters(&counters[kept - 1], &counters[i]) != 0)
			counters[kept++] = counters[i];
	return kept;
}

static void sort_counters(GArray *counters)
{
	RdmadCounter *first = (RdmadCounter *)(void *)counters->data;

	/* Sources usually add in order. */
	if (is_in_order(first, counters->len))
		return;
	g_array_sort(counters, compare_counters);
	g_array_set_size(counters, drop_doubles(first, counters->len));
}

static int compare_users(gconstpointer a, gconstpointer b)
{
	const RdmadDeviceUser *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static gpointer take_array(GArray **array, guint *n)
{
	const gsize size = g_array_get_element_size(*array);

	*n = (*array)->len;
	return g_realloc_n(g_array_free(g_steal_pointer(array), FALSE), *n, size);
}

RdmadReading *rdmad_reading_builder_finish(RdmadReadingBuilder *builder)
{
	RdmadReading *reading = g_new0(RdmadReading, 1);

	sort_counters(builder->counters);
	g_array_sort(builder->users, compare_users);
	reading->counters = take_array(&builder->counters, &reading->n_counters);
	reading->ports = take_array(&builder->ports, &reading->n_ports);
	reading->users = take_array(&builder->users, &reading->n_users);
	reading->users_errnum = builder->users_errnum;
	reading->users_unlisted = builder->users_unlisted;
	reading->time_us = builder->time_us;
	reading->strings = g_steal_pointer(&builder->strings);
	reading->names = g_steal_pointer(&builder->names);
	return reading;
}

void rdmad_reading_free(RdmadReading *reading)
{
	if (!reading)
		return;
	g_free(reading->counters);
	g_free(reading->ports);
	g_free(reading->users);
	g_string_chunk_free(reading->strings);
	g_clear_pointer(&reading->names, g_ptr_array_unref);
	g_free(reading);
}
