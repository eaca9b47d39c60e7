/* SPDX-License-Identifier: Apache-2.0 */
#include "render/exposition.h"

#include <malloc.h>
#include <rdmad/error.h>

#include "render/gzip.h"
#include "render/render.h"

/* ---- formats ---- */

#define HEADS_SIZE 384u /* typical size of a family */
#define END	   "# EOF\n"

const char *exposition_content_type(ExpositionFormat format)
{
	return format == EXPOSITION_OPENMETRICS
		       ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
		       : "text/plain; version=0.0.4; charset=utf-8";
}

static const char *type_name(FamilyType type, ExpositionFormat format)
{
	switch (type) {
	case FAMILY_COUNTER:
		return "counter";
	case FAMILY_HISTOGRAM:
		return "histogram";
	case FAMILY_INFO:
		return format == EXPOSITION_OPENMETRICS ? "info" : "gauge";
	case FAMILY_GAUGE:
		break;
	}
	return "gauge";
}

/* Only OpenMetrics escapes quotes. */
static void help_append(Text *out, const char *help, ExpositionFormat format)
{
	const char *special = format == EXPOSITION_OPENMETRICS ? "\n\\\"" : "\n\\";
	g_autofree char *valid =
		g_utf8_validate(help, -1, NULL) ? NULL : g_utf8_make_valid(help, -1);

	for (const char *at = valid ? valid : help; *at;) {
		const gsize plain = strcspn(at, special);
		const char escaped[2] = { '\\', at[plain] == '\n' ? 'n' : at[plain] };

		text_append(out, at, plain);
		at += plain;
		if (!*at)
			break;
		text_append(out, escaped, sizeof(escaped));
		at++;
	}
}

/* Appends "# TYPE NAME "; the name depends on the format.  printf() would take a twentieth of the
 * text of a few ports. */
static void head_begin(Text *out, const char *what, const Family *family, ExpositionFormat format)
{
	const char *suffix = format == EXPOSITION_TEXT ? family_suffix(family_type(family)) : "";
	const char *const parts[] = { "# ", what, " ", family_name(family), suffix, " " };

	for (guint i = 0; i < G_N_ELEMENTS(parts); i++)
		text_append(out, parts[i], strlen(parts[i]));
}

static void line_append(Text *out, const char *rest)
{
	text_append(out, rest, strlen(rest));
	text_append(out, "\n", 1);
}

static void heads_append(Text *out, const Family *family, ExpositionFormat format)
{
	head_begin(out, "HELP", family, format);
	help_append(out, family_help(family), format);
	line_append(out, "");
	head_begin(out, "TYPE", family, format);
	line_append(out, type_name(family_type(family), format));
	if (format == EXPOSITION_OPENMETRICS && family_unit(family)) {
		head_begin(out, "UNIT", family, format);
		line_append(out, family_unit(family));
	}
}

char *family_set_print(FamilySet *set, ExpositionFormat format, gsize *size)
{
	g_autoptr(GPtrArray) families = family_set_list(set);
	gsize expected = sizeof(END);
	Text out = { 0 };

	for (guint i = 0; i < families->len; i++)
		expected += HEADS_SIZE + family_body(families->pdata[i])->length;
	text_room(&out, expected);
	for (guint i = 0; i < families->len; i++) {
		const Text *body = family_body(families->pdata[i]);

		heads_append(&out, families->pdata[i], format);
		text_append(&out, body->start, body->length);
	}
	if (format == EXPOSITION_OPENMETRICS)
		text_append(&out, END, strlen(END));
	*size = out.length;
	text_append(&out, "", 1);
	return out.start;
}

char *family_set_pack(FamilySet *set, ExpositionFormat format, gsize *size)
{
	g_autoptr(GPtrArray) families = family_set_list(set);
	Gzip *gzip = gzip_begin();
	Text heads = { 0 };

	if (!gzip)
		return NULL;
	for (guint i = 0; i < families->len; i++) {
		const Text *body = family_body(families->pdata[i]);

		heads.length = 0;
		heads_append(&heads, families->pdata[i], format);
		gzip_add(gzip, heads.start, heads.length);
		gzip_add(gzip, body->start, body->length);
	}
	if (format == EXPOSITION_OPENMETRICS)
		gzip_add(gzip, END, strlen(END));
	text_clear(&heads);
	return gzip_end(gzip, size);
}

/*
 * The response to a scrape
 *
 * The set already has the data of the loop.  A worker renders the devices, which are most of the
 * text: with 512 ports, rendering and gzip would block the loop for longer than kubelet should
 * wait.
 */

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
	/* Families are small allocations, which free() does not return to the kernel. */
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
