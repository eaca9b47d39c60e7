/* SPDX-License-Identifier: Apache-2.0 */
#include "config/nearest.h"

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

const char *rdmad_config_nearest(const char *word, const char *const *candidates)
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
