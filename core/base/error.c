/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/error.h>

#include <errno.h>
#include <stdarg.h>

G_DEFINE_QUARK(rdmad-error, rdmad_error)

gboolean rdmad_error_errno(GError **error, int errnum, const char *format, ...)
{
	const int saved = errno;
	g_autofree char *what = NULL;
	va_list args;

	va_start(args, format);
	what = g_strdup_vprintf(format, args);
	va_end(args);
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED, "%s: %s", what, g_strerror(errnum));
	errno = saved;
	return FALSE;
}
