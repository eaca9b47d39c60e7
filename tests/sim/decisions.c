/* SPDX-License-Identifier: Apache-2.0 */
#include "decisions.h"

#include <stdio.h>
#include <string.h>

#define STEPS_MIN 100u
#define STEPS_MAX 1000u

static const char *const kinds[N_DECIDE] = {
	"setup", "action", "pause",  "which",	  "how",     "effects", "kept",	   "order",
	"job",	 "answer", "weight", "kernel",	  "runtime", "kubelet", "init",	   "ipam",
	"relay", "dial",   "cloud",  "scheduler", "remains", "notice",	"program",
};

/* A choice other than 0.  `index` counts the choices of its kind within the step. */
typedef struct {
	Decide kind;
	guint index, value;
} Entry;

typedef enum { FROM_SEED, FROM_TRACE, FROM_BYTES } Source;

struct Decisions {
	Source source;
	guint64 random;
	guint steps; /* at most; not FROM_TRACE */
	const guint8 *bytes;
	gsize size;
	GPtrArray *given; /* a GArray of Entry per step; FROM_TRACE */
	GPtrArray *made;  /* the same, of the actual choices */
	guint counts[N_DECIDE];
	guint64 hash;
};

static Decisions *decisions_new(Source source)
{
	Decisions *decisions = g_new0(Decisions, 1);

	decisions->source = source;
	decisions->made = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
	decisions->given = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
	decisions->hash = 0xcbf29ce484222325u;
	return decisions;
}

/* SplitMix64. */
static guint64 random_next(guint64 *state)
{
	guint64 z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* The length has random numbers of its own: the other choices of a seed are the same for each
 * length. */
Decisions *decisions_of_seed(guint64 seed, guint steps)
{
	Decisions *decisions = decisions_new(FROM_SEED);
	guint64 length = ~seed;

	decisions->random = seed;
	decisions->steps =
		steps ?: STEPS_MIN + (guint)(random_next(&length) % (STEPS_MAX - STEPS_MIN + 1));
	return decisions;
}

Decisions *decisions_of_bytes(const guint8 *bytes, gsize size, guint steps)
{
	Decisions *decisions = decisions_new(FROM_BYTES);

	decisions->steps = steps;
	decisions->bytes = bytes;
	decisions->size = size;
	return decisions;
}

void decisions_free(Decisions *decisions)
{
	g_ptr_array_unref(decisions->made);
	g_ptr_array_unref(decisions->given);
	g_free(decisions);
}

/* ---- choices ---- */

static guint bytes_next(Decisions *decisions, guint bound)
{
	guint value = 0;

	for (guint room = 1; room < bound && decisions->size; room *= 256, decisions->size--)
		value = value * 256 + *decisions->bytes++;
	return value % bound;
}

static guint given_value(const Decisions *decisions, Decide kind, guint index)
{
	const guint step = decisions->made->len - 1;
	const GArray *entries = step < decisions->given->len ? decisions->given->pdata[step] : NULL;

	for (guint i = 0; entries && i < entries->len; i++) {
		const Entry *entry = &g_array_index(entries, Entry, i);

		if (entry->kind == kind && entry->index == index)
			return entry->value;
	}
	return 0;
}

static void hash_bytes(Decisions *decisions, const char *bytes, gsize size)
{
	for (gsize i = 0; i < size; i++)
		decisions->hash = (decisions->hash ^ (guint8)bytes[i]) * 0x100000001b3u;
}

/* The setup is the first step of `made` and of `given`. */
static gboolean is_over(const Decisions *decisions)
{
	if (decisions->made->len == 0)
		return FALSE;
	if (decisions->source == FROM_TRACE)
		return decisions->made->len >= decisions->given->len;
	return decisions->made->len > decisions->steps ||
	       (decisions->source == FROM_BYTES && decisions->size == 0);
}

gboolean decisions_step(Decisions *decisions)
{
	if (is_over(decisions))
		return FALSE;
	memset(decisions->counts, 0, sizeof(decisions->counts));
	g_ptr_array_add(decisions->made, g_array_new(FALSE, FALSE, sizeof(Entry)));
	return TRUE;
}

/* `drawn` is the choice of a seed. */
static guint choose(Decisions *decisions, Decide kind, guint bound, guint drawn)
{
	GArray *step = decisions->made->pdata[decisions->made->len - 1];
	Entry entry = { kind, decisions->counts[kind]++, drawn };

	if (decisions->source == FROM_TRACE)
		entry.value = given_value(decisions, kind, entry.index) % bound;
	else if (decisions->source == FROM_BYTES)
		entry.value = bytes_next(decisions, bound);
	if (entry.value)
		g_array_append_val(step, entry);
	hash_bytes(decisions, (const char *)&entry, sizeof(entry));
	return entry.value;
}

guint decide(Decisions *decisions, Decide kind, guint bound)
{
	return choose(decisions, kind, bound, (guint)(random_next(&decisions->random) % bound));
}

guint decide_rarely(Decisions *decisions, Decide kind, guint rarity, guint bound)
{
	const gboolean special = random_next(&decisions->random) % rarity == 0;

	return choose(decisions, kind, bound,
		      special ? 1 + (guint)(random_next(&decisions->random) % (bound - 1)) : 0);
}

guint decide_weighted(Decisions *decisions, Decide kind, const guint *weights, guint n)
{
	guint sum = 0, drawn = 0;

	for (guint i = 0; i < n; i++)
		sum += weights[i];
	if (sum) {
		guint left = (guint)(random_next(&decisions->random) % sum);

		while (left >= weights[drawn])
			left -= weights[drawn++];
	}
	return choose(decisions, kind, n, drawn);
}

static gboolean notes_are_told;

void decisions_print_notes(void)
{
	notes_are_told = TRUE;
}

gboolean decisions_notes_are_printed(void)
{
	return notes_are_told;
}

void decisions_note(Decisions *decisions, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	g_vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (notes_are_told)
		printf("  %s\n", text);
	hash_bytes(decisions, text, strlen(text));
}

guint64 decisions_hash(const Decisions *decisions)
{
	return decisions->hash;
}

/* ---- the trace ---- */

guint decisions_steps(const Decisions *decisions)
{
	return decisions->made->len;
}

char *decisions_print(const Decisions *decisions, const char *(*name_of)(guint action))
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < decisions->made->len; i++) {
		const GArray *entries = decisions->made->pdata[i];
		guint action = 0;

		for (guint j = 0; j < entries->len; j++)
			if (g_array_index(entries, Entry, j).kind == DECIDE_ACTION)
				action = g_array_index(entries, Entry, j).value;
		g_string_append(text, i ? name_of(action) : "setup");
		for (guint j = 0; j < entries->len; j++) {
			const Entry *entry = &g_array_index(entries, Entry, j);

			if (entry->kind != DECIDE_ACTION)
				g_string_append_printf(text, " %s@%u=%u", kinds[entry->kind],
						       entry->index, entry->value);
		}
		g_string_append_c(text, '\n');
	}
	return g_string_free(text, FALSE);
}

static Decisions *decisions_copy(const Decisions *decisions)
{
	Decisions *copy = decisions_new(FROM_TRACE);

	for (guint i = 0; i < decisions->made->len; i++)
		g_ptr_array_add(copy->given, g_array_copy(decisions->made->pdata[i]));
	return copy;
}

Decisions *decisions_without_steps(const Decisions *decisions, guint first, guint n)
{
	Decisions *copy;

	if (first + n > decisions->made->len)
		return NULL;
	copy = decisions_copy(decisions);
	g_ptr_array_remove_range(copy->given, first, n);
	return copy;
}

void decisions_adopt(Decisions *decisions)
{
	g_ptr_array_set_size(decisions->made, 0);
	for (guint i = 0; i < decisions->given->len; i++)
		g_ptr_array_add(decisions->made, g_array_copy(decisions->given->pdata[i]));
}

guint decisions_entries(const Decisions *decisions)
{
	guint n = 0;

	for (guint i = 0; i < decisions->made->len; i++)
		n += ((const GArray *)decisions->made->pdata[i])->len;
	return n;
}

static Entry *entry_at(const GPtrArray *steps, guint index, GArray **step)
{
	for (guint i = 0; i < steps->len; i++) {
		*step = steps->pdata[i];
		if (index < (*step)->len)
			return &g_array_index(*step, Entry, index);
		index -= (*step)->len;
	}
	g_assert_not_reached();
}

guint decisions_value(const Decisions *decisions, guint entry)
{
	GArray *step;

	return entry_at(decisions->made, entry, &step)->value;
}

Decisions *decisions_with_value(const Decisions *decisions, guint entry, guint value)
{
	Decisions *copy = decisions_copy(decisions);
	GArray *step;
	Entry *found = entry_at(copy->given, entry, &step);

	if (value)
		found->value = value;
	else
		g_array_remove_index(step, (guint)(found - (Entry *)(void *)step->data));
	return copy;
}

/* ---- parsing ---- */

static gboolean entry_parse(const char *word, Entry *entry)
{
	const char *at = strchr(word, '@');
	int length = 0;

	if (!at || sscanf(at, "@%u=%u%n", &entry->index, &entry->value, &length) != 2 || at[length])
		return FALSE;
	for (guint i = 0; i < N_DECIDE; i++) {
		entry->kind = (Decide)i;
		if (strlen(kinds[i]) == (gsize)(at - word) && g_str_has_prefix(word, kinds[i]))
			return TRUE;
	}
	return FALSE;
}

/* The first step is the setup, which has no action. */
static GArray *step_parse(const char *line, int (*action_of)(const char *name))
{
	g_auto(GStrv) words = g_strsplit(line, " ", -1);
	g_autoptr(GArray) entries = g_array_new(FALSE, FALSE, sizeof(Entry));
	const int action = g_str_equal(words[0], "setup") ? 0 : action_of(words[0]);
	const Entry first = { DECIDE_ACTION, 0, (guint)MAX(action, 0) };

	if (action < 0)
		return NULL;
	if (action > 0)
		g_array_append_val(entries, first);
	for (guint i = 1; words[i]; i++) {
		Entry entry;

		if (!*words[i])
			continue;
		if (!entry_parse(words[i], &entry))
			return NULL;
		g_array_append_val(entries, entry);
	}
	return g_steal_pointer(&entries);
}

Decisions *decisions_of_trace(const char *text, int (*action_of)(const char *name), GError **error)
{
	g_autoptr(Decisions) decisions = decisions_new(FROM_TRACE);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	for (guint i = 0; lines[i]; i++) {
		GArray *step;

		if (!*lines[i] || *lines[i] == '#')
			continue;
		step = step_parse(lines[i], action_of);
		if (!step) {
			g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "line %u: \"%s\"",
				    i + 1, lines[i]);
			return NULL;
		}
		g_ptr_array_add(decisions->given, step);
	}
	return g_steal_pointer(&decisions);
}
