/* SPDX-License-Identifier: Apache-2.0 */
#include "allocations-fixture.h"

#include "../scratch.h"

void allocations_fixture_open(AllocationsFixture *f)
{
	g_autoptr(GError) error = NULL;

	f->state = rdmad_state_open(f->dir, NULL, &error);
	g_assert_no_error(error);
	f->allocations = rdmad_allocations_new(f->loop, f->state, f->event_log, &error);
	g_assert_no_error(error);
}

void allocations_fixture_setup(AllocationsFixture *f, gconstpointer data)
{
	f->dir = g_dir_make_tmp("rdmad-allocations-XXXXXX", NULL);
	f->loop = rdmad_loop_new();
	f->event_log = rdmad_event_log_new(f->loop);
	turns_init(&f->turns, f->loop);
	f->seen = g_string_new(NULL);
	allocations_fixture_open(f);
}

void allocations_fixture_close(AllocationsFixture *f)
{
	rdmad_allocations_free(f->allocations);
	rdmad_state_close(f->state);
}

void allocations_fixture_teardown(AllocationsFixture *f, gconstpointer data)
{
	allocations_fixture_close(f);
	g_string_free(f->seen, TRUE);
	turns_clear(&f->turns);
	rdmad_event_log_free(f->event_log);
	rdmad_loop_free(f->loop);
	scratch_free(f->dir);
}

void allocations_fixture_reopen(AllocationsFixture *f)
{
	allocations_fixture_close(f);
	allocations_fixture_open(f);
}

void allocations_fixture_run(AllocationsFixture *f)
{
	turns_run(&f->turns);
}

const RdmadAllocation *allocations_fixture_grant(AllocationsFixture *f, const char *slots,
						 GError **error)
{
	g_auto(GStrv) names = g_strsplit(slots, ",", -1);
	g_auto(GStrv) devices = g_new0(char *, g_strv_length(names) + 1);
	const RdmadGrant grant = { "test", "rdma/hca", (const char *const *)names,
				   (const char *const *)devices };

	for (guint i = 0; names[i]; i++)
		devices[i] = g_strconcat("dev-", names[i], NULL);
	return rdmad_allocations_grant(f->allocations, &grant, error);
}

char *allocations_fixture_must_grant(AllocationsFixture *f, const char *slots)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RdmadAllocationRef) allocation = allocations_fixture_grant(f, slots, &error);

	g_assert_no_error(error);
	g_assert_nonnull(allocation);
	return g_strdup(allocation->id);
}

static void allocation_append(const RdmadAllocation *allocation, gpointer data)
{
	g_autofree char *slots = g_strjoinv(",", allocation->slots);
	GString *text = data;

	g_string_append_printf(text, "%s%s", text->len ? " " : "", slots);
	if (allocation->pod_name)
		g_string_append_printf(text, "=%s", allocation->pod_name);
}

char *allocations_fixture_text(AllocationsFixture *f)
{
	GString *text = g_string_new(NULL);

	rdmad_allocations_foreach(f->allocations, allocation_append, text);
	return g_string_free(text, FALSE);
}

void allocations_fixture_expect(AllocationsFixture *f, const char *text)
{
	g_autofree char *is = allocations_fixture_text(f);

	g_assert_cmpstr(is, ==, text);
}

static void kind_append(const RdmadEventLogEntry *entry, gpointer data)
{
	g_string_append_printf(data, "%s ", entry->kind);
}

void allocations_fixture_expect_events(AllocationsFixture *f, const char *kinds)
{
	g_autoptr(GString) seen = g_string_new(NULL);

	allocations_fixture_run(f);
	rdmad_event_log_foreach(f->event_log, 0, kind_append, seen);
	g_assert_cmpstr(seen->str, ==, kinds);
}
