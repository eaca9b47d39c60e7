/* SPDX-License-Identifier: Apache-2.0 */
/* rdmad devices --explain: which resources have a device, and why others have not */
#include <stdio.h>

#include "cli/command.h"
#include "cli/table.h"

static const char *const headers[] = { "RESOURCE", "TAKEN", "WHY NOT", NULL };

void explain_write(const json_t *explanation, gboolean with_headers, GString *out)
{
	g_autoptr(RdmadTable) table = rdmad_table_new(headers);
	const json_t *resource;
	size_t i;

	json_array_foreach(json_object_get(explanation, "resources"), i, resource)
	{
		const gboolean taken = json_is_true(json_object_get(resource, "taken"));

		rdmad_table_add(table, format_text(resource, "name"), taken ? "yes" : "no",
				format_text(resource, "reason"));
	}
	rdmad_table_write(table, with_headers, "", out);
}

int command_explain(const CommandOptions *options)
{
	g_autofree char *name = NULL, *path = NULL;
	g_autoptr(GString) out = g_string_new(NULL);
	json_t *answer;
	int status;

	if (!options->argument) {
		fputs("rdmad: `devices --explain` needs the name of a device\n", stderr);
		return 2;
	}
	name = g_uri_escape_string(options->argument, NULL, FALSE);
	path = g_strconcat("/api/v1/explain?device=", name, NULL);
	answer = command_ask(options, "GET", path);
	if (!answer)
		return 1;
	explain_write(answer, options->headers, out);
	status = options->json ? command_print_json(answer) : command_print(out);
	json_decref(answer);
	return status;
}
