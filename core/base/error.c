/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <errno.h>
#include <rdmad/error.h>
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

gboolean rdmad_errno_may_pass(int errnum)
{
	static const int passing[] = { EIO, ENOMEM, EMFILE, ENFILE, EINTR, EAGAIN, ENOSPC, EPERM };

	for (guint i = 0; i < G_N_ELEMENTS(passing); i++)
		if (errnum == passing[i])
			return TRUE;
	return FALSE;
}
