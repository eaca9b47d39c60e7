/* SPDX-License-Identifier: Apache-2.0 */
#include "allocate/choice.h"

#include "allocate/placement.h"

/* The devices of one NUMA node, or below one root port. */
typedef struct {
	guint taken; /* slots chosen in the group */
	gsize room;  /* tied candidates in the group */
} Group;

/* A device with available slots. */
typedef struct {
	const PoolDevice *device;
	Placement place;
	Group *numa, *branch; /* NULL: unknown */
	GPtrArray *offered;   /* IDs, in the order of the pool */
	guint next;	      /* index of the first one not taken */
	guint taken;	      /* slots chosen of the device, including `must` */
} Candidate;

typedef struct {
	const Pool *pool;
	const GArray *gpus;
	GPtrArray *candidates; /* in the order of the pool's devices */
	GHashTable *by_device; /* PoolDevice -> Candidate */
	GHashTable *groups;    /* name -> Group */
	GHashTable *offered;   /* set of IDs: those available, without `must` */
	GPtrArray *chosen;
	gsize size;
} Choice;

static void candidate_free(gpointer data)
{
	Candidate *candidate = data;

	g_ptr_array_unref(candidate->offered);
	g_free(candidate);
}

static Group *choice_group(Choice *choice, char *name)
{
	Group *group = g_hash_table_lookup(choice->groups, name);

	if (group) {
		g_free(name);
		return group;
	}
	group = g_new0(Group, 1);
	g_hash_table_insert(choice->groups, name, group);
	return group;
}

static Candidate *candidate_new(Choice *choice, const PoolDevice *device)
{
	Candidate *candidate = g_new0(Candidate, 1);
	const char *branch = placement_branch(device);

	candidate->device = device;
	candidate->place = placement_of(device, choice->gpus);
	candidate->offered = g_ptr_array_new();
	if (device->numa_node >= 0)
		candidate->numa =
			choice_group(choice, g_strdup_printf("numa %d", device->numa_node));
	if (branch)
		candidate->branch = choice_group(choice, g_strdup(branch));
	return candidate;
}

static Candidate *choice_candidate(Choice *choice, const PoolDevice *device)
{
	Candidate *candidate = g_hash_table_lookup(choice->by_device, device);

	if (candidate)
		return candidate;
	candidate = candidate_new(choice, device);
	g_hash_table_insert(choice->by_device, (gpointer)device, candidate);
	g_ptr_array_add(choice->candidates, candidate);
	return candidate;
}

static SlotUse use_of(const Preference *preference, const char *slot)
{
	return preference->use_of ? preference->use_of(slot, preference->data) : SLOT_FREE;
}

static GHashTable *offered_new(const Preference *preference)
{
	GHashTable *offered = g_hash_table_new(g_str_hash, g_str_equal);

	for (gsize i = 0; i < preference->n_available; i++)
		g_hash_table_add(offered, preference->available[i]);
	for (gsize i = 0; i < preference->n_must; i++)
		g_hash_table_remove(offered, preference->must[i]);
	return offered;
}

/* Kubelet passes the slots in random order; the order of the pool makes the response
 * deterministic. */
static void choice_offer(Choice *choice, const Preference *preference, SlotUse use)
{
	for (guint i = 0; i < pool_slot_count(choice->pool); i++) {
		const Slot *slot = pool_slot(choice->pool, i);
		gpointer id = NULL;

		if (g_hash_table_lookup_extended(choice->offered, slot->id, &id, NULL) &&
		    use_of(preference, slot->id) == use)
			g_ptr_array_add(choice_candidate(choice, slot->device)->offered, id);
	}
}

static void choice_take(Choice *choice, Candidate *candidate, char *id)
{
	candidate->taken++;
	if (candidate->numa)
		candidate->numa->taken++;
	if (candidate->branch)
		candidate->branch->taken++;
	g_ptr_array_add(choice->chosen, id);
}

static void choice_take_must(Choice *choice, const Preference *preference)
{
	for (gsize i = 0; i < preference->n_must && choice->chosen->len < choice->size; i++) {
		const Slot *slot = pool_find(choice->pool, preference->must[i]);

		if (slot)
			choice_take(choice, choice_candidate(choice, slot->device),
				    preference->must[i]);
		else
			g_ptr_array_add(choice->chosen, preference->must[i]);
	}
}

/* ---- the next slot ---- */

static gboolean candidate_has_more(const Candidate *candidate)
{
	return candidate->next < candidate->offered->len;
}

/* Compares by criteria 1 and 2 of choice.h. */
static int candidate_compare(const Candidate *a, const Candidate *b)
{
	if (a->taken != b->taken)
		return a->taken < b->taken ? -1 : 1;
	return placement_compare(&a->place, &b->place);
}

/* Collects the candidates that are best by criteria 1 and 2. */
static void choice_collect_ties(const Choice *choice, GPtrArray *ties)
{
	g_ptr_array_set_size(ties, 0);
	for (guint i = 0; i < choice->candidates->len; i++) {
		Candidate *candidate = choice->candidates->pdata[i];
		const int order = candidate_has_more(candidate) && ties->len
					  ? candidate_compare(candidate, ties->pdata[0])
					  : 0;

		if (order < 0)
			g_ptr_array_set_size(ties, 0);
		if (order <= 0 && candidate_has_more(candidate))
			g_ptr_array_add(ties, candidate);
	}
}

static void group_count(Group *group, gsize most)
{
	if (group)
		group->room = MIN(group->room + 1, most);
}

static void ties_count_room(const GPtrArray *ties, gsize needed)
{
	for (guint i = 0; i < ties->len; i++) {
		const Candidate *candidate = ties->pdata[i];

		if (candidate->numa)
			candidate->numa->room = 0;
		if (candidate->branch)
			candidate->branch->room = 0;
	}
	for (guint i = 0; i < ties->len; i++) {
		const Candidate *candidate = ties->pdata[i];

		group_count(candidate->numa, needed);
		group_count(candidate->branch, needed);
	}
}

static guint candidate_in_use(const Candidate *candidate)
{
	return candidate->device->n_slots -
	       MIN(candidate->device->n_slots, candidate->offered->len);
}

/* Compares two tied candidates by criteria 3 to 5. */
static gboolean candidate_is_better(const Candidate *a, const Candidate *b)
{
	static const Group unknown;
	const Group *numa_a = a->numa ? a->numa : &unknown;
	const Group *numa_b = b->numa ? b->numa : &unknown;
	const Group *branch_a = a->branch ? a->branch : &unknown;
	const Group *branch_b = b->branch ? b->branch : &unknown;

	if (branch_a->taken != branch_b->taken)
		return branch_a->taken > branch_b->taken;
	if (numa_a->taken != numa_b->taken)
		return numa_a->taken > numa_b->taken;
	if (numa_a->room != numa_b->room)
		return numa_a->room > numa_b->room;
	if (branch_a->room != branch_b->room)
		return branch_a->room > branch_b->room;
	return candidate_in_use(a) < candidate_in_use(b);
}

static gboolean choice_take_next(Choice *choice, GPtrArray *ties)
{
	Candidate *best;

	choice_collect_ties(choice, ties);
	if (ties->len == 0)
		return FALSE;
	ties_count_room(ties, choice->size - choice->chosen->len);
	best = ties->pdata[0];
	for (guint i = 1; i < ties->len; i++)
		if (candidate_is_better(ties->pdata[i], best))
			best = ties->pdata[i];
	choice_take(choice, best, best->offered->pdata[best->next++]);
	return TRUE;
}

static void choice_fill(Choice *choice, GPtrArray *ties)
{
	while (choice->chosen->len < choice->size && choice_take_next(choice, ties))
		;
}

GPtrArray *choice_make(const Pool *pool, const GArray *gpus, const Preference *preference)
{
	g_autoptr(GPtrArray) candidates = g_ptr_array_new_with_free_func(candidate_free);
	g_autoptr(GPtrArray) ties = g_ptr_array_new();
	g_autoptr(GHashTable) by_device = g_hash_table_new(NULL, NULL);
	g_autoptr(GHashTable) groups =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	g_autoptr(GHashTable) offered = offered_new(preference);
	Choice choice = {
		.pool = pool,
		.gpus = gpus,
		.candidates = candidates,
		.by_device = by_device,
		.groups = groups,
		.offered = offered,
		.chosen = g_ptr_array_new(),
		.size = preference->size,
	};

	choice_offer(&choice, preference, SLOT_FREE);
	choice_take_must(&choice, preference);
	choice_fill(&choice, ties);
	for (SlotUse use = SLOT_OF_UNKNOWN; use <= SLOT_HELD && choice.chosen->len < choice.size;
	     use++) {
		choice_offer(&choice, preference, use);
		choice_fill(&choice, ties);
	}
	return choice.chosen;
}
