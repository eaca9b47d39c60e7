/* SPDX-License-Identifier: Apache-2.0 */
#include "error.h"

G_DEFINE_QUARK(rdmad - cni - error, cni_error)

gboolean cni_refuse(GError **error, CniError code, const char *format, ...)
{
	g_autofree char *message = NULL;
	va_list arguments;

	va_start(arguments, format);
	message = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	g_set_error_literal(error, CNI_ERROR, (int)code, message);
	return FALSE;
}

int cni_error_code(const GError *error)
{
	return error->domain == CNI_ERROR ? error->code : CNI_ERROR_INTERNAL;
}
