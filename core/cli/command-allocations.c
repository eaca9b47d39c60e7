/* SPDX-License-Identifier: Apache-2.0 */
/* rdmad allocations: the holders of devices */
#include <rdmad/clock.h>
#include <string.h>

#include "cli/command.h"
#include "cli/table.h"

static const char *const headers[] = { "+ALLOCATION",  "RESOURCE",     "DEVICES",
				       "POD",	       "+CONTAINER",   "SINCE",
				       "+ATTACHMENTS", "+WRONG FILES", NULL };

/* Returns the device name, or the ID of a removed device. */
static const char *device_label(const json_t *allocation, size_t index)
{
	const json_t *name = json_array_get(json_object_get(allocation, "device_names"), index);
	const json_t *id = json_array_get(json_object_get(allocation, "device_ids"), index);

	return json_string_value(name) ?: json_string_value(id) ?: "?";
}

/* Returns "mlx5_0, mlx5_1 x3"; slots of a shared pool are counted by device. */
static char *format_devices(const json_t *allocation)
{
	const size_t n = json_array_size(json_object_get(allocation, "device_ids"));
	GString *out = g_string_new(NULL);

	for (size_t i = 0, run; i < n; i += run) {
		const char *label = device_label(allocation, i);

		for (run = 1; i + run < n && g_str_equal(label, device_label(allocation, i + run));)
			run++;
		g_string_append_printf(out, "%s%s", i ? ", " : "", label);
		if (run > 1)
			g_string_append_printf(out, " x%zu", run);
	}
	return g_string_free(out, FALSE);
}

/* Returns "net1 (mlx5_0) 192.0.2.7/24". */
static char *format_attachments(const json_t *allocation)
{
	GString *out = g_string_new(NULL);
	const json_t *attachment;
	size_t i;

	json_array_foreach(json_object_get(allocation, "attachments"), i, attachment)
	{
		g_autofree char *addresses =
			format_list(json_object_get(attachment, "addresses"), " ");
		const char *device = format_text(attachment, "device_name");

		g_string_append_printf(out, "%s%s", i ? ", " : "",
				       format_text(attachment, "interface") ?: "?");
		if (device)
			g_string_append_printf(out, " (%s)", device);
		if (*addresses)
			g_string_append_printf(out, " %s", addresses);
	}
	return g_string_free(out, FALSE);
}

/* Returns the paths of the files that another device has now, or whose numbers are others. */
static char *format_wrong_files(const json_t *allocation)
{
	GString *out = g_string_new(NULL);
	const json_t *file;
	size_t i;

	json_array_foreach(json_object_get(allocation, "wrong_files"), i, file)
		g_string_append_printf(out, "%s%s", i ? " " : "", format_text(file, "path") ?: "?");
	return g_string_free(out, FALSE);
}

void allocations_write(const json_t *allocations, gint64 now_us, const RdmadTableStyle *style,
		       GString *out)
{
	g_autoptr(RdmadTable) table = rdmad_table_new(headers);
	const json_t *allocation;
	size_t i;

	json_array_foreach(allocations, i, allocation)
	{
		g_autofree char *devices = format_devices(allocation),
				*pod = format_pod(allocation);
		g_autofree char *since = format_age(format_text(allocation, "since"), now_us);
		g_autofree char *attachments = format_attachments(allocation);
		g_autofree char *wrong_files = format_wrong_files(allocation);

		rdmad_table_add(table, format_text(allocation, "id"),
				format_text(allocation, "resource"), devices, pod,
				format_text(allocation, "container"), since, attachments,
				wrong_files);
	}
	rdmad_table_write(table, style, "", out);
}

int command_allocations(const CommandOptions *options)
{
	json_t *answer = options->refresh
				 ? command_ask(options, "POST", "/api/v1/allocations/refresh")
				 : command_ask(options, "GET", "/api/v1/allocations");
	const json_t *allocations = json_object_get(answer, "allocations");
	g_autoptr(GString) out = g_string_new(NULL);
	int status;

	if (!answer)
		return 1;
	if (options->output) {
		status = command_print_json(options, answer);
	} else {
		allocations_write(allocations, rdmad_wall_us(), &options->style, out);
		status = command_print_rows(allocations, "allocations", out);
	}
	json_decref(answer);
	return status;
}
