/* SPDX-License-Identifier: Apache-2.0 */
/* Functions shared by the commands: requests and output */
#include "cli/command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/default-dirs.h"
#include "base/nearest.h"
#include "base/terminal.h"
#include "cli/client.h"

#define EXIT_USAGE 2
#define WATCH_S	   2u

static json_t *ask(const CommandOptions *options, const char *method, const char *path,
		   const char *body, json_t **refusal)
{
	g_autoptr(GError) error = NULL;
	json_t *answer = rdmad_client_call(options->socket, method, path, body,
					   2 * COMMAND_TIMEOUT_S, refusal, &error);

	if (!answer)
		rdmad_terminal_error("%s", error->message);
	return answer;
}

json_t *command_ask(const CommandOptions *options, const char *method, const char *path)
{
	return ask(options, method, path, NULL, NULL);
}

json_t *command_put(const CommandOptions *options, const char *path, json_t *body)
{
	char *text = json_dumps(body, JSON_COMPACT);
	json_t *answer = ask(options, "PUT", path, text ?: "", NULL);

	free(text);
	json_decref(body);
	return answer;
}

json_t *command_ask_refusable(const CommandOptions *options, const char *path, json_t **refusal)
{
	return ask(options, "GET", path, NULL, refusal);
}

int command_print(const GString *text)
{
	if (fwrite(text->str, 1, text->len, stdout) == text->len && fflush(stdout) == 0)
		return 0;
	/* A reader that closes the pipe early (`| head`) is not an error. */
	if (errno != EPIPE)
		rdmad_terminal_error("cannot write: %s", g_strerror(errno));
	return 1;
}

int command_print_rows(const json_t *rows, const char *what, const GString *text)
{
	if (json_array_size(rows))
		return command_print(text);
	rdmad_terminal_error("no %s", what);
	return 0;
}

int command_print_json(const CommandOptions *options, const json_t *value)
{
	g_autoptr(GString) text = g_string_new(NULL);
	char *dumped;

	if (options->output == OUTPUT_YAML) {
		command_write_yaml(value, text);
		return command_print(text);
	}
	dumped = json_dumps(value, JSON_INDENT(2));
	g_string_append_printf(text, "%s\n", dumped);
	free(dumped);
	return command_print(text);
}

int command_usage_error(const char *command, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	rdmad_terminal_error("%s: %s; see `rdmad help %s`", command, text, command);
	return EXIT_USAGE;
}

int command_option_unknown(const char *command, const struct option *known, const char *letters,
			   char *const *argv)
{
	const char *word = argv[optind - 1];
	const char *meant = rdmad_nearest_option(word, known, letters);

	/* getopt has set optopt to the letter of a known option, or to that of the unknown one. */
	while (known->name && known->val != optopt)
		known++;
	if (optopt && known->name)
		return command_usage_error(command, "option --%s %s", known->name,
					   known->has_arg ? "needs a value" : "takes no value");
	if (optopt && !g_str_has_prefix(word, "--"))
		return command_usage_error(command, "unknown option -%c", optopt);
	if (!meant)
		return command_usage_error(command, "unknown option %s", word);
	rdmad_terminal_error("%s: unknown option %s; did you mean `--%s`?", command, word, meant);
	return EXIT_USAGE;
}

gboolean command_watches(const CommandOptions *options, int status)
{
	/* A reader that has closed the pipe ends it; fflush() reports that only once. */
	if (!options->watch || status == EXIT_USAGE || fflush(stdout) != 0 || ferror(stdout))
		return FALSE;
	sleep(WATCH_S);
	if (isatty(STDOUT_FILENO))
		fputs("\033[H\033[2J", stdout);
	return TRUE;
}

/* ---- options of all commands that query the daemon ---- */

const struct option command_common_options[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "output", required_argument, NULL, 'o' },
	{ "socket", required_argument, NULL, 's' },
	{ "no-headers", no_argument, NULL, 'H' },
	{ "watch", no_argument, NULL, 'w' },
	{ "verbose", no_argument, NULL, 'v' },
	{ NULL, 0, NULL, 0 },
};

const char command_common_usage[] =
	"  -o, --output FORMAT  table, wide (all columns), json or yaml\n"
	"  -j, --json           the same as -o json\n"
	"      --no-headers     tables without their first line\n"
	"  -v, --verbose        also passed checks, and internals\n"
	"  -w, --watch          again every two seconds\n"
	"  -s, --socket PATH    rdmad's control socket (" RDMAD_RUN_DIR "/rdmad.sock)\n";

static gboolean output_set(CommandOptions *options, const char *format)
{
	static const char *const formats[] = { "table", "json", "yaml", NULL };

	options->style.wide = g_str_equal(format, "wide");
	if (options->style.wide)
		format = "table";
	for (int i = 0; formats[i]; i++)
		if (g_str_equal(formats[i], format)) {
			options->output = (CommandOutput)i;
			return TRUE;
		}
	rdmad_terminal_error("invalid output \"%s\"; write table, wide, json or yaml", format);
	return FALSE;
}

gboolean command_option_set(CommandOptions *options, int letter, const char *value)
{
	switch (letter) {
	case 'o':
		return output_set(options, value);
	case 'j':
		return output_set(options, "json");
	case 's':
		options->socket = value;
		return TRUE;
	case 'H':
		options->style.headers = FALSE;
		return TRUE;
	case 'w':
		options->watch = TRUE;
		return TRUE;
	case 'v':
		options->verbose = TRUE;
		return TRUE;
	default:
		g_assert_not_reached();
	}
}
