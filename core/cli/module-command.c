/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands of modules
 *
 * The running daemon lists them (/api/v1/commands).  The client loads no module, so it has the
 * commands of the daemon's modules, wherever it runs.
 */
#include "cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <rdmad/fd.h>
#include <rdmad/module.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/terminal.h"
#include "cli/client.h"
#include "cli/table.h"

#define OPTIONS_MAX 32u
#define COLUMNS_MAX 32u
#define OWN_OPTIONS 7u /* number of common options, with --help */
#define OWN_LETTERS "s:o:jwvh"
#define FIRST_VALUE 256 /* value of the module's first option; smaller ones are letters */

/* ---- the list of commands ---- */

/* Finds --socket before the options of the command are known.  With the "-", getopt changes no
 * order. */
static const char *socket_option(int argc, char **argv)
{
	const char *socket = NULL;
	int letter;

	opterr = 0;
	while ((letter = getopt_long(argc, argv, "-" OWN_LETTERS, command_common_options, NULL)) !=
	       -1)
		if (letter == 's')
			socket = optarg;
	optind = 0; /* makes getopt start again */
	return socket;
}

json_t *module_commands_ask(CommandOptions *options, int argc, char **argv, GError **error)
{
	options->socket = socket_option(argc, argv) ?: options->socket;
	return rdmad_client_call(options->socket, "GET", "/api/v1/commands", NULL,
				 COMMAND_TIMEOUT_S, NULL, error);
}

const json_t *module_command_find(const json_t *commands, const char *name)
{
	const json_t *command;
	size_t i;

	json_array_foreach(json_object_get(commands, "commands"), i, command)
	{
		if (g_strcmp0(format_text(command, "name"), name) == 0)
			return command;
	}
	return NULL;
}

static void print_usage(const json_t *command, FILE *to)
{
	const char *argument = format_text(command, "argument");
	const json_t *option;
	size_t i;

	fprintf(to, "usage: rdmad %s%s%s [OPTION]...\n\n%s\n\nOptions:\n",
		format_text(command, "name"), argument ? " " : "", argument ?: "",
		format_text(command, "summary") ?: "");
	json_array_foreach(json_object_get(command, "options"), i, option)
	{
		g_autofree char *words = g_strdup_printf("--%s %s", format_text(option, "name"),
							 format_text(option, "argument") ?: "");

		fprintf(to, "      %-14s %s\n", words, format_text(option, "help") ?: "");
	}
	fprintf(to, "%s  -h, --help           this text\n", command_common_usage);
}

/* ---- the request ---- */

static void query_add(GString *query, const char *name, const char *value)
{
	g_autofree char *escaped = g_uri_escape_string(value, NULL, FALSE);

	g_string_append_printf(query, "%c%s=%s", strchr(query->str, '?') ? '&' : '?', name,
			       escaped);
}

/* Returns a path that the daemon can read without a capability; NULL: it was reported.  g_free() */
static char *netns_enter(const char *path)
{
	rdmad_autofd int fd = -1;

	if (g_str_has_prefix(path, "/proc/") && g_str_has_suffix(path, "/ns/net"))
		return g_strdup(path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && setns(fd, CLONE_NEWNET) == 0)
		return g_strdup_printf("/proc/%d/ns/net", getpid());
	rdmad_terminal_error("cannot enter the network namespace %s: %s", path, g_strerror(errno));
	return NULL;
}

static gboolean option_take(const json_t *command, guint index, const char *name, const char *value,
			    GString *query)
{
	const json_t *option = json_array_get(json_object_get(command, "options"), index);
	g_autofree char *netns = NULL;

	if (value && g_strcmp0(format_text(option, "argument"), RDMAD_COMMAND_NETNS) == 0) {
		netns = netns_enter(value);
		if (!netns)
			return FALSE;
	}
	query_add(query, name, netns ?: value ?: "1");
	return TRUE;
}

static guint options_make(const json_t *command, struct option *options)
{
	const json_t *option;
	guint n = 0;
	size_t i;

	memcpy(options, command_common_options, (OWN_OPTIONS - 1) * sizeof(*options));
	options[OWN_OPTIONS - 1] = (struct option){ "help", no_argument, NULL, 'h' };
	json_array_foreach(json_object_get(command, "options"), i, option)
	{
		const char *name = format_text(option, "name");

		if (!name || n == OPTIONS_MAX)
			continue;
		options[OWN_OPTIONS + n] = (struct option){
			name, format_text(option, "argument") ? required_argument : no_argument,
			NULL, FIRST_VALUE + (int)n
		};
		n++;
	}
	return n;
}

/* Returns -1 to continue, else the exit status. */
static int take_argument(const json_t *command, int argc, char **argv, GString *query)
{
	const char *argument = format_text(command, "argument");
	const char *parameter = format_text(command, "parameter");

	if (argument && parameter && optind < argc)
		query_add(query, parameter, argv[optind++]);
	else if (argument && *argument != '[') {
		return command_usage_error(format_text(command, "name"), "needs %s", argument);
	}
	if (optind == argc)
		return -1;
	return command_usage_error(format_text(command, "name"), "unexpected argument \"%s\"",
				   argv[optind]);
}

static int take_options(const json_t *command, CommandOptions *options, int argc, char **argv,
			GString *query)
{
	struct option known[OWN_OPTIONS + OPTIONS_MAX + 1] = { { NULL } };
	int letter;

	options_make(command, known);
	while ((letter = getopt_long(argc, argv, OWN_LETTERS, known, NULL)) != -1) {
		if (letter == 'h') {
			print_usage(command, stdout);
			return 0;
		}
		if (letter == '?')
			return command_option_unknown(format_text(command, "name"), known, NULL,
						      argv);
		if (letter >= FIRST_VALUE) {
			const guint index = (guint)(letter - FIRST_VALUE);

			if (!option_take(command, index, known[OWN_OPTIONS + index].name, optarg,
					 query))
				return EXIT_FAILURE;
		} else if (!command_option_set(options, letter, optarg))
			return 2;
	}
	return take_argument(command, argc, argv, query);
}

/* ---- the response ---- */

/* Returns a header for rdmad_table_new(); g_free(). */
static char *column_header(const json_t *column)
{
	return g_strconcat(json_is_true(json_object_get(column, "wide")) ? "+" : "",
			   format_text(column, "title"), NULL);
}

void module_command_write(const json_t *command, const json_t *answer, const RdmadTableStyle *style,
			  GString *out)
{
	const json_t *columns = json_object_get(command, "columns");
	const char *rows = format_text(command, "rows");
	const guint n = (guint)MIN(json_array_size(columns), COLUMNS_MAX);
	g_auto(GStrv) headers = g_new0(char *, n + 1);
	g_autoptr(RdmadTable) table = NULL;
	const json_t *row;
	size_t at;

	if (!rows) {
		g_string_append(out, format_text(answer, "text") ?: "");
		return;
	}
	for (guint i = 0; i < n; i++)
		headers[i] = column_header(json_array_get(columns, i));
	table = rdmad_table_new((const char *const *)headers);
	json_array_foreach(json_object_get(answer, rows), at, row)
	{
		g_auto(GStrv) cells = g_new0(char *, n + 1);

		for (guint i = 0; i < n; i++)
			cells[i] =
				format_scalar(json_object_get(
					row, format_text(json_array_get(columns, i), "key") ?: ""))
					?: g_strdup("-");
		rdmad_table_add_row(table, (const char *const *)cells);
	}
	rdmad_table_write(table, style, "", out);
}

static int answer_print(const json_t *command, const CommandOptions *options, json_t *answer)
{
	const char *rows = format_text(command, "rows");
	g_autoptr(GString) out = g_string_new(NULL);

	if (options->output)
		return command_print_json(options, answer);
	module_command_write(command, answer, &options->style, out);
	return rows ? command_print_rows(json_object_get(answer, rows), rows, out)
		    : command_print(out);
}

/* Prints the body of an error response too: a script may have to undo earlier settings. */
static int module_command_ask(const json_t *command, const CommandOptions *options,
			      const GString *query)
{
	json_t *refusal = NULL;
	json_t *answer = command_ask_refusable(options, query->str, &refusal);
	int status = 1;

	if (answer)
		status = answer_print(command, options, answer);
	else if (refusal)
		answer_print(command, options, refusal);
	json_decref(answer);
	json_decref(refusal);
	return status;
}

int module_command_run(const json_t *command, CommandOptions *options, int argc, char **argv)
{
	g_autoptr(GString) query = g_string_new(format_text(command, "path"));
	int status;

	opterr = 0;
	status = take_options(command, options, argc, argv, query);
	while (status < 0) {
		status = module_command_ask(command, options, query);
		if (command_watches(options, status))
			status = -1;
	}
	return status;
}

int module_command_list(const CommandOptions *options)
{
	static const char *const headers[] = { "COMMAND", "MODULE", "DESCRIPTION", NULL };
	g_autoptr(RdmadTable) table = rdmad_table_new(headers);
	g_autoptr(GString) out = g_string_new(NULL);
	json_t *answer = command_ask(options, "GET", "/api/v1/commands");
	const json_t *commands = json_object_get(answer, "commands");
	const json_t *command;
	int status;
	size_t i;

	if (!answer)
		return 1;
	json_array_foreach(commands, i, command)
		rdmad_table_add(table, format_text(command, "name"), format_text(command, "module"),
				format_text(command, "summary"));
	rdmad_table_write(table, &options->style, "", out);
	status = options->output ? command_print_json(options, answer)
				 : command_print_rows(commands, "commands", out);
	json_decref(answer);
	return status;
}
