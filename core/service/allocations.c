/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/error.h>
#include <string.h>

#include "service/allocation-private.h"
#include "service/allocations-table.h"

static void allocation_load(const RdmadAllocation *allocation, gpointer allocations)
{
	rdmad_allocations_insert(allocations, allocation);
}

RdmadAllocations *rdmad_allocations_new(RdmadLoop *loop, RdmadState *state,
					RdmadEventLog *event_log, GError **error)
{
	RdmadAllocations *allocations = g_new0(RdmadAllocations, 1);

	allocations->state = state;
	rdmad_allocations_write_init(allocations, loop);
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
		rdmad_allocations_write_try(allocations);
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

/* What else may be wrong is the same for allocations that were loaded. */
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
	allocation->since_us = g_get_real_time();
	allocation->slots = g_new0(char *, pairs->len + 1);
	allocation->devices = g_new0(char *, pairs->len + 1);
	for (guint i = 0; i < pairs->len; i++) {
		allocation->slots[i] = g_strdup(g_array_index(pairs, Pair, i).slot);
		allocation->devices[i] = g_strdup(g_array_index(pairs, Pair, i).device);
	}
	return allocation;
}

/* How many containers of one pod may share a slot. */
#define SHARERS_MAX 32u

/* What becomes of the allocations that hold a slot of the new one. */
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

/* The first slot asked for that the allocation has. */
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
