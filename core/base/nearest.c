/* SPDX-License-Identifier: Apache-2.0 */
#include "base/nearest.h"

#include <string.h>

#define WORD_MAX 64

/* Counts insertions, removals, replacements and swaps of neighbours ("optimal string
 * alignment"). */
static guint distance(const char *a, gsize a_len, const char *b, gsize b_len)
{
	guint rows[3][WORD_MAX + 1];
	guint *before = rows[0], *last = rows[1], *now = rows[2];

	for (gsize j = 0; j <= b_len; j++)
		last[j] = (guint)j;
	for (gsize i = 1; i <= a_len; i++) {
		guint *oldest = before;

		now[0] = (guint)i;
		for (gsize j = 1; j <= b_len; j++) {
			const guint cost = a[i - 1] != b[j - 1];

			now[j] = MIN(MIN(last[j], now[j - 1]) + 1, last[j - 1] + cost);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = MIN(now[j], before[j - 2] + 1);
		}
		before = last;
		last = now;
		now = oldest;
	}
	return last[b_len];
}

const char *rdmad_nearest(const char *word, const char *const *candidates)
{
	const gsize length = strlen(word);
	/* A short word with two errors is a different word. */
	guint best = length <= 3 ? 2 : 3;
	const char *nearest = NULL;

	if (length > WORD_MAX)
		return NULL;
	for (; *candidates; candidates++) {
		const gsize other = strlen(*candidates);
		guint errors;

		if (other > WORD_MAX)
			continue;
		errors = distance(word, length, *candidates, other);
		if (errors < best) {
			best = errors;
			nearest = *candidates;
		}
	}
	return nearest;
}

const char *rdmad_nearest_option(const char *word, const struct option *options, const char *values)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	g_autofree char *name = NULL;

	if (!g_str_has_prefix(word, "--"))
		return NULL;
	name = g_strndup(word + 2, strcspn(word + 2, "="));
	for (; options->name; options++)
		if (!values || strchr(values, options->val))
			g_ptr_array_add(names, (gpointer)options->name);
	g_ptr_array_add(names, NULL);
	return rdmad_nearest(name, (const char *const *)names->pdata);
}
