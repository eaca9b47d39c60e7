/* SPDX-License-Identifier: Apache-2.0 */
/* A family of stats as one line, "a,b 1;c,d 2;"; a histogram shows the number of observations */
#pragma once

#include <rdmad/stats.h>
#include <string.h>

typedef struct {
	const char *family;
	GString *text;
} StatsText;

static void stats_text_read(const RdmadStatClass *klass, const RdmadStatSeries *series, guint n,
			    gpointer data)
{
	const StatsText *reading = data;

	if (strcmp(klass->name, reading->family) != 0)
		return;
	for (guint i = 0; i < n; i++) {
		g_autofree char *labels = g_strjoinv(",", (char **)series[i].labels);
		const double value = klass->type == RDMAD_STAT_HISTOGRAM ? (double)series[i].count
									 : series[i].value;

		g_string_append_printf(reading->text, "%s%s%g;", labels, *labels ? " " : "", value);
	}
}

static void stats_expect(RdmadStats *stats, const char *family, const char *expected)
{
	g_autoptr(GString) text = g_string_new(NULL);
	StatsText reading = { family, text };

	rdmad_stats_foreach(stats, stats_text_read, &reading);
	g_assert_cmpstr(text->str, ==, expected);
}
