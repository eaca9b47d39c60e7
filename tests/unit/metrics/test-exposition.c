/* SPDX-License-Identifier: Apache-2.0 */
#include "render/exposition.h"

#include <zlib.h>

#include "../support/unit.h"

#define COUNTER(name) (&(const FamilyClass){ name, FAMILY_COUNTER, NULL, "What it counts.", FALSE })

static void assert_prints(FamilySet *set, ExpositionFormat format, const char *expected)
{
	gsize size;
	g_autofree char *text = family_set_print(set, format, &size);

	g_assert_cmpstr(text, ==, expected);
	g_assert_cmpuint(size, ==, strlen(expected));
}

/* A counter with a unit, an info and a gauge, unsorted. */
static FamilySet *small_set(void)
{
	FamilySet *set = family_set_new();
	Family *bytes = family_set_add(
		set, &(FamilyClass){ "b_bytes", FAMILY_COUNTER, "bytes", "Of \"b\".\n", FALSE },
		NULL);
	Family *info = family_set_add(
		set, &(FamilyClass){ "c_kind", FAMILY_INFO, "kind", "What it is.", FALSE }, NULL);
	Family *gauge = family_set_add(
		set, &(FamilyClass){ "a", FAMILY_GAUGE, "seconds", "How it is.", FALSE }, NULL);
	g_auto(Labels) labels = LABELS_INIT;

	labels_add(&labels, "device", "mlx5_0");
	family_put(bytes, &labels, 7);
	family_put(info, &labels, 1);
	family_put_double(gauge, NULL, 0.5);
	family_put(bytes, NULL, 8);
	return set;
}

static void test_text(void)
{
	g_autoptr(FamilySet) set = small_set();

	assert_prints(set, EXPOSITION_TEXT,
		      "# HELP a How it is.\n# TYPE a gauge\na 0.5\n"
		      "# HELP b_bytes_total Of \"b\".\\n\n# TYPE b_bytes_total counter\n"
		      "b_bytes_total{device=\"mlx5_0\"} 7\nb_bytes_total 8\n"
		      "# HELP c_kind_info What it is.\n# TYPE c_kind_info gauge\n"
		      "c_kind_info{device=\"mlx5_0\"} 1\n");
	g_assert_cmpuint(family_set_series(set), ==, 4);
}

static void test_openmetrics(void)
{
	g_autoptr(FamilySet) set = small_set();

	assert_prints(set, EXPOSITION_OPENMETRICS,
		      "# HELP a How it is.\n# TYPE a gauge\na 0.5\n"
		      "# HELP b_bytes Of \\\"b\\\".\\n\n# TYPE b_bytes counter\n"
		      "# UNIT b_bytes bytes\n"
		      "b_bytes_total{device=\"mlx5_0\"} 7\nb_bytes_total 8\n"
		      "# HELP c_kind What it is.\n# TYPE c_kind info\n"
		      "c_kind_info{device=\"mlx5_0\"} 1\n# EOF\n");
}

static void test_packed_is_the_same_text(void)
{
	g_autoptr(FamilySet) set = small_set();

	for (int format = EXPOSITION_TEXT; format <= EXPOSITION_OPENMETRICS; format++) {
		gsize size, packed_size;
		g_autofree char *text = family_set_print(set, (ExpositionFormat)format, &size);
		g_autofree char *packed =
			family_set_pack(set, (ExpositionFormat)format, &packed_size);
		char again[1024];
		z_stream stream = { .next_in = (Bytef *)packed,
				    .avail_in = (uInt)packed_size,
				    .next_out = (Bytef *)again,
				    .avail_out = sizeof(again) };

		g_assert_cmpint(inflateInit2(&stream, 15 + 16), ==, Z_OK);
		g_assert_cmpint(inflate(&stream, Z_FINISH), ==, Z_STREAM_END);
		g_assert_cmpmem(again, stream.total_out, text, size);
		inflateEnd(&stream);
	}
}

static void test_histograms_are_cumulative(void)
{
	static const double bounds[] = { 0.1, 1, 0 };
	static const guint64 buckets[] = { 1, 2, 4 };
	g_autoptr(FamilySet) set = family_set_new();
	Family *family = family_set_add(
		set, &(FamilyClass){ "h_seconds", FAMILY_HISTOGRAM, "seconds", "H.", TRUE }, NULL);
	g_auto(Labels) labels = LABELS_INIT;

	labels_add(&labels, "a", "b");
	family_put_histogram(family, &labels, bounds, buckets, 9.5);
	family_put_histogram(family, &labels, bounds, buckets, 9.5);
	assert_prints(set, EXPOSITION_TEXT,
		      "# HELP h_seconds H.\n# TYPE h_seconds histogram\n"
		      "h_seconds_bucket{a=\"b\",le=\"0.1\"} 1\n"
		      "h_seconds_bucket{a=\"b\",le=\"1.0\"} 3\n"
		      "h_seconds_bucket{a=\"b\",le=\"+Inf\"} 7\n"
		      "h_seconds_sum{a=\"b\"} 9.5\nh_seconds_count{a=\"b\"} 7\n");
}

static void test_nothing_is_an_empty_text(void)
{
	g_autoptr(FamilySet) set = family_set_new();

	family_set_add(set, COUNTER("unused"), NULL);
	assert_prints(set, EXPOSITION_TEXT, "");
	assert_prints(set, EXPOSITION_OPENMETRICS, "# EOF\n");
}

static void test_a_guarded_family_has_no_series_twice(void)
{
	const FamilyClass klass = { "g", FAMILY_GAUGE, NULL, "G.", TRUE };
	g_autoptr(FamilySet) set = family_set_new();
	Family *family = family_set_add(set, &klass, NULL);
	g_auto(Labels) labels = LABELS_INIT;

	family_put(family, NULL, 1);
	family_put(family, NULL, 2);
	labels_add(&labels, "a", "b");
	family_put(family, &labels, 3);
	family_put(family, &labels, 4);
	assert_prints(set, EXPOSITION_TEXT, "# HELP g G.\n# TYPE g gauge\ng 1\ng{a=\"b\"} 3\n");
}

static void test_the_same_name_is_the_same_family(void)
{
	g_autoptr(FamilySet) set = family_set_new();
	Family *family = family_set_add(set, COUNTER("x"), NULL);
	Family *other = family_set_add(set, COUNTER("x"), "x!");

	g_assert_true(family_set_add(set, COUNTER("x"), NULL) == family);
	g_assert_true(other != family);
	g_assert_cmpstr(family_name(other), ==, "x_2");
	g_assert_true(family_set_add(set, COUNTER("x"), "x!") == other);
	g_assert_cmpstr(family_name(family_set_add(set, COUNTER("x"), "x?")), ==, "x_3");
}

/* Names that clash by the rules of OpenMetrics. */
static void test_no_family_has_the_name_of_anothers_samples(void)
{
	static const struct {
		FamilyClass first, second;
		const char *name;
	} cases[] = {
		{ { "a", FAMILY_GAUGE, NULL, "" }, { "a", FAMILY_COUNTER, NULL, "" }, "a_2" },
		{ { "a", FAMILY_INFO, NULL, "" },
		  { "a_info", FAMILY_GAUGE, NULL, "" },
		  "a_info_2" },
		{ { "a_info", FAMILY_COUNTER, NULL, "" }, { "a", FAMILY_INFO, NULL, "" }, "a_2" },
		{ { "a", FAMILY_COUNTER, NULL, "" },
		  { "a_total", FAMILY_GAUGE, NULL, "" },
		  "a_total_2" },
		{ { "a", FAMILY_HISTOGRAM, NULL, "" },
		  { "a_count", FAMILY_COUNTER, NULL, "" },
		  "a_count_2" },
		{ { "a", FAMILY_GAUGE, NULL, "" }, { "a_b", FAMILY_GAUGE, NULL, "" }, "a_b" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(FamilySet) set = family_set_new();

		family_set_add(set, &cases[i].first, NULL);
		g_assert_cmpstr(family_name(family_set_add(set, &cases[i].second, NULL)), ==,
				cases[i].name);
	}
}

static void test_a_thousand_namesakes_do_not_cost_a_million_looks(void)
{
	g_autoptr(FamilySet) set = family_set_new();
	guint made = 0;

	for (guint i = 0; i < 1000; i++) {
		g_autofree char *owner = g_strdup_printf("%u", i);

		made += family_set_add(set, COUNTER("x"), owner) != NULL;
	}
	g_assert_cmpuint(made, ==, 64);
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/text", test_text),
	UNIT_TEST("/openmetrics", test_openmetrics),
	UNIT_TEST("/packed is the same text", test_packed_is_the_same_text),
	UNIT_TEST("/histograms are cumulative", test_histograms_are_cumulative),
	UNIT_TEST("/nothing is an empty text", test_nothing_is_an_empty_text),
	UNIT_TEST("/a guarded family has no series twice",
		  test_a_guarded_family_has_no_series_twice),
	UNIT_TEST("/the same name is the same family", test_the_same_name_is_the_same_family),
	UNIT_TEST("/no family has the name of another's samples",
		  test_no_family_has_the_name_of_anothers_samples),
	UNIT_TEST("/a thousand namesakes do not cost a million looks",
		  test_a_thousand_namesakes_do_not_cost_a_million_looks),
	{ 0 },
};
