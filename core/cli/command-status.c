/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rdmad status: one page
 *
 * A module's status is printed generically: an array of objects is a table, anything else a line.
 */
#include <rdmad/clock.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "base/terminal.h"
#include "cli/table.h"

#define LABEL_WIDTH 15

static void write_line(GString *out, const char *label, const char *format, ...)
	G_GNUC_PRINTF(3, 4);

static void write_line(GString *out, const char *label, const char *format, ...)
{
	g_autofree char *text = NULL, *escaped = NULL;
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	escaped = rdmad_text_escape(text);
	g_string_append_printf(out, "%-*s%s\n", LABEL_WIDTH, label, escaped);
}

static void write_instances(const json_t *status, GString *out)
{
	const char *instance = format_text(status, "instance");
	const json_t *other;
	size_t i;

	if (instance)
		write_line(out, "instance", "%s", instance);
	json_array_foreach(json_object_get(status, "other_instances"), i, other)
	{
		write_line(out, "", "ANOTHER RDMAD WAITS: %s", json_string_value(other));
	}
}

static void write_config(const json_t *status, gint64 now_us, GString *out)
{
	const json_t *config = json_object_get(status, "config");
	g_autofree char *age = format_age(format_text(config, "loaded"), now_us);
	const char *path = format_text(config, "path"), *error = format_text(config, "error");

	if (path)
		write_line(out, "configuration", "%s, loaded %s ago", path, age ?: "some time");
	else
		write_line(out, "configuration", "defaults; no file");
	if (error)
		write_line(out, "", "LAST RELOAD REFUSED: %s", error);
}

static void write_machine(const json_t *status, GString *out)
{
	const json_t *machine = json_object_get(status, "machine");
	const char *kernel = format_text(machine, "kernel");

	write_line(out, "machine", "%s%s%s",
		   json_is_true(json_object_get(machine, "live")) ? "this one" : "a recorded one",
		   kernel ? ", Linux " : "", kernel ?: "");
}

/* Omits the control socket, which always exists. */
static void write_listeners(const json_t *status, GString *out)
{
	const json_t *listener;
	size_t i;

	json_array_foreach(json_object_get(status, "listeners"), i, listener)
	{
		const char *error = format_text(listener, "error");

		if (!json_is_true(json_object_get(listener, "public")))
			continue;
		write_line(out, "listener", "%s%s%s%s", format_text(listener, "address") ?: "?",
			   json_is_true(json_object_get(listener, "tls")) ? ", TLS" : "",
			   json_is_true(json_object_get(listener, "client_certificates"))
				   ? ", client certificates"
				   : "",
			   json_is_true(json_object_get(listener, "passwords")) ? ", passwords"
										: "");
		if (error)
			write_line(out, "", "WEB CONFIGURATION REFUSED: %s", error);
	}
}

static void write_devices(const json_t *status, GString *out)
{
	const json_t *devices = json_object_get(status, "devices");
	g_autofree char *count = format_number(devices, "count");
	g_autofree char *active = format_number(devices, "active");
	g_autofree char *unhealthy = format_number(devices, "unhealthy");
	g_autofree char *gpus = format_number(devices, "gpus");

	write_line(out, "devices", "%s (%s active, %s unhealthy), %s GPUs", count ?: "?",
		   active ?: "?", unhealthy ?: "?", gpus ?: "?");
}

/* Returns TRUE for values that only describe the internals of rdmad. */
static gboolean is_internal(const char *key)
{
	static const char *const internals[] = {
		"registration_method",
		"streams",
		"allocations",
		"refusals",
		"kubelet",
		"running",
		"waiting",
		"spooled",
		"failures",
		"retry_seconds",
		"last_scrape",
		"refused",
		"left",
		NULL,
	};

	return g_strv_contains(internals, key);
}

static gboolean column_has_value(const json_t *array, const char *key)
{
	const json_t *row;
	size_t i;

	json_array_foreach(array, i, row)
	{
		g_autofree char *cell = format_scalar(json_object_get(row, key));

		if (cell && *cell)
			return TRUE;
	}
	return FALSE;
}

/* The keys of the first object are the columns. */
static void write_objects(const json_t *array, gboolean verbose, GString *out)
{
	g_autoptr(GPtrArray) keys = g_ptr_array_new();
	g_autoptr(GPtrArray) titles = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(RdmadTable) table = NULL;
	const json_t *row, *value;
	const char *key;
	size_t i;

	json_object_foreach((json_t *)json_array_get(array, 0), key, value)
	{
		g_autofree char *title = g_ascii_strup(key, -1);

		if (!verbose && (is_internal(key) || !column_has_value(array, key)))
			continue;
		g_ptr_array_add(keys, (gpointer)key);
		g_ptr_array_add(titles, g_strdelimit(g_steal_pointer(&title), "_", ' '));
	}
	g_ptr_array_add(titles, NULL);
	table = rdmad_table_new((const char *const *)titles->pdata);
	json_array_foreach(array, i, row)
	{
		g_autoptr(GPtrArray) cells = g_ptr_array_new_with_free_func(g_free);

		for (guint k = 0; k < keys->len; k++)
			g_ptr_array_add(cells, format_scalar(json_object_get(
						       row, g_ptr_array_index(keys, k))));
		rdmad_table_add_row(table, (const char *const *)cells->pdata);
	}
	rdmad_table_write(table, &rdmad_table_plain, "  ", out);
}

/* Returns "socket /var/..., registered yes". */
static char *format_object(const json_t *object, gboolean verbose)
{
	GString *out = g_string_new(NULL);
	const json_t *value;
	const char *key;

	json_object_foreach((json_t *)object, key, value)
	{
		g_autofree char *name = g_strdelimit(g_strdup(key), "_", ' ');
		g_autofree char *text = format_scalar(value);

		if (text && *text && (verbose || !is_internal(key)))
			g_string_append_printf(out, "%s%s %s", out->len ? ", " : "", name, text);
	}
	return g_string_free(out, FALSE);
}

static void write_module_value(const char *key, const json_t *value, gboolean verbose, GString *out)
{
	g_autofree char *text = NULL, *escaped = NULL;

	if (is_internal(key) && !verbose)
		return;
	if (json_is_object(json_array_get(value, 0))) {
		write_objects(value, verbose, out);
		return;
	}
	text = json_is_object(value) ? format_object(value, verbose) : format_scalar(value);
	if (!text || !*text)
		return;
	escaped = rdmad_text_escape(text);
	g_string_append_printf(out, "  %s: %s\n", key, escaped);
}

static void write_module(const json_t *module, gboolean verbose, GString *out)
{
	const char *error = format_text(module, "error"), *key;
	g_autofree char *escaped = error ? rdmad_text_escape(error) : NULL;
	const json_t *value;

	g_string_append_printf(out, "\nmodule %s: %s%s%s\n", format_text(module, "name") ?: "?",
			       format_text(module, "state") ?: "?", error ? ": " : "",
			       escaped ?: "");
	json_object_foreach(json_object_get(module, "status"), key, value)
		write_module_value(key, value, verbose, out);
}

static void write_recent_errors(const json_t *status, gint64 now_us, GString *out)
{
	static const char *const headers[] = { "", "", "", NULL };
	const json_t *errors = json_object_get(status, "recent_errors"), *entry;
	g_autoptr(RdmadTable) table = rdmad_table_new(headers);
	size_t i;

	json_array_foreach(errors, i, entry)
	{
		g_autofree char *age = format_age(format_text(entry, "time"), now_us);

		rdmad_table_add(table, age, format_text(entry, "level"),
				format_text(entry, "message"));
	}
	if (json_array_size(errors) == 0)
		return;
	g_string_append(out, "\nlast warnings and errors\n");
	rdmad_table_write(table, &rdmad_table_bare, "  ", out);
}

void status_write(const json_t *status, gint64 now_us, gboolean verbose, GString *out)
{
	const json_t *uptime = json_object_get(status, "uptime_seconds"), *module;
	g_autofree char *up = format_duration(json_integer_value(uptime));
	g_autofree char *pid = format_number(status, "pid"),
			*allocations = format_number(status, "allocations");
	const char *aside = format_text(status, "state_set_aside");
	size_t i;

	write_line(out, "rdmad", "%s, pid %s, up %s", format_text(status, "version") ?: "?",
		   pid ?: "?", up);
	write_instances(status, out);
	write_config(status, now_us, out);
	write_machine(status, out);
	write_listeners(status, out);
	write_devices(status, out);
	write_line(out, "allocations", "%s", allocations ?: "?");
	if (aside)
		write_line(out, "database", "was damaged; set aside as %s", aside);
	json_array_foreach(json_object_get(status, "modules"), i, module)
		write_module(module, verbose, out);
	write_recent_errors(status, now_us, out);
}

/* The control socket is that of the rdmad that serves the node, which may be another one. */
static gboolean instance_check(const CommandOptions *options, const json_t *status)
{
	const char *serves = format_text(status, "instance");

	if (!options->instance || !g_strcmp0(options->instance, serves))
		return TRUE;
	fprintf(stderr, "rdmad: the rdmad of this node is instance %s, not %s\n", serves ?: "?",
		options->instance);
	return FALSE;
}

int command_status(const CommandOptions *options)
{
	json_t *answer = command_ask(options, "GET", "/api/v1/status");
	g_autoptr(GString) out = g_string_new(NULL);
	int status;

	if (!answer)
		return 1;
	if (options->output) {
		status = command_print_json(options, answer);
	} else {
		status_write(answer, rdmad_wall_us(), options->verbose, out);
		status = command_print(out);
	}
	if (!instance_check(options, answer))
		status = 1;
	json_decref(answer);
	return status;
}
