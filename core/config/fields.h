/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers with a unit: durations and sizes */
#pragma once

#include <glib.h>

/* Parses "250ms", "5s", "2m", "1h" to milliseconds.  Returns FALSE if malformed or too large. */
gboolean rdmad_config_parse_duration(const char *text, guint64 *ms);
/* Parses "64K", "8M", "2G" (powers of 1024), or a plain number, to bytes. */
gboolean rdmad_config_parse_size(const char *text, guint64 *bytes);

/* Formats in the largest unit that leaves no remainder. */
char *rdmad_config_format_duration(guint64 ms);
char *rdmad_config_format_size(guint64 bytes);
