/* SPDX-License-Identifier: Apache-2.0 */
/* rdmad events: what happened; with -f, what happens */
#include <string.h>

#include "cli/command.h"
#include "cli/table.h"

#define FOLLOW_S 30u

static const char *const headers[] = { "TIME", "LEVEL", "KIND", "ABOUT", "MESSAGE", NULL };

/* The most particular of what it is about. */
static const char *event_about(const json_t *event)
{
	return format_text(event, "pod") ?: format_text(event, "device_id") ?:
	       format_text(event, "allocation") ?: format_text(event, "resource");
}

void events_write(const json_t *events, gboolean with_headers, GString *out)
{
	/* Consecutive tables should look like one. */
	static const guint min_widths[] = { 19, 7, 14, 12 };
	g_autoptr(RdmadTable) table = rdmad_table_new(headers);
	const json_t *event;
	size_t i;

	for (guint column = 0; column < G_N_ELEMENTS(min_widths); column++)
		rdmad_table_set_min_width(table, column, min_widths[column]);
	json_array_foreach(events, i, event)
	{
		g_autofree char *time = format_local_time(format_text(event, "time"));

		rdmad_table_add(table, time, format_text(event, "level"),
				format_text(event, "kind"), event_about(event),
				format_text(event, "message"));
	}
	rdmad_table_write(table, with_headers, "", out);
}

/* One object a line, for a reader that does not wait for the end. */
static void write_lines(const json_t *events, GString *out)
{
	const json_t *event;
	size_t i;

	json_array_foreach(events, i, event)
	{
		char *line = json_dumps(event, JSON_COMPACT);

		g_string_append_printf(out, "%s\n", line);
		free(line);
	}
}

static int print_events(const CommandOptions *options, const json_t *answer, gboolean with_headers)
{
	const json_t *events = json_object_get(answer, "events");
	g_autoptr(GString) out = g_string_new(NULL);

	if (options->json && !options->follow)
		return command_print_json(answer);
	if (options->json)
		write_lines(events, out);
	else
		events_write(events, with_headers, out);
	return command_print(out);
}

/* The next sequence: it begins again after a restart of rdmad. */
static json_int_t next_after(const json_t *answer, json_int_t after)
{
	const json_int_t last = json_integer_value(json_object_get(answer, "last"));

	return last < after ? 0 : last;
}

int command_events(const CommandOptions *options)
{
	gboolean with_headers = options->headers;
	json_int_t after = 0;
	guint wait_s = 0;
	int status;

	do {
		g_autofree char *path = g_strdup_printf(
			"/api/v1/events?after=%" JSON_INTEGER_FORMAT "&wait=%u", after, wait_s);
		json_t *answer = command_ask(options, "GET", path);

		if (!answer)
			return 1;
		status = print_events(options, answer, with_headers);
		after = next_after(answer, after);
		json_decref(answer);
		with_headers = FALSE;
		wait_s = FOLLOW_S;
	} while (options->follow && status == 0);
	return status;
}
