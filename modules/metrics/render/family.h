/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels: those of one series, as they stand in the text
 *
 * Values may be anything: they are made valid UTF-8, escaped, and cut where they are long.  Names are
 * our own.  `LABELS_INIT` begins, labels_clear() ends.
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

/* A place to come back to, when only the last labels change from series to series. */
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
	gboolean guarded; /* a series that is there already is left out */
} FamilyClass;

typedef struct Family Family;
typedef struct FamilySet FamilySet;

FamilySet *family_set_new(void);
void family_set_free(FamilySet *set);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FamilySet, family_set_free)

/* Expected number of series of most families, to allocate at once. */
void family_set_expect(FamilySet *set, guint series);

/*
 * The family of that name; what `klass` points to is copied.  Foreign names are distinguished by
 * `owner` (NULL: our own names): if another owner or type has the name already, or a sample of
 * another family does, a number is appended.  NULL when too many have one name.
 */
Family *family_set_add(FamilySet *set, const FamilyClass *klass, const char *owner);
/* By name, those that have series. */
GPtrArray *family_set_list(FamilySet *set);
/* Series in all of them; a histogram counts each line. */
guint64 family_set_series(const FamilySet *set);

/* One series each; `labels` may be NULL. */
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
