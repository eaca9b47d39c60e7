/* SPDX-License-Identifier: Apache-2.0 */
#include "version.h"

#include <rdmad/error.h>

static gboolean minor_parse(const char *text, guint *minor)
{
	guint64 value;
	char *end;

	if (!g_str_has_prefix(text, "2.") || !g_ascii_isdigit(text[2]))
		return FALSE;
	value = g_ascii_strtoull(text + 2, &end, 10);
	if (value > 999 || (*end && *end != '.' && *end != '-' && *end != '+'))
		return FALSE;
	*minor = value;
	return TRUE;
}

gboolean nccl_versions_parse(const char *text, NcclVersions *versions, char **warning,
			     GError **error)
{
	guint minor, known;

	*warning = NULL;
	if (g_str_equal(text, "any")) {
		*versions = NCCL_ALL_VERSIONS;
		return TRUE;
	}
	if (!minor_parse(text, &minor)) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
			    "\"%s\" is not a NCCL version: write \"2.27\", or \"any\"", text);
		return FALSE;
	}
	known = CLAMP(minor, NCCL_OLDEST, NCCL_NEWEST);
	if (known != minor)
		*warning = g_strdup_printf("NCCL 2.%u is not known: treated as 2.%u", minor, known);
	*versions = (NcclVersions){ known, known };
	return TRUE;
}
