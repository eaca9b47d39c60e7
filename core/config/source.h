/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a configuration file, and errors that point into it. */
#pragma once

#include <rdmad/types.h>

#define RDMAD_CONFIG_FILE_MAX (1024u * 1024u)

/* The whole file, NUL-terminated: a regular file of bounded size, UTF-8 without NUL bytes.
 * RDMAD_ERROR_NOT_FOUND, RDMAD_ERROR_CONFIG, RDMAD_ERROR_FAILED. */
char *rdmad_config_source_read(const char *path, gsize *length, GError **error);
/* The same demands on a text that is in memory already. */
gboolean rdmad_config_source_check(const char *name, const char *text, gsize length,
				   GError **error);

/* Whether the system refused a path because of the configuration, and not for a reason that may
 * pass. */
gboolean rdmad_config_path_is_wrong(int errnum);
/* Sets RDMAD_ERROR_CONFIG "file:line: message", without the line when it is 0.  Always FALSE. */
gboolean rdmad_config_source_error(GError **error, const char *file, guint line, const char *format,
				   ...) G_GNUC_PRINTF(4, 5);
