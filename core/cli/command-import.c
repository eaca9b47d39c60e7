/* SPDX-License-Identifier: Apache-2.0 */
/* `rdmad import-config FILE`: the only command that needs no daemon */
#include <errno.h>
#include <fcntl.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/import/import.h"
#include "cli/table.h"

/* Returns one byte more than the limit if the file is too large. */
static GString *read_file(const char *argument, const char *name, GError **error)
{
	const gboolean is_input = g_str_equal(argument, "-");
	g_autoptr(GString) text = g_string_new(NULL);
	rdmad_autofd int fd = is_input ? -1 : open(argument, O_RDONLY | O_CLOEXEC);

	if (!is_input && fd < 0)
		return rdmad_error_errno(error, errno, "cannot open %s", name), NULL;
	if (!rdmad_fd_read_all(is_input ? STDIN_FILENO : fd, RDMAD_IMPORT_MAX, text))
		return rdmad_error_errno(error, errno, "cannot read %s", name), NULL;
	return g_steal_pointer(&text);
}

/* Escapes the text, which contains names and values of the file. */
static void print_message(const char *text)
{
	g_autofree char *escaped = rdmad_text_escape(text);

	fprintf(stderr, "rdmad: %s\n", escaped);
}

int command_import(const CommandOptions *options)
{
	const RdmadImportOptions how = {
		.file = g_str_equal(options->argument, "-") ? "standard input" : options->argument,
		.key = options->key,
		.prefix = options->prefix,
	};
	g_autoptr(GPtrArray) notes = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GError) error = NULL;
	g_autoptr(GString) text = read_file(options->argument, how.file, &error);
	g_autofree char *config = NULL;
	g_autoptr(GString) out = NULL;

	if (text)
		config = rdmad_import_convert(text->str, text->len, &how, notes, &error);
	for (guint i = 0; i < notes->len; i++)
		print_message(notes->pdata[i]);
	if (!config) {
		print_message(error->message);
		return 1;
	}
	out = g_string_new(config);
	return command_print(out);
}
