/* SPDX-License-Identifier: Apache-2.0 */
/* Grants of slots; all requests of one turn of the loop are one transaction */
#include <rdmad/clock.h>
#include <rdmad/error.h>
#include <string.h>

#include "service/allocations-table.h"

/* ---- the allocation of a grant ---- */

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

/* Checks only what rdmad_allocation_check() does not. */
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

	/* One slot more than allowed suffices to be rejected later. */
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
	const guint n_exposed = grant->exposed ? list_length(grant->exposed) : 0;

	allocation->resource = g_strdup(grant->resource);
	allocation->owner = g_strdup(grant->owner);
	allocation->mode = g_strdup(grant->mode);
	allocation->since_us = rdmad_wall_us();
	allocation->slots = g_new0(char *, pairs->len + 1);
	allocation->devices = g_new0(char *, pairs->len + n_exposed + 1);
	for (guint i = 0; i < pairs->len; i++) {
		allocation->slots[i] = g_strdup(g_array_index(pairs, Pair, i).slot);
		allocation->devices[i] = g_strdup(g_array_index(pairs, Pair, i).device);
	}
	for (guint i = 0; i < n_exposed; i++)
		allocation->devices[pairs->len + i] = g_strdup(grant->exposed[i]);
	for (guint i = 0; i < MIN(grant->n_files, RDMAD_ALLOCATION_MAX_FILES); i++)
		rdmad_allocation_add_file(allocation, &grant->files[i]);
	allocation->cdi = grant->cdi;
	return allocation;
}

/* ---- current holders of the slots and devices ---- */

/* Maximum number of containers of one pod that share a slot. */
#define SHARERS_MAX 32u

/* The allocations that hold a slot or a device of the grant, by verdict. */
typedef struct {
	RdmadAllocations *allocations;
	const RdmadGrant *grant;
	GHashTable *seen;     /* set of RdmadAllocationRecord */
	GPtrArray *ended;     /* RdmadAllocationRecord */
	GPtrArray *why_ended; /* beside `ended` */
	GPtrArray *sharers;   /* RdmadAllocationRecord: of the same pod, or soon to end */
	GPtrArray *holders;   /* RdmadAllocationRecord: holders that kubelet has forgotten */
	/* The first that has the device under another slot, which excludes this grant; NULL:
	 * none. */
	const RdmadAllocation *rival;
	const char *rival_device;
	guint doubts;	    /* number of holders that may have ended */
	gboolean unsettled; /* a pending grant ends one of the allocations */
} Overlap;

static void overlap_end(Overlap *overlap, RdmadAllocationRecord *record, const char *why)
{
	g_ptr_array_add(overlap->ended, record);
	g_ptr_array_add(overlap->why_ended, (gpointer)why);
}

static void overlap_classify(RdmadAllocationRecord *record, gpointer data)
{
	Overlap *overlap = data;
	const char *why = NULL;

	if (!g_hash_table_add(overlap->seen, record))
		return;
	overlap->unsettled |= record->leaving;
	switch (rdmad_allocations_judge(overlap->allocations, record, overlap->grant->asked_us,
					&why)) {
	case RDMAD_HOLDER_OVER:
		overlap_end(overlap, record, why);
		break;
	case RDMAD_HOLDER_SHARES:
		g_ptr_array_add(overlap->sharers, record);
		break;
	case RDMAD_HOLDER_DOUBTFUL:
		overlap->doubts++;
		g_ptr_array_add(overlap->holders, record);
		break;
	case RDMAD_HOLDER_LIVES:
		g_ptr_array_add(overlap->holders, record);
		break;
	}
}

static gboolean overlap_is_rival(const RdmadAllocation *holder, gpointer data)
{
	Overlap *overlap = data;
	const RdmadAllocationRecord *record =
		g_hash_table_lookup(overlap->allocations->by_id, holder->id);
	RdmadHolder verdict;

	if (g_hash_table_contains(overlap->seen, record))
		return FALSE;
	overlap->unsettled |= record->leaving;
	verdict = rdmad_allocations_judge_elsewhere(overlap->allocations, holder,
						    overlap->grant->asked_us);
	overlap->doubts += verdict == RDMAD_HOLDER_DOUBTFUL;
	return verdict != RDMAD_HOLDER_OVER;
}

static void overlap_find_rival(Overlap *overlap, const char *const *devices)
{
	const RdmadHold hold = rdmad_hold_excluding(overlap->grant->mode);

	for (guint i = 0; devices && devices[i] && !overlap->rival; i++) {
		overlap->rival = rdmad_allocations_find_holder(overlap->allocations, devices[i],
							       hold, overlap_is_rival, overlap);
		overlap->rival_device = devices[i];
	}
}

static void overlap_find(Overlap *overlap, RdmadAllocations *allocations, const RdmadGrant *grant)
{
	*overlap = (Overlap){
		.allocations = allocations,
		.grant = grant,
		.seen = g_hash_table_new(NULL, NULL),
		.ended = g_ptr_array_new(),
		.why_ended = g_ptr_array_new(),
		.sharers = g_ptr_array_new(),
		.holders = g_ptr_array_new(),
	};
	for (guint i = 0; i < RDMAD_ALLOCATION_MAX_SLOTS && grant->slots[i]; i++)
		rdmad_allocations_holders(allocations, grant->resource, grant->slots[i],
					  overlap_classify, overlap);
	for (guint i = 0; i + SHARERS_MAX < overlap->sharers->len; i++)
		overlap_end(overlap, overlap->sharers->pdata[i],
			    "too many allocations have its slots");
	overlap_find_rival(overlap, grant->devices);
	overlap_find_rival(overlap, grant->exposed);
}

static void overlap_clear(Overlap *overlap)
{
	g_hash_table_unref(overlap->seen);
	g_ptr_array_unref(overlap->ended);
	g_ptr_array_unref(overlap->why_ended);
	g_ptr_array_unref(overlap->sharers);
	g_ptr_array_unref(overlap->holders);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Overlap, overlap_clear)

/* Returns the first requested slot that the allocation has. */
static const char *overlap_slot(const Overlap *overlap, const RdmadAllocation *allocation)
{
	const char *const *slot = overlap->grant->slots;

	while (!g_strv_contains((const char *const *)allocation->slots, *slot))
		slot++;
	return *slot;
}

/* Returns the first holder of a slot that excludes the grant, or NULL. */
static const RdmadAllocation *overlap_excluder(const Overlap *overlap)
{
	const RdmadHold hold = rdmad_hold_excluding(overlap->grant->mode);

	for (guint i = 0; i < overlap->holders->len; i++) {
		const RdmadAllocation *holder =
			((const RdmadAllocationRecord *)overlap->holders->pdata[i])->allocation;

		if (rdmad_allocation_has_hold(holder, hold))
			return holder;
	}
	return NULL;
}

static gboolean overlap_refuses(const Overlap *overlap, GError **error)
{
	const RdmadAllocation *excluder = overlap_excluder(overlap);
	const RdmadAllocation *holder = excluder ?: overlap->rival;
	g_autofree char *text = NULL;

	if (!holder)
		return FALSE;
	text = rdmad_allocations_holder_text(holder);
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_BUSY,
		    "%s: \"%s\" is held by %s as %s (allocation %s), %s", overlap->grant->resource,
		    excluder ? overlap_slot(overlap, holder) : overlap->rival_device, text,
		    holder->resource, holder->id,
		    overlap->doubts ? "and kubelet does not show now whether that pod has ended"
		    : excluder	    ? "which kubelet has forgotten; see `rdmad doctor`"
				    : "and is free when that pod has ended");
	return TRUE;
}

gboolean rdmad_allocations_in_doubt(RdmadAllocations *allocations, const RdmadGrant *grant)
{
	g_auto(Overlap) overlap;

	overlap_find(&overlap, allocations, grant);
	return overlap.doubts > 0;
}

/* ---- pending grants ---- */

typedef struct {
	RdmadGrantCall *call;
	RdmadAllocation *allocation;
	Overlap overlap;
} Pending;

static void pending_free(gpointer data)
{
	Pending *pending = data;

	for (guint i = 0; i < pending->overlap.ended->len; i++)
		((RdmadAllocationRecord *)pending->overlap.ended->pdata[i])->leaving = FALSE;
	overlap_clear(&pending->overlap);
	rdmad_allocation_unref(pending->allocation);
	g_free(pending);
}

/* The grants of one transaction. */
typedef struct {
	RdmadAllocations *allocations;
	GPtrArray *pending; /* of Pending */
	GHashTable *slots;  /* set of RdmadSlot of the pending grants */
} GrantBatch;

static void batch_init(GrantBatch *batch, RdmadAllocations *allocations)
{
	*batch = (GrantBatch){
		.allocations = allocations,
		.pending = g_ptr_array_new_with_free_func(pending_free),
		.slots = g_hash_table_new_full(rdmad_slot_hash, rdmad_slot_equal, g_free, NULL),
	};
}

static void batch_clear(GrantBatch *batch)
{
	g_ptr_array_unref(batch->pending);
	g_hash_table_unref(batch->slots);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GrantBatch, batch_clear)

static gboolean batch_has_slot(const GrantBatch *batch, const RdmadGrant *grant)
{
	for (guint i = 0; i < RDMAD_ALLOCATION_MAX_SLOTS && grant->slots[i]; i++) {
		const RdmadSlot key = { grant->resource, grant->slots[i] };

		if (g_hash_table_contains(batch->slots, &key))
			return TRUE;
	}
	return FALSE;
}

static gboolean allocation_has_one_of(const RdmadAllocation *allocation, const char *const *devices)
{
	for (guint i = 0; devices && devices[i]; i++)
		if (rdmad_allocation_has_device(allocation, devices[i]))
			return TRUE;
	return FALSE;
}

static gboolean batch_has_rival(const GrantBatch *batch, const RdmadGrant *grant)
{
	const RdmadHold hold = rdmad_hold_excluding(grant->mode);

	for (guint i = 0; i < batch->pending->len; i++) {
		const RdmadAllocation *allocation =
			((const Pending *)batch->pending->pdata[i])->allocation;

		if (rdmad_allocation_has_hold(allocation, hold) &&
		    (allocation_has_one_of(allocation, grant->devices) ||
		     allocation_has_one_of(allocation, grant->exposed)))
			return TRUE;
	}
	return FALSE;
}

/* Returns whether the verdicts depend on pending grants, which must be written first. */
static gboolean batch_conflicts(const GrantBatch *batch, const Pending *pending)
{
	const RdmadGrant *grant = &pending->call->grant;

	return pending->overlap.unsettled || batch_has_slot(batch, grant) ||
	       batch_has_rival(batch, grant);
}

static void batch_add(GrantBatch *batch, Pending *pending)
{
	const RdmadAllocation *allocation = pending->allocation;

	for (guint i = 0; allocation->slots[i]; i++) {
		const RdmadSlot key = { allocation->resource, allocation->slots[i] };

		g_hash_table_add(batch->slots, rdmad_slot_dup(&key));
	}
	for (guint i = 0; i < pending->overlap.ended->len; i++)
		((RdmadAllocationRecord *)pending->overlap.ended->pdata[i])->leaving = TRUE;
	g_ptr_array_add(batch->pending, pending);
}

/* ---- after the transaction ---- */

/* Kubelet may list a pod, from which it has taken a device, with the other ones: no pod adopts
 * them. */
static void holders_end(RdmadAllocations *allocations, Overlap *overlap)
{
	for (guint i = 0; i < overlap->ended->len; i++) {
		RdmadAllocationRecord *record = g_ptr_array_index(overlap->ended, i);

		rdmad_allocations_news_add(allocations, record->allocation, NULL,
					   overlap->why_ended->pdata[i]);
		rdmad_allocations_ended_add(allocations, record->allocation, NULL);
		rdmad_allocations_remove(allocations, record);
	}
	g_ptr_array_set_size(overlap->ended, 0);
}

static void grant_publish(RdmadAllocations *allocations, Pending *pending)
{
	const RdmadAllocation *allocation = pending->allocation;
	const GPtrArray *holders = pending->overlap.holders;

	holders_end(allocations, &pending->overlap);
	rdmad_allocations_insert(allocations, rdmad_allocation_ref(allocation));
	if (allocations->evidence.logs)
		rdmad_allocations_record(allocations, allocation->resource, allocation->slots[0])
			->earlier = g_hash_table_ref(allocations->evidence.logs);
	rdmad_allocations_ended_remove(allocations, allocation);
	rdmad_allocations_news_add(allocations, NULL, allocation, NULL);
	for (guint i = 0; i < holders->len; i++)
		rdmad_allocations_news_overlap(
			allocations, ((const RdmadAllocationRecord *)holders->pdata[i])->allocation,
			allocation);
	pending->call->allocation = rdmad_allocation_ref(allocation);
}

/* Writes all pending grants in one transaction.  On failure, each call gets the error. */
static void batch_write(GrantBatch *batch)
{
	g_autoptr(GPtrArray) ended = g_ptr_array_new(), granted = g_ptr_array_new();
	g_autoptr(GError) error = NULL;

	if (!batch->pending->len)
		return;
	for (guint i = 0; i < batch->pending->len; i++) {
		const Pending *pending = batch->pending->pdata[i];

		g_ptr_array_extend(ended, pending->overlap.ended, NULL, NULL);
		g_ptr_array_add(granted, pending->allocation);
	}
	rdmad_allocations_write(batch->allocations, ended, granted, &error);
	for (guint i = 0; i < batch->pending->len; i++) {
		Pending *pending = batch->pending->pdata[i];

		if (error)
			pending->call->error = g_error_copy(error);
		else
			grant_publish(batch->allocations, pending);
	}
	g_ptr_array_set_size(batch->pending, 0);
	g_hash_table_remove_all(batch->slots);
}

/* ---- grants ---- */

static Pending *pending_new(RdmadAllocations *allocations, RdmadGrantCall *call)
{
	Pending *pending = g_new0(Pending, 1);

	pending->call = call;
	overlap_find(&pending->overlap, allocations, &call->grant);
	return pending;
}

/* Returns FALSE if this grant is rejected, independent of the others. */
static gboolean pending_fill(Pending *pending, RdmadAllocations *allocations, GError **error)
{
	const RdmadGrant *grant = &pending->call->grant;

	if (!grant_check(grant, error))
		return FALSE;
	pending->allocation = allocation_of_grant(grant);
	pending->allocation->number = ++allocations->last_number;
	rdmad_allocation_set_witness(pending->allocation, allocations->boot, allocations->kubelet);
	return rdmad_allocation_check(pending->allocation, error) &&
	       !overlap_refuses(&pending->overlap, error);
}

static void batch_grant(GrantBatch *batch, RdmadGrantCall *call)
{
	Pending *pending = pending_new(batch->allocations, call);

	if (batch_conflicts(batch, pending)) {
		pending_free(pending);
		batch_write(batch);
		pending = pending_new(batch->allocations, call);
	}
	if (pending_fill(pending, batch->allocations, &call->error))
		batch_add(batch, pending);
	else
		pending_free(pending);
}

void rdmad_allocations_grant_all(RdmadAllocations *allocations, RdmadGrantCall *const *calls,
				 guint n)
{
	g_auto(GrantBatch) batch;

	batch_init(&batch, allocations);
	for (guint i = 0; i < n; i++)
		batch_grant(&batch, calls[i]);
	batch_write(&batch);
}

const RdmadAllocation *rdmad_allocations_grant(RdmadAllocations *allocations,
					       const RdmadGrant *grant, GError **error)
{
	RdmadGrantCall call = { .grant = *grant }, *const calls[] = { &call };

	rdmad_allocations_grant_all(allocations, calls, G_N_ELEMENTS(calls));
	if (call.error)
		g_propagate_error(error, call.error);
	return call.allocation;
}
