/* SPDX-License-Identifier: Apache-2.0 */
/* The table's way to the disk: all of a change or nothing, timed, and what became of it. */
#include <rdmad/error.h>
#include <rdmad/journal.h>

#include "base/loop-private.h"
#include "service/claims-table.h"

/* How often a write that failed is tried again, at most, for who asks about it. */
#define RETRY_US (10 * G_USEC_PER_SEC)

static const RdmadMeterClass writes_class = {
	.type = RDMAD_METER_COUNTER,
	.name = "rdmad_state_writes",
	.help = "Transactions of the database of claims",
	.labels = { "result" },
};

static const RdmadMeterClass durations_class = {
	.type = RDMAD_METER_HISTOGRAM,
	.name = "rdmad_state_write_duration_seconds",
	.unit = "seconds",
	.help = "How long a transaction took until it was on the disk, during which the event loop "
		"waits",
	.bounds = (const double[]){ 0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
				    0.25, 1, 0 },
};

static void claims_written(RdmadClaims *claims, gint64 began_us, const GError *problem)
{
	const gint64 took_us = g_get_monotonic_time() - began_us;

	rdmad_meter_add(claims->writes, 1, (const char *const[]){ problem ? "error" : "ok", NULL });
	rdmad_meter_observe(claims->durations, (double)took_us / G_USEC_PER_SEC, NULL);
	claims->tried_us = began_us;
	g_clear_pointer(&claims->problem, g_free);
	if (problem)
		claims->problem = g_strdup(problem->message);
}

static gboolean write_all(RdmadClaims *claims, const GPtrArray *gone, const GPtrArray *put,
			  GError **error)
{
	for (guint i = 0; gone && i < gone->len; i++) {
		const RdmadClaimSlot *slot = g_ptr_array_index(gone, i);

		if (!rdmad_state_delete_claim(claims->state, slot->claim->id, error))
			return FALSE;
	}
	for (guint i = 0; put && i < put->len; i++)
		if (!rdmad_state_put_claim(claims->state, g_ptr_array_index(put, i), error))
			return FALSE;
	return TRUE;
}

static gboolean write_transaction(RdmadClaims *claims, const GPtrArray *gone, const GPtrArray *put,
				  GError **error)
{
	if (!rdmad_state_begin(claims->state, error))
		return FALSE;
	if (write_all(claims, gone, put, error))
		return rdmad_state_commit(claims->state, error);
	rdmad_state_rollback(claims->state);
	return FALSE;
}

/* ---- the database in its place ---- */

static gboolean write_table(RdmadClaims *claims, GError **error)
{
	if (!rdmad_state_delete_all(claims->state, error))
		return FALSE;
	for (const GList *l = claims->order.head; l; l = l->next) {
		const RdmadClaimSlot *slot = l->data;

		if (!rdmad_state_put_claim(claims->state, slot->claim, error))
			return FALSE;
	}
	return rdmad_state_tables_rewrite(claims->state, error);
}

/* The table in memory is what was acknowledged, whatever the file says. */
static gboolean rewrite(RdmadClaims *claims, GError **error)
{
	if (!rdmad_state_reopen(claims->state, error) || !rdmad_state_begin(claims->state, error))
		return FALSE;
	if (write_table(claims, error))
		return rdmad_state_commit(claims->state, error);
	rdmad_state_rollback(claims->state);
	return FALSE;
}

/* Brings the table to a database in its place, if it is not there, which `*lost` says. */
static gboolean come_home(RdmadClaims *claims, gboolean *lost, GError **error)
{
	gboolean current = FALSE;

	*lost = FALSE;
	if (!claims->adrift && !rdmad_state_is_current(claims->state, &current, error))
		return FALSE;
	if (current)
		return TRUE;
	claims->adrift = TRUE;
	if (!rewrite(claims, error)) {
		g_prefix_error(error, "the database cannot be opened and written anew: ");
		return FALSE;
	}
	claims->adrift = FALSE;
	*lost = TRUE;
	rdmad_journal_post(claims->journal, RDMAD_LOG_WARNING, "state-rewritten", NULL,
			   "the database was moved, removed, replaced or damaged; a new one has "
			   "all %u claims",
			   claims->order.length);
	return TRUE;
}

/* Looks where the file is before the answer leaves. */
static gboolean write_at_home(RdmadClaims *claims, const GPtrArray *gone, const GPtrArray *put,
			      GError **error)
{
	gboolean current = FALSE, lost, written, told;

	if (!come_home(claims, &lost, error))
		return FALSE;
	written = write_transaction(claims, gone, put, error);
	told = rdmad_state_is_current(claims->state, &current, written ? error : NULL);
	/* What cannot be told is taken back: the table in memory is the one without it. */
	claims->adrift = !told || !current;
	if (written && told && !current)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED,
			    "the database was moved or removed while it was written");
	return written && !claims->adrift;
}

gboolean rdmad_claims_write(RdmadClaims *claims, const GPtrArray *gone, const GPtrArray *put,
			    GError **error)
{
	const gint64 began_us = g_get_monotonic_time();
	GError *problem = NULL;

	/* Once more where the first try found that the file is not the one in its place. */
	if (!write_at_home(claims, gone, put, &problem) && claims->adrift) {
		g_clear_error(&problem);
		write_at_home(claims, gone, put, &problem);
	}
	claims_written(claims, began_us, problem);
	if (!problem)
		return TRUE;
	g_propagate_error(error, problem);
	return FALSE;
}

/* A full disk or a file that was moved is well again without a claim to be written. */
const char *rdmad_claims_problem(RdmadClaims *claims)
{
	const gint64 now_us = g_get_monotonic_time();
	g_autoptr(GError) problem = NULL;
	gboolean lost;

	if (claims->problem && now_us - claims->tried_us < RETRY_US)
		return claims->problem;
	if (come_home(claims, &lost, &problem) && claims->problem)
		rdmad_state_try(claims->state, &problem);
	if (problem || claims->problem)
		claims_written(claims, now_us, problem);
	return claims->problem;
}

void rdmad_claims_write_try(RdmadClaims *claims)
{
	const gint64 now_us = g_get_monotonic_time();
	g_autoptr(GError) problem = NULL;

	if (!rdmad_state_try(claims->state, &problem))
		claims_written(claims, now_us, problem);
}

static gboolean home_for_modules(gpointer claims, gboolean *lost, GError **error)
{
	return come_home(claims, lost, error);
}

void rdmad_claims_write_init(RdmadClaims *claims, RdmadLoop *loop)
{
	rdmad_state_set_home(claims->state, home_for_modules, claims);
	claims->writes = rdmad_loop_meter(loop, &writes_class);
	claims->durations = rdmad_loop_meter(loop, &durations_class);
	/* Shown before the first, so that the first is a change. */
	rdmad_meter_add(claims->writes, 0, (const char *const[]){ "ok", NULL });
	rdmad_meter_add(claims->writes, 0, (const char *const[]){ "error", NULL });
}
