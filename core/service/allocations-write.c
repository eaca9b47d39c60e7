/* SPDX-License-Identifier: Apache-2.0 */
/* The table's way to the disk: all of a change or nothing, timed, and what became of it. */
#include <rdmad/error.h>
#include <rdmad/event-log.h>

#include "base/loop.h"
#include "service/allocations-table.h"

/* How often a write that failed is tried again, at most, for who asks about it. */
#define RETRY_US (10 * G_USEC_PER_SEC)

static const RdmadStatClass writes_class = {
	.type = RDMAD_STAT_COUNTER,
	.name = "rdmad_state_writes",
	.help = "Transactions of the database of allocations",
	.labels = { "result" },
};

static const RdmadStatClass durations_class = {
	.type = RDMAD_STAT_HISTOGRAM,
	.name = "rdmad_state_write_duration_seconds",
	.unit = "seconds",
	.help = "How long a transaction took until it was on the disk, during which the event loop "
		"waits",
	.bounds = (const double[]){ 0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
				    0.25, 1, 0 },
};

static void allocations_written(RdmadAllocations *allocations, gint64 began_us,
				const GError *problem)
{
	const gint64 took_us = g_get_monotonic_time() - began_us;

	rdmad_stat_add(allocations->writes, 1,
		       (const char *const[]){ problem ? "error" : "ok", NULL });
	rdmad_stat_observe(allocations->durations, (double)took_us / G_USEC_PER_SEC, NULL);
	allocations->tried_us = began_us;
	g_clear_pointer(&allocations->problem, g_free);
	if (problem)
		allocations->problem = g_strdup(problem->message);
}

static gboolean write_all(RdmadAllocations *allocations, const GPtrArray *gone,
			  const GPtrArray *put, GError **error)
{
	for (guint i = 0; gone && i < gone->len; i++) {
		const RdmadAllocationRecord *record = g_ptr_array_index(gone, i);

		if (!rdmad_state_delete_allocation(allocations->state, record->allocation->id,
						   error))
			return FALSE;
	}
	for (guint i = 0; put && i < put->len; i++)
		if (!rdmad_state_put_allocation(allocations->state, g_ptr_array_index(put, i),
						error))
			return FALSE;
	return TRUE;
}

static gboolean write_transaction(RdmadAllocations *allocations, const GPtrArray *gone,
				  const GPtrArray *put, GError **error)
{
	if (!rdmad_state_begin(allocations->state, error))
		return FALSE;
	if (write_all(allocations, gone, put, error))
		return rdmad_state_commit(allocations->state, error);
	rdmad_state_rollback(allocations->state);
	return FALSE;
}

/* ---- the database in its place ---- */

static gboolean write_table(RdmadAllocations *allocations, GError **error)
{
	if (!rdmad_state_delete_all(allocations->state, error))
		return FALSE;
	for (const GList *l = allocations->order.head; l; l = l->next) {
		const RdmadAllocationRecord *record = l->data;

		if (!rdmad_state_put_allocation(allocations->state, record->allocation, error))
			return FALSE;
	}
	return rdmad_state_tables_rewrite(allocations->state, error);
}

/* The table in memory is what was acknowledged, whatever the file says. */
static gboolean rewrite(RdmadAllocations *allocations, GError **error)
{
	if (!rdmad_state_reopen(allocations->state, error) ||
	    !rdmad_state_begin(allocations->state, error))
		return FALSE;
	if (write_table(allocations, error))
		return rdmad_state_commit(allocations->state, error);
	rdmad_state_rollback(allocations->state);
	return FALSE;
}

/* Brings the table to a database in its place, if it is not there, which `*lost` says. */
static gboolean come_home(RdmadAllocations *allocations, gboolean *lost, GError **error)
{
	gboolean current = FALSE;

	*lost = FALSE;
	if (!allocations->adrift && !rdmad_state_is_current(allocations->state, &current, error))
		return FALSE;
	if (current)
		return TRUE;
	allocations->adrift = TRUE;
	if (!rewrite(allocations, error)) {
		g_prefix_error(error, "the database cannot be opened and written again: ");
		return FALSE;
	}
	allocations->adrift = FALSE;
	*lost = TRUE;
	rdmad_event_log_post(allocations->event_log, RDMAD_LOG_WARNING, "state-rewritten", NULL,
			     "the database was moved, removed, replaced or damaged; a new one has "
			     "all %u allocations",
			     allocations->order.length);
	return TRUE;
}

/* Looks where the file is before the answer leaves. */
static gboolean write_at_home(RdmadAllocations *allocations, const GPtrArray *gone,
			      const GPtrArray *put, GError **error)
{
	gboolean current = FALSE, lost, written, told;

	if (!come_home(allocations, &lost, error))
		return FALSE;
	written = write_transaction(allocations, gone, put, error);
	told = rdmad_state_is_current(allocations->state, &current, written ? error : NULL);
	/* What cannot be told is taken back: the table in memory is the one without it. */
	allocations->adrift = !told || !current;
	if (written && told && !current)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED,
			    "the database was moved or removed while it was written");
	return written && !allocations->adrift;
}

gboolean rdmad_allocations_write(RdmadAllocations *allocations, const GPtrArray *gone,
				 const GPtrArray *put, GError **error)
{
	const gint64 began_us = g_get_monotonic_time();
	GError *problem = NULL;

	/* Once more where the first try found that the file is not the one in its place. */
	if (!write_at_home(allocations, gone, put, &problem) && allocations->adrift) {
		g_clear_error(&problem);
		write_at_home(allocations, gone, put, &problem);
	}
	allocations_written(allocations, began_us, problem);
	if (!problem)
		return TRUE;
	g_propagate_error(error, problem);
	return FALSE;
}

/* A full disk or a file that was moved is well again without an allocation to be written. */
const char *rdmad_allocations_problem(RdmadAllocations *allocations)
{
	const gint64 now_us = g_get_monotonic_time();
	g_autoptr(GError) problem = NULL;
	gboolean lost;

	if (allocations->problem && now_us - allocations->tried_us < RETRY_US)
		return allocations->problem;
	if (come_home(allocations, &lost, &problem) && allocations->problem)
		rdmad_state_try(allocations->state, &problem);
	if (problem || allocations->problem)
		allocations_written(allocations, now_us, problem);
	return allocations->problem;
}

void rdmad_allocations_write_try(RdmadAllocations *allocations)
{
	const gint64 now_us = g_get_monotonic_time();
	g_autoptr(GError) problem = NULL;

	if (!rdmad_state_try(allocations->state, &problem))
		allocations_written(allocations, now_us, problem);
}

static gboolean home_for_modules(gpointer allocations, gboolean *lost, GError **error)
{
	return come_home(allocations, lost, error);
}

void rdmad_allocations_write_init(RdmadAllocations *allocations, RdmadLoop *loop)
{
	rdmad_state_set_home(allocations->state, home_for_modules, allocations);
	allocations->writes = rdmad_loop_stat(loop, &writes_class);
	allocations->durations = rdmad_loop_stat(loop, &durations_class);
	/* Shown before the first, so that the first is a change. */
	rdmad_stat_add(allocations->writes, 0, (const char *const[]){ "ok", NULL });
	rdmad_stat_add(allocations->writes, 0, (const char *const[]){ "error", NULL });
}
