/* SPDX-License-Identifier: Apache-2.0 */
#include "names.h"

#define UNNAMED	      "unnamed"
#define NAME_MAX_SIZE 128u /* of what comes from the kernel; sysfs has 255 at most */

/* Small letters throughout: Prometheus' own checks want no camelCase. */
char *names_sanitise(const char *name)
{
	char *clean = g_malloc(NAME_MAX_SIZE + sizeof(UNNAMED));
	gsize size = 0;

	for (const char *at = name; *at && size < NAME_MAX_SIZE; at++) {
		const char c = g_ascii_isalnum(*at) ? g_ascii_tolower(*at) : '_';

		/* One for a whole row of them. */
		if (c != '_' || (size && clean[size - 1] != '_'))
			clean[size++] = c;
	}
	if (size && clean[size - 1] == '_')
		size--;
	clean[size] = '\0';
	if (!size)
		memcpy(clean, UNNAMED, sizeof(UNNAMED));
	return clean;
}
