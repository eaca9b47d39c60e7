/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exposition: a set of families in Prometheus' text formats
 *
 * Sources: prometheus/docs exposition_formats.md (text 0.0.4); OpenMetrics 1.0.0.
 */
#pragma once

#include "render/family.h"
#include "snapshot.h"

typedef enum {
	EXPOSITION_TEXT,	/* version 0.0.4 */
	EXPOSITION_OPENMETRICS, /* version 1.0.0 */
} ExpositionFormat;

const char *exposition_content_type(ExpositionFormat format);
/* Returns the text, g_free(), with a NUL after `size` bytes. */
char *family_set_print(FamilySet *set, ExpositionFormat format, gsize *size);
/* Returns the same as gzip, without the whole text in memory; NULL: out of memory. */
char *family_set_pack(FamilySet *set, ExpositionFormat format, gsize *size);

typedef struct {
	FamilySet *set;
	Snapshot *snapshot;
	ExpositionFormat format;
	gboolean gzip;
} AnswerTask;

/* Takes over the set, and takes a reference to the snapshot. */
AnswerTask *answer_task_new(FamilySet *set, Snapshot *snapshot);
void answer_task_free(gpointer task);

typedef struct {
	char *text;
	gsize size;
	guint64 series;
} Answer;

/* Runs on a worker, once for each task. */
Answer *answer_make(AnswerTask *task, GError **error);
void answer_free(gpointer answer);
