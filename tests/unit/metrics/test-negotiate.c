/* SPDX-License-Identifier: Apache-2.0 */
#include "render/negotiate.h"
#include "../support/unit.h"

static void test_format(void)
{
	static const struct {
		const char *accept;
		gboolean open;
	} cases[] = {
		{ NULL, FALSE },
		{ "", FALSE },
		{ "*/*", FALSE },
		{ "text/html,application/xhtml+xml,*/*;q=0.8", FALSE },
		{ "text/plain", FALSE },
		{ "application/openmetrics-text", TRUE },
		{ "application/openmetrics-text;version=1.0.0", TRUE },
		{ "Application/OpenMetrics-Text ; Version=1.0.0 ; charset=utf-8", TRUE },
		/* Prometheus 2.42, 3.x */
		{ "application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
		  "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		  TRUE },
		{ "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
		  "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;"
		  "escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
		  TRUE },
		{ "text/plain;version=0.0.4;q=0.9,application/openmetrics-text;q=0.5", FALSE },
		{ "text/plain;version=0.0.4;q=0.5,application/openmetrics-text;q=0.5", TRUE },
		{ "application/openmetrics-text;q=0", FALSE },
		{ "application/openmetrics-text;q=0.001", TRUE },
		{ "application/openmetrics-text;version=0.0.1", FALSE },
		{ "application/openmetrics-text;version=2.0.0,*/*;q=0.1", FALSE },
		{ "application/openmetrics-text;q=2", FALSE },
		{ "application/openmetrics-text;q=-1", FALSE },
		{ "application/openmetrics-text;q=0.5x", FALSE },
		{ "application/openmetrics-text;q=", FALSE },
		{ "application/openmetrics-textual", FALSE },
		{ "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;"
		  "encoding=delimited;q=0.7",
		  FALSE },
		{ ";;;,,,==;q", FALSE },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
		g_assert_cmpint(negotiate_format(cases[i].accept) == EXPOSITION_OPENMETRICS, ==,
				cases[i].open);
}

static void test_encoding(void)
{
	static const struct {
		const char *accept;
		gboolean gzip;
	} cases[] = {
		{ NULL, FALSE },
		{ "", FALSE },
		{ "gzip", TRUE },
		{ "GZIP", TRUE },
		{ "deflate, gzip;q=1.0, *;q=0.5", TRUE },
		{ "x-gzip", TRUE },
		{ "*", TRUE },
		{ "*;q=0", FALSE },
		{ "*, gzip;q=0", FALSE },
		{ "identity", FALSE },
		{ "gzip;q=0", FALSE },
		{ "gzip;q=0.000", FALSE },
		{ "gzip;q=0.001", TRUE },
		{ "br, deflate", FALSE },
		{ "gzipped", FALSE },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
		g_assert_cmpint(negotiate_gzip(cases[i].accept), ==, cases[i].gzip);
}

static void test_a_list_without_end_is_not_read_to_its_end(void)
{
	g_autoptr(GString) accept = g_string_new(NULL);

	for (guint i = 0; i < 1000; i++)
		g_string_append(accept, "a/b,");
	g_string_append(accept, "application/openmetrics-text");
	g_assert_cmpint(negotiate_format(accept->str), ==, EXPOSITION_TEXT);
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/format", test_format),
	UNIT_TEST("/encoding", test_encoding),
	UNIT_TEST("/a list without end is not read to its end",
		  test_a_list_without_end_is_not_read_to_its_end),
	{ 0 },
};
