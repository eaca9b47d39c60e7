/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels: those of one series, as they stand in the text
 *
 * Values may be anything: they are made valid UTF-8, escaped, and cut where they are long.  Names are
 * our own.  `LABELS_INIT` begins, labels_clear() ends.
 */
#pragma once

#include "text.h"

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
