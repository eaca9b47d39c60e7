/* SPDX-License-Identifier: Apache-2.0 */
/* What GLib has to say (a failed assertion, a misuse) goes where all lines go. */
#include <string.h>

#include "base/log-private.h"

static RdmadLogLevel level_of(GLogLevelFlags flags)
{
	if (flags & (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL))
		return RDMAD_LOG_ERR;
	if (flags & G_LOG_LEVEL_WARNING)
		return RDMAD_LOG_WARNING;
	if (flags & G_LOG_LEVEL_MESSAGE)
		return RDMAD_LOG_NOTICE;
	return flags & G_LOG_LEVEL_INFO ? RDMAD_LOG_INFO : RDMAD_LOG_DEBUG;
}

/* Newly allocated: a field of a structured message need not end with a NUL. */
static char *field_text(const GLogField *fields, gsize n_fields, const char *key)
{
	for (gsize i = 0; i < n_fields; i++) {
		if (!g_str_equal(fields[i].key, key) || !fields[i].value)
			continue;
		return fields[i].length < 0 ? g_strdup(fields[i].value)
					    : g_strndup(fields[i].value, (gsize)fields[i].length);
	}
	return NULL;
}

static GLogWriterOutput glib_writer(GLogLevelFlags flags, const GLogField *fields, gsize n_fields,
				    gpointer data)
{
	g_autofree char *domain = field_text(fields, n_fields, "GLIB_DOMAIN");
	g_autofree char *message = field_text(fields, n_fields, "MESSAGE");
	const RdmadLogLevel level = level_of(flags);

	if (rdmad_log_enabled("glib", level))
		rdmad_log_write("glib", level, NULL, NULL, "%s: %s", domain ? domain : "-",
				message ? message : "-");
	return G_LOG_WRITER_HANDLED;
}

void rdmad_log_redirect_glib(void)
{
	static gsize once;

	if (g_once_init_enter(&once)) {
		g_log_set_writer_func(glib_writer, NULL, NULL);
		g_once_init_leave(&once, 1);
	}
}
