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

/* Reads past the limit, so that the caller detects a file that is too large. */
static GByteArray *read_all(int fd, const char *name, GError **error)
{
	g_autoptr(GByteArray) all = g_byte_array_new();
	guint8 buffer[16384];
	gssize n;

	while (all->len <= RDMAD_IMPORT_MAX && (n = read(fd, buffer, sizeof(buffer))) != 0) {
		if (n > 0)
			g_byte_array_append(all, buffer, (guint)n);
		else if (errno != EINTR)
			return rdmad_error_errno(error, errno, "cannot read %s", name), NULL;
	}
	return g_steal_pointer(&all);
}

static GByteArray *read_file(const char *file, GError **error)
{
	rdmad_autofd int fd = -1;

	if (g_str_equal(file, "-"))
		return read_all(STDIN_FILENO, "standard input", error);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return rdmad_error_errno(error, errno, "cannot open %s", file), NULL;
	return read_all(fd, file, error);
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
	g_autoptr(GByteArray) text = read_file(options->argument, &error);
	g_autofree char *config = NULL;
	g_autoptr(GString) out = NULL;

	if (text)
		config = rdmad_import_convert((const char *)text->data ?: "", text->len, &how,
					      notes, &error);
	for (guint i = 0; i < notes->len; i++)
		print_message(notes->pdata[i]);
	if (!config) {
		print_message(error->message);
		return 1;
	}
	out = g_string_new(config);
	return command_print(out);
}
