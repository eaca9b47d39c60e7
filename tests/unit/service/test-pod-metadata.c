/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/error.h>
#include <rdmad/loop.h>

#include "base/loop.h"
#include "service/pod-metadata-private.h"
#include "../support/turns.h"
#include "../support/unit.h"

/* Never dereferenced: an owner is only handed on. */
#define PROVIDER ((RdmadModule *)0x10)
#define ASKER	 ((RdmadModule *)0x20)

typedef struct {
	RdmadLoop *loop;
	RdmadPodMetadata *metadata;
	Turns turns;
	RdmadPodQuery *asked;
	guint answers, errors;
	char *value;
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
	f->loop = rdmad_loop_new();
	f->metadata = rdmad_pod_metadata_new(f->loop);
	turns_init(&f->turns, f->loop);
}

static void teardown(Fixture *f, gconstpointer data)
{
	g_free(f->value);
	turns_clear(&f->turns);
	rdmad_pod_metadata_free(f->metadata);
	rdmad_loop_free(f->loop);
}

static void provide(RdmadPodQuery *query, gpointer data)
{
	Fixture *f = data;

	g_assert_cmpstr(rdmad_pod_query_namespace(query), ==, "ns");
	g_assert_cmpstr(rdmad_pod_query_name(query), ==, "pod");
	g_assert_cmpstr(rdmad_pod_query_uid(query), ==, NULL);
	f->asked = query;
}

static void answered(GHashTable *annotations, const GError *error, gpointer data)
{
	Fixture *f = data;

	f->answers++;
	f->errors += error != NULL;
	if (annotations)
		f->value = g_strdup(g_hash_table_lookup(annotations, "a"));
}

static RdmadPodQuery *query(Fixture *f, GError **error)
{
	return rdmad_pod_metadata_query(f->metadata, ASKER, "ns", "pod", NULL, answered, f, error);
}

static void answer(Fixture *f, gboolean well)
{
	g_autoptr(GHashTable) annotations = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GError) error = g_error_new(RDMAD_ERROR, RDMAD_ERROR_TIMEOUT, "late");

	g_hash_table_insert(annotations, (gpointer) "a", (gpointer) "1");
	rdmad_pod_query_answer(f->asked, well ? annotations : NULL, well ? NULL : error);
}

static void test_answers(Fixture *f, gconstpointer data)
{
	g_assert_nonnull(rdmad_pod_metadata_provide(f->metadata, PROVIDER, provide, f, NULL));
	g_assert_nonnull(query(f, NULL));
	answer(f, TRUE);
	g_assert_cmpuint(f->answers, ==, 0);
	turns_run(&f->turns);
	g_assert_cmpuint(f->answers, ==, 1);
	g_assert_cmpstr(f->value, ==, "1");
	g_assert_nonnull(query(f, NULL));
	answer(f, FALSE);
	turns_run(&f->turns);
	g_assert_cmpuint(f->errors, ==, 1);
}

static void test_cancelled(Fixture *f, gconstpointer data)
{
	RdmadPodQuery *asked;

	g_assert_nonnull(rdmad_pod_metadata_provide(f->metadata, PROVIDER, provide, f, NULL));
	rdmad_pod_query_cancel(query(f, NULL));
	answer(f, TRUE);
	asked = query(f, NULL);
	answer(f, TRUE);
	rdmad_pod_query_cancel(asked);
	g_assert_nonnull(query(f, NULL));
	g_assert_cmpuint(rdmad_pod_metadata_reap(f->metadata, ASKER), ==, 1);
	answer(f, TRUE);
	turns_run(&f->turns);
	g_assert_cmpuint(f->answers, ==, 0);
}

static void test_provider(Fixture *f, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	g_assert_null(query(f, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_UNAVAILABLE);
	g_clear_error(&error);
	g_assert_nonnull(rdmad_pod_metadata_provide(f->metadata, PROVIDER, provide, f, NULL));
	g_assert_null(rdmad_pod_metadata_provide(f->metadata, ASKER, provide, f, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY);
	g_assert_cmpuint(rdmad_pod_metadata_reap(f->metadata, PROVIDER), ==, 1);
	g_assert_null(query(f, NULL));
}

const UnitTest unit_tests[] = {
	UNIT_FIXTURE_TEST("/pod-metadata/answers-come-from-the-loop", Fixture, NULL, setup,
			  test_answers, teardown),
	UNIT_FIXTURE_TEST("/pod-metadata/cancelled-queries-are-not-answered", Fixture, NULL, setup,
			  test_cancelled, teardown),
	UNIT_FIXTURE_TEST("/pod-metadata/there-is-one-provider-or-none", Fixture, NULL, setup,
			  test_provider, teardown),
	{ NULL },
};
