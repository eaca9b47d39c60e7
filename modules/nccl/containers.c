/* SPDX-License-Identifier: Apache-2.0 */
#include "containers.h"

#include <rdmad/inventory.h>
#include <rdmad/event-log.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <rdmad/preparations.h>
#include <string.h>

#define RETRY_MS     5000u
#define RETRY_MAX_MS 60000u

/* A container start that waits for its files. */
typedef struct {
	char *allocation; /* id */
	RdmadPreparation *preparation;
} Start;

struct NcclContainers {
	RdmadModule *self;
	NcclSettings *const *settings;
	RdmadWatch *devices, *allocations;
	RdmadEvent *update; /* one update for all changes of a turn of the loop */
	guint retry_ms;	    /* before the next update of what could not be written */
	char *problem;	    /* of the writes, as it was logged; NULL: none */
	GTree *table;	    /* key -> NcclContainer */
	RdmadPreparer *preparer;
	GArray *starts;	     /* of Start */
	gint64 last_number;  /* containers of allocations up to it may be running */
	gboolean is_scanned; /* the first scan of the hardware has ended */
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

/* Returns the index of an allocation in the container, or -1. */
static int container_index(const NcclContainer *container, const char *allocation)
{
	for (guint i = 0; i < container->allocations->len; i++) {
		const RdmadAllocation *held = container->allocations->pdata[i];

		if (g_str_equal(held->id, allocation))
			return (int)i;
	}
	return -1;
}

static NcclContainer *container_find(const NcclContainers *containers, const char *allocation)
{
	const NcclContainer *container;
	GTreeNode *at = NULL;

	while (nccl_containers_next(containers, &at, &container))
		if (container_index(container, allocation) >= 0)
			return g_tree_node_value(at);
	return NULL;
}

const NcclContainer *nccl_containers_holding(const NcclContainers *containers,
					     const char *allocation)
{
	return container_find(containers, allocation);
}

guint64 nccl_containers_changes(const NcclContainers *containers)
{
	return containers->changes;
}

/* ---- update ---- */

/* Reports that settings differ from the first ones of the container, which a running job keeps. */
static void change_report(NcclContainers *containers, const NcclContainer *container)
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

static void look_ended(gpointer data);

/* Adds or removes the look at the pod's network, according to the settings. */
static void container_update_look(NcclContainers *containers, NcclContainer *container)
{
	const RdmadAllocation *named = nccl_container_named(container);

	if ((*containers->settings)->host_network || !named)
		g_clear_pointer(&container->look, nccl_look_free);
	else if (!container->look)
		container->look = nccl_look_new(containers->self, named->pod_namespace,
						named->pod_name, look_ended, containers);
}

/* Until the first look has ended, the plan on the disk may be better than a new one. */
static gboolean container_knows_network(const NcclContainer *container)
{
	return !container->look || nccl_look_network(container->look) ||
	       nccl_look_problem(container->look);
}

static gboolean update_visit(gpointer key, gpointer value, gpointer data)
{
	NcclContainers *containers = data;
	NcclContainer *container = value;
	NcclContainerResult result;

	container_update_look(containers, container);
	if (!container_knows_network(container))
		return FALSE;
	result = nccl_container_update(container, rdmad_module_allocations(containers->self),
				       rdmad_module_inventory(containers->self),
				       *containers->settings,
				       rdmad_module_run_dir(containers->self));
	if (result == NCCL_CONTAINER_CHANGED && container->started && container->first &&
	    !nccl_env_equal(container->first, container->plan->env))
		change_report(containers, container);
	return FALSE;
}

/* ---- starting containers ---- */

typedef struct {
	const NcclContainers *containers;
	const RdmadAllocation *starting;
	gboolean all;
} Readiness;

static gboolean is_of_same_pod(const RdmadAllocation *a, const RdmadAllocation *b)
{
	if (!a->pod_name || !b->pod_name)
		return a == b;
	return g_str_equal(a->pod_name, b->pod_name) &&
	       g_str_equal(a->pod_namespace, b->pod_namespace);
}

static void readiness_visit(const RdmadAllocation *allocation, gpointer data)
{
	Readiness *readiness = data;
	const NcclContainer *container;

	if (!is_of_same_pod(allocation, readiness->starting))
		return;
	container = container_find(readiness->containers, allocation->id);
	readiness->all = readiness->all && container &&
			 g_ptr_array_find(container->allocations, allocation, NULL) &&
			 container->plan && !container->unwritten &&
			 (!container->look || !nccl_look_is_running(container->look));
}

/* Returns whether the files of all allocations of its pod are written: an init container may have
 * the same slots, and only kubelet knows which of the two starts. */
static gboolean pod_is_ready(const NcclContainers *containers, const RdmadAllocation *starting)
{
	Readiness readiness = { containers, starting, TRUE };

	rdmad_allocations_foreach(rdmad_module_allocations(containers->self), readiness_visit,
				  &readiness);
	return readiness.all;
}

/* Returns FALSE if the start must wait. */
static gboolean start_serve(NcclContainers *containers, const Start *start)
{
	const RdmadAllocation *allocation = rdmad_allocations_lookup(
		rdmad_module_allocations(containers->self), start->allocation);
	NcclContainer *container = container_find(containers, start->allocation);

	if (allocation && !pod_is_ready(containers, allocation))
		return FALSE;
	if (container)
		nccl_container_start(container);
	rdmad_preparation_finish(start->preparation);
	return TRUE;
}

static void start_clear(gpointer data)
{
	Start *start = data;

	g_free(start->allocation);
}

static void starts_serve(NcclContainers *containers)
{
	for (guint i = containers->starts->len; i-- > 0;)
		if (start_serve(containers, &g_array_index(containers->starts, Start, i)))
			g_array_remove_index_fast(containers->starts, i);
}

/* Returns one text for all containers, NULL if there is no problem. */
static char *problems_text(const NcclContainers *containers)
{
	const NcclContainer *container;
	const char *first = NULL;
	guint n = 0;
	GTreeNode *at = NULL;

	while (nccl_containers_next(containers, &at, &container))
		if (container->problem && n++ == 0)
			first = container->problem;
	return n > 1 ? g_strdup_printf("files of %u containers cannot be written, the first: %s", n,
				       first)
		     : g_strdup(first);
}

static void problems_log(NcclContainers *containers)
{
	g_autofree char *problem = problems_text(containers);

	if (problem && g_strcmp0(problem, containers->problem) != 0)
		rdmad_warn("%s", problem);
	g_free(containers->problem);
	containers->problem = g_steal_pointer(&problem);
}

/* A write error may pass, for example a full disk, and a missing directory may be made. */
static void containers_retry(NcclContainers *containers)
{
	const NcclContainer *container;
	gboolean is_written = TRUE;
	GTreeNode *at = NULL;

	while (nccl_containers_next(containers, &at, &container))
		is_written = is_written && !container->unwritten;
	if (is_written)
		return;
	rdmad_event_arm(containers->update, containers->retry_ms);
	containers->retry_ms = MIN(containers->retry_ms * 2, RETRY_MAX_MS);
}

static void containers_update(gpointer data)
{
	NcclContainers *containers = data;

	if (!containers->is_scanned)
		return;
	g_tree_foreach(containers->table, update_visit, containers);
	problems_log(containers);
	containers_retry(containers);
	starts_serve(containers);
}

static void containers_schedule(NcclContainers *containers)
{
	containers->retry_ms = RETRY_MS;
	rdmad_event_arm(containers->update, 0);
}

static void look_ended(gpointer data)
{
	containers_schedule(data);
}

/* The pod's sandbox has its network by now. */
static void on_prepare(const RdmadAllocation *allocation, RdmadPreparation *preparation,
		       gpointer data)
{
	NcclContainers *containers = data;
	const Start start = { g_strdup(allocation->id), preparation };
	NcclContainer *container = container_find(containers, allocation->id);

	g_array_append_val(containers->starts, start);
	if (container && container->look)
		nccl_look_again(container->look);
	containers_schedule(containers);
}

static gboolean discard_visit(gpointer key, gpointer value, gpointer data)
{
	NcclContainer *container = value;

	g_clear_pointer(&container->plan, nccl_plan_free);
	g_clear_pointer(&container->view, nccl_view_free);
	return FALSE;
}

void nccl_containers_replan(NcclContainers *containers)
{
	g_tree_foreach(containers->table, discard_visit, NULL);
	containers_schedule(containers);
}

/* ---- watches ---- */

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
	container->started = container->started || allocation->number <= containers->last_number;
	g_ptr_array_add(container->allocations, (gpointer)rdmad_allocation_ref(allocation));
	g_ptr_array_sort(container->allocations, id_compare);
	discard_visit(NULL, container, NULL);
	containers_schedule(containers);
}

static void allocation_remove(NcclContainers *containers, const RdmadAllocation *allocation)
{
	g_autofree char *key = nccl_container_key(allocation);
	NcclContainer *container = g_tree_lookup(containers->table, key);
	const int at = container ? container_index(container, allocation->id) : -1;

	if (at >= 0)
		g_ptr_array_remove_index(container->allocations, at);
	if (container && container->allocations->len == 0)
		g_tree_remove(containers->table, key);
	else if (container)
		discard_visit(NULL, container, NULL);
	containers_schedule(containers);
}

static void on_granted(const RdmadAllocation *allocation, gpointer data)
{
	allocation_add(data, allocation);
}

/* Replaces the allocation in place, so that the look at the pod's network stays. */
static void allocation_replace(NcclContainers *containers, const RdmadAllocation *before,
			       const RdmadAllocation *now)
{
	NcclContainer *container = container_find(containers, before->id);
	gpointer *held;

	if (!container)
		return;
	held = &container->allocations->pdata[container_index(container, before->id)];
	rdmad_allocation_unref(*held);
	*held = (gpointer)rdmad_allocation_ref(now);
	discard_visit(NULL, container, NULL);
	if (container->look)
		nccl_look_again(container->look);
	containers_schedule(containers);
}

/* An allocation that gets its pod moves to its container, and keeps the settings read before.  An
 * allocation that loses its pod has a new holder, which has read nothing. */
static void allocation_move(NcclContainers *containers, const RdmadAllocation *before,
			    const RdmadAllocation *now)
{
	const NcclContainer *old = container_find(containers, before->id);
	const gboolean same_holder = old && !before->pod_name;
	const gboolean started = same_holder && old->started;
	g_autoptr(NcclEnv) first = same_holder && old->first ? nccl_env_copy(old->first) : NULL;
	NcclContainer *container;

	allocation_remove(containers, before);
	allocation_add(containers, now);
	container = container_find(containers, now->id);
	container->started = container->started || started;
	if (!container->first)
		container->first = g_steal_pointer(&first);
}

static void on_changed(const RdmadAllocation *before, const RdmadAllocation *now, gpointer data)
{
	g_autofree char *old_key = nccl_container_key(before);
	g_autofree char *key = nccl_container_key(now);

	if (g_str_equal(old_key, key))
		allocation_replace(data, before, now);
	else
		allocation_move(data, before, now);
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

static gboolean look_visit(gpointer key, gpointer value, gpointer data)
{
	const NcclContainer *container = value;

	if (container->look && nccl_look_network(container->look))
		nccl_look_again(container->look);
	return FALSE;
}

/* A change of a device's GIDs may be due to a change of a pod's addresses. */
static void on_settled(gpointer data)
{
	NcclContainers *containers = data;

	containers->is_scanned = TRUE;
	g_tree_foreach(containers->table, look_visit, NULL);
	containers_schedule(containers);
}

static const RdmadInventoryOps DEVICE_OPS = { .settled = on_settled };

static int key_compare(gconstpointer a, gconstpointer b, gpointer data)
{
	return strcmp(a, b);
}

static void last_number_visit(const RdmadAllocation *allocation, gpointer data)
{
	gint64 *last = data;

	*last = MAX(*last, allocation->number);
}

NcclContainers *nccl_containers_new(RdmadModule *self, NcclSettings *const *settings)
{
	NcclContainers *containers = g_new0(NcclContainers, 1);

	containers->self = self;
	containers->settings = settings;
	containers->table =
		g_tree_new_full(key_compare, NULL, g_free, (GDestroyNotify)nccl_container_free);
	rdmad_allocations_foreach(rdmad_module_allocations(self), last_number_visit,
				  &containers->last_number);
	containers->starts = g_array_new(FALSE, FALSE, sizeof(Start));
	g_array_set_clear_func(containers->starts, start_clear);
	containers->preparer = rdmad_preparations_add(rdmad_module_preparations(self), self,
						      on_prepare, containers);
	containers->retry_ms = RETRY_MS;
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
	for (guint i = 0; i < containers->starts->len; i++)
		rdmad_preparation_finish(g_array_index(containers->starts, Start, i).preparation);
	g_array_unref(containers->starts);
	rdmad_preparer_free(containers->preparer);
	rdmad_watch_free(containers->devices);
	rdmad_watch_free(containers->allocations);
	rdmad_event_free(containers->update);
	g_tree_unref(containers->table);
	g_free(containers->problem);
	g_free(containers);
}
