/* SPDX-License-Identifier: Apache-2.0 */
#include "service/allocations-table.h"

#include <rdmad/clock.h>
#include <rdmad/error.h>
#include <rdmad/event-log.h>
#include <string.h>

#include "base/loop.h"

/* ---- slots ---- */

/* The key points into the allocation of the value, which is why both are replaced. */
static void slot_point(RdmadAllocations *allocations, const char *slot,
		       RdmadAllocationRecord *record)
{
	RdmadSlot *key = g_new(RdmadSlot, 1);

	*key = (RdmadSlot){ record->allocation->resource, slot };
	g_hash_table_replace(allocations->by_slot, key, record);
}

static void slot_add(RdmadAllocations *allocations, const char *slot, RdmadAllocationRecord *record)
{
	const RdmadSlot key = { record->allocation->resource, slot };
	RdmadAllocationRecord *before = g_hash_table_lookup(allocations->by_slot, &key);
	GPtrArray *sharers = g_hash_table_lookup(allocations->shared, &key);

	if (before && !sharers) {
		sharers = g_ptr_array_new();
		g_ptr_array_add(sharers, before);
		g_hash_table_insert(allocations->shared, rdmad_slot_dup(&key), sharers);
	}
	if (sharers)
		g_ptr_array_add(sharers, record);
	slot_point(allocations, slot, record);
}

static const char *record_slot(const RdmadAllocationRecord *record, const char *slot)
{
	for (guint i = 0; record->allocation->slots[i]; i++)
		if (g_str_equal(record->allocation->slots[i], slot))
			return record->allocation->slots[i];
	g_assert_not_reached();
}

static void slot_remove(RdmadAllocations *allocations, const char *slot,
			RdmadAllocationRecord *record)
{
	const RdmadSlot key = { record->allocation->resource, slot };
	GPtrArray *sharers = g_hash_table_lookup(allocations->shared, &key);
	RdmadAllocationRecord *youngest;

	if (!sharers) {
		g_hash_table_remove(allocations->by_slot, &key);
		return;
	}
	g_ptr_array_remove(sharers, record);
	youngest = sharers->pdata[sharers->len - 1];
	slot_point(allocations, record_slot(youngest, slot), youngest);
	if (sharers->len == 1)
		g_hash_table_remove(allocations->shared, &key);
}

/* The youngest allocation that has the slot, or NULL. */
RdmadAllocationRecord *rdmad_allocations_record(RdmadAllocations *allocations, const char *resource,
						const char *slot)
{
	const RdmadSlot key = { resource, slot };

	return g_hash_table_lookup(allocations->by_slot, &key);
}

void rdmad_allocations_holders(RdmadAllocations *allocations, const char *resource,
			       const char *slot, RdmadAllocationRecordFunc fn, gpointer data)
{
	const RdmadSlot key = { resource, slot };
	const GPtrArray *sharers = g_hash_table_lookup(allocations->shared, &key);
	RdmadAllocationRecord *only =
		sharers ? NULL : g_hash_table_lookup(allocations->by_slot, &key);

	for (guint i = 0; sharers && i < sharers->len; i++)
		fn(sharers->pdata[i], data);
	if (only)
		fn(only, data);
}

/* ---- records ---- */

void rdmad_allocations_insert(RdmadAllocations *allocations, const RdmadAllocation *allocation)
{
	RdmadAllocationRecord *record = g_new0(RdmadAllocationRecord, 1);

	record->allocation = allocation;
	record->node.data = record;
	record->since_us = rdmad_now_us();
	for (guint i = 0; allocation->slots[i]; i++)
		slot_add(allocations, allocation->slots[i], record);
	g_hash_table_insert(allocations->by_id, allocation->id, record);
	g_queue_push_tail_link(&allocations->order, &record->node);
}

/* The slots of an allocation never change: what points to the old strings points to the new ones. */
void rdmad_allocations_set(RdmadAllocations *allocations, RdmadAllocationRecord *record,
			   const RdmadAllocation *allocation)
{
	const RdmadAllocation *before = record->allocation;

	record->allocation = allocation;
	for (guint i = 0; allocation->slots[i]; i++)
		if (rdmad_allocations_record(allocations, allocation->resource,
					     allocation->slots[i]) == record)
			slot_point(allocations, allocation->slots[i], record);
	g_hash_table_replace(allocations->by_id, allocation->id, record);
	rdmad_allocation_unref(before);
}

void rdmad_allocations_remove(RdmadAllocations *allocations, RdmadAllocationRecord *record)
{
	for (guint i = 0; record->allocation->slots[i]; i++)
		slot_remove(allocations, record->allocation->slots[i], record);
	g_hash_table_remove(allocations->by_id, record->allocation->id);
	g_queue_unlink(&allocations->order, &record->node);
	rdmad_allocation_unref(record->allocation);
	g_clear_pointer(&record->earlier, g_hash_table_unref);
	g_clear_pointer(&record->suspects, g_hash_table_unref);
	g_free(record);
}

/* ---- writes: all of a change or nothing ---- */

/* Minimum time between retries of a failed write. */
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
	.help = "Duration of a transaction until it was on the disk, during which the event loop "
		"waits",
	.bounds = (const double[]){ 0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
				    0.25, 1, 0 },
};

static void allocations_written(RdmadAllocations *allocations, gint64 began_us,
				const GError *problem)
{
	const gint64 took_us = rdmad_now_us() - began_us;

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

/* The table in memory is what was acknowledged; the file does not override it. */
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

/* Writes the table to a new database in its place, if it was lost, which sets `*lost`. */
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
	/* An event that cannot be recorded is undone: the table in memory is the one without it. */
	allocations->adrift = !told || !current;
	if (written && told && !current)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED,
			    "the database was moved or removed while it was written");
	return written && !allocations->adrift;
}

gboolean rdmad_allocations_write(RdmadAllocations *allocations, const GPtrArray *gone,
				 const GPtrArray *put, GError **error)
{
	const gint64 began_us = rdmad_now_us();
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
	const gint64 now_us = rdmad_now_us();
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

/* Sets the problem of a disk that takes nothing before the first allocation meets it. */
static void write_try(RdmadAllocations *allocations)
{
	const gint64 now_us = rdmad_now_us();
	g_autoptr(GError) problem = NULL;

	if (!rdmad_state_try(allocations->state, &problem))
		allocations_written(allocations, now_us, problem);
}

static gboolean home_for_modules(gpointer allocations, gboolean *lost, GError **error)
{
	return come_home(allocations, lost, error);
}

static void write_init(RdmadAllocations *allocations, RdmadLoop *loop)
{
	rdmad_state_set_home(allocations->state, home_for_modules, allocations);
	allocations->writes = rdmad_loop_stat(loop, &writes_class);
	allocations->durations = rdmad_loop_stat(loop, &durations_class);
	/* Shown before the first, so that the first is a change. */
	rdmad_stat_add(allocations->writes, 0, (const char *const[]){ "ok", NULL });
	rdmad_stat_add(allocations->writes, 0, (const char *const[]){ "error", NULL });
}

static void allocation_load(const RdmadAllocation *allocation, gpointer allocations)
{
	rdmad_allocations_insert(allocations, allocation);
}

RdmadAllocations *rdmad_allocations_new(RdmadLoop *loop, RdmadState *state,
					RdmadEventLog *event_log, GError **error)
{
	RdmadAllocations *allocations = g_new0(RdmadAllocations, 1);

	allocations->state = state;
	write_init(allocations, loop);
	allocations->event_log = event_log;
	allocations->by_id = g_hash_table_new(g_str_hash, g_str_equal);
	allocations->by_slot =
		g_hash_table_new_full(rdmad_slot_hash, rdmad_slot_equal, g_free, NULL);
	allocations->shared = g_hash_table_new_full(rdmad_slot_hash, rdmad_slot_equal, g_free,
						    (GDestroyNotify)g_ptr_array_unref);
	allocations->ended = g_hash_table_new_full(rdmad_slot_hash, rdmad_slot_equal, g_free, NULL);
	allocations->resolvers = rdmad_allocations_resolvers_new();
	g_queue_init(&allocations->order);
	rdmad_allocations_news_init(allocations, loop);
	if (!rdmad_state_load_allocations(state, allocation_load, allocations, error))
		g_clear_pointer(&allocations, rdmad_allocations_free);
	else
		write_try(allocations);
	return allocations;
}

void rdmad_allocations_free(RdmadAllocations *allocations)
{
	if (!allocations)
		return;
	rdmad_allocations_news_clear(allocations);
	while (allocations->order.head)
		rdmad_allocations_remove(allocations, allocations->order.head->data);
	g_hash_table_unref(allocations->by_id);
	g_hash_table_unref(allocations->by_slot);
	g_hash_table_unref(allocations->shared);
	g_hash_table_unref(allocations->ended);
	g_hash_table_unref(allocations->resolvers);
	rdmad_allocations_evidence_clear(allocations);
	g_free(allocations->boot);
	g_free(allocations->kubelet);
	g_free(allocations->problem);
	g_free(allocations);
}

/* Resolvers are not counted: they are meant to go with their owner. */
guint rdmad_allocations_reap(RdmadAllocations *allocations, const RdmadModule *owner)
{
	rdmad_allocations_resolvers_reap(allocations, owner);
	return rdmad_watch_list_reap(&allocations->watches, owner);
}

typedef struct {
	const char *slot, *device;
} Pair;

static gint pair_compare(gconstpointer a, gconstpointer b)
{
	return strcmp(((const Pair *)a)->slot, ((const Pair *)b)->slot);
}

static guint list_length(const char *const *list)
{
	return g_strv_length((char **)list);
}

/* The remaining checks are the same for allocations that were loaded. */
static gboolean grant_check(const RdmadGrant *grant, GError **error)
{
	if (list_length(grant->slots) == list_length(grant->devices))
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
		    "a grant of %s needs one device behind each slot", grant->resource);
	return FALSE;
}

static GArray *grant_pairs(const RdmadGrant *grant)
{
	GArray *pairs = g_array_new(FALSE, FALSE, sizeof(Pair));

	/* One too many is enough to be refused. */
	for (guint i = 0; i <= RDMAD_ALLOCATION_MAX_SLOTS && grant->slots[i]; i++) {
		const Pair pair = { grant->slots[i], grant->devices[i] };

		g_array_append_val(pairs, pair);
	}
	g_array_sort(pairs, pair_compare);
	return pairs;
}

static RdmadAllocation *allocation_of_grant(const RdmadGrant *grant)
{
	g_autoptr(GArray) pairs = grant_pairs(grant);
	RdmadAllocation *allocation = rdmad_allocation_new(NULL);

	allocation->resource = g_strdup(grant->resource);
	allocation->owner = g_strdup(grant->owner);
	allocation->mode = g_strdup(grant->mode);
	allocation->since_us = rdmad_wall_us();
	allocation->slots = g_new0(char *, pairs->len + 1);
	allocation->devices = g_new0(char *, pairs->len + 1);
	for (guint i = 0; i < pairs->len; i++) {
		allocation->slots[i] = g_strdup(g_array_index(pairs, Pair, i).slot);
		allocation->devices[i] = g_strdup(g_array_index(pairs, Pair, i).device);
	}
	return allocation;
}

/* Maximum number of containers of one pod that share a slot. */
#define SHARERS_MAX 32u

/* Verdicts on the allocations that hold a slot of the new one. */
typedef struct {
	RdmadAllocations *allocations;
	const RdmadGrant *grant;
	GHashTable *seen;   /* set of RdmadAllocationRecord */
	GPtrArray *gone;    /* RdmadAllocationRecord */
	GPtrArray *reasons; /* beside `gone` */
	GPtrArray *shares;  /* RdmadAllocationRecord: of the same pod, or soon to end */
	GPtrArray *lives;   /* RdmadAllocationRecord: holders that kubelet has forgotten */
	guint doubts;	    /* how many of them may have ended */
} Overlap;

static void overlap_end(Overlap *overlap, RdmadAllocationRecord *record, const char *why)
{
	g_ptr_array_add(overlap->gone, record);
	g_ptr_array_add(overlap->reasons, (gpointer)why);
}

static void overlap_judge(RdmadAllocationRecord *record, gpointer data)
{
	Overlap *overlap = data;
	const char *why = NULL;

	if (!g_hash_table_add(overlap->seen, record))
		return;
	switch (rdmad_allocations_judge(overlap->allocations, record, overlap->grant->asked_us,
					&why)) {
	case RDMAD_HOLDER_OVER:
		overlap_end(overlap, record, why);
		break;
	case RDMAD_HOLDER_SHARES:
		g_ptr_array_add(overlap->shares, record);
		break;
	case RDMAD_HOLDER_DOUBTFUL:
		overlap->doubts++;
		g_ptr_array_add(overlap->lives, record);
		break;
	case RDMAD_HOLDER_LIVES:
		g_ptr_array_add(overlap->lives, record);
		break;
	}
}

static void overlap_find(Overlap *overlap, RdmadAllocations *allocations, const RdmadGrant *grant)
{
	*overlap = (Overlap){
		.allocations = allocations,
		.grant = grant,
		.seen = g_hash_table_new(NULL, NULL),
		.gone = g_ptr_array_new(),
		.reasons = g_ptr_array_new(),
		.shares = g_ptr_array_new(),
		.lives = g_ptr_array_new(),
	};
	for (guint i = 0; i < RDMAD_ALLOCATION_MAX_SLOTS && grant->slots[i]; i++)
		rdmad_allocations_holders(allocations, grant->resource, grant->slots[i],
					  overlap_judge, overlap);
	for (guint i = 0; i + SHARERS_MAX < overlap->shares->len; i++)
		overlap_end(overlap, overlap->shares->pdata[i],
			    "too many allocations have its slots");
}

static void overlap_clear(Overlap *overlap)
{
	g_hash_table_unref(overlap->seen);
	g_ptr_array_unref(overlap->gone);
	g_ptr_array_unref(overlap->reasons);
	g_ptr_array_unref(overlap->shares);
	g_ptr_array_unref(overlap->lives);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Overlap, overlap_clear)

/* The first requested slot that the allocation has. */
static const char *overlap_slot(const Overlap *overlap, const RdmadAllocation *allocation)
{
	const char *const *slot = overlap->grant->slots;

	while (!g_strv_contains((const char *const *)allocation->slots, *slot))
		slot++;
	return *slot;
}

static gboolean overlap_refuses(const Overlap *overlap, GError **error)
{
	const RdmadAllocationRecord *holder = overlap->lives->len ? overlap->lives->pdata[0] : NULL;
	g_autofree char *text = NULL;

	if (!holder || g_strcmp0(overlap->grant->mode, "exclusive") != 0)
		return FALSE;
	text = rdmad_allocations_holder_text(holder->allocation);
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY,
		    "%s: \"%s\" is held by %s (allocation %s), %s", overlap->grant->resource,
		    overlap_slot(overlap, holder->allocation), text, holder->allocation->id,
		    overlap->doubts
			    ? "and kubelet, which was restarted, does not show whether that "
			      "pod has ended"
			    : "which kubelet has forgotten; see `rdmad doctor`");
	return TRUE;
}

gboolean rdmad_allocations_in_doubt(RdmadAllocations *allocations, const RdmadGrant *grant)
{
	g_auto(Overlap) overlap;

	overlap_find(&overlap, allocations, grant);
	return overlap.doubts > 0;
}

static void ended_forget(RdmadAllocations *allocations, const RdmadAllocation *allocation)
{
	for (guint i = 0; allocation->slots[i]; i++) {
		const RdmadSlot key = { allocation->resource, allocation->slots[i] };

		g_hash_table_remove(allocations->ended, &key);
	}
}

/* After it was written. */
static void grant_publish(RdmadAllocations *allocations, const Overlap *overlap,
			  const RdmadAllocation *allocation)
{
	for (guint i = 0; i < overlap->gone->len; i++) {
		RdmadAllocationRecord *record = g_ptr_array_index(overlap->gone, i);

		rdmad_allocations_news_add(allocations, record->allocation, NULL,
					   overlap->reasons->pdata[i]);
		rdmad_allocations_remove(allocations, record);
	}
	rdmad_allocations_insert(allocations, rdmad_allocation_ref(allocation));
	if (allocations->evidence.pods)
		rdmad_allocations_record(allocations, allocation->resource, allocation->slots[0])
			->earlier = g_hash_table_ref(allocations->evidence.pods);
	ended_forget(allocations, allocation);
	rdmad_allocations_news_add(allocations, NULL, allocation, NULL);
	for (guint i = 0; i < overlap->lives->len; i++)
		rdmad_allocations_news_overlap(
			allocations,
			((const RdmadAllocationRecord *)overlap->lives->pdata[i])->allocation,
			allocation);
}

const RdmadAllocation *rdmad_allocations_grant(RdmadAllocations *allocations,
					       const RdmadGrant *grant, GError **error)
{
	g_autoptr(RdmadAllocationRef) granted = NULL;
	g_autoptr(GPtrArray) put = g_ptr_array_new();
	g_auto(Overlap) overlap = { 0 };
	RdmadAllocation *allocation;

	overlap_find(&overlap, allocations, grant);
	if (!grant_check(grant, error))
		return NULL;
	granted = allocation = allocation_of_grant(grant);
	rdmad_allocation_set_witness(allocation, allocations->boot, allocations->kubelet);
	if (!rdmad_allocation_check(allocation, error) || overlap_refuses(&overlap, error))
		return NULL;
	g_ptr_array_add(put, allocation);
	if (!rdmad_allocations_write(allocations, overlap.gone, put, error))
		return NULL;
	grant_publish(allocations, &overlap, allocation);
	return g_steal_pointer(&granted);
}

static RdmadAllocationRecord *allocations_find(RdmadAllocations *allocations, const char *id,
					       GError **error)
{
	RdmadAllocationRecord *record = g_hash_table_lookup(allocations->by_id, id);

	if (!record)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND, "no allocation %s", id);
	return record;
}

static void ended_remember(RdmadAllocations *allocations, const RdmadAllocation *allocation)
{
	for (guint i = 0; allocation->slots[i]; i++) {
		const RdmadSlot key = { allocation->resource, allocation->slots[i] };

		g_hash_table_add(allocations->ended, rdmad_slot_dup(&key));
	}
}

gboolean rdmad_allocations_end(RdmadAllocations *allocations, const char *id, const char *reason,
			       GError **error)
{
	RdmadAllocationRecord *record = allocations_find(allocations, id, error);
	g_autoptr(GPtrArray) gone = g_ptr_array_new();

	if (!record)
		return FALSE;
	g_ptr_array_add(gone, record);
	if (!rdmad_allocations_write(allocations, gone, NULL, error))
		return FALSE;
	ended_remember(allocations, record->allocation);
	rdmad_allocations_news_add(allocations, record->allocation, NULL, reason);
	rdmad_allocations_remove(allocations, record);
	return TRUE;
}

/* Writes `now` in the place of what the record has. */
static gboolean allocations_change(RdmadAllocations *allocations, RdmadAllocationRecord *record,
				   RdmadAllocation *now, GError **error)
{
	g_autoptr(GPtrArray) put = g_ptr_array_new();

	g_ptr_array_add(put, now);
	if (!rdmad_allocation_check(now, error) ||
	    !rdmad_allocations_write(allocations, NULL, put, error))
		return FALSE;
	rdmad_allocations_news_add(allocations, record->allocation, now, NULL);
	rdmad_allocations_set(allocations, record, rdmad_allocation_ref(now));
	return TRUE;
}

gboolean rdmad_allocations_attach(RdmadAllocations *allocations, const char *id,
				  const RdmadAttachment *attachment, GError **error)
{
	RdmadAllocationRecord *record = allocations_find(allocations, id, error);
	g_autoptr(RdmadAllocationRef) changed = NULL;
	RdmadAllocation *now;
	int index;

	if (!record)
		return FALSE;
	index = rdmad_allocation_find_attachment(record->allocation, attachment->netns,
						 attachment->interface);
	if (index < 0 && record->allocation->n_attachments == RDMAD_ALLOCATION_MAX_ATTACHMENTS) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_LIMIT,
			    "allocation %s has %u attachments already", id,
			    RDMAD_ALLOCATION_MAX_ATTACHMENTS);
		return FALSE;
	}
	changed = now = rdmad_allocation_copy(record->allocation);
	if (index >= 0)
		rdmad_allocation_remove_attachment(now, (guint)index);
	rdmad_allocation_add_attachment(now, attachment);
	return allocations_change(allocations, record, now, error);
}

gboolean rdmad_allocations_detach(RdmadAllocations *allocations, const char *id, const char *netns,
				  const char *interface, GError **error)
{
	RdmadAllocationRecord *record = allocations_find(allocations, id, error);
	g_autoptr(RdmadAllocationRef) changed = NULL;
	RdmadAllocation *now;
	int index;

	if (!record)
		return FALSE;
	index = rdmad_allocation_find_attachment(record->allocation, netns, interface);
	if (index < 0) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND,
			    "allocation %s has no interface %s in %s", id, interface, netns);
		return FALSE;
	}
	changed = now = rdmad_allocation_copy(record->allocation);
	rdmad_allocation_remove_attachment(now, (guint)index);
	return allocations_change(allocations, record, now, error);
}

const RdmadAllocation *rdmad_allocations_lookup(RdmadAllocations *allocations, const char *id)
{
	const RdmadAllocationRecord *record = g_hash_table_lookup(allocations->by_id, id);

	return record ? record->allocation : NULL;
}

const RdmadAllocation *rdmad_allocations_by_slot(RdmadAllocations *allocations,
						 const char *resource, const char *slot)
{
	const RdmadAllocationRecord *record = rdmad_allocations_record(allocations, resource, slot);

	return record ? record->allocation : NULL;
}

guint rdmad_allocations_count(RdmadAllocations *allocations)
{
	return allocations->order.length;
}

void rdmad_allocations_foreach(RdmadAllocations *allocations,
			       void (*fn)(const RdmadAllocation *allocation, gpointer data),
			       gpointer data)
{
	for (const GList *l = allocations->order.head; l; l = l->next)
		fn(((const RdmadAllocationRecord *)l->data)->allocation, data);
}
