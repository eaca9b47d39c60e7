/* SPDX-License-Identifier: Apache-2.0 */
/* rdmad doctor: findings, with advice */
#include <string.h>

#include "cli/bundle/bundle.h"
#include "base/terminal.h"
#include "cli/command.h"
#include "cli/table.h"

#define RESET  "\033[0m"
#define INDENT 8

static const struct {
	const char *level, *label, *colour;
} levels[] = {
	{ "ok", "OK", "\033[32m" },
	{ "note", "NOTE", "\033[33m" },
	{ "problem", "PROBLEM", "\033[1;31m" },
};

/* Of findings with the same advice, only the last shows it. */
static const char *own_advice(const json_t *finding, const json_t *next)
{
	const char *advice = format_text(finding, "advice");
	const gboolean repeated =
		g_strcmp0(advice, format_text(next, "advice")) == 0 &&
		g_strcmp0(format_text(finding, "subject"), format_text(next, "subject")) == 0;

	return repeated ? NULL : advice;
}

static void write_finding(const json_t *finding, const char *advice, guint level,
			  const RdmadTableStyle *style, GString *out)
{
	g_autofree char *line = g_strdup_printf("%s: %s", format_text(finding, "subject") ?: "?",
						format_text(finding, "text") ?: "");
	g_autofree char *escaped = rdmad_text_escape(line);

	g_string_append_printf(out, "%s%-*s%s", style->colour ? levels[level].colour : "", INDENT,
			       levels[level].label, style->colour ? RESET : "");
	rdmad_text_wrap(escaped, INDENT, style->width, out);
	g_string_append_c(out, '\n');
	if (advice) {
		g_autofree char *safe = rdmad_text_escape(advice);

		g_string_append_printf(out, "%*s-> ", INDENT, "");
		rdmad_text_wrap(safe, INDENT + 3, style->width, out);
		g_string_append_c(out, '\n');
	}
}

static guint finding_level(const json_t *finding)
{
	const char *name = format_text(finding, "level");

	for (guint i = 0; i < G_N_ELEMENTS(levels); i++)
		if (g_strcmp0(levels[i].level, name) == 0)
			return i;
	return 1;
}

/* Problems, then notes, then passed checks: each in the order of the checks. */
static void write_level(const json_t *findings, guint level, const RdmadTableStyle *style,
			GString *out)
{
	const json_t *finding, *last = NULL;
	size_t i;

	json_array_foreach(findings, i, finding)
	{
		if (finding_level(finding) != level)
			continue;
		if (last)
			write_finding(last, own_advice(last, finding), level, style, out);
		last = finding;
	}
	if (last)
		write_finding(last, own_advice(last, NULL), level, style, out);
}

gboolean doctor_write(const json_t *findings, gboolean verbose, const RdmadTableStyle *style,
		      GString *out)
{
	guint counts[G_N_ELEMENTS(levels)] = { 0 };
	const json_t *finding;
	size_t i;

	json_array_foreach(findings, i, finding) counts[finding_level(finding)]++;
	for (guint level = G_N_ELEMENTS(levels); level-- > (verbose ? 0 : 1);)
		write_level(findings, level, style, out);
	g_string_append_printf(out, "%s%u problem%s, %u note%s, %u passed%s\n",
			       out->len ? "\n" : "", counts[2], counts[2] == 1 ? "" : "s",
			       counts[1], counts[1] == 1 ? "" : "s", counts[0],
			       counts[0] && !verbose ? " (-v shows them)" : "");
	return counts[2] > 0;
}

int command_doctor(const CommandOptions *options)
{
	g_autoptr(GString) out = g_string_new(NULL);
	gboolean problem;
	json_t *answer;
	int status;

	if (options->bundle)
		return bundle_write(options);
	answer = command_ask(options, "GET", "/api/v1/doctor");
	if (!answer)
		return 1;
	problem = doctor_write(json_object_get(answer, "findings"), options->verbose,
			       &options->style, out);
	status = options->output ? command_print_json(options, answer) : command_print(out);
	json_decref(answer);
	return status ?: problem;
}
