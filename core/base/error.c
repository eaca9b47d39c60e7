/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/error.h>

#include <errno.h>
#include <stdarg.h>

GQuark rdmad_error_quark(void)
{
	return g_quark_from_static_string("rdmad-error-quark");
}

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
