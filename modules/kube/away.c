/* SPDX-License-Identifier: Apache-2.0 */
#include "away.h"

#include <rdmad/allocations.h>
#include <rdmad/device.h>
#include <rdmad/inventory.h>
#include <rdmad/sysroot.h>
#include <string.h>

struct KubeAway {
	RdmadModule *self;
	RdmadWatch *devices;
	GHashTable *seen; /* id -> RdmadDevice, as it was last here */
	GHashTable *away; /* id -> name; NULL: unknown */
};

static void device_added(const RdmadDevice *device, gpointer data)
{
	KubeAway *away = data;

	g_hash_table_replace(away->seen, g_strdup(device->id), (gpointer)rdmad_device_ref(device));
}

static void device_changed(const RdmadDevice *before, const RdmadDevice *now, gpointer data)
{
	device_added(now, data);
}

static const RdmadInventoryOps device_ops = { .added = device_added, .changed = device_changed };

/* Functions of PCI are in no namespace, unlike RDMA devices. */
static gboolean has_function(const KubeAway *away, const char *id, const char *file)
{
	g_autofree char *path = g_strconcat("sys/bus/pci/devices/", id, file, NULL);

	return !strchr(id, '/') && rdmad_sysroot_exists(rdmad_module_sysroot(away->self), path);
}

static gboolean is_here(const KubeAway *away, const char *id)
{
	return rdmad_inventory_lookup(rdmad_module_inventory(away->self), id) != NULL;
}

/* Returns the RDMA device of the Nth attachment whose device is not here, or NULL. */
static const char *attachment_name(const KubeAway *away, const RdmadAllocation *allocation, guint n)
{
	RdmadInventory *inventory = rdmad_module_inventory(away->self);

	for (guint i = 0; i < allocation->n_attachments; i++) {
		const char *name = allocation->attachments[i].rdma_device;

		if (name && !rdmad_inventory_lookup_name(inventory, name) && !n--)
			return name;
	}
	return NULL;
}

static void holder_take(const RdmadAllocation *allocation, gpointer data)
{
	KubeAway *away = data;
	guint n = 0;

	if (!rdmad_allocation_may_move(allocation))
		return;
	/* Exposed devices stay. */
	for (guint i = 0; allocation->slots[i]; i++) {
		const char *id = allocation->devices[i], *name;

		if (is_here(away, id) || !has_function(away, id, ""))
			continue;
		name = attachment_name(away, allocation, n++);
		if (name || !g_hash_table_contains(away->away, id))
			g_hash_table_replace(away->away, g_strdup(id), g_strdup(name));
	}
}

static gboolean is_back(gpointer id, gpointer name, gpointer data)
{
	const KubeAway *away = data;

	return is_here(away, id) || !has_function(away, id, "");
}

static void away_update(KubeAway *away)
{
	g_hash_table_foreach_remove(away->away, is_back, away);
	rdmad_allocations_foreach(rdmad_module_allocations(away->self), holder_take, away);
}

gboolean kube_away_has(KubeAway *away, const char *id)
{
	away_update(away);
	return g_hash_table_contains(away->away, id);
}

void kube_away_foreach(KubeAway *away,
		       void (*fn)(const RdmadDevice *device, const char *name, gboolean is_vf,
				  gpointer data),
		       gpointer data)
{
	GHashTableIter iter;
	gpointer id, name;

	away_update(away);
	g_hash_table_iter_init(&iter, away->away);
	while (g_hash_table_iter_next(&iter, &id, &name))
		fn(g_hash_table_lookup(away->seen, id), name, has_function(away, id, "/physfn"),
		   data);
}

KubeAway *kube_away_new(RdmadModule *self)
{
	KubeAway *away = g_new0(KubeAway, 1);

	away->self = self;
	away->seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
					   (GDestroyNotify)rdmad_device_unref);
	away->away = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	away->devices =
		rdmad_inventory_watch(rdmad_module_inventory(self), self, &device_ops, away);
	return away;
}

void kube_away_free(KubeAway *away)
{
	if (!away)
		return;
	rdmad_watch_free(away->devices);
	g_hash_table_unref(away->seen);
	g_hash_table_unref(away->away);
	g_free(away);
}
