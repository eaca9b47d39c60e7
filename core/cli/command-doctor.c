/* SPDX-License-Identifier: Apache-2.0 */
/* rdmad doctor: findings, and what to do about each */
#include <string.h>

#include "cli/bundle/bundle.h"
#include "cli/command.h"
#include "cli/table.h"

#define RESET "\033[0m"

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

static void write_finding(const json_t *finding, const char *advice, guint level, gboolean colour,
			  GString *out)
{
	g_autofree char *subject = rdmad_text_escape(format_text(finding, "subject") ?: "?");
	g_autofree char *text = rdmad_text_escape(format_text(finding, "text") ?: "");

	g_string_append_printf(out, "%s%-8s%s%s: %s\n", colour ? levels[level].colour : "",
			       levels[level].label, colour ? RESET : "", subject, text);
	if (advice) {
		g_autofree char *escaped = rdmad_text_escape(advice);

		g_string_append_printf(out, "        -> %s\n", escaped);
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

gboolean doctor_write(const json_t *findings, gboolean colour, GString *out)
{
	guint counts[G_N_ELEMENTS(levels)] = { 0 };
	const json_t *finding;
	size_t i;

	json_array_foreach(findings, i, finding)
	{
		const guint level = finding_level(finding);

		counts[level]++;
		write_finding(finding, own_advice(finding, json_array_get(findings, i + 1)), level,
			      colour, out);
	}
	g_string_append_printf(out, "\n%u problem%s, %u note%s\n", counts[2],
			       counts[2] == 1 ? "" : "s", counts[1], counts[1] == 1 ? "" : "s");
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
	problem = doctor_write(json_object_get(answer, "findings"), options->colour, out);
	status = options->json ? command_print_json(answer) : command_print(out);
	json_decref(answer);
	return status ?: problem;
}
