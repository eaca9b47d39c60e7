/* SPDX-License-Identifier: Apache-2.0 */
#include "service/allocations-table.h"

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
	record->since_us = g_get_monotonic_time();
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
