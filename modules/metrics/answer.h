/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer: the text of one scrape
 *
 * What only the loop may look at is in the set already; the devices, which are most of it, are rendered
 * on a worker: with 512 ports that and gzip take longer than kubelet should wait for anything.
 */
#pragma once

#include "exposition.h"
#include "snapshot.h"

typedef struct {
	FamilySet *set;
	Snapshot *snapshot;
	ExpositionFormat format;
	gboolean gzip;
} AnswerTask;

/* Takes the set over, and a reference of the snapshot. */
AnswerTask *answer_task_new(FamilySet *set, Snapshot *snapshot);
void answer_task_free(gpointer task);

typedef struct {
	char *text;
	gsize size;
	guint64 series;
} Answer;

/* On a worker, once for a task. */
Answer *answer_make(AnswerTask *task, GError **error);
void answer_free(gpointer answer);
