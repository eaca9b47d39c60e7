/* SPDX-License-Identifier: Apache-2.0 */
#include "service/allocations-table.h"

#include <rdmad/clock.h>
#include <rdmad/error.h>
#include <rdmad/event-log.h>
#include <rdmad/log.h>
#include <string.h>

#include "base/loop.h"

/* ---- totals ---- */

static RdmadAllocationTotals *totals_of(RdmadAllocations *allocations, const char *resource)
{
	RdmadAllocationTotals *totals = g_hash_table_lookup(allocations->totals, resource);

	if (!totals) {
		totals = g_new0(RdmadAllocationTotals, 1);
		g_hash_table_insert(allocations->totals, g_strdup(resource), totals);
	}
	return totals;
}

RdmadAllocationTotals rdmad_allocations_totals(RdmadAllocations *allocations, const char *resource)
{
	const RdmadAllocationTotals *totals = g_hash_table_lookup(allocations->totals, resource);

	return totals ? *totals : (RdmadAllocationTotals){ 0 };
}

/* ---- slots ---- */

/* Replaces the key too, because it points into the allocation of the value. */
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

	if (!before)
		totals_of(allocations, key.resource)->slots++;
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
		totals_of(allocations, key.resource)->slots--;
		g_hash_table_remove(allocations->by_slot, &key);
		return;
	}
	g_ptr_array_remove(sharers, record);
	youngest = sharers->pdata[sharers->len - 1];
	slot_point(allocations, record_slot(youngest, slot), youngest);
	if (sharers->len == 1)
		g_hash_table_remove(allocations->shared, &key);
}

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

/* ---- devices ---- */

typedef struct {
	GPtrArray *records; /* of RdmadAllocationRecord, oldest first */
	guint n_exclusive;  /* a shared device may have a thousand holders, and none of these */
} DeviceHolders;

static void device_holders_free(gpointer data)
{
	DeviceHolders *holders = data;

	g_ptr_array_unref(holders->records);
	g_free(holders);
}

static GHashTable *devices_new(void)
{
	return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, device_holders_free);
}

static DeviceHolders *device_holders_get(RdmadAllocations *allocations, const char *device_id)
{
	DeviceHolders *holders = g_hash_table_lookup(allocations->by_device, device_id);

	if (!holders) {
		holders = g_new0(DeviceHolders, 1);
		holders->records = g_ptr_array_new();
		g_hash_table_insert(allocations->by_device, g_strdup(device_id), holders);
	}
	return holders;
}

/* Several slots of an allocation may be on one device. */
static void devices_add(RdmadAllocations *allocations, RdmadAllocationRecord *record)
{
	for (char *const *id = record->allocation->devices; *id; id++) {
		DeviceHolders *holders = device_holders_get(allocations, *id);
		const guint n = holders->records->len;

		if (n && holders->records->pdata[n - 1] == record)
			continue;
		g_ptr_array_add(holders->records, record);
		holders->n_exclusive +=
			rdmad_allocation_has_hold(record->allocation, RDMAD_HOLD_EXCLUSIVE);
	}
}

static void devices_remove(RdmadAllocations *allocations, RdmadAllocationRecord *record)
{
	for (char *const *id = record->allocation->devices; *id; id++) {
		DeviceHolders *holders = g_hash_table_lookup(allocations->by_device, *id);

		if (!holders || !g_ptr_array_remove(holders->records, record))
			continue;
		holders->n_exclusive -=
			rdmad_allocation_has_hold(record->allocation, RDMAD_HOLD_EXCLUSIVE);
		if (!holders->records->len)
			g_hash_table_remove(allocations->by_device, *id);
	}
}

const RdmadAllocation *
rdmad_allocations_find_holder(RdmadAllocations *allocations, const char *device_id, RdmadHold hold,
			      gboolean (*is_wanted)(const RdmadAllocation *holder, gpointer data),
			      gpointer data)
{
	const DeviceHolders *holders = g_hash_table_lookup(allocations->by_device, device_id);

	if (!holders || (hold == RDMAD_HOLD_EXCLUSIVE && !holders->n_exclusive))
		return NULL;
	for (guint i = 0; i < holders->records->len; i++) {
		const RdmadAllocation *holder =
			((const RdmadAllocationRecord *)holders->records->pdata[i])->allocation;

		if (rdmad_allocation_has_hold(holder, hold) &&
		    (!is_wanted || is_wanted(holder, data)))
			return holder;
	}
	return NULL;
}

/* ---- records ---- */

void rdmad_allocations_insert(RdmadAllocations *allocations, const RdmadAllocation *allocation)
{
	RdmadAllocationRecord *record = g_new0(RdmadAllocationRecord, 1);

	allocations->last_number = MAX(allocations->last_number, allocation->number);
	record->allocation = allocation;
	record->node.data = record;
	record->since_us = rdmad_now_us();
	record->named_us = allocation->pod_name ? record->since_us : 0;
	for (guint i = 0; allocation->slots[i]; i++)
		slot_add(allocations, allocation->slots[i], record);
	devices_add(allocations, record);
	g_hash_table_insert(allocations->by_id, allocation->id, record);
	g_queue_push_tail_link(&allocations->order, &record->node);
	totals_of(allocations, allocation->resource)->allocations++;
}

/* The slots and devices of an allocation never change, so only the pointers to their strings are
 * replaced. */
void rdmad_allocations_set(RdmadAllocations *allocations, RdmadAllocationRecord *record,
			   const RdmadAllocation *allocation)
{
	const RdmadAllocation *before = record->allocation;

	record->allocation = allocation;
	if (!record->named_us && allocation->pod_name)
		record->named_us = rdmad_now_us();
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
	devices_remove(allocations, record);
	if (--totals_of(allocations, record->allocation->resource)->allocations == 0)
		g_hash_table_remove(allocations->totals, record->allocation->resource);
	g_hash_table_remove(allocations->by_id, record->allocation->id);
	g_queue_unlink(&allocations->order, &record->node);
	rdmad_allocation_unref(record->allocation);
	g_clear_pointer(&record->earlier, g_hash_table_unref);
	g_clear_pointer(&record->suspects, g_hash_table_unref);
	g_free(record);
}

/* ---- writes, each in one transaction ---- */

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
	.help = "Duration of a transaction until it is on the disk; the event loop waits for it",
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

static gboolean write_one(RdmadAllocations *allocations, const RdmadAllocation *allocation,
			  GError **error)
{
	return g_hash_table_contains(allocations->by_id, allocation->id)
		       ? rdmad_state_put_allocation(allocations->state, allocation, error)
		       : rdmad_state_add_allocation(allocations->state, allocation, error);
}

static gboolean write_all(RdmadAllocations *allocations, const GPtrArray *gone,
			  const GPtrArray *put, GError **error)
{
	for (guint i = 0; gone && i < gone->len; i++) {
		const RdmadAllocationRecord *record = g_ptr_array_index(gone, i);

		if (!rdmad_state_delete_allocation(allocations->state, record->allocation->number,
						   error))
			return FALSE;
	}
	for (guint i = 0; put && i < put->len; i++)
		if (!write_one(allocations, put->pdata[i], error))
			return FALSE;
	return TRUE;
}

/* Returns whether write_all() is one statement, as for most calls of Allocate. */
static gboolean write_is_single(RdmadAllocations *allocations, const GPtrArray *gone,
				const GPtrArray *put)
{
	const RdmadAllocation *only = put && put->len == 1 ? put->pdata[0] : NULL;

	return only && !(gone && gone->len) && !only->n_attachments &&
	       !g_hash_table_contains(allocations->by_id, only->id);
}

static gboolean write_transaction(RdmadAllocations *allocations, const GPtrArray *gone,
				  const GPtrArray *put, GError **error)
{
	if (!(write_is_single(allocations, gone, put)
		      ? rdmad_state_begin_single(allocations->state, error)
		      : rdmad_state_begin(allocations->state, error)))
		return FALSE;
	if (write_all(allocations, gone, put, error))
		return rdmad_state_commit(allocations->state, error);
	rdmad_state_rollback(allocations->state);
	return FALSE;
}

/* ---- restoring a lost database ---- */

static gboolean write_table(RdmadAllocations *allocations, GError **error)
{
	if (!rdmad_state_delete_all(allocations->state, error))
		return FALSE;
	for (const GList *l = allocations->order.head; l; l = l->next) {
		const RdmadAllocationRecord *record = l->data;

		if (!rdmad_state_add_allocation(allocations->state, record->allocation, error))
			return FALSE;
	}
	return rdmad_state_tables_rewrite(allocations->state, error);
}

/* Writes the table in memory, which was acknowledged, over the contents of the file. */
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

/* Restores a lost database: writes the table to a new one, and sets `*lost`. */
static gboolean database_restore(RdmadAllocations *allocations, gboolean *lost, GError **error)
{
	gboolean current = FALSE;

	*lost = FALSE;
	if (!allocations->displaced && !rdmad_state_is_current(allocations->state, &current, error))
		return FALSE;
	if (current)
		return TRUE;
	allocations->displaced = TRUE;
	if (!rewrite(allocations, error)) {
		g_prefix_error(error, "the database cannot be opened and written again: ");
		return FALSE;
	}
	allocations->displaced = FALSE;
	*lost = TRUE;
	rdmad_event_log_post(allocations->event_log, RDMAD_LOG_WARNING, "state-rewritten", NULL,
			     "the database was moved, removed, replaced or damaged; a new one has "
			     "all %u allocations",
			     allocations->order.length);
	return TRUE;
}

/* Checks the file after the write, before the response is sent: a write to a file that is no longer
 * in place is repeated. */
static gboolean write_current(RdmadAllocations *allocations, const GPtrArray *gone,
			      const GPtrArray *put, GError **error)
{
	gboolean current = FALSE, lost, written, checked;

	if (allocations->displaced && !database_restore(allocations, &lost, error))
		return FALSE;
	written = write_transaction(allocations, gone, put, error);
	checked = rdmad_state_is_current(allocations->state, &current, written ? error : NULL);
	/* An event that was not written is undone by restoring the database from memory. */
	allocations->displaced = !checked || !current;
	if (written && checked && !current)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED,
			    "the database was moved or removed while it was written");
	return written && !allocations->displaced;
}

gboolean rdmad_allocations_write(RdmadAllocations *allocations, const GPtrArray *gone,
				 const GPtrArray *put, GError **error)
{
	const gint64 began_us = rdmad_now_us();
	GError *problem = NULL;

	/* Retries if the first write found that the file is no longer in place. */
	if (!write_current(allocations, gone, put, &problem) && allocations->displaced) {
		g_clear_error(&problem);
		write_current(allocations, gone, put, &problem);
	}
	allocations_written(allocations, began_us, problem);
	if (!problem)
		return TRUE;
	g_propagate_error(error, problem);
	return FALSE;
}

/* Retries, because a full disk or a moved file may have recovered while no allocation is
 * written. */
const char *rdmad_allocations_problem(RdmadAllocations *allocations)
{
	const gint64 now_us = rdmad_now_us();
	g_autoptr(GError) problem = NULL;
	gboolean lost;

	if (allocations->problem && now_us - allocations->tried_us < RETRY_US)
		return allocations->problem;
	if (database_restore(allocations, &lost, &problem) && allocations->problem)
		rdmad_state_try(allocations->state, &problem);
	if (problem || allocations->problem)
		allocations_written(allocations, now_us, problem);
	return allocations->problem;
}

/* Detects an unwritable disk before the first allocation. */
static void write_try(RdmadAllocations *allocations)
{
	const gint64 now_us = rdmad_now_us();
	g_autoptr(GError) problem = NULL;

	if (!rdmad_state_try(allocations->state, &problem))
		allocations_written(allocations, now_us, problem);
}

static gboolean restore_for_modules(gpointer allocations, gboolean *lost, GError **error)
{
	return database_restore(allocations, lost, error);
}

static void write_init(RdmadAllocations *allocations, RdmadLoop *loop)
{
	rdmad_state_set_restore(allocations->state, restore_for_modules, allocations);
	allocations->writes = rdmad_loop_stat(loop, &writes_class);
	allocations->durations = rdmad_loop_stat(loop, &durations_class);
	/* Exposes both series before the first write, so that the first one is a change. */
	rdmad_stat_add(allocations->writes, 0, (const char *const[]){ "ok", NULL });
	rdmad_stat_add(allocations->writes, 0, (const char *const[]){ "error", NULL });
}

static void allocation_load(const RdmadAllocation *allocation, gpointer allocations)
{
	rdmad_allocations_insert(allocations, allocation);
}

static void logs_unref(gpointer logs)
{
	if (logs)
		g_hash_table_unref(logs);
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
	allocations->by_device = devices_new();
	allocations->ended =
		g_hash_table_new_full(rdmad_slot_hash, rdmad_slot_equal, g_free, logs_unref);
	allocations->totals = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
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
	g_hash_table_unref(allocations->by_device);
	g_hash_table_unref(allocations->ended);
	g_hash_table_unref(allocations->totals);
	g_hash_table_unref(allocations->resolvers);
	rdmad_allocations_evidence_clear(allocations);
	g_free(allocations->boot);
	g_free(allocations->kubelet);
	g_free(allocations->boot_kubelet);
	g_free(allocations->problem);
	g_free(allocations);
}

/* Resolvers are removed with their owner by contract, so they are not counted. */
guint rdmad_allocations_reap(RdmadAllocations *allocations, const RdmadModule *owner)
{
	rdmad_allocations_resolvers_reap(allocations, owner);
	return rdmad_watch_list_reap(&allocations->watches, owner);
}

static RdmadAllocationRecord *allocations_find(RdmadAllocations *allocations, const char *id,
					       GError **error)
{
	RdmadAllocationRecord *record = g_hash_table_lookup(allocations->by_id, id);

	if (!record)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND, "no allocation %s", id);
	return record;
}

void rdmad_allocations_ended_add(RdmadAllocations *allocations, const RdmadAllocation *allocation,
				 GHashTable *logs)
{
	for (guint i = 0; allocation->slots[i]; i++) {
		const RdmadSlot key = { allocation->resource, allocation->slots[i] };

		g_hash_table_replace(allocations->ended, rdmad_slot_dup(&key),
				     logs ? g_hash_table_ref(logs) : NULL);
	}
}

void rdmad_allocations_ended_remove(RdmadAllocations *allocations,
				    const RdmadAllocation *allocation)
{
	for (guint i = 0; allocation->slots[i]; i++) {
		const RdmadSlot key = { allocation->resource, allocation->slots[i] };

		g_hash_table_remove(allocations->ended, &key);
	}
}

gboolean rdmad_allocations_is_listed_after_end(RdmadAllocations *allocations,
					       const RdmadAllocation *allocation)
{
	for (guint i = 0; allocation->slots[i]; i++) {
		const RdmadSlot key = { allocation->resource, allocation->slots[i] };

		if (g_hash_table_lookup(allocations->ended, &key))
			return TRUE;
	}
	return FALSE;
}

static gboolean ended_has_logs(gpointer slot, gpointer logs, gpointer data)
{
	return logs != NULL;
}

gboolean rdmad_allocations_some_listed_after_end(RdmadAllocations *allocations)
{
	return g_hash_table_find(allocations->ended, ended_has_logs, NULL) != NULL;
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
	rdmad_allocations_ended_add(allocations, record->allocation, NULL);
	rdmad_allocations_news_add(allocations, record->allocation, NULL, reason);
	rdmad_allocations_remove(allocations, record);
	return TRUE;
}

/* Does not wait for the disk: attachments end with the boot, and a module that recorded one removes
 * it again if it outlived that.  So do the processes of a pod. */
static gboolean write_for_boot(RdmadAllocations *allocations, const GPtrArray *put, GError **error)
{
	gboolean written;

	rdmad_state_wait_for_disk(allocations->state, FALSE);
	written = rdmad_allocations_write(allocations, NULL, put, error);
	rdmad_state_wait_for_disk(allocations->state, TRUE);
	return written;
}

/* Writes `now`, which has other attachments, and replaces the record's allocation by it. */
static gboolean allocations_change(RdmadAllocations *allocations, RdmadAllocationRecord *record,
				   RdmadAllocation *now, GError **error)
{
	g_autoptr(GPtrArray) put = g_ptr_array_new();

	g_ptr_array_add(put, now);
	if (!rdmad_allocation_check(now, error) || !write_for_boot(allocations, put, error))
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

void rdmad_allocations_set_pod_cgroup(RdmadAllocations *allocations, const char *pod_namespace,
				      const char *pod_name, const char *pod_cgroup, gint64 last)
{
	g_autoptr(GPtrArray) put = g_ptr_array_new();
	g_autoptr(GError) error = NULL;

	for (GList *l = allocations->order.head; l; l = l->next) {
		RdmadAllocationRecord *record = l->data;
		RdmadAllocation *now;

		if (record->allocation->pod_cgroup || record->allocation->number > last ||
		    !rdmad_allocation_is_of_pod(record->allocation, pod_namespace, pod_name))
			continue;
		now = rdmad_allocation_copy(record->allocation);
		rdmad_allocation_set_pod_cgroup(now, pod_cgroup);
		g_ptr_array_add(put, now);
		rdmad_allocations_news_add(allocations, record->allocation, now, NULL);
		rdmad_allocations_set(allocations, record, now);
		record->found_number = last;
	}
	if (put->len && !write_for_boot(allocations, put, &error))
		rdmad_debug("%s/%s: its cgroup is not written: %s", pod_namespace, pod_name,
			    error->message);
}

gboolean rdmad_allocations_some_of_another_cgroup(const RdmadAllocations *allocations,
						  const char *pod_namespace, const char *pod_name,
						  const char *pod_cgroup, gint64 last)
{
	for (const GList *l = allocations->order.head; l; l = l->next) {
		const RdmadAllocationRecord *record = l->data;
		const char *cgroup = record->allocation->pod_cgroup;

		if (rdmad_allocation_is_of_pod(record->allocation, pod_namespace, pod_name) &&
		    (cgroup ? g_strcmp0(cgroup, pod_cgroup) != 0
			    : record->allocation->number > last))
			return TRUE;
	}
	return FALSE;
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

const RdmadAllocation *
rdmad_allocations_find(RdmadAllocations *allocations,
		       gboolean (*is_wanted)(const RdmadAllocation *allocation, gconstpointer data),
		       gconstpointer data)
{
	for (const GList *l = allocations->order.head; l; l = l->next) {
		const RdmadAllocationRecord *record = l->data;

		if (is_wanted(record->allocation, data))
			return record->allocation;
	}
	return NULL;
}
