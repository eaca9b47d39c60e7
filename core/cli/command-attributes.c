/* SPDX-License-Identifier: Apache-2.0 */
/* rdmad attributes: list and set the node's attributes */
#include "cli/command.h"
#include "cli/table.h"

static const char *const headers[] = { "NAME", "VALUE", NULL };

void attributes_write(const json_t *attributes, const RdmadTableStyle *style, GString *out)
{
	g_autoptr(RdmadTable) table = rdmad_table_new(headers);
	const json_t *attribute;
	size_t i;

	json_array_foreach(attributes, i, attribute)
	{
		rdmad_table_add(table, format_text(attribute, "name"),
				format_text(attribute, "value"));
	}
	rdmad_table_write(table, style, "", out);
}

static int attributes_list(const CommandOptions *options)
{
	json_t *answer = command_ask(options, "GET", "/api/v1/attributes");
	const json_t *attributes = json_object_get(answer, "attributes");
	g_autoptr(GString) out = g_string_new(NULL);
	int status;

	if (!answer)
		return 1;
	attributes_write(attributes, &options->style, out);
	status = options->output ? command_print_json(options, answer)
				 : command_print_rows(attributes, "attributes", out);
	json_decref(answer);
	return status;
}

/* `value` NULL: removes the attribute. */
static int attribute_set(const CommandOptions *options, const char *name, const char *value)
{
	g_autofree char *escaped = g_uri_escape_string(name, NULL, FALSE);
	g_autofree char *path = g_strconcat("/api/v1/attributes/", escaped, NULL);
	json_t *answer = value ? command_put(options, path, json_pack("{s:s}", "value", value))
			       : command_ask(options, "DELETE", path);
	int status = 0;

	if (!answer)
		return 1;
	if (options->output)
		status = command_print_json(options, answer);
	json_decref(answer);
	return status;
}

int command_attributes(const CommandOptions *options)
{
	char *const *words = options->arguments;
	const guint n = g_strv_length((char **)words);

	if (n == 0)
		return attributes_list(options);
	if (n == 3 && g_str_equal(words[0], "set"))
		return attribute_set(options, words[1], words[2]);
	if (n == 2 && g_str_equal(words[0], "unset"))
		return attribute_set(options, words[1], NULL);
	return command_usage_error("attributes", "needs nothing, set NAME VALUE or unset NAME");
}
