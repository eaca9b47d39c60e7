/* SPDX-License-Identifier: Apache-2.0 */
#include "samples.h"

#include <time.h>

GArray *samples_new(void)
{
	return g_array_new(FALSE, FALSE, sizeof(gint64));
}

gint64 samples_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * G_GINT64_CONSTANT(1000000000) + now.tv_nsec;
}

void samples_add(GArray *samples, gint64 began)
{
	const gint64 took = samples_now() - began;

	g_array_append_val(samples, took);
}

static int compare(gconstpointer a, gconstpointer b)
{
	const gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;

	return x < y ? -1 : x > y;
}

double samples_percentile(GArray *samples, guint percent)
{
	g_assert(samples->len > 0);
	g_array_sort(samples, compare);
	return (double)g_array_index(samples, gint64, (samples->len - 1) * percent / 100) / 1000;
}
