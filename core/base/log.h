/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/log.h>

typedef enum {
	RDMAD_LOG_AUTO, /* the journal if stderr is connected to it, else text */
	RDMAD_LOG_TEXT,
	RDMAD_LOG_JSON, /* one object per line */
	RDMAD_LOG_JOURNAL,
} RdmadLogFormat;

/* The names for options and the configuration, in the order of the enum; NULL-terminated. */
extern const char *const rdmad_log_format_names[];

/* May be called again at a reload.  `topics` maps topic -> GINT_TO_POINTER(level), or is NULL;
 * copied. */
void rdmad_log_setup(RdmadLogLevel level, RdmadLogFormat format, GHashTable *topics);
/* Parses "error", "warning", "notice", "info" or "debug". */
gboolean rdmad_log_parse_level(const char *text, RdmadLogLevel *level);
const char *rdmad_log_level_name(RdmadLogLevel level);

/* Logs GLib's messages with the topic "glib".  Takes effect once per process. */
void rdmad_log_redirect_glib(void);
