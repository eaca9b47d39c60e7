/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Families: the series of a scrape, as text
 *
 * A family holds the text of its own series, so that they are adjacent whatever the order of calls.
 * The text is the same in both formats; exposition.c writes the lines above it.  Series must be
 * unique: `guarded` drops duplicates in families whose labels come from outside; in other families
 * the caller avoids them.
 *
 * Values of labels may be any bytes: they are converted to valid UTF-8, escaped and truncated.
 * Names are rdmad's own.  `LABELS_INIT` initializes, labels_clear() frees.
 */
#pragma once

#include "render/text.h"

#define LABELS_VALUE_MAX 512u /* bytes of a value, before escaping */

typedef struct {
	Text text; /* {device="mlx5_0",port="1" without the last brace; empty without labels */
} Labels;

#define LABELS_INIT                                                                                \
	{                                                                                          \
		0                                                                                  \
	}

static inline void labels_clear(Labels *labels)
{
	text_clear(&labels->text);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Labels, labels_clear)

/* `value` NULL is "". */
void labels_add(Labels *labels, const char *name, const char *value);
void labels_add_number(Labels *labels, const char *name, guint64 value);

/* Returns a mark for labels_back(), to replace only the last labels from series to series. */
static inline gsize labels_mark(const Labels *labels)
{
	return labels->text.length;
}

static inline void labels_back(Labels *labels, gsize mark)
{
	labels->text.length = mark;
}

typedef enum {
	FAMILY_COUNTER,
	FAMILY_GAUGE,
	FAMILY_HISTOGRAM,
	FAMILY_INFO, /* its value is always 1 */
} FamilyType;

typedef struct {
	const char *name; /* without "_total" and "_info" */
	FamilyType type;
	const char *unit; /* "bytes", which the name ends with; or NULL */
	const char *help; /* one line */
	gboolean guarded; /* duplicate series are left out */
} FamilyClass;

typedef struct Family Family;
typedef struct FamilySet FamilySet;

FamilySet *family_set_new(void);
void family_set_free(FamilySet *set);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FamilySet, family_set_free)

/* Expected number of series of most families, to allocate at once. */
void family_set_expect(FamilySet *set, guint series);

/*
 * Returns the family of that name; copies the contents of `klass`.  Foreign names are
 * distinguished by `owner` (NULL: rdmad's own names): if another owner or type has the name
 * already, or a sample of another family has it, a number is appended.  NULL: too many families
 * have the name.
 */
Family *family_set_add(FamilySet *set, const FamilyClass *klass, const char *owner);
/* Returns the families that have series, sorted by name. */
GPtrArray *family_set_list(FamilySet *set);
/* Returns the number of series in all families; each line of a histogram counts. */
guint64 family_set_series(const FamilySet *set);

/* Each appends one series; `labels` may be NULL. */
void family_put(Family *family, const Labels *labels, guint64 value);
void family_put_scaled(Family *family, const Labels *labels, guint64 value, guint decimals);
void family_put_double(Family *family, const Labels *labels, double value);
/* `bounds` ends with 0; `buckets` are not cumulative, one more than bounds. */
void family_put_histogram(Family *family, const Labels *labels, const double *bounds,
			  const guint64 *buckets, double sum);

/* For exposition.c. */
const char *family_name(const Family *family);
FamilyType family_type(const Family *family);
const char *family_unit(const Family *family);
const char *family_help(const Family *family);
const Text *family_body(const Family *family);
/* "_total", "_info", "" */
const char *family_suffix(FamilyType type);
