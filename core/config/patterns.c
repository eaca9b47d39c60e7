/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of name patterns */
#include <rdmad/config.h>
#include <rdmad/error.h>

gboolean rdmad_config_pattern_check(const char *pattern, GError **error)
{
	if (pattern[pattern[0] == '!'] != '\0')
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_CONFIG,
		    "\"%s\" matches no name: write \"mlx5_*\", or \"!mlx5_9\" for all but one",
		    pattern);
	return FALSE;
}

gboolean rdmad_config_patterns_match(char *const *patterns, const char *name)
{
	gboolean only_exclusions = TRUE, matches = FALSE;

	for (; patterns && *patterns; patterns++) {
		const gboolean excludes = (*patterns)[0] == '!';
		const gboolean fits = name && g_pattern_match_simple(*patterns + excludes, name);

		if (excludes && fits)
			return FALSE;
		only_exclusions = only_exclusions && excludes;
		matches = matches || fits;
	}
	return matches || only_exclusions;
}
