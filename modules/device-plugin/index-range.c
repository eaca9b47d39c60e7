/* SPDX-License-Identifier: Apache-2.0 */
#include "index-range.h"

#include <rdmad/error.h>
#include <string.h>

#define INDEX_MAX 65535u

/* "7" or "0-3" at `text`, which moves behind it. */
static gboolean part_read(const char **text, guint64 *first, guint64 *last)
{
	char *end;

	if (!g_ascii_isdigit(**text))
		return FALSE;
	*first = *last = g_ascii_strtoull(*text, &end, 10);
	if (*end == '-') {
		if (!g_ascii_isdigit(end[1]))
			return FALSE;
		*last = g_ascii_strtoull(end + 1, &end, 10);
	}
	*text = end;
	return *first <= *last && *last <= INDEX_MAX;
}

gboolean rdmad_index_range_check(const char *pattern, GError **error)
{
	const char *hash = strchr(pattern, '#');
	const char *text = hash ? hash + 1 : NULL;
	gboolean good = hash != pattern;
	guint64 first, last;

	while (good && text) {
		good = part_read(&text, &first, &last) && (*text == ',' || *text == '\0');
		text = good && *text == ',' ? text + 1 : NULL;
	}
	if (!good)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG,
			    "\"%s\": behind the # there are numbers of virtual functions from 0 to "
			    "%u, as in \"ens1f0#0-3,7\"",
			    pattern, INDEX_MAX);
	return good;
}

char *rdmad_index_range_pattern(const char *pattern)
{
	return g_strndup(pattern, strcspn(pattern, "#"));
}

gboolean rdmad_index_range_holds(const char *pattern, int index)
{
	const char *text = strchr(pattern, '#');
	guint64 first, last;

	if (!text)
		return TRUE;
	while (text && index >= 0) {
		text++;
		if (!part_read(&text, &first, &last))
			return FALSE;
		if ((guint64)index >= first && (guint64)index <= last)
			return TRUE;
		text = strchr(text, ',');
	}
	return FALSE;
}
