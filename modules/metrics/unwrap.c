/* SPDX-License-Identifier: Apache-2.0 */
#include "unwrap.h"

#include <rdmad/intern.h>
#include <string.h>

/* The state of one counter.  The states have the order of the last reading. */
typedef struct {
	GRefString *name;
	guint64 last; /* the raw value */
	guint32 wraps;
	guint16 port;
	guint8 group;
	guint8 bits : 7;  /* 0: the counter does not wrap */
	guint8 known : 1; /* `last` is valid */
} Past;

struct Unwrap {
	int refs;
	GArray *past; /* Past */
};

static void past_clear(gpointer data)
{
	Past *past = data;

	g_clear_pointer(&past->name, rdmad_intern_release);
}

static GArray *past_array_new(guint size)
{
	GArray *array = g_array_sized_new(FALSE, TRUE, sizeof(Past), size);

	g_array_set_clear_func(array, past_clear);
	return array;
}

Unwrap *unwrap_new(void)
{
	Unwrap *unwrap = g_new0(Unwrap, 1);

	unwrap->refs = 1;
	unwrap->past = past_array_new(0);
	return unwrap;
}

Unwrap *unwrap_ref(Unwrap *unwrap)
{
	g_atomic_int_inc(&unwrap->refs);
	return unwrap;
}

void unwrap_unref(Unwrap *unwrap)
{
	if (!g_atomic_int_dec_and_test(&unwrap->refs))
		return;
	g_array_unref(unwrap->past);
	g_free(unwrap);
}

/* Drivers' counters may wrap.  Counters of the link saturate; those of interfaces have 64 bits in
 * every driver, except carrier changes, which never become that many. */
static gboolean counter_counts(const RdmadCounter *counter)
{
	return (counter->group == RDMAD_COUNTER_HW || counter->group == RDMAD_COUNTER_DEVICE) &&
	       counter->name && counter->port <= G_MAXUINT16;
}

static gboolean past_is_of(const Past *past, const RdmadCounter *counter)
{
	return past->name && past->group == counter->group && past->port == counter->port &&
	       !strcmp(past->name, counter->name);
}

/* Starts after the previous match, because readings usually have the same order. */
static Past *past_find(GArray *array, guint *next, const RdmadCounter *counter)
{
	for (guint i = 0; i < array->len; i++) {
		const guint at = (*next + i) % array->len;
		Past *past = &g_array_index(array, Past, at);

		if (!past_is_of(past, counter))
			continue;
		*next = at + 1;
		return past;
	}
	return NULL;
}

static void past_begin(Past *past, const RdmadCounter *counter, UnwrapWidth width,
		       const char *driver)
{
	gboolean saturates = FALSE;
	const guint bits = width(counter, driver, &saturates);

	past->name = rdmad_intern(counter->name);
	past->group = counter->group;
	past->port = counter->port;
	past->bits = saturates || bits > 32 ? 0 : bits;
}

/* Returns whether the reading has the same counters as the last one, which is the usual case. */
static gboolean past_matches(GArray *array, const RdmadReading *reading)
{
	guint n = 0;

	for (guint i = 0; i < reading->n_counters; i++) {
		const RdmadCounter *counter = &reading->counters[i];

		if (!counter_counts(counter))
			continue;
		if (n == array->len || !past_is_of(&g_array_index(array, Past, n), counter))
			return FALSE;
		n++;
	}
	return n == array->len;
}

static guint counters_count(const RdmadReading *reading)
{
	guint n = 0;

	for (guint i = 0; i < reading->n_counters; i++)
		n += counter_counts(&reading->counters[i]);
	return n;
}

/* A group that could not be read is one counter without a name. */
static gboolean group_is_unread(const Past *past, const RdmadReading *reading)
{
	for (guint i = 0; i < reading->n_counters; i++) {
		const RdmadCounter *counter = &reading->counters[i];

		if (!counter->name && counter->group == past->group && counter->port == past->port)
			return TRUE;
	}
	return FALSE;
}

/* Returns the states of the counters of `reading`, in its order, taken from `before` or new.  Those
 * of groups that could not be read follow. */
static GArray *past_follow(GArray *before, const RdmadReading *reading, UnwrapWidth width,
			   const char *driver)
{
	GArray *now = past_array_new(counters_count(reading));
	guint next = 0;

	for (guint i = 0; i < reading->n_counters; i++) {
		const RdmadCounter *counter = &reading->counters[i];
		Past past = { 0 }, *found;

		if (!counter_counts(counter))
			continue;
		found = past_find(before, &next, counter);
		if (found) {
			past = *found;
			found->name = NULL;
		} else {
			past_begin(&past, counter, width, driver);
		}
		g_array_append_val(now, past);
	}
	for (guint i = 0; i < before->len; i++) {
		Past *past = &g_array_index(before, Past, i);

		if (!past->name || !group_is_unread(past, reading))
			continue;
		g_array_append_val(now, *past);
		past->name = NULL;
	}
	return now;
}

static gboolean past_decreased(const Past *past, const RdmadCounter *counter)
{
	return past->known && !counter->errnum && counter->value < past->last;
}

static guint64 past_modulus(const Past *past)
{
	return G_GUINT64_CONSTANT(1) << past->bits;
}

static gboolean past_was_reset(const Past *past, guint64 value)
{
	const guint64 modulus = past_modulus(past);

	return past->last >= modulus || (value - past->last) % modulus > modulus / 4 * 3;
}

/* Returns whether the `n` counters of one group and port were reset. */
static gboolean run_was_reset(const Past *past, const RdmadCounter *const *counters, guint n)
{
	guint moved = 0, decreased = 0;

	for (guint i = 0; i < n; i++) {
		if (past[i].known && !counters[i]->errnum && past[i].last)
			moved++;
		if (!past_decreased(&past[i], counters[i]))
			continue;
		decreased++;
		if (!past[i].bits)
			return TRUE;
	}
	return decreased > 2 && decreased * 4 >= moved * 3;
}

static void past_apply(Past *past, RdmadCounter *counter, gboolean reset)
{
	const guint64 value = counter->value;

	if (counter->errnum)
		return;
	if (past_decreased(past, counter) && past->bits) {
		if (reset || past_was_reset(past, value))
			past->wraps = 0;
		else
			past->wraps++;
	}
	past->last = value;
	past->known = TRUE;
	if (past->wraps)
		counter->value = value + past->wraps * past_modulus(past);
}

static gboolean same_run(const Past *a, const Past *b)
{
	return a->group == b->group && a->port == b->port;
}

/* The `n` counters have the first states. */
static void past_apply_all(GArray *array, RdmadCounter **counters, guint n)
{
	Past *past = (Past *)(gpointer)array->data;

	for (guint from = 0, to; from < n; from = to) {
		gboolean reset;

		for (to = from + 1; to < n && same_run(&past[from], &past[to]);)
			to++;
		reset = run_was_reset(&past[from], (const RdmadCounter *const *)&counters[from],
				      to - from);
		for (guint i = from; i < to; i++)
			past_apply(&past[i], counters[i], reset);
	}
}

void unwrap_reading(Unwrap *unwrap, RdmadReading *reading, UnwrapWidth width, const char *driver)
{
	g_autofree RdmadCounter **counters = g_new(RdmadCounter *, reading->n_counters + 1);
	guint n = 0;

	if (!past_matches(unwrap->past, reading)) {
		GArray *before = unwrap->past;

		unwrap->past = past_follow(before, reading, width, driver);
		g_array_unref(before);
	}
	for (guint i = 0; i < reading->n_counters; i++)
		if (counter_counts(&reading->counters[i]))
			counters[n++] = &reading->counters[i];
	past_apply_all(unwrap->past, counters, n);
}
