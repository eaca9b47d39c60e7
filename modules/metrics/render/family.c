/* SPDX-License-Identifier: Apache-2.0 */
#include "render/family.h"

#include <rdmad/log.h>
#include <stdio.h>

#include "render/text.h"

/* ---- labels ---- */

#define FAMILY_NAME_MAX 256u /* including the NUL; names from outside are truncated long before */

static gboolean is_plain(const char *value, gsize size)
{
	for (gsize i = 0; i < size; i++)
		if (value[i] == '"' || value[i] == '\\' || value[i] == '\n' || value[i] & 0x80)
			return FALSE;
	return TRUE;
}

static void value_escape(Text *text, const char *valid)
{
	for (const char *at = valid; *at; at++) {
		const char escaped[2] = { '\\', *at == '\n' ? 'n' : *at };

		if (*at == '"' || *at == '\\' || *at == '\n')
			text_append(text, escaped, sizeof(escaped));
		else
			text_append(text, at, 1);
	}
}

/* Truncates the value between characters. */
static gsize value_size(const char *value)
{
	gsize size = strnlen(value, LABELS_VALUE_MAX + 1);

	if (size <= LABELS_VALUE_MAX)
		return size;
	size = LABELS_VALUE_MAX;
	while (size && (value[size] & 0xc0) == 0x80)
		size--;
	return size;
}

static void label_begin(Labels *labels, const char *name)
{
	text_append(&labels->text, labels->text.length ? "," : "{", 1);
	text_append(&labels->text, name, strlen(name));
	text_append(&labels->text, "=\"", 2);
}

void labels_add(Labels *labels, const char *name, const char *value)
{
	const gsize size = value ? value_size(value) : 0;

	label_begin(labels, name);
	if (is_plain(value, size)) {
		text_append(&labels->text, value, size);
	} else {
		g_autofree char *valid = g_utf8_make_valid(value, (gssize)size);

		value_escape(&labels->text, valid);
	}
	text_append(&labels->text, "\"", 1);
}

void labels_add_number(Labels *labels, const char *name, guint64 value)
{
	label_begin(labels, name);
	text_end(&labels->text, number_print(text_room(&labels->text, NUMBER_MAX), value));
	text_append(&labels->text, "\"", 1);
}

/* ---- families ---- */

#define NAMESAKES_MAX 64u
#define STRINGS_SIZE  8192u /* typical size for a machine */

struct Family {
	const char *name;
	FamilyType type;
	const char *unit, *help, *owner;
	const char *sample; /* the name of its series */
	gsize sample_size;
	Text body;
	guint64 n_series;
	guint expected;	       /* series */
	GStringChunk *guarded; /* of the set, for the labels of each series; NULL: not guarded */
	char *first;	       /* labels of the first series */
	GHashTable *seen;      /* labels; NULL: fewer than two series */
};

struct FamilySet {
	GHashTable *families; /* name -> Family */
	GStringChunk *strings;
	guint expected; /* series of a family */
	gboolean warned;
};

/* ---- names ---- */

/* Names of a family's samples beside its own: a parser of OpenMetrics rejects other families of
 * these names, even without such samples. */
static const char *const *type_suffixes(FamilyType type)
{
	static const char *const counter[] = { "_total", "_created", NULL };
	static const char *const gauge[] = { NULL };
	static const char *const histogram[] = { "_bucket", "_count", "_sum", "_created", NULL };
	static const char *const info[] = { "_info", NULL };

	switch (type) {
	case FAMILY_COUNTER:
		return counter;
	case FAMILY_HISTOGRAM:
		return histogram;
	case FAMILY_INFO:
		return info;
	case FAMILY_GAUGE:
		break;
	}
	return gauge;
}

const char *family_suffix(FamilyType type)
{
	switch (type) {
	case FAMILY_COUNTER:
		return "_total";
	case FAMILY_INFO:
		return "_info";
	case FAMILY_GAUGE:
	case FAMILY_HISTOGRAM:
		break;
	}
	return "";
}

static gboolean type_has(FamilyType type, const char *suffix)
{
	const char *const *own = type_suffixes(type);

	for (; *own; own++)
		if (g_str_equal(*own, suffix))
			return TRUE;
	return FALSE;
}

/* Returns whether `name` belongs to a family or to its samples. */
static gboolean name_taken(const FamilySet *set, const char *name)
{
	const char *suffix = strrchr(name, '_');
	const Family *family;
	char stem[FAMILY_NAME_MAX];

	if (g_hash_table_contains(set->families, name))
		return TRUE;
	if (!suffix)
		return FALSE;
	g_strlcpy(stem, name, MIN(sizeof(stem), (gsize)(suffix - name) + 1));
	family = g_hash_table_lookup(set->families, stem);
	return family && type_has(family->type, suffix);
}

static gboolean names_free(const FamilySet *set, const char *name, FamilyType type)
{
	const char *const *suffix = type_suffixes(type);
	char sample[FAMILY_NAME_MAX + 16];

	if (name_taken(set, name))
		return FALSE;
	for (; *suffix; suffix++) {
		g_strlcpy(sample, name, sizeof(sample));
		g_strlcat(sample, *suffix, sizeof(sample));
		if (g_hash_table_contains(set->families, sample))
			return FALSE;
	}
	return TRUE;
}

/* ---- one family ---- */

/* OpenMetrics requires that the name ends with the unit, and allows no unit for an info. */
static gboolean unit_fits(const char *name, const FamilyClass *klass)
{
	const char *rest = klass->unit && g_str_has_suffix(name, klass->unit)
				   ? name + strlen(name) - strlen(klass->unit)
				   : NULL;

	return rest && rest > name && rest[-1] == '_' && klass->type != FAMILY_INFO;
}

static Family *family_new(GStringChunk *strings, const char *name, const FamilyClass *klass,
			  const char *owner)
{
	const char *suffix = family_suffix(klass->type);
	Family *family = g_new0(Family, 1);
	char sample[FAMILY_NAME_MAX + 16];

	g_strlcpy(sample, name, sizeof(sample));
	family->sample_size = g_strlcat(sample, suffix, sizeof(sample));
	family->sample = g_string_chunk_insert(strings, sample);
	family->name = *suffix ? g_string_chunk_insert(strings, name) : family->sample;
	family->type = klass->type;
	family->unit = unit_fits(name, klass) ? g_string_chunk_insert(strings, klass->unit) : NULL;
	family->help = g_string_chunk_insert(strings, klass->help);
	family->owner = owner ? g_string_chunk_insert(strings, owner) : NULL;
	family->guarded = klass->guarded ? strings : NULL;
	return family;
}

static void family_free(gpointer data)
{
	Family *family = data;

	text_clear(&family->body);
	if (family->seen)
		g_hash_table_unref(family->seen);
	g_free(family);
}

const char *family_name(const Family *family)
{
	return family->name;
}

FamilyType family_type(const Family *family)
{
	return family->type;
}

const char *family_unit(const Family *family)
{
	return family->unit;
}

const char *family_help(const Family *family)
{
	return family->help;
}

const Text *family_body(const Family *family)
{
	return &family->body;
}

/* ---- the set ---- */

FamilySet *family_set_new(void)
{
	FamilySet *set = g_new0(FamilySet, 1);

	set->families = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, family_free);
	set->strings = g_string_chunk_new(STRINGS_SIZE);
	set->expected = 1;
	return set;
}

void family_set_free(FamilySet *set)
{
	if (!set)
		return;
	g_hash_table_unref(set->families);
	g_string_chunk_free(set->strings);
	g_free(set);
}

void family_set_expect(FamilySet *set, guint series)
{
	set->expected = MAX(series, 1);
}

static Family *set_make(FamilySet *set, const char *name, const FamilyClass *klass,
			const char *owner)
{
	Family *family = family_new(set->strings, name, klass, owner);

	family->expected = set->expected;
	g_hash_table_insert(set->families, (gpointer)family->name, family);
	return family;
}

Family *family_set_add(FamilySet *set, const FamilyClass *klass, const char *owner)
{
	g_assert(strlen(klass->name) + strlen("_64") < FAMILY_NAME_MAX);
	for (guint i = 1; i <= NAMESAKES_MAX; i++) {
		g_autofree char *numbered = i > 1 ? g_strdup_printf("%s_%u", klass->name, i) : NULL;
		const char *name = numbered ? numbered : klass->name;
		Family *family = g_hash_table_lookup(set->families, name);

		if (family && family->type == klass->type && !g_strcmp0(family->owner, owner))
			return family;
		if (!family && names_free(set, name, klass->type))
			return set_make(set, name, klass, owner);
	}
	if (!set->warned)
		rdmad_warn("more than %u families have the name %s; further ones are left out",
			   NAMESAKES_MAX, klass->name);
	set->warned = TRUE;
	return NULL;
}

static int compare_names(gconstpointer a, gconstpointer b)
{
	const Family *const *one = a, *const *other = b;

	return strcmp((*one)->name, (*other)->name);
}

GPtrArray *family_set_list(FamilySet *set)
{
	GPtrArray *list = g_ptr_array_new();
	GHashTableIter iter;
	gpointer family;

	g_hash_table_iter_init(&iter, set->families);
	while (g_hash_table_iter_next(&iter, NULL, &family))
		if (((Family *)family)->n_series)
			g_ptr_array_add(list, family);
	g_ptr_array_sort(list, compare_names);
	return list;
}

guint64 family_set_series(const FamilySet *set)
{
	GHashTableIter iter;
	gpointer family;
	guint64 sum = 0;

	g_hash_table_iter_init(&iter, set->families);
	while (g_hash_table_iter_next(&iter, NULL, &family))
		sum += ((Family *)family)->n_series;
	return sum;
}

/* ---- series ---- */

/* Makes no table for one series, because most of rdmad's own families have one. */
static gboolean guard_passes(Family *family, const Labels *labels)
{
	const Text *text = labels ? &labels->text : &(const Text){ 0 };
	char *key;

	if (!family->guarded)
		return TRUE;
	key = g_string_chunk_insert_len(family->guarded, text->start ? text->start : "",
					(gssize)text->length);
	if (!family->first) {
		family->first = key;
		return TRUE;
	}
	if (!family->seen) {
		family->seen = g_hash_table_new(g_str_hash, g_str_equal);
		g_hash_table_add(family->seen, family->first);
	}
	return g_hash_table_add(family->seen, key);
}

/* Writes `name{labels} ` and reserves room for a number and the end of the line. */
static char *line_begin(Family *family, const Labels *labels)
{
	const Text *text = labels ? &labels->text : &(const Text){ 0 };
	const gsize most = family->sample_size + text->length + 3 + NUMBER_MAX;
	char *at = text_room(&family->body, family->n_series ? most : most * family->expected);

	at = text_put(at, family->sample, family->sample_size);
	if (text->length) {
		at = text_put(at, text->start, text->length);
		*at++ = '}';
	}
	*at++ = ' ';
	return at;
}

static void line_end(Family *family, char *at)
{
	*at++ = '\n';
	text_end(&family->body, at);
	family->n_series++;
}

void family_put(Family *family, const Labels *labels, guint64 value)
{
	if (guard_passes(family, labels))
		line_end(family, number_print(line_begin(family, labels), value));
}

void family_put_scaled(Family *family, const Labels *labels, guint64 value, guint decimals)
{
	if (guard_passes(family, labels))
		line_end(family, number_print_scaled(line_begin(family, labels), value, decimals));
}

void family_put_double(Family *family, const Labels *labels, double value)
{
	if (guard_passes(family, labels))
		line_end(family, number_print_double(line_begin(family, labels), value));
}

/* ---- histograms ---- */

/* OpenMetrics requires "1.0"; text 0.0.4 accepts both that and "1". */
static void bound_print(char *text, gsize size, const double *bound)
{
	char *end;

	g_assert(size > NUMBER_MAX + 3);
	if (!bound) {
		g_strlcpy(text, "+Inf", size);
		return;
	}
	end = number_print_double(text, *bound);
	*end = '\0';
	if (!strpbrk(text, ".e"))
		g_strlcat(text, ".0", size);
}

/* Writes one line of a histogram: the name gets a suffix, and a bucket the label "le". */
static void part_put(Family *family, const char *suffix, Labels *labels, const char *le,
		     double value)
{
	const gsize mark = labels_mark(labels), plain = family->sample_size;
	g_autofree char *sample = g_strconcat(family->sample, suffix, NULL);
	const char *const whole = family->sample;

	if (le)
		labels_add(labels, "le", le);
	family->sample = sample;
	family->sample_size = strlen(sample);
	line_end(family, number_print_double(line_begin(family, labels), value));
	family->sample = whole;
	family->sample_size = plain;
	labels_back(labels, mark);
}

void family_put_histogram(Family *family, const Labels *labels, const double *bounds,
			  const guint64 *buckets, double sum)
{
	g_auto(Labels) own = LABELS_INIT;
	guint64 count = 0;
	char le[64];

	if (!guard_passes(family, labels))
		return;
	if (labels)
		text_append(&own.text, labels->text.start, labels->text.length);
	for (guint i = 0; i == 0 || bounds[i - 1] != 0; i++) {
		const gboolean last = bounds[i] == 0;

		count += buckets[i];
		bound_print(le, sizeof(le), last ? NULL : &bounds[i]);
		part_put(family, "_bucket", &own, le, (double)count);
	}
	part_put(family, "_sum", &own, NULL, sum);
	part_put(family, "_count", &own, NULL, (double)count);
}
