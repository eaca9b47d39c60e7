/* SPDX-License-Identifier: Apache-2.0 */
/* rdmad events: prints the event log; with -f, follows it */
#include <rdmad/clock.h>
#include <string.h>

#include "cli/command.h"
#include "cli/table.h"
#include "hardware/device.h"

#define FOLLOW_S 30u

static const char *const headers[] = { "TIME", "LEVEL", "KIND", "+ABOUT", "MESSAGE", NULL };

/* Returns the most specific subject of an event. */
static char *event_about(const json_t *event)
{
	return format_pod(event) ?: g_strdup(format_text(event, "device_id") ?:
					     format_text(event, "allocation") ?:
					     format_text(event, "resource"));
}

static gboolean is_addition(const json_t *event)
{
	return g_strcmp0(format_text(event, "kind"), "device-added") == 0;
}

/* Counts consecutive additions, which the start of rdmad posts. */
static size_t count_additions(const json_t *events, size_t from)
{
	size_t n = 0;

	while (is_addition(json_array_get(events, from + n)))
		n++;
	return n;
}

/* "11 devices: mlx5_0, mlx5_1 ..." */
static char *format_additions(const json_t *events, size_t from, size_t n)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *all = NULL;

	for (size_t i = from; i < from + n; i++) {
		const char *message = format_text(json_array_get(events, i), "message") ?: "?";

		g_ptr_array_add(names, g_strndup(message, strcspn(message, " ")));
	}
	g_ptr_array_sort(names, rdmad_natural_compare_entries);
	g_ptr_array_add(names, NULL);
	all = g_strjoinv(", ", (char **)names->pdata);
	return g_strdup_printf("%zu devices: %s", n, all);
}

static void add_event(RdmadTable *table, const json_t *event, const char *message, gint64 now_us)
{
	const char *when = format_text(event, "time");
	g_autofree char *about = event_about(event);
	g_autofree char *time = now_us ? format_age(when, now_us) : format_local_time(when);

	rdmad_table_add(table, time, format_text(event, "level"), format_text(event, "kind"), about,
			message);
}

void events_write(const json_t *events, gint64 now_us, const RdmadTableStyle *style, GString *out)
{
	/* Fixed widths align the consecutive tables of -f. */
	const guint min_widths[] = { now_us ? 7 : 24, 7, 14, 12 };
	g_autoptr(RdmadTable) table = rdmad_table_new(headers);
	size_t n;

	for (guint column = 0; column < G_N_ELEMENTS(min_widths); column++)
		rdmad_table_set_min_width(table, column, min_widths[column]);
	for (size_t i = 0; i < json_array_size(events); i += MAX(n, 1)) {
		const json_t *event = json_array_get(events, i);
		g_autofree char *all = NULL;

		n = style->wide ? 0 : count_additions(events, i);
		all = n > 1 ? format_additions(events, i, n) : NULL;
		add_event(table, event, all ?: format_text(event, "message"), now_us);
	}
	rdmad_table_write(table, style, "", out);
}

/* ---- filter ---- */

static gboolean is_since(const json_t *event, gint64 since_us)
{
	const char *text = format_text(event, "time");
	g_autoptr(GDateTime) time = text ? g_date_time_new_from_iso8601(text, NULL) : NULL;

	return time && g_date_time_to_unix(time) >= since_us / G_USEC_PER_SEC;
}

/* The device of the options; both are what was given if no such device is there. */
typedef struct {
	const char *id, *name;
} EventDevice;

/* Borrows from both arguments. */
static EventDevice device_resolve(const CommandOptions *options, const json_t *devices)
{
	EventDevice found = { options->device, options->device };
	const json_t *device;
	size_t i;

	json_array_foreach(devices, i, device)
	{
		if (!device_is_called(device, options->device))
			continue;
		found.id = format_text(device, "device_id") ?: found.id;
		found.name = format_text(device, "device_name") ?: found.name;
	}
	return found;
}

/* Compares the id, and the name with each word of the message. */
static gboolean is_about_device(const json_t *event, const EventDevice *device)
{
	g_auto(GStrv) words = g_strsplit_set(format_text(event, "message") ?: "", " :,()", -1);

	return g_strcmp0(format_text(event, "device_id"), device->id) == 0 ||
	       g_strv_contains((const char *const *)words, device->name);
}

static gboolean event_matches(const CommandOptions *options, const EventDevice *device,
			      const json_t *event)
{
	g_autofree char *pod = format_pod(event);

	return (!options->since_us || is_since(event, options->since_us)) &&
	       (!options->device || is_about_device(event, device)) &&
	       (!options->pod || (pod && strstr(pod, options->pod)));
}

/* Keeps the events of `answer` that match the options.  `devices` is used for that of the
 * options. */
static void events_filter(const CommandOptions *options, const json_t *devices, json_t *answer)
{
	const json_t *events = json_object_get(answer, "events");
	const EventDevice device = device_resolve(options, devices);
	json_t *matching = json_array(), *event;
	size_t i;

	json_array_foreach(events, i, event) if (event_matches(options, &device, event))
		json_array_append(matching, event);
	while (options->lines && json_array_size(matching) > options->lines)
		json_array_remove(matching, 0);
	json_object_set_new(answer, "events", matching);
}

/* Writes one JSON object per line, for a reader that processes a stream. */
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

static int print_events(const CommandOptions *options, const json_t *answer)
{
	const RdmadTableStyle *style = &options->style;
	const json_t *events = json_object_get(answer, "events");
	g_autoptr(GString) out = g_string_new(NULL);

	if (options->output && !options->follow)
		return command_print_json(options, answer);
	if (options->output)
		write_lines(events, out);
	else
		events_write(events, options->follow || style->wide ? 0 : rdmad_wall_us(), style,
			     out);
	return options->follow ? command_print(out) : command_print_rows(events, "events", out);
}

/* Returns the sequence to continue after; sequences start again when rdmad restarts. */
static json_int_t next_after(const json_t *answer, json_int_t after)
{
	const json_int_t last = json_integer_value(json_object_get(answer, "last"));

	return last < after ? 0 : last;
}

/* Returns the events after `after` that match the options, or NULL after an error, which was
 * printed. */
static json_t *events_ask(const CommandOptions *options, json_int_t after, guint wait_s)
{
	g_autofree char *path = g_strdup_printf(
		"/api/v1/events?after=%" JSON_INTEGER_FORMAT "&wait=%u", after, wait_s);
	json_t *answer = command_ask(options, "GET", path);
	json_auto_t *devices =
		answer && options->device ? command_ask(options, "GET", "/api/v1/devices") : NULL;

	if (!answer || (options->device && !devices)) {
		json_decref(answer);
		return NULL;
	}
	events_filter(options, json_object_get(devices, "devices"), answer);
	return answer;
}

int command_events(const CommandOptions *options)
{
	CommandOptions round = *options;
	json_int_t after = 0;
	guint wait_s = 0;
	int status;

	do {
		json_t *answer = events_ask(&round, after, wait_s);

		if (!answer)
			return 1;
		status = print_events(&round, answer);
		after = next_after(answer, after);
		json_decref(answer);
		/* Of the events that follow, each is new. */
		round.lines = 0;
		round.style.headers = FALSE;
		wait_s = FOLLOW_S;
	} while (options->follow && status == 0);
	return status;
}
