/* SPDX-License-Identifier: Apache-2.0 */
/* Reconciles the table of allocations with a List of podresources. */
#define RDMAD_LOG_TOPIC "allocations"

#include <rdmad/clock.h>
#include <rdmad/log.h>
#include <string.h>

#include "service/allocations-table.h"

typedef struct {
	RdmadModule *owner;
	char *name;		       /* name of the owner */
	RdmadAllocationResolver calls; /* its strings are the caller's */
	gpointer data;
} Resolver;

static void resolver_free(gpointer data)
{
	Resolver *resolver = data;

	g_free(resolver->name);
	g_free(resolver);
}

GHashTable *rdmad_allocations_resolvers_new(void)
{
	return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, resolver_free);
}

static gboolean resolver_is_of(gpointer resource, gpointer resolver, gpointer owner)
{
	return ((const Resolver *)resolver)->owner == owner;
}

guint rdmad_allocations_resolvers_reap(RdmadAllocations *allocations, const RdmadModule *owner)
{
	return g_hash_table_foreach_remove(allocations->resolvers, resolver_is_of, (gpointer)owner);
}

void rdmad_allocations_set_resolver(RdmadAllocations *allocations, RdmadModule *owner,
				    const RdmadAllocationResolver *resolver, gpointer data)
{
	Resolver *mine;

	if (!resolver->device_of) {
		g_hash_table_remove(allocations->resolvers, resolver->resource);
		return;
	}
	mine = g_new(Resolver, 1);
	*mine = (Resolver){ owner, g_strdup(resolver->owner), *resolver, data };
	g_hash_table_replace(allocations->resolvers, g_strdup(resolver->resource), mine);
}

gboolean rdmad_allocations_port_counts(RdmadAllocations *allocations,
				       const RdmadAllocation *allocation, const RdmadDevice *dev,
				       const RdmadPort *port)
{
	const Resolver *resolver =
		g_hash_table_lookup(allocations->resolvers, allocation->resource);

	return !resolver || !resolver->calls.port_counts ||
	       resolver->calls.port_counts(dev, port, resolver->data);
}

/* Changes that a list requires.  All are written in one transaction, then applied. */
typedef struct {
	RdmadAllocations *allocations;
	const RdmadPodList *list;
	gboolean is_apart; /* the previous list does not count with this one */
	/* RdmadAllocationRecord -> RdmadPodDevices with the same slots */
	GHashTable *entries;
	GHashTable *records; /* the inverse of `entries` */
	GHashTable *over;    /* set of RdmadAllocationRecord: the same as `gone` */
	GHashTable *holders; /* set of "namespace/pod": pods with devices of any resource */
	GPtrArray *gone;     /* RdmadAllocationRecord */
	GPtrArray *reasons;  /* text for each of `gone` */
	GPtrArray *changed;  /* RdmadAllocationRecord for each of the first of `put` */
	/* RdmadAllocation, with a reference: changed allocations, then new ones */
	GPtrArray *put;
} Plan;

static void allocation_release(gpointer allocation)
{
	rdmad_allocation_unref(allocation);
}

/* ---- match of allocations and containers ---- */

typedef struct {
	Plan *plan;
	const RdmadPodDevices *entry;
	RdmadAllocationRecord *found;
} Match;

typedef struct {
	const RdmadPodList *list;
	gboolean found;
} Younger;

static void find_younger(RdmadAllocationRecord *record, gpointer data)
{
	Younger *younger = data;

	younger->found |= record->since_us >= younger->list->asked_us;
}

/* Returns TRUE if kubelet has assigned its slots again since the list was requested: the list shows
 * either container. */
static gboolean record_is_overtaken(const Plan *plan, const RdmadAllocationRecord *record)
{
	const RdmadAllocation *allocation = record->allocation;
	Younger younger = { plan->list, FALSE };

	for (guint i = 0; !allocation->container && allocation->slots[i]; i++)
		rdmad_allocations_holders(plan->allocations, allocation->resource,
					  allocation->slots[i], find_younger, &younger);
	return younger.found;
}

/* Finds the newest allocation that is older than the list: kubelet allocates all devices of a
 * container at once. */
static void match_record(RdmadAllocationRecord *record, gpointer data)
{
	Match *match = data;

	if (record->since_us < match->plan->list->asked_us &&
	    g_strv_equal((const char *const *)record->allocation->slots,
			 (const char *const *)match->entry->ids))
		match->found = record;
}

static void plan_match(Plan *plan)
{
	for (guint i = 0; i < plan->list->entries->len; i++) {
		RdmadPodDevices *entry = g_ptr_array_index(plan->list->entries, i);
		Match match = { plan, entry, NULL };

		rdmad_pods_set_add(plan->holders, entry->pod_namespace, entry->pod_name);
		rdmad_allocations_holders(plan->allocations, entry->resource, entry->ids[0],
					  match_record, &match);
		if (!match.found || g_hash_table_contains(plan->entries, match.found) ||
		    record_is_overtaken(plan, match.found))
			continue;
		g_hash_table_insert(plan->entries, match.found, entry);
		g_hash_table_insert(plan->records, entry, match.found);
	}
}

static gboolean allocation_is_of_pod(const RdmadAllocation *allocation,
				     const RdmadPodDevices *entry)
{
	return rdmad_allocation_is_of_pod(allocation, entry->pod_namespace, entry->pod_name);
}

/* Returns the holder of the allocation's slots: its own container, else another of its pod, else
 * any. */
static const RdmadPodDevices *record_entry(const Plan *plan, const RdmadAllocationRecord *record)
{
	const RdmadPodDevices *entry = g_hash_table_lookup(plan->entries, record);
	const RdmadAllocation *allocation = record->allocation;

	for (guint i = 0;
	     allocation->slots[i] && !(entry && allocation_is_of_pod(allocation, entry)); i++) {
		const RdmadPodDevices *holder = rdmad_pod_list_holder(
			plan->list, allocation->resource, allocation->slots[i]);

		if (holder && (!entry || allocation_is_of_pod(allocation, holder)))
			entry = holder;
	}
	return entry;
}

/* ---- allocations that end ---- */

static const char LISTED_AFTER_END[] = "its pod has ended, though kubelet lists it still";

static void plan_end(Plan *plan, RdmadAllocationRecord *record, const char *why)
{
	g_ptr_array_add(plan->gone, record);
	g_ptr_array_add(plan->reasons, (gpointer)why);
	g_hash_table_add(plan->over, record);
}

static gboolean record_is_over(const RdmadAllocationRecord *record, const RdmadPodList *list)
{
	const gint64 steady_us = MAX(record->since_us, list->kubelet_since_us);
	const gint64 missing_for_us = list->asked_us - record->missing_us;

	if (!record->missing_us)
		return FALSE;
	if (record->shown_us > list->kubelet_since_us)
		return missing_for_us >= RDMAD_ALLOCATION_CONFIRM_US;
	return missing_for_us >= RDMAD_ALLOCATION_MISSING_US &&
	       list->asked_us - steady_us >= RDMAD_ALLOCATION_GRACE_US;
}

/* A different reason restarts the interval, because the lists contradict each other.  So does a
 * long time between lists: the machine was paused, so that no kubelet started a pod meanwhile. */
static void plan_missing(Plan *plan, RdmadAllocationRecord *record, const char *why)
{
	if (plan->is_apart || g_strcmp0(record->missing, why) != 0)
		record->missing_us = 0;
	record->missing = why;
	if (record_is_over(record, plan->list))
		plan_end(plan, record, why);
	else if (!record->missing_us)
		record->missing_us = plan->list->asked_us;
}

/* The log directories of the pods with one name.  Kubelet makes that of a pod after the admission,
 * and before the first process. */
typedef enum {
	LOGS_NONE,    /* or unknown */
	LOGS_EARLIER, /* each is in the set of earlier ones */
	LOGS_LATER,   /* one is not in that set */
} PodLogs;

/* `earlier` NULL: unknown. */
static PodLogs pod_logs(const Plan *plan, const char *pod, GHashTable *earlier)
{
	g_autofree char *prefix = g_strconcat(pod, "_", NULL);
	PodLogs logs = LOGS_NONE;
	GHashTableIter iter;
	gpointer name;

	if (!plan->list->logs || !earlier)
		return LOGS_NONE;
	g_strdelimit(prefix, "/", '_');
	g_hash_table_iter_init(&iter, plan->list->logs);
	while (g_hash_table_iter_next(&iter, &name, NULL)) {
		if (!g_str_has_prefix(name, prefix))
			continue;
		if (!g_hash_table_contains(earlier, name))
			return LOGS_LATER;
		logs = LOGS_EARLIER;
	}
	return logs;
}

/* Returns whether the pod was listed, and had its log directory, before the grant, so that it had
 * been admitted.  The name alone may be the one of an earlier pod; the directory may be from before
 * a reboot. */
static gboolean pod_is_older(const Plan *plan, const RdmadAllocationRecord *record, const char *pod)
{
	return pod_logs(plan, pod, record->earlier) == LOGS_EARLIER;
}

static void pods_add(GHashTable *pods, GHashTable *more)
{
	GHashTableIter iter;
	gpointer pod;

	g_hash_table_iter_init(&iter, more);
	while (g_hash_table_iter_next(&iter, &pod, NULL))
		g_hash_table_add(pods, g_strdup(pod));
}

/* Returns the set of pods whose devices the kubelet of the grant may not have known.  It then gives
 * devices again to their containers that do not run yet. */
static GHashTable *pods_unknown_at(const Plan *plan, const RdmadAllocationRecord *grant)
{
	GHashTable *pods = rdmad_pods_set_new();

	for (const GList *l = plan->allocations->order.head; l; l = l->next) {
		const RdmadAllocationRecord *record = l->data;
		const RdmadAllocation *allocation = record->allocation;

		if (!rdmad_allocations_kubelet_is_newer(plan->allocations, allocation,
							grant->allocation->kubelet))
			continue;
		if (allocation->pod_name)
			rdmad_pods_set_add(pods, allocation->pod_namespace, allocation->pod_name);
		else if (record->suspects)
			pods_add(pods, record->suspects);
	}
	return pods;
}

static void suspects_add(const Plan *plan, RdmadAllocationRecord *record)
{
	g_autoptr(GHashTable) unknown = pods_unknown_at(plan, record);
	GHashTableIter iter;
	gpointer pod;

	if (!record->suspects)
		record->suspects = rdmad_pods_set_new();
	g_hash_table_iter_init(&iter, plan->list->pods);
	while (g_hash_table_iter_next(&iter, &pod, NULL))
		if (!g_hash_table_contains(plan->holders, pod) &&
		    (g_hash_table_contains(unknown, pod) || !pod_is_older(plan, record, pod)))
			g_hash_table_add(record->suspects, g_strdup(pod));
}

/* Kubelet has not forgotten a pod that it lists with devices. */
static gboolean is_no_suspect(gpointer pod, gpointer value, gpointer data)
{
	const Plan *plan = data;

	return !g_hash_table_contains(plan->list->pods, pod) ||
	       g_hash_table_contains(plan->holders, pod);
}

/* Returns TRUE if kubelet may have been restarted without its checkpoint before it named the pod.
 * The pod is then one that kubelet, once it has read its pods, lists without devices, and that is
 * not older than the grant, or was admitted again. */
static gboolean record_has_suspects(Plan *plan, RdmadAllocationRecord *record)
{
	const RdmadPodList *list = plan->list;

	if (!rdmad_allocations_kubelet_is_newer(plan->allocations, record->allocation,
						list->kubelet))
		return FALSE;
	if (!record->suspects ||
	    list->asked_us - list->kubelet_since_us < RDMAD_ALLOCATION_GRACE_US)
		suspects_add(plan, record);
	g_hash_table_foreach_remove(record->suspects, is_no_suspect, plan);
	return g_hash_table_size(record->suspects) > 0;
}

/* A kubelet that has just started lists pods without their devices.  An empty cgroup at that time
 * may be that of a pod whose sandbox is recreated. */
static gboolean pod_has_ended(const Plan *plan, const RdmadAllocationRecord *record)
{
	const RdmadPodLife life = rdmad_allocations_life(plan->allocations, record->allocation);

	return life == RDMAD_POD_LIFE_GONE ||
	       (life == RDMAD_POD_LIFE_EMPTY && record->shown_us > plan->list->kubelet_since_us);
}

/* Returns TRUE if the pod is alive and its kubelet has forgotten its slots. */
static gboolean record_is_forgotten(Plan *plan, RdmadAllocationRecord *record)
{
	const RdmadAllocation *allocation = record->allocation;

	if (!allocation->pod_name)
		return record_has_suspects(plan, record);
	if (rdmad_allocations_life(plan->allocations, allocation) == RDMAD_POD_LIFE_ALIVE)
		return TRUE;
	if (pod_has_ended(plan, record))
		return FALSE;
	return rdmad_allocations_kubelet_is_newer(plan->allocations, allocation,
						  plan->list->kubelet) &&
	       rdmad_pods_set_has(plan->list->pods, allocation->pod_namespace,
				  allocation->pod_name);
}

static gboolean entry_is_younger(const Plan *plan, const RdmadPodDevices *entry,
				 const RdmadAllocationRecord *record)
{
	const RdmadAllocationRecord *owner = g_hash_table_lookup(plan->records, entry);

	return owner && owner->allocation->number > record->allocation->number;
}

static gboolean entry_is_of_container(const RdmadPodDevices *entry,
				      const RdmadAllocation *allocation)
{
	return allocation_is_of_pod(allocation, entry) &&
	       g_strcmp0(allocation->container, entry->container) == 0;
}

/* Returns TRUE if the container in `entry` has replaced the holder of the record.  A container gets
 * all its devices in one admission, and kubelet's checkpoint has all of them or none, so a
 * container with newer devices only was admitted again.  Its pod is then a later one of the same
 * name (StatefulSet); the cgroup, found by that name, says nothing about the first.  After a reboot
 * no process has the earlier devices. */
static gboolean entry_replaces(const Plan *plan, const RdmadPodDevices *entry,
			       const RdmadAllocationRecord *record)
{
	if (!entry_is_of_container(entry, record->allocation))
		return FALSE;
	return entry_is_younger(plan, entry, record) ||
	       (record->carried && g_str_equal(record->allocation->resource, entry->resource));
}

static gboolean record_is_replaced(const Plan *plan, const RdmadAllocationRecord *record)
{
	for (guint i = 0; i < plan->list->entries->len; i++)
		if (entry_replaces(plan, plan->list->entries->pdata[i], record))
			return TRUE;
	return FALSE;
}

/* Returns TRUE if the processes of a pod go on that kubelet no longer knows, and whose name a
 * listed one has. */
static gboolean record_outlives(const Plan *plan, RdmadAllocationRecord *record)
{
	if (!record->allocation->container || g_hash_table_contains(plan->entries, record))
		return FALSE;
	for (guint i = 0; i < plan->list->entries->len; i++) {
		const RdmadPodDevices *entry = plan->list->entries->pdata[i];
		const RdmadAllocationRecord *owner = g_hash_table_lookup(plan->records, entry);

		if (owner && entry_is_of_container(entry, record->allocation) &&
		    rdmad_allocations_outlives(plan->allocations, record, owner,
					       plan->list->asked_us))
			return TRUE;
	}
	return FALSE;
}

static void record_remember(RdmadAllocationRecord *record)
{
	record->lacking_us = 0;
	record->forgotten = FALSE;
}

/* Requires lists over some time: a starting kubelet lists pods before it has read its
 * checkpoint. */
static void record_forget(const Plan *plan, RdmadAllocationRecord *record)
{
	const gint64 asked_us = plan->list->asked_us;

	record->missing_us = 0;
	if (!record->lacking_us)
		record->lacking_us = asked_us;
	if (record->forgotten || asked_us - MAX(record->lacking_us, plan->list->kubelet_since_us) <
					 RDMAD_ALLOCATION_MISSING_US)
		return;
	record->forgotten = TRUE;
	rdmad_allocations_news_forgotten(plan->allocations, record->allocation);
}

/* ---- allocations that continue ---- */

static void plan_change(Plan *plan, RdmadAllocationRecord *record, const RdmadPodDevices *entry,
			const char *container)
{
	const RdmadAllocations *allocations = plan->allocations;
	const RdmadAllocation *allocation = record->allocation;
	RdmadAllocation *now;

	if (allocation_is_of_pod(allocation, entry) &&
	    !g_strcmp0(allocation->container, container) &&
	    !g_strcmp0(allocation->boot, allocations->boot) &&
	    !g_strcmp0(allocation->kubelet, plan->list->kubelet))
		return;
	now = rdmad_allocation_copy(allocation);
	rdmad_allocation_set_pod(now, entry->pod_namespace, entry->pod_name, container);
	rdmad_allocation_set_witness(now, allocations->boot, plan->list->kubelet);
	g_ptr_array_add(plan->changed, record);
	g_ptr_array_add(plan->put, now);
}

/* If another allocation has exactly the devices of the listed container, this one belongs to an
 * init container, which podresources does not list. */
static void plan_shown(Plan *plan, RdmadAllocationRecord *record, const RdmadPodDevices *entry)
{
	const RdmadAllocationRecord *owner = g_hash_table_lookup(plan->records, entry);
	const RdmadAllocation *allocation = record->allocation;
	const char *container = !owner || owner == record ? entry->container : NULL;

	if (rdmad_allocations_life(plan->allocations, allocation) == RDMAD_POD_LIFE_GONE) {
		plan_missing(plan, record, LISTED_AFTER_END);
		return;
	}
	if (!container && !g_strcmp0(allocation->container, entry->container)) {
		plan_end(plan, record, "kubelet gave its container others");
		return;
	}
	record->missing_us = 0;
	g_clear_pointer(&record->earlier, g_hash_table_unref);
	g_clear_pointer(&record->suspects, g_hash_table_unref);
	record->shown_us = plan->list->asked_us;
	record->carried = FALSE;
	record_remember(record);
	plan_change(plan, record, entry, container ?: allocation->container);
}

/* An allocation without a pod belongs to the container that has its slots.  Exception: a kubelet
 * that did not assign them, and lost its checkpoint, may have assigned them to another pod.  It has
 * not lost it if it lists what the previous kubelet assigned afterwards. */
static gboolean entry_shows(const Plan *plan, const RdmadAllocationRecord *record,
			    const RdmadPodDevices *entry)
{
	const RdmadAllocationRecord *owner = g_hash_table_lookup(plan->records, entry);
	const RdmadAllocation *allocation = record->allocation;

	if (allocation->pod_name)
		return allocation_is_of_pod(allocation, entry);
	if (owner == record ||
	    !rdmad_allocations_kubelet_is_newer(plan->allocations, allocation, plan->list->kubelet))
		return TRUE;
	return entry_is_younger(plan, entry, record) &&
	       g_strcmp0(owner->allocation->kubelet, allocation->kubelet) == 0;
}

/* Returns whether the record may be of an init container of that pod: kubelet was restarted between
 * the two Allocates, and no pod is known that it may have forgotten. */
static gboolean entry_continues(const Plan *plan, const RdmadAllocationRecord *record,
				const RdmadPodDevices *entry)
{
	return !record->allocation->pod_name && entry_is_younger(plan, entry, record);
}

static gboolean record_is_unnamed(const Plan *plan, const RdmadAllocationRecord *record)
{
	const RdmadAllocation *allocation = record->allocation;

	for (guint i = 0; allocation->slots[i]; i++)
		if (rdmad_pod_list_is_unnamed(plan->list, allocation->resource,
					      allocation->slots[i]))
			return TRUE;
	return FALSE;
}

static void plan_record(Plan *plan, RdmadAllocationRecord *record)
{
	const RdmadPodDevices *entry;

	/* A list older than the grant shows the previous holder; one that cannot name the holder
	 * shows none. */
	if (record->since_us >= plan->list->asked_us || record_is_overtaken(plan, record) ||
	    record_is_unnamed(plan, record))
		return;
	entry = record_entry(plan, record);
	if (record_outlives(plan, record)) {
		record_forget(plan, record);
	} else if (entry && entry_shows(plan, record, entry)) {
		plan_shown(plan, record, entry);
	} else if (record_is_replaced(plan, record)) {
		plan_end(plan, record, "kubelet gave its container others");
	} else if (record_is_forgotten(plan, record)) {
		record_forget(plan, record);
	} else if (entry && entry_continues(plan, record, entry)) {
		plan_shown(plan, record, entry);
	} else if (entry) {
		plan_end(plan, record, "kubelet gave its slots to another pod");
	} else if (pod_has_ended(plan, record)) {
		plan_end(plan, record, "its pod has ended");
	} else {
		record_remember(record);
		plan_missing(plan, record, "kubelet no longer lists it");
	}
}

/* ---- adoption of unknown allocations ---- */

typedef struct {
	const Plan *plan;
	gboolean taken;
} SlotUse;

static void use_note(RdmadAllocationRecord *record, gpointer data)
{
	SlotUse *use = data;

	use->taken |= !g_hash_table_contains(use->plan->over, record);
}

/* Returns whether the slot's last allocation has ended, and `held` still is of its container. */
static gboolean slot_has_ended(const Plan *plan, const RdmadPodDevices *held, const char *slot)
{
	const RdmadSlot key = { held->resource, slot };
	g_autofree char *pod = NULL;
	gpointer logs;

	if (!g_hash_table_lookup_extended(plan->allocations->ended, &key, NULL, &logs))
		return FALSE;
	pod = rdmad_pod_name(held->pod_namespace, held->pod_name);
	return pod_logs(plan, pod, logs) != LOGS_LATER;
}

static gboolean slot_is_free(const Plan *plan, const RdmadPodDevices *held, const char *slot)
{
	SlotUse use = { plan, slot_has_ended(plan, held, slot) };

	rdmad_allocations_holders(plan->allocations, held->resource, slot, use_note, &use);
	return !use.taken;
}

static gboolean id_is_planned(const Plan *plan, const char *id)
{
	for (guint i = 0; i < plan->put->len; i++)
		if (g_str_equal(((const RdmadAllocation *)plan->put->pdata[i])->id, id))
			return TRUE;
	return FALSE;
}

/* Returns the allocation ID in the container's directory; NULL: a new ID is needed. */
static char *adopt_id(const Plan *plan, const Resolver *resolver, char *const *slots)
{
	g_autofree char *id =
		resolver->calls.id_of && *slots
			? resolver->calls.id_of((const char *const *)slots, resolver->data)
			: NULL;

	if (!rdmad_allocation_id_is_valid(id) || rdmad_allocations_lookup(plan->allocations, id) ||
	    id_is_planned(plan, id))
		return NULL;
	return g_steal_pointer(&id);
}

static void adopt_exposed(const Resolver *resolver, char *const *slots, GStrvBuilder *devices)
{
	g_auto(GStrv) exposed =
		resolver->calls.exposed_of && *slots
			? resolver->calls.exposed_of((const char *const *)slots, resolver->data)
			: NULL;

	for (guint i = 0; exposed && exposed[i]; i++)
		g_strv_builder_add(devices, exposed[i]);
}

/* Makes an allocation of the container's slots that no allocation has.  It may have no slots. */
static RdmadAllocation *adopt(const Plan *plan, const RdmadPodDevices *held,
			      const Resolver *resolver)
{
	g_autoptr(GStrvBuilder) slots = g_strv_builder_new();
	g_autoptr(GStrvBuilder) devices = g_strv_builder_new();
	g_auto(GStrv) list = NULL;
	RdmadAllocation *allocation;

	for (guint i = 0; held->ids[i]; i++) {
		const char *device = NULL;

		if (slot_is_free(plan, held, held->ids[i]) &&
		    rdmad_pod_list_holder(plan->list, held->resource, held->ids[i]) == held)
			device = resolver->calls.device_of(held->ids[i], resolver->data);
		if (!device)
			continue;
		g_strv_builder_add(slots, held->ids[i]);
		g_strv_builder_add(devices, device);
	}
	list = g_strv_builder_end(slots);
	adopt_exposed(resolver, list, devices);
	allocation = rdmad_allocation_new(adopt_id(plan, resolver, list));
	allocation->resource = g_strdup(held->resource);
	allocation->number = ++plan->allocations->last_number;
	allocation->owner = g_strdup(resolver->name);
	allocation->mode =
		resolver->calls.mode_of ? g_strdup(resolver->calls.mode_of(resolver->data)) : NULL;
	allocation->since_us = rdmad_wall_us();
	allocation->slots = g_steal_pointer(&list);
	allocation->devices = g_strv_builder_end(devices);
	rdmad_allocation_set_pod(allocation, held->pod_namespace, held->pod_name, held->container);
	rdmad_allocation_set_witness(allocation, plan->allocations->boot, plan->list->kubelet);
	return allocation;
}

static void plan_adoptions(Plan *plan)
{
	for (guint i = 0; i < plan->list->entries->len; i++) {
		const RdmadPodDevices *held = g_ptr_array_index(plan->list->entries, i);
		const Resolver *resolver =
			g_hash_table_lookup(plan->allocations->resolvers, held->resource);
		g_autoptr(RdmadAllocationRef) allocation = NULL;

		if (resolver)
			allocation = adopt(plan, held, resolver);
		/* Skips allocations without slots or with invalid values. */
		if (!allocation || !rdmad_allocation_check(allocation, NULL) ||
		    rdmad_allocations_life(plan->allocations, allocation) == RDMAD_POD_LIFE_GONE)
			continue;
		g_ptr_array_add(plan->put, (gpointer)g_steal_pointer(&allocation));
	}
}

/* ---- reconciliation ---- */

static void plan_clear(Plan *plan)
{
	g_hash_table_unref(plan->entries);
	g_hash_table_unref(plan->records);
	g_hash_table_unref(plan->over);
	g_hash_table_unref(plan->holders);
	g_ptr_array_unref(plan->gone);
	g_ptr_array_unref(plan->reasons);
	g_ptr_array_unref(plan->changed);
	g_ptr_array_unref(plan->put);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Plan, plan_clear)

static void plan_do(const Plan *plan, RdmadAllocations *allocations)
{
	/* A watcher sees both pods of a name before the first one's allocation ends. */
	for (guint i = 0; i < plan->changed->len; i++) {
		RdmadAllocationRecord *record = plan->changed->pdata[i];
		const RdmadAllocation *now = rdmad_allocation_ref(plan->put->pdata[i]);

		rdmad_allocations_news_add(allocations, record->allocation, now, NULL);
		rdmad_allocations_set(allocations, record, now);
	}
	for (guint i = 0; i < plan->gone->len; i++) {
		RdmadAllocationRecord *record = g_ptr_array_index(plan->gone, i);

		rdmad_allocations_news_add(allocations, record->allocation, NULL,
					   plan->reasons->pdata[i]);
		if (plan->reasons->pdata[i] == LISTED_AFTER_END)
			rdmad_allocations_ended_add(allocations, record->allocation,
						    plan->list->logs);
		rdmad_allocations_remove(allocations, record);
	}
	for (guint i = plan->changed->len; i < plan->put->len; i++) {
		const RdmadAllocation *now = rdmad_allocation_ref(plan->put->pdata[i]);

		rdmad_allocations_news_add(allocations, NULL, now, NULL);
		rdmad_allocations_ended_remove(allocations, now);
		rdmad_allocations_insert(allocations, now);
	}
}

static gboolean ended_is_over(gpointer slot, gpointer value, gpointer list)
{
	const RdmadSlot *key = slot;

	return !rdmad_pod_list_holder(list, key->resource, key->slot) &&
	       !rdmad_pod_list_is_unnamed(list, key->resource, key->slot);
}

void rdmad_allocations_reconcile(RdmadAllocations *allocations, const RdmadPodList *list)
{
	g_autoptr(GError) error = NULL;
	g_auto(Plan) plan = {
		.allocations = allocations,
		.list = list,
		.entries = g_hash_table_new(NULL, NULL),
		.records = g_hash_table_new(NULL, NULL),
		.over = g_hash_table_new(NULL, NULL),
		.holders = rdmad_pods_set_new(),
		.gone = g_ptr_array_new(),
		.reasons = g_ptr_array_new(),
		.changed = g_ptr_array_new(),
		.put = g_ptr_array_new_with_free_func(allocation_release),
	};

	plan.is_apart = list->asked_us - allocations->evidence.asked_us > RDMAD_ALLOCATION_APART_US;
	rdmad_allocations_evidence_take(allocations, list);
	plan_match(&plan);
	for (const GList *l = allocations->order.head; l; l = l->next)
		plan_record(&plan, l->data);
	plan_adoptions(&plan);
	g_hash_table_foreach_remove(allocations->ended, ended_is_over, (gpointer)list);
	if (!plan.gone->len && !plan.put->len)
		return;
	if (rdmad_allocations_write(allocations, plan.gone, plan.put, &error))
		plan_do(&plan, allocations);
	else
		rdmad_warn("allocations are not brought in line with kubelet's: %s",
			   error->message);
}

gboolean rdmad_allocations_some_missing(RdmadAllocations *allocations)
{
	for (const GList *l = allocations->order.head; l; l = l->next) {
		const RdmadAllocationRecord *record = l->data;

		if (record->missing_us && record->shown_us)
			return TRUE;
	}
	return FALSE;
}

gboolean rdmad_allocations_unsettled(RdmadAllocations *allocations)
{
	for (const GList *l = allocations->order.head; l; l = l->next) {
		const RdmadAllocationRecord *record = l->data;

		if (record->missing_us || !record->allocation->pod_name ||
		    (record->lacking_us && !record->forgotten))
			return TRUE;
	}
	return FALSE;
}
