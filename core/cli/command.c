/* SPDX-License-Identifier: Apache-2.0 */
/* Common part of all commands: request, and print. */
#include "cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/client.h"

static json_t *ask(const CommandOptions *options, const char *method, const char *path,
		   json_t **refusal)
{
	g_autoptr(GError) error = NULL;
	json_t *answer = rdmad_client_call(options->socket, method, path, 2 * COMMAND_TIMEOUT_S,
					   refusal, &error);

	if (!answer)
		fprintf(stderr, "rdmad: %s\n", error->message);
	return answer;
}

json_t *command_ask(const CommandOptions *options, const char *method, const char *path)
{
	return ask(options, method, path, NULL);
}

json_t *command_ask_refusable(const CommandOptions *options, const char *path, json_t **refusal)
{
	return ask(options, "GET", path, refusal);
}

int command_print(const GString *text)
{
	if (fwrite(text->str, 1, text->len, stdout) == text->len && fflush(stdout) == 0)
		return 0;
	/* A reader that has enough (`| head`) is no failure worth words. */
	if (errno != EPIPE)
		fprintf(stderr, "rdmad: cannot write: %s\n", g_strerror(errno));
	return 1;
}

int command_print_json(const json_t *value)
{
	char *dumped = json_dumps(value, JSON_INDENT(2));
	g_autoptr(GString) text = g_string_new(dumped);

	free(dumped);
	g_string_append_c(text, '\n');
	return command_print(text);
}
