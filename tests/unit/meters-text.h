/* SPDX-License-Identifier: Apache-2.0 */
/* A family of meters as a line: "a,b 1;c,d 2;", for a histogram the number of what it observed. */
#pragma once

#include <rdmad/meters.h>
#include <string.h>

typedef struct {
	const char *family;
	GString *text;
} MetersText;

static void meters_text_read(const RdmadMeterClass *klass, const RdmadMeterSeries *series, guint n,
			     gpointer data)
{
	const MetersText *reading = data;

	if (strcmp(klass->name, reading->family) != 0)
		return;
	for (guint i = 0; i < n; i++) {
		g_autofree char *labels = g_strjoinv(",", (char **)series[i].labels);
		const double value = klass->type == RDMAD_METER_HISTOGRAM ? (double)series[i].count
									  : series[i].value;

		g_string_append_printf(reading->text, "%s%s%g;", labels, *labels ? " " : "", value);
	}
}

static void meters_expect(RdmadMeters *meters, const char *family, const char *expected)
{
	g_autoptr(GString) text = g_string_new(NULL);
	MetersText reading = { family, text };

	rdmad_meters_foreach(meters, meters_text_read, &reading);
	g_assert_cmpstr(text->str, ==, expected);
}
