/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/counter-draft.h"

#include <errno.h>
#include <rdmad/work.h>
#include <string.h>

#include "hardware/device-private.h"

/* Hundreds of readings are kept, most with less than that in names. */
#define STRING_BLOCK 1024

void rdmad_draft_init(RdmadDraft *draft)
{
	draft->time_us = draft->clock();
	draft->missing = FALSE;
	draft->strings = g_string_chunk_new(STRING_BLOCK);
	draft->counters = g_array_new(FALSE, FALSE, sizeof(RdmadCounter));
	draft->ports = g_array_new(FALSE, FALSE, sizeof(RdmadPortReading));
	draft->users = g_array_new(FALSE, FALSE, sizeof(RdmadDeviceUser));
	draft->users_errnum = 0;
	draft->users_unlisted = 0;
}

void rdmad_draft_clear(RdmadDraft *draft)
{
	g_clear_pointer(&draft->strings, g_string_chunk_free);
	g_clear_pointer(&draft->counters, g_array_unref);
	g_clear_pointer(&draft->ports, g_array_unref);
	g_clear_pointer(&draft->users, g_array_unref);
}

gboolean rdmad_draft_cancelled(const RdmadDraft *draft)
{
	return draft->job && rdmad_job_cancelled(draft->job);
}

static void add_counter(RdmadDraft *draft, const RdmadCounterKey *key, guint64 value, int errnum)
{
	const RdmadCounter counter = {
		.group = key->group,
		.port = key->port,
		.netdev = key->netdev ? g_string_chunk_insert_const(draft->strings, key->netdev)
				      : NULL,
		.name = key->name ? g_string_chunk_insert(draft->strings, key->name) : NULL,
		.value = value,
		.errnum = errnum,
	};

	g_array_append_val(draft->counters, counter);
}

gboolean rdmad_draft_may_read(RdmadDraft *draft, const RdmadCounterKey *key)
{
	const int errnum = rdmad_quarantine_errnum(draft->quarantine, key, draft->time_us);

	if (errnum)
		add_counter(draft, key, 0, errnum);
	return errnum == 0;
}

void rdmad_draft_add(RdmadDraft *draft, const RdmadCounterKey *key, guint64 value)
{
	rdmad_quarantine_lift(draft->quarantine, key);
	add_counter(draft, key, value, 0);
}

void rdmad_draft_add_failed(RdmadDraft *draft, const RdmadCounterKey *key, int errnum)
{
	/* The clock is asked again: it may have taken long to fail. */
	rdmad_quarantine_hold(draft->quarantine, key, errnum, draft->clock());
	draft->missing |= errnum == ENOENT || errnum == ENODEV;
	add_counter(draft, key, 0, errnum);
}

void rdmad_draft_add_result(RdmadDraft *draft, const RdmadCounterKey *key, guint64 value,
			    int errnum)
{
	if (errnum)
		rdmad_draft_add_failed(draft, key, errnum);
	else
		rdmad_draft_add(draft, key, value);
}

/* NULL, which is a group or no interface, comes first. */
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

/* A name that a driver has twice counts once: its first. */
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

	/* Sources add in order nearly always. */
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

RdmadReading *rdmad_draft_finish(RdmadDraft *draft)
{
	RdmadReading *reading = g_new0(RdmadReading, 1);

	sort_counters(draft->counters);
	g_array_sort(draft->users, compare_users);
	reading->counters = take_array(&draft->counters, &reading->n_counters);
	reading->ports = take_array(&draft->ports, &reading->n_ports);
	reading->users = take_array(&draft->users, &reading->n_users);
	reading->users_errnum = draft->users_errnum;
	reading->users_unlisted = draft->users_unlisted;
	reading->time_us = draft->time_us;
	reading->strings = g_steal_pointer(&draft->strings);
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
	g_free(reading);
}
