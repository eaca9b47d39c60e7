/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a configuration file, and errors that refer to its lines */
#pragma once

#include <rdmad/types.h>

#define RDMAD_CONFIG_FILE_MAX (1024u * 1024u)

/* Reads a whole file, NUL-terminated.  It must be a regular file of bounded size, UTF-8 without NUL
 * bytes.  RDMAD_ERROR_NOT_FOUND, RDMAD_ERROR_CONFIG, RDMAD_ERROR_FAILED. */
char *rdmad_config_source_read(const char *path, gsize *length, GError **error);
/* Applies the same checks to text in memory. */
gboolean rdmad_config_source_check(const char *name, const char *text, gsize length,
				   GError **error);

/* Returns whether an errno of opening a path is permanent, i.e. a mistake in the configuration. */
gboolean rdmad_config_path_is_wrong(int errnum);
/* Sets RDMAD_ERROR_CONFIG "file:line: message", without the line if it is 0.  If an error is set
 * already, appends a line to its message.  Returns FALSE. */
gboolean rdmad_config_source_error(GError **error, const char *file, guint line, const char *format,
				   ...) G_GNUC_PRINTF(4, 5);
