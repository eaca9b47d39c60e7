/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/log.h>

typedef enum {
	RDMAD_LOG_AUTO, /* the journal when stderr is it, else text */
	RDMAD_LOG_TEXT,
	RDMAD_LOG_JSON, /* one object a line */
	RDMAD_LOG_JOURNAL,
} RdmadLogFormat;

/* NULL-terminated, in the order of the enum, for options and the configuration. */
extern const char *const rdmad_log_format_names[];

/* May be called again (reload).  `topics` maps topic -> GINT_TO_POINTER(level), or NULL; copied. */
void rdmad_log_setup(RdmadLogLevel level, RdmadLogFormat format, GHashTable *topics);
/* "error", "warning", "notice", "info", "debug". */
gboolean rdmad_log_parse_level(const char *text, RdmadLogLevel *level);
const char *rdmad_log_level_name(RdmadLogLevel level);

/* GLib's own messages become lines of the topic "glib".  Once a process. */
void rdmad_log_redirect_glib(void);
