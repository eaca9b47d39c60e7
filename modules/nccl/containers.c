/* SPDX-License-Identifier: Apache-2.0 */
#include "containers.h"

#include <rdmad/inventory.h>
#include <rdmad/event-log.h>
#include <rdmad/loop.h>
#include <string.h>

#define RETRY_MS 5000u

struct NcclContainers {
	RdmadModule *self;
	NcclSettings *const *settings;
	RdmadWatch *devices, *allocations;
	RdmadEvent *update;  /* once for what changes in one turn of the loop */
	GTree *table;	     /* key -> NcclContainer */
	gboolean has_looked; /* the first look at the hardware is over */
	guint64 changes;
};

guint nccl_containers_count(const NcclContainers *containers)
{
	return g_tree_nnodes(containers->table);
}

gboolean nccl_containers_next(const NcclContainers *containers, GTreeNode **at,
			      const NcclContainer **container)
{
	*at = *at ? g_tree_node_next(*at) : g_tree_node_first(containers->table);
	if (*at)
		*container = g_tree_node_value(*at);
	return *at != NULL;
}

static gboolean container_holds(const NcclContainer *container, const char *allocation)
{
	for (guint i = 0; i < container->allocations->len; i++) {
		const RdmadAllocation *held = container->allocations->pdata[i];

		if (g_str_equal(held->id, allocation))
			return TRUE;
	}
	return FALSE;
}

const NcclContainer *nccl_containers_holding(const NcclContainers *containers,
					     const char *allocation)
{
	const NcclContainer *container;
	GTreeNode *at = NULL;

	while (nccl_containers_next(containers, &at, &container))
		if (container_holds(container, allocation))
			return container;
	return NULL;
}

guint64 nccl_containers_changes(const NcclContainers *containers)
{
	return containers->changes;
}

/* ---- updating ---- */

/* A job keeps what it has read: the first settings that were no refusal. */
static void tell_change(NcclContainers *containers, const NcclContainer *container)
{
	const RdmadAllocation *named = nccl_container_named(container);
	const RdmadAllocation *first = container->allocations->pdata[0];
	g_autofree char *pod =
		named ? g_strdup_printf("%s/%s", named->pod_namespace, named->pod_name) : NULL;
	const RdmadLogFields about = { .pod = pod,
				       .resource = first->resource,
				       .allocation = first->id };
	g_autofree char *difference =
		nccl_container_difference(container->first, container->plan->env);

	containers->changes++;
	rdmad_event_log_post(rdmad_module_event_log(containers->self), RDMAD_LOG_NOTICE,
			     "nccl-plan-changed", &about,
			     "NCCL settings changed; a running job has the old ones: %s%s%s",
			     difference, container->plan->refusal ? "; " : "",
			     container->plan->refusal ? container->plan->reason : "");
}

static gboolean update_visit(gpointer key, gpointer value, gpointer data)
{
	NcclContainers *containers = data;
	NcclContainer *container = value;
	const NcclContainerNews news = nccl_container_update(
		container, rdmad_module_inventory(containers->self), *containers->settings,
		rdmad_module_run_dir(containers->self));

	if (news == NCCL_CONTAINER_CHANGED && container->first &&
	    !nccl_env_equal(container->first, container->plan->env))
		tell_change(containers, container);
	/* A full disk may pass.  Each failure is logged. */
	if (container->unwritten)
		rdmad_event_arm(containers->update, RETRY_MS);
	return FALSE;
}

static void containers_update(gpointer data)
{
	NcclContainers *containers = data;

	if (containers->has_looked)
		g_tree_foreach(containers->table, update_visit, containers);
}

static void containers_schedule(NcclContainers *containers)
{
	rdmad_event_arm(containers->update, 0);
}

static gboolean forget_visit(gpointer key, gpointer value, gpointer data)
{
	NcclContainer *container = value;

	g_clear_pointer(&container->plan, nccl_plan_free);
	g_clear_pointer(&container->view, nccl_view_free);
	return FALSE;
}

void nccl_containers_replan(NcclContainers *containers)
{
	g_tree_foreach(containers->table, forget_visit, NULL);
	containers_schedule(containers);
}

/* ---- watching ---- */

static int id_compare(gconstpointer a, gconstpointer b)
{
	const RdmadAllocation *const *x = a, *const *y = b;

	return strcmp((*x)->id, (*y)->id);
}

static void allocation_add(NcclContainers *containers, const RdmadAllocation *allocation)
{
	g_autofree char *key = nccl_container_key(allocation);
	NcclContainer *container = g_tree_lookup(containers->table, key);

	if (!container) {
		container = nccl_container_new();
		g_tree_insert(containers->table, g_steal_pointer(&key), container);
	}
	g_ptr_array_add(container->allocations, (gpointer)rdmad_allocation_ref(allocation));
	g_ptr_array_sort(container->allocations, id_compare);
	forget_visit(NULL, container, NULL);
	containers_schedule(containers);
}

static void allocation_remove(NcclContainers *containers, const RdmadAllocation *allocation)
{
	g_autofree char *key = nccl_container_key(allocation);
	NcclContainer *container = g_tree_lookup(containers->table, key);

	for (guint i = 0; container && i < container->allocations->len; i++) {
		const RdmadAllocation *held = container->allocations->pdata[i];

		if (g_str_equal(held->id, allocation->id)) {
			g_ptr_array_remove_index(container->allocations, i);
			break;
		}
	}
	if (container && container->allocations->len == 0)
		g_tree_remove(containers->table, key);
	else if (container)
		forget_visit(NULL, container, NULL);
	containers_schedule(containers);
}

static void on_granted(const RdmadAllocation *allocation, gpointer data)
{
	allocation_add(data, allocation);
}

/* With its pod the allocation gets its container, and what was read there before stays known.  One that
 * loses its pod has a new holder, which has read nothing. */
static void on_changed(const RdmadAllocation *before, const RdmadAllocation *now, gpointer data)
{
	NcclContainers *containers = data;
	g_autofree char *old_key = nccl_container_key(before);
	g_autofree char *key = nccl_container_key(now);
	const NcclContainer *old = g_tree_lookup(containers->table, old_key);
	const gboolean same_holder = !before->pod_name || g_str_equal(key, old_key);
	g_autoptr(NcclEnv) first =
		old && old->first && same_holder ? nccl_env_copy(old->first) : NULL;
	NcclContainer *container;

	allocation_remove(containers, before);
	allocation_add(containers, now);
	container = g_tree_lookup(containers->table, key);
	if (!container->first)
		container->first = g_steal_pointer(&first);
}

static void on_ended(const RdmadAllocation *allocation, const char *reason, gpointer data)
{
	allocation_remove(data, allocation);
}

static const RdmadAllocationOps ALLOCATION_OPS = {
	.granted = on_granted,
	.changed = on_changed,
	.ended = on_ended,
};

static void on_settled(gpointer data)
{
	NcclContainers *containers = data;

	containers->has_looked = TRUE;
	containers_schedule(containers);
}

static const RdmadInventoryOps DEVICE_OPS = { .settled = on_settled };

static int key_compare(gconstpointer a, gconstpointer b, gpointer data)
{
	return strcmp(a, b);
}

NcclContainers *nccl_containers_new(RdmadModule *self, NcclSettings *const *settings)
{
	NcclContainers *containers = g_new0(NcclContainers, 1);

	containers->self = self;
	containers->settings = settings;
	containers->table =
		g_tree_new_full(key_compare, NULL, g_free, (GDestroyNotify)nccl_container_free);
	containers->update =
		rdmad_loop_add_timer(rdmad_module_loop(self), self, containers_update, containers);
	containers->allocations = rdmad_allocations_watch(rdmad_module_allocations(self), self,
							  &ALLOCATION_OPS, containers);
	containers->devices =
		rdmad_inventory_watch(rdmad_module_inventory(self), self, &DEVICE_OPS, containers);
	return containers;
}

void nccl_containers_free(NcclContainers *containers)
{
	rdmad_watch_free(containers->devices);
	rdmad_watch_free(containers->allocations);
	rdmad_event_free(containers->update);
	g_tree_unref(containers->table);
	g_free(containers);
}
