/* SPDX-License-Identifier: Apache-2.0 */
#include "names.h"

#define NAME_MAX_SIZE 128u /* of what comes from the kernel; sysfs has 255 at most */

/* Small letters throughout: Prometheus' own checks want no camelCase. */
char *names_sanitise(const char *name)
{
	GString *clean = g_string_new(NULL);

	for (const char *at = name; *at && clean->len < NAME_MAX_SIZE; at++) {
		const char c = g_ascii_isalnum(*at) ? g_ascii_tolower(*at) : '_';

		/* One for a whole row of them. */
		if (c != '_' || (clean->len && clean->str[clean->len - 1] != '_'))
			g_string_append_c(clean, c);
	}
	if (clean->len && clean->str[clean->len - 1] == '_')
		g_string_truncate(clean, clean->len - 1);
	if (!clean->len)
		g_string_append(clean, "unnamed");
	return g_string_free(clean, FALSE);
}
