/* SPDX-License-Identifier: Apache-2.0 */
#include "unwrap.h"

#include <rdmad/intern.h>
#include <string.h>

/* State of the counters: one each of the last reading, in its order. */
typedef struct {
	GRefString *name;
	guint64 last; /* the raw value */
	guint32 rounds;
	guint16 port;
	guint8 group;
	guint8 bits : 7;  /* 0: it never goes round */
	guint8 known : 1; /* `last` is a value */
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

/* A driver's own may go round.  Those of the link stop at their maximum; those of interfaces are 64 bits wide
 * in every driver, but for changes of the carrier, of which there are never so many. */
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

/* Readings have one order, so the next counter is nearly always the next entry. */
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

/* Whether the reading has the same counters as the last one, which is so nearly always. */
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

/* The past of each counter that counts, in the order of the reading. */
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
	return now;
}

static gboolean past_fell(const Past *past, const RdmadCounter *counter)
{
	return past->known && !counter->errnum && counter->value < past->last;
}

static guint64 past_modulus(const Past *past)
{
	return G_GUINT64_CONSTANT(1) << past->bits;
}

static gboolean past_began_again(const Past *past, guint64 value)
{
	const guint64 modulus = past_modulus(past);

	return past->last >= modulus || (value - past->last) % modulus > modulus / 4 * 3;
}

/* Counters of one group and port: `n` of them that count, from `past` on. */
static gboolean run_began_again(const Past *past, const RdmadCounter *const *counters, guint n)
{
	guint moved = 0, fell = 0;

	for (guint i = 0; i < n; i++) {
		if (past[i].known && !counters[i]->errnum && past[i].last)
			moved++;
		if (!past_fell(&past[i], counters[i]))
			continue;
		fell++;
		if (!past[i].bits)
			return TRUE;
	}
	return fell > 2 && fell * 4 >= moved * 3;
}

static void past_apply(Past *past, RdmadCounter *counter, gboolean again)
{
	const guint64 value = counter->value;

	if (counter->errnum)
		return;
	if (past_fell(past, counter) && past->bits) {
		if (again || past_began_again(past, value))
			past->rounds = 0;
		else
			past->rounds++;
	}
	past->last = value;
	past->known = TRUE;
	if (past->rounds)
		counter->value = value + past->rounds * past_modulus(past);
}

static gboolean same_run(const Past *a, const Past *b)
{
	return a->group == b->group && a->port == b->port;
}

/* `counters`: those that count, one for each past. */
static void past_apply_all(GArray *array, RdmadCounter **counters)
{
	Past *past = (Past *)(gpointer)array->data;

	for (guint from = 0, to; from < array->len; from = to) {
		gboolean again;

		for (to = from + 1; to < array->len && same_run(&past[from], &past[to]);)
			to++;
		again = run_began_again(&past[from], (const RdmadCounter *const *)&counters[from],
					to - from);
		for (guint i = from; i < to; i++)
			past_apply(&past[i], counters[i], again);
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
	past_apply_all(unwrap->past, counters);
}
