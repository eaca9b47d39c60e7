/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/v1/commands: the commands that modules add to `rdmad`, for the command line */
#include <rdmad/module.h>

#include "module/host.h"
#include "api/json.h"

static json_t *options_json(const RdmadCommandOption *option)
{
	json_t *options = json_array();

	for (; option && option->name; option++)
		json_array_append_new(options, json_pack("{s:s, s:s?, s:s}", "name", option->name,
							 "argument", option->argument, "help",
							 option->help ?: ""));
	return options;
}

static json_t *columns_json(const RdmadCommandColumn *column)
{
	json_t *columns = json_array();

	for (; column && column->title; column++)
		json_array_append_new(columns, json_pack("{s:s, s:s, s:b}", "title", column->title,
							 "key", column->key, "wide", column->wide));
	return columns;
}

static void add_command(const char *module, const RdmadCommand *command, gpointer data)
{
	json_t *value = json_object();

	api_set(value, "name", rdmad_json_string(command->name));
	api_set(value, "module", rdmad_json_string(module));
	api_set(value, "argument", rdmad_json_string(command->argument));
	api_set(value, "parameter", rdmad_json_string(command->parameter));
	api_set(value, "summary", rdmad_json_string(command->summary));
	api_set(value, "path", rdmad_json_string(command->path));
	api_set(value, "options", options_json(command->options));
	api_set(value, "rows", rdmad_json_string(command->rows));
	api_set(value, "columns", columns_json(command->columns));
	json_array_append_new(data, value);
}

void api_get_commands(RdmadHttpRequest *request, gpointer data)
{
	const RdmadServices *services = data;
	json_t *commands = json_array();

	rdmad_modules_foreach_command(services->modules, add_command, commands);
	rdmad_http_reply_json(request, json_pack("{s:o}", "commands", commands));
}
