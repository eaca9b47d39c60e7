/* SPDX-License-Identifier: Apache-2.0 */
#include "answer.h"

#include <malloc.h>
#include <rdmad/error.h>

#include "render.h"

#define SERIES_MANY 8192u /* about a megabyte of text */

AnswerTask *answer_task_new(FamilySet *set, Snapshot *snapshot)
{
	AnswerTask *task = g_new0(AnswerTask, 1);

	task->set = set;
	task->snapshot = snapshot_ref(snapshot);
	return task;
}

void answer_task_free(gpointer data)
{
	AnswerTask *task = data;
	const gboolean large = family_set_series(task->set) > SERIES_MANY;

	family_set_free(task->set);
	snapshot_unref(task->snapshot);
	g_free(task);
	/* Families are too small each for their pages to go back to the kernel by themselves. */
	if (large)
		malloc_trim(0);
}

Answer *answer_make(AnswerTask *task, GError **error)
{
	Answer *answer = g_new0(Answer, 1);

	render_snapshot(task->set, task->snapshot);
	answer->series = family_set_series(task->set);
	answer->text = task->gzip ? family_set_pack(task->set, task->format, &answer->size)
				  : family_set_print(task->set, task->format, &answer->size);
	if (answer->text)
		return answer;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED, "no memory for gzip");
	answer_free(answer);
	return NULL;
}

void answer_free(gpointer data)
{
	Answer *answer = data;

	g_free(answer->text);
	g_free(answer);
}
