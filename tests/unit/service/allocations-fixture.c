/* SPDX-License-Identifier: Apache-2.0 */
#include "allocations-fixture.h"

#include <glib/gstdio.h>

static void turn_over(gpointer data)
{
	AllocationsFixture *f = data;

	if (--f->turns)
		rdmad_event_arm(f->end, 0);
	else
		rdmad_loop_stop(f->loop);
}

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
	f->end = rdmad_loop_add_timer(f->loop, NULL, turn_over, f);
	f->seen = g_string_new(NULL);
	allocations_fixture_open(f);
}

void allocations_fixture_close(AllocationsFixture *f)
{
	rdmad_allocations_free(f->allocations);
	rdmad_state_close(f->state);
}

static void remove_directory(const char *path)
{
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *child = g_build_filename(path, name, NULL);

		g_unlink(child);
	}
	g_rmdir(path);
}

void allocations_fixture_teardown(AllocationsFixture *f, gconstpointer data)
{
	allocations_fixture_close(f);
	g_string_free(f->seen, TRUE);
	rdmad_event_free(f->end);
	rdmad_event_log_free(f->event_log);
	rdmad_loop_free(f->loop);
	remove_directory(f->dir);
	g_free(f->dir);
}

void allocations_fixture_reopen(AllocationsFixture *f)
{
	allocations_fixture_close(f);
	allocations_fixture_open(f);
}

void allocations_fixture_run(AllocationsFixture *f)
{
	f->turns = 5;
	rdmad_event_arm(f->end, 0);
	rdmad_loop_run(f->loop);
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
