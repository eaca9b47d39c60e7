/* SPDX-License-Identifier: Apache-2.0 */
#include "service/handed-out.h"

#include <rdmad/device.h>
#include <rdmad/event-log.h>
#include <rdmad/inventory.h>

#include "hardware/device.h"
#include "service/allocations-private.h"

/* ---- the files of the devices ---- */

struct RdmadDeviceFiles {
	GHashTable *devices; /* id -> RdmadDevice, referenced */
	GHashTable *owners;  /* path -> RdmadDevice; borrows from `devices` */
};

static void device_unref(gpointer dev)
{
	rdmad_device_unref(dev);
}

static void owners_add(GHashTable *owners, const RdmadDevice *dev)
{
	for (guint i = 0; i < dev->n_chardevs; i++)
		if (dev->chardevs[i].kind != RDMAD_CHARDEV_RDMA_CM)
			g_hash_table_insert(owners, dev->chardevs[i].path, (gpointer)dev);
}

RdmadDeviceFiles *rdmad_device_files_new(const GPtrArray *devices)
{
	RdmadDeviceFiles *files = g_new(RdmadDeviceFiles, 1);

	files->devices = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, device_unref);
	files->owners = g_hash_table_new(g_str_hash, g_str_equal);
	for (guint i = 0; i < devices->len; i++) {
		const RdmadDevice *dev = devices->pdata[i];

		if (dev->stale)
			continue;
		g_hash_table_insert(files->devices, dev->id, (gpointer)rdmad_device_ref(dev));
		owners_add(files->owners, dev);
	}
	return files;
}

void rdmad_device_files_free(RdmadDeviceFiles *files)
{
	g_hash_table_unref(files->owners);
	g_hash_table_unref(files->devices);
	g_free(files);
}

/* ---- one file ---- */

typedef enum { FILE_UNKNOWN, FILE_RIGHT, FILE_WRONG } FileState;

/* A device may have several files of these kinds, one for each port. */
static gboolean kind_is_of_ports(int kind)
{
	return kind == RDMAD_CHARDEV_UMAD || kind == RDMAD_CHARDEV_ISSM;
}

static gboolean is_same_use(const RdmadChardev *now, const RdmadAllocationFile *file)
{
	if ((int)now->kind != file->kind || now->port != file->port)
		return FALSE;
	return file->port || !kind_is_of_ports(file->kind) || g_str_equal(now->path, file->path);
}

/* Returns the present file of the device and port that this one was given for; NULL: unknown. */
static const RdmadChardev *file_now(const RdmadDevice *dev, const RdmadAllocationFile *file)
{
	for (guint i = 0; dev && i < dev->n_chardevs; i++)
		if (is_same_use(&dev->chardevs[i], file))
			return &dev->chardevs[i];
	return NULL;
}

static gboolean number_is_known(guint major, guint minor)
{
	return major || minor;
}

static FileState number_judge(const RdmadAllocationFile *file, const RdmadChardev *now,
			      const char *given, char **why)
{
	if (!number_is_known(file->major, file->minor))
		return FILE_RIGHT;
	if (!number_is_known(now->major, now->minor))
		return FILE_UNKNOWN;
	if (file->major == now->major && file->minor == now->minor)
		return FILE_RIGHT;
	*why = g_strdup_printf("%s has the number %u:%u now, not %u:%u", given, now->major,
			       now->minor, file->major, file->minor);
	return FILE_WRONG;
}

/* Returns "/dev/infiniband/umad0 of mlx5_0 port 1". */
static char *given_text(const RdmadAllocationFile *file, const RdmadDevice *dev)
{
	GString *text = g_string_new(NULL);

	g_string_append_printf(text, "%s of %s", file->path, dev ? dev->name : file->device);
	if (file->port)
		g_string_append_printf(text, " port %u", file->port);
	return g_string_free(text, FALSE);
}

static char *moved_text(const char *given, const RdmadChardev *now, const RdmadDevice *owner,
			const RdmadDevice *dev)
{
	if (owner && owner == dev)
		return g_strdup_printf("%s is of another port now, this port has %s", given,
				       now->path);
	if (owner && now)
		return g_strdup_printf("%s is %s's now, and %s has %s", given, owner->name,
				       dev->name, now->path);
	if (owner)
		return g_strdup_printf("%s is %s's now", given, owner->name);
	return g_strdup_printf("%s is %s now", given, now->path);
}

/* Sets `why` if the file is wrong. */
static FileState file_judge(const RdmadDeviceFiles *files, const RdmadAllocationFile *file,
			    char **why)
{
	const RdmadDevice *dev = g_hash_table_lookup(files->devices, file->device);
	const RdmadDevice *owner = g_hash_table_lookup(files->owners, file->path);
	const RdmadChardev *now = file_now(dev, file);
	g_autofree char *given = given_text(file, dev);

	if (now && g_str_equal(now->path, file->path))
		return number_judge(file, now, given, why);
	if (!now && (!owner || owner == dev))
		return FILE_UNKNOWN;
	*why = moved_text(given, now, owner, dev);
	return FILE_WRONG;
}

/* ---- an allocation ---- */

GPtrArray *rdmad_device_files_judge(const RdmadDeviceFiles *files,
				    const RdmadAllocation *allocation, const GPtrArray *before)
{
	g_autoptr(GPtrArray) wrong = g_ptr_array_new_full(allocation->n_files, g_free);
	gboolean some = FALSE;

	for (guint i = 0; i < allocation->n_files; i++) {
		char *why = NULL;

		if (file_judge(files, &allocation->files[i], &why) == FILE_UNKNOWN && before &&
		    i < before->len)
			why = g_strdup(before->pdata[i]);
		some |= why != NULL;
		g_ptr_array_add(wrong, why);
	}
	return some ? g_steal_pointer(&wrong) : NULL;
}

/* ---- all allocations ---- */

#define FILES_NAMED_MAX 4u

struct RdmadHandedOut {
	RdmadInventory *inventory;
	RdmadAllocations *allocations;
	RdmadEventLog *event_log;
	RdmadDeviceFiles *files; /* of the last scan that found others; NULL: none yet */
	gboolean differs;	 /* the inventory has other files */
	GHashTable *wrong;	 /* id of an allocation -> GPtrArray of texts */
	guint64 version;
	RdmadWatch *inventory_watch, *allocations_watch;
};

char *rdmad_handed_out_text(const GPtrArray *wrong)
{
	GString *text = g_string_new(NULL);
	guint n = 0;

	for (guint i = 0; i < wrong->len; i++)
		if (wrong->pdata[i] && n++ < FILES_NAMED_MAX)
			g_string_append_printf(text, "%s%s", text->len ? "; " : "",
					       (char *)wrong->pdata[i]);
	if (n > FILES_NAMED_MAX)
		g_string_append_printf(text, "; and %u more", n - FILES_NAMED_MAX);
	return g_string_free(text, FALSE);
}

static const char *first_device(const RdmadAllocation *allocation, const GPtrArray *wrong)
{
	for (guint i = 0; i < wrong->len; i++)
		if (wrong->pdata[i])
			return allocation->files[i].device;
	return NULL;
}

/* `wrong` NULL: the files are right again. */
static void change_post(RdmadHandedOut *handed_out, const RdmadAllocation *allocation,
			const GPtrArray *wrong)
{
	g_autofree char *pod = NULL, *text = NULL;
	RdmadLogFields about = { .resource = allocation->resource, .allocation = allocation->id };

	if (allocation->pod_name)
		about.pod = pod =
			g_strdup_printf("%s/%s", allocation->pod_namespace, allocation->pod_name);
	if (!wrong) {
		rdmad_event_log_post(handed_out->event_log, RDMAD_LOG_NOTICE,
				     "allocation-files-right", &about,
				     "%s: the device files of %s are right again", about.resource,
				     pod ?: "an unknown pod");
		return;
	}
	about.device = first_device(allocation, wrong);
	text = rdmad_handed_out_text(wrong);
	rdmad_event_log_post(handed_out->event_log, RDMAD_LOG_WARNING, "allocation-files-wrong",
			     &about, "%s: %s has wrong device files: %s", about.resource,
			     pod ?: "an unknown pod", text);
}

static gboolean texts_equal(const GPtrArray *a, const GPtrArray *b)
{
	if (!a || !b || a->len != b->len)
		return a == b;
	for (guint i = 0; i < a->len; i++)
		if (g_strcmp0(a->pdata[i], b->pdata[i]) != 0)
			return FALSE;
	return TRUE;
}

static void judge(const RdmadAllocation *allocation, gpointer data)
{
	RdmadHandedOut *handed_out = data;
	const GPtrArray *before = g_hash_table_lookup(handed_out->wrong, allocation->id);
	g_autoptr(GPtrArray) now = NULL;

	/* Its containers have not started in this boot. */
	if (rdmad_allocations_is_of_another_boot(handed_out->allocations, allocation))
		return;
	now = rdmad_device_files_judge(handed_out->files, allocation, before);
	if (texts_equal(before, now))
		return;
	change_post(handed_out, allocation, now);
	handed_out->version++;
	if (now)
		g_hash_table_replace(handed_out->wrong, g_strdup(allocation->id),
				     g_steal_pointer(&now));
	else
		g_hash_table_remove(handed_out->wrong, allocation->id);
}

const GPtrArray *rdmad_handed_out_wrong(RdmadHandedOut *handed_out,
					const RdmadAllocation *allocation)
{
	return g_hash_table_lookup(handed_out->wrong, allocation->id);
}

guint64 rdmad_handed_out_version(const RdmadHandedOut *handed_out)
{
	return handed_out->version;
}

/* ---- watches ---- */

static void device_came_or_went(const RdmadDevice *dev, gpointer data)
{
	RdmadHandedOut *handed_out = data;

	handed_out->differs = TRUE;
}

static void device_changed(const RdmadDevice *before, const RdmadDevice *now, gpointer data)
{
	RdmadHandedOut *handed_out = data;

	handed_out->differs |=
		!before->stale != !now->stale || !rdmad_device_chardevs_equal(before, now);
}

static void inventory_settled(gpointer data)
{
	RdmadHandedOut *handed_out = data;
	g_autoptr(GPtrArray) devices = g_ptr_array_new();

	if (handed_out->files && !handed_out->differs)
		return;
	for (guint i = 0; i < rdmad_inventory_count(handed_out->inventory); i++)
		g_ptr_array_add(devices, (gpointer)rdmad_inventory_nth(handed_out->inventory, i));
	g_clear_pointer(&handed_out->files, rdmad_device_files_free);
	handed_out->files = rdmad_device_files_new(devices);
	handed_out->differs = FALSE;
	rdmad_allocations_foreach(handed_out->allocations, judge, handed_out);
}

static const RdmadInventoryOps inventory_ops = {
	.added = device_came_or_went,
	.changed = device_changed,
	.removed = device_came_or_went,
	.settled = inventory_settled,
};

/* A scan may have been later than the request. */
static void allocation_granted(const RdmadAllocation *allocation, gpointer data)
{
	RdmadHandedOut *handed_out = data;

	if (handed_out->files)
		judge(allocation, handed_out);
}

static void allocation_changed(const RdmadAllocation *before, const RdmadAllocation *now,
			       gpointer data)
{
	if (g_strcmp0(before->boot, now->boot) != 0)
		allocation_granted(now, data);
}

static void allocation_ended(const RdmadAllocation *allocation, const char *reason, gpointer data)
{
	RdmadHandedOut *handed_out = data;

	g_hash_table_remove(handed_out->wrong, allocation->id);
}

static const RdmadAllocationOps allocation_ops = {
	.granted = allocation_granted,
	.changed = allocation_changed,
	.ended = allocation_ended,
};

static void texts_unref(gpointer texts)
{
	g_ptr_array_unref(texts);
}

RdmadHandedOut *rdmad_handed_out_new(RdmadInventory *inventory, RdmadAllocations *allocations,
				     RdmadEventLog *event_log)
{
	RdmadHandedOut *handed_out = g_new0(RdmadHandedOut, 1);

	handed_out->inventory = inventory;
	handed_out->allocations = allocations;
	handed_out->event_log = event_log;
	handed_out->wrong = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, texts_unref);
	handed_out->inventory_watch =
		rdmad_inventory_watch(inventory, NULL, &inventory_ops, handed_out);
	handed_out->allocations_watch =
		rdmad_allocations_watch(allocations, NULL, &allocation_ops, handed_out);
	return handed_out;
}

void rdmad_handed_out_free(RdmadHandedOut *handed_out)
{
	if (!handed_out)
		return;
	rdmad_watch_free(handed_out->inventory_watch);
	rdmad_watch_free(handed_out->allocations_watch);
	g_clear_pointer(&handed_out->files, rdmad_device_files_free);
	g_hash_table_unref(handed_out->wrong);
	g_free(handed_out);
}
