/* SPDX-License-Identifier: Apache-2.0 */
#include "allocate/delivery.h"

#include <jansson.h>
#include <rdmad/allocation-dir.h>
#include <rdmad/doctor.h>
#include <rdmad/directory-watch.h>
#include <rdmad/inventory.h>
#include <rdmad/log.h>
#include <rdmad/loop.h>
#include <rdmad/module.h>
#include <rdmad/pods.h>

#include "allocate/allocation-devices.h"
#include "allocate/allocation-directory.h"
#include "allocate/device-info.h"

/* A kubelet that has just started lists no pods; directories of running pods may stay for a long
 * time. */
#define REVIEW_MS	60000
#define REVIEW_AGAIN_MS 300000
#define KEEP_AGAIN_MS	5000 /* retry after a directory could not be created */

struct Delivery {
	RdmadModule *self;
	GPtrArray *orphans; /* AllocationNote: leftover directories without an allocation */
	RdmadEvent *review, *keep_again;
	char *run_dir, *owner;
	RdmadAllocations *allocations;
	RdmadSpareDirs *spares; /* or NULL */
	GHashTable *begun; /* set of IDs whose files were written before the table reports them */
	DeviceInfo *info;
	Cdi *cdi;
	GHashTable *devices; /* id -> RdmadDevice */
	GHashTable *changed; /* set of IDs that changed since the last delivery_follow() */
	gboolean followed;   /* FALSE: all devices count as changed */
	RdmadWatch *inventory_watch, *allocations_watch;
	RdmadDirectoryWatch *run_watch;
};

const char *delivery_run_dir(const Delivery *delivery)
{
	return delivery->run_dir;
}

const Cdi *delivery_cdi(const Delivery *delivery)
{
	return delivery->cdi;
}

static gboolean is_ours(const Delivery *delivery, const RdmadAllocation *allocation)
{
	return g_str_equal(allocation->owner, delivery->owner);
}

static void warn(const RdmadAllocation *allocation, const GError *error)
{
	const RdmadLogFields about = { .resource = allocation->resource,
				       .allocation = allocation->id };

	rdmad_log_full(RDMAD_LOG_WARNING, &about, "allocation %s: %s", allocation->id,
		       error->message);
}

/* ---- device information ---- */

/* A failure is only logged: most pods do not need the file. */
static void write_info(Delivery *delivery, const RdmadAllocation *allocation, guint nth)
{
	const RdmadDevice *dev = g_hash_table_lookup(delivery->devices, allocation->devices[nth]);
	g_autoptr(GError) error = NULL;

	if (!device_info_put(delivery->info, allocation->resource, allocation->slots[nth], dev,
			     &error))
		warn(allocation, error);
}

/* The slot may have another allocation by the time the end of this one is reported. */
static void remove_info(Delivery *delivery, const RdmadAllocation *allocation, guint nth)
{
	const char *slot = allocation->slots[nth];
	const RdmadAllocation *now =
		rdmad_allocations_by_slot(delivery->allocations, allocation->resource, slot);

	if (!now || g_str_equal(now->id, allocation->id))
		device_info_remove(delivery->info, allocation->resource, slot);
}

/* ---- allocations ---- */

gboolean delivery_begin(Delivery *delivery, const RdmadAllocation *allocation, GError **error)
{
	if (!allocation_directory_begin(delivery->run_dir, delivery->spares, allocation, error))
		return FALSE;
	if (delivery->allocations_watch)
		g_hash_table_add(delivery->begun, g_strdup(allocation->id));
	for (guint i = 0; allocation->slots[i]; i++)
		write_info(delivery, allocation, i);
	return TRUE;
}

static void review_later(Delivery *delivery, AllocationNote *note)
{
	g_ptr_array_add(delivery->orphans, note);
	if (delivery->review && !rdmad_event_armed(delivery->review))
		rdmad_event_arm(delivery->review, REVIEW_MS);
}

/* Retries, because the error may be temporary. */
static void remove_later(Delivery *delivery, const char *id)
{
	AllocationNote *note = g_new0(AllocationNote, 1);

	note->id = g_strdup(id);
	note->is_over = TRUE;
	review_later(delivery, note);
}

/* Keeps the directory while kubelet lists its slots, because a later pod may mount it. */
static void leave_listed(Delivery *delivery, const char *id)
{
	AllocationNote *note = allocation_note_read(delivery->run_dir, id);

	note->is_listed = TRUE;
	review_later(delivery, note);
}

void delivery_end(Delivery *delivery, const RdmadAllocation *allocation)
{
	g_autoptr(GError) error = NULL;

	if (rdmad_allocations_is_listed_after_end(delivery->allocations, allocation)) {
		leave_listed(delivery, allocation->id);
	} else if (!rdmad_allocation_dir_remove(delivery->run_dir, allocation->id, &error)) {
		warn(allocation, error);
		remove_later(delivery, allocation->id);
	}
	for (guint i = 0; allocation->slots[i]; i++)
		remove_info(delivery, allocation, i);
}

static void keep_directory(const RdmadAllocation *allocation, gpointer data)
{
	Delivery *delivery = data;
	g_autoptr(GError) error = NULL;

	if (!is_ours(delivery, allocation) ||
	    allocation_directory_keep(delivery->run_dir, allocation, &error))
		return;
	warn(allocation, error);
	/* Retries, because no container starts without its directory. */
	if (delivery->keep_again)
		rdmad_event_arm(delivery->keep_again, KEEP_AGAIN_MS);
}

static void keep_all(gpointer data)
{
	const Delivery *delivery = data;

	rdmad_allocations_foreach(delivery->allocations, keep_directory, data);
}

static void orphan_adopted(Delivery *delivery, const char *id)
{
	for (guint i = 0; i < delivery->orphans->len; i++)
		if (g_str_equal(((const AllocationNote *)delivery->orphans->pdata[i])->id, id)) {
			g_ptr_array_remove_index_fast(delivery->orphans, i);
			return;
		}
}

/* Also called for allocations of an earlier process, and for adopted ones. */
static void allocation_granted(const RdmadAllocation *allocation, gpointer data)
{
	Delivery *delivery = data;

	if (!is_ours(delivery, allocation) || g_hash_table_remove(delivery->begun, allocation->id))
		return;
	orphan_adopted(delivery, allocation->id);
	keep_directory(allocation, delivery);
	for (guint i = 0; delivery->followed && allocation->slots[i]; i++)
		write_info(delivery, allocation, i);
}

static void allocation_ended(const RdmadAllocation *allocation, const char *reason, gpointer data)
{
	Delivery *delivery = data;

	if (is_ours(delivery, allocation))
		delivery_end(delivery, allocation);
}

/* Rewrites allocation.json, because it identifies the allocation. */
static void allocation_changed(const RdmadAllocation *before, const RdmadAllocation *now,
			       gpointer data)
{
	Delivery *delivery = data;
	g_autoptr(GError) error = NULL;

	if (!is_ours(delivery, now) || (!g_strcmp0(before->pod_name, now->pod_name) &&
					!g_strcmp0(before->container, now->container)))
		return;
	if (rdmad_allocations_lookup(delivery->allocations, now->id) &&
	    !allocation_directory_describe(delivery->run_dir, now, &error))
		warn(now, error);
}

static const RdmadAllocationOps ALLOCATION_OPS = {
	.granted = allocation_granted,
	.changed = allocation_changed,
	.ended = allocation_ended,
};

/* ---- directories without an allocation ---- */

char *delivery_recall(const Delivery *delivery, const char *resource, const char *const *slots)
{
	const AllocationNote *found = NULL;

	for (guint i = 0; i < delivery->orphans->len; i++) {
		const AllocationNote *note = delivery->orphans->pdata[i];

		if (note->resource && g_str_equal(note->resource, resource) &&
		    g_strv_equal((const char *const *)note->slots, slots) &&
		    (!found || note->since_us > found->since_us))
			found = note;
	}
	return found ? g_strdup(found->id) : NULL;
}

/* Returns whether a holder of the slot may have this directory mounted. */
static gboolean slot_is_held(const Delivery *delivery, RdmadPods *pods, const char *resource,
			     const char *slot)
{
	const RdmadAllocation *holder =
		rdmad_allocations_by_slot(delivery->allocations, resource, slot);

	return holder ? !allocation_directory_exists(delivery->run_dir, holder->id)
		      : rdmad_pods_holder(pods, resource, slot) != NULL;
}

static gboolean orphan_is_needed(const Delivery *delivery, const AllocationNote *note,
				 RdmadPods *pods)
{
	if (note->is_over)
		return FALSE;
	if (!note->resource)
		return rdmad_allocations_count(delivery->allocations) > 0;
	for (guint i = 0; note->slots[i]; i++)
		if (slot_is_held(delivery, pods, note->resource, note->slots[i]))
			return TRUE;
	if (!note->pod_name)
		return FALSE;
	switch (rdmad_allocations_pod_life(delivery->allocations, note->pod_namespace,
					   note->pod_name)) {
	case RDMAD_POD_LIFE_ALIVE:
		return TRUE;
	case RDMAD_POD_LIFE_GONE:
		return FALSE;
	case RDMAD_POD_LIFE_EMPTY:
	case RDMAD_POD_LIFE_UNKNOWN:
		break;
	}
	return rdmad_pods_lists(pods, note->pod_namespace, note->pod_name);
}

static void orphan_remove(Delivery *delivery, guint index)
{
	const AllocationNote *note = delivery->orphans->pdata[index];
	g_autoptr(GError) error = NULL;

	if (!rdmad_allocation_dir_remove(delivery->run_dir, note->id, &error)) {
		rdmad_warn("allocation %s: %s", note->id, error->message);
		return;
	}
	rdmad_info("allocation %s: removed its leftover directory", note->id);
	g_ptr_array_remove_index_fast(delivery->orphans, index);
}

guint delivery_review(Delivery *delivery, RdmadPods *pods)
{
	for (guint i = delivery->orphans->len; i-- > 0;)
		if (!orphan_is_needed(delivery, delivery->orphans->pdata[i], pods))
			orphan_remove(delivery, i);
	return delivery->orphans->len;
}

static void review_listed(const GError *error, gpointer data)
{
	Delivery *delivery = data;
	RdmadPods *pods = rdmad_module_pods(delivery->self);

	if (!delivery->review)
		return;
	if (error || !rdmad_pods_is_steady(pods))
		rdmad_event_arm(delivery->review, REVIEW_MS);
	else if (delivery_review(delivery, pods))
		rdmad_event_arm(delivery->review, REVIEW_AGAIN_MS);
}

static void review_ask(gpointer data)
{
	Delivery *delivery = data;

	if (delivery->orphans->len)
		rdmad_pods_refresh(rdmad_module_pods(delivery->self), delivery->self, review_listed,
				   delivery);
}

/* ---- status and doctor ---- */

typedef struct {
	const Delivery *delivery;
	GHashTable *names; /* names of the directories; at the end, those without an allocation */
	GString *lacking;  /* allocations without a directory */
} DirectoryCheck;

static void directory_check(const RdmadAllocation *allocation, gpointer data)
{
	DirectoryCheck *check = data;

	if (is_ours(check->delivery, allocation) &&
	    !g_hash_table_remove(check->names, allocation->id))
		g_string_append_printf(check->lacking, "%s%s", check->lacking->len ? ", " : "",
				       allocation->id);
}

static void doctor_add(json_t *findings, RdmadFinding level, const char *what, const char *names,
		       const char *advice)
{
	g_autofree char *text = g_strdup_printf("%s: %s", what, names);

	rdmad_doctor_add(findings, level, "allocation directories", text, advice);
}

void delivery_doctor(const Delivery *delivery, json_t *findings)
{
	g_autoptr(GError) error = NULL;
	g_auto(GStrv) names = rdmad_allocation_dir_list(delivery->run_dir, &error);
	g_autoptr(GHashTable) left = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GString) lacking = g_string_new(NULL);
	g_autofree char *orphans = NULL;
	DirectoryCheck check = { delivery, left, lacking };

	if (!names) {
		doctor_add(findings, RDMAD_FINDING_PROBLEM, "they cannot be listed", error->message,
			   "see that the directory is a directory of root's");
		return;
	}
	for (guint i = 0; names[i]; i++)
		g_hash_table_add(left, names[i]);
	rdmad_allocations_foreach(delivery->allocations, directory_check, &check);
	for (guint i = 0; i < delivery->orphans->len; i++) {
		const AllocationNote *note = delivery->orphans->pdata[i];

		if (note->is_listed)
			g_hash_table_remove(left, note->id);
	}
	if (g_hash_table_size(left)) {
		g_autofree gpointer *keys = g_hash_table_get_keys_as_array(left, NULL);

		orphans = g_strjoinv(", ", (char **)keys);
		doctor_add(findings, RDMAD_FINDING_NOTE, "directories without an allocation",
			   orphans,
			   "rdmad removes one once kubelet lists neither its slots nor its pod; "
			   "allocation.json in it names its allocation");
	}
	if (lacking->len)
		doctor_add(
			findings, RDMAD_FINDING_PROBLEM, "allocations without a directory",
			lacking->str,
			"restart rdmad, which makes them; then restart the pods, whose /run/rdmad "
			"is empty or gone");
	else if (!orphans)
		rdmad_doctor_add(findings, RDMAD_FINDING_OK, "allocation directories",
				 "one for each allocation", NULL);
}

/* ---- devices ---- */

void delivery_set_device(Delivery *delivery, const char *id, const RdmadDevice *dev)
{
	const RdmadDevice *before = g_hash_table_lookup(delivery->devices, id);
	g_autofree char *was = device_info_text(before);
	g_autofree char *is = device_info_text(dev);

	if (g_strcmp0(was, is))
		g_hash_table_add(delivery->changed, g_strdup(id));
	if (dev)
		g_hash_table_replace(delivery->devices, dev->id, (gpointer)rdmad_device_ref(dev));
	else
		g_hash_table_remove(delivery->devices, id);
}

static void follow_allocation(const RdmadAllocation *allocation, gpointer data)
{
	Delivery *delivery = data;

	if (!is_ours(delivery, allocation))
		return;
	for (guint i = 0; allocation->slots[i]; i++)
		if (!delivery->followed ||
		    g_hash_table_contains(delivery->changed, allocation->devices[i]))
			write_info(delivery, allocation, i);
}

void delivery_follow(Delivery *delivery)
{
	if (!delivery->followed || g_hash_table_size(delivery->changed))
		rdmad_allocations_foreach(delivery->allocations, follow_allocation, delivery);
	delivery->followed = TRUE;
	g_hash_table_remove_all(delivery->changed);
}

static void device_added(const RdmadDevice *dev, gpointer data)
{
	delivery_set_device(data, dev->id, dev);
}

static void device_changed(const RdmadDevice *before, const RdmadDevice *now, gpointer data)
{
	delivery_set_device(data, now->id, now);
}

static void device_removed(const RdmadDevice *dev, gpointer data)
{
	delivery_set_device(data, dev->id, NULL);
}

static void inventory_settled(gpointer data)
{
	delivery_follow(data);
}

static const RdmadInventoryOps INVENTORY_OPS = {
	.added = device_added,
	.changed = device_changed,
	.removed = device_removed,
	.settled = inventory_settled,
};

/* ---- names for container runtimes ---- */

static void offer_device(Delivery *delivery, const ResourceSettings *settings,
			 const RdmadDevice *dev)
{
	for (const RdmadChardevKind *kind = cdi_kinds; *kind != RDMAD_CHARDEV_RDMA_CM; kind++)
		if (resource_settings_wants(settings, *kind))
			cdi_want(delivery->cdi, dev, *kind);
}

void delivery_offer(Delivery *delivery, const ResourceSettings *settings, const GArray *members)
{
	for (guint i = 0; settings->cdi == CDI_ON && i < members->len; i++)
		offer_device(delivery, settings, g_array_index(members, PoolMember, i).dev);
}

static void keep_names(Delivery *delivery, const char *id)
{
	const RdmadDevice *dev = g_hash_table_lookup(delivery->devices, id);

	for (const RdmadChardevKind *kind = cdi_kinds; *kind != RDMAD_CHARDEV_RDMA_CM; kind++)
		if (dev && cdi_has(delivery->cdi, id, *kind))
			cdi_want(delivery->cdi, dev, *kind);
}

/* Keeps the names of the allocation's devices, whatever became of the resource: its container may
 * be restarted. */
static void keep_names_of_allocation(const RdmadAllocation *allocation, gpointer data)
{
	Delivery *delivery = data;

	for (guint i = 0; is_ours(delivery, allocation) && allocation->devices[i]; i++)
		keep_names(delivery, allocation->devices[i]);
}

gboolean delivery_publish(Delivery *delivery, GError **error)
{
	/* Before the first scan it is unknown which devices are absent. */
	if (!delivery->followed)
		return TRUE;
	if (cdi_is_used(delivery->cdi))
		rdmad_allocations_foreach(delivery->allocations, keep_names_of_allocation,
					  delivery);
	return cdi_publish(delivery->cdi, error);
}

/* ---- life cycle ---- */

Delivery *delivery_new(const char *run_dir, const char *owner, RdmadAllocations *allocations,
		       const DeliveryDirectories *directories)
{
	Delivery *delivery = g_new0(Delivery, 1);

	delivery->run_dir = g_strdup(run_dir);
	delivery->owner = g_strdup(owner);
	delivery->allocations = allocations;
	delivery->orphans = g_ptr_array_new_with_free_func((GDestroyNotify)allocation_note_free);
	delivery->info = device_info_new(run_dir, directories->device_info_dir);
	delivery->cdi = cdi_new(directories->cdi_dir);
	delivery->devices = g_hash_table_new_full(g_str_hash, g_str_equal, NULL,
						  (GDestroyNotify)rdmad_device_unref);
	delivery->changed = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	delivery->begun = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	return delivery;
}

void delivery_free(Delivery *delivery)
{
	g_hash_table_unref(delivery->changed);
	g_hash_table_unref(delivery->begun);
	g_hash_table_unref(delivery->devices);
	g_ptr_array_unref(delivery->orphans);
	device_info_free(delivery->info);
	cdi_free(delivery->cdi);
	g_free(delivery->run_dir);
	g_free(delivery->owner);
	g_free(delivery);
}

void delivery_configure(Delivery *delivery, const DeliveryDirectories *directories)
{
	cdi_move(delivery->cdi, directories->cdi_dir);
	if (!device_info_move(delivery->info, directories->device_info_dir))
		return;
	delivery->followed = FALSE;
	delivery_follow(delivery);
}

void delivery_load(Delivery *delivery)
{
	g_ptr_array_unref(delivery->orphans);
	delivery->orphans = allocation_directory_orphans(delivery->run_dir, delivery->allocations);
	device_info_sweep(delivery->info, delivery->allocations, delivery->owner);
	cdi_load(delivery->cdi);
}

/* A container that is restarted after the run directory was emptied needs its directory. */
static void run_dir_changed(gpointer data)
{
	Delivery *delivery = data;

	keep_all(delivery);
	/* Before the first scan it is unknown which devices are absent. */
	if (!delivery->followed)
		return;
	delivery->followed = FALSE;
	delivery_follow(delivery);
}

void delivery_start(Delivery *delivery, RdmadModule *self)
{
	delivery->self = self;
	delivery_load(delivery);
	delivery->spares =
		allocation_directory_spares(delivery->run_dir, rdmad_module_loop(self), self);
	delivery->run_watch = rdmad_directory_watch_new(
		rdmad_module_loop(self), self, delivery->run_dir, run_dir_changed, delivery);
	delivery->review =
		rdmad_loop_add_timer(rdmad_module_loop(self), self, review_ask, delivery);
	rdmad_event_arm(delivery->review, REVIEW_MS);
	delivery->keep_again =
		rdmad_loop_add_timer(rdmad_module_loop(self), self, keep_all, delivery);
	delivery->inventory_watch =
		rdmad_inventory_watch(rdmad_module_inventory(self), self, &INVENTORY_OPS, delivery);
	delivery->allocations_watch =
		rdmad_allocations_watch(delivery->allocations, self, &ALLOCATION_OPS, delivery);
}

void delivery_stop(Delivery *delivery)
{
	g_clear_pointer(&delivery->spares, rdmad_spare_dirs_free);
	g_clear_pointer(&delivery->run_watch, rdmad_directory_watch_free);
	g_clear_pointer(&delivery->inventory_watch, rdmad_watch_free);
	g_clear_pointer(&delivery->allocations_watch, rdmad_watch_free);
	g_clear_pointer(&delivery->review, rdmad_event_free);
	g_clear_pointer(&delivery->keep_again, rdmad_event_free);
	rdmad_pods_cancel(rdmad_module_pods(delivery->self), review_listed, delivery);
}
