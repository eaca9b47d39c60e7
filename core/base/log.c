/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/log.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

gboolean rdmad_log_enabled(const char *topic, RdmadLogLevel level)
{
	return level <= RDMAD_LOG_INFO;
}

void rdmad_log_write(const char *topic, RdmadLogLevel level, RdmadLogSite *site,
		     const RdmadLogFields *fields, const char *format, ...)
{
	const int saved = errno;
	g_autofree char *text = NULL;
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	fprintf(stderr, "<%d>%s: %s\n", level, topic, text);
	errno = saved;
}
