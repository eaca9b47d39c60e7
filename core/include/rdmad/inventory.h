/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inventory: the devices of this node
 *
 * Watchers are notified from the top of the loop, never from inside a call that changed the
 * inventory.  A new watch gets `added` for each present device.  Devices come in the order of their
 * ids, with numbers compared as numbers (mlx5_2 before mlx5_10).
 */
#pragma once

#include <rdmad/types.h>

/* A borrowed device, valid until the callback or the turn of the loop ends; ref it to keep it. */
RDMAD_API const RdmadDevice *rdmad_inventory_lookup(RdmadInventory *inv, const char *id);
RDMAD_API const RdmadDevice *rdmad_inventory_lookup_name(RdmadInventory *inv, const char *name);
RDMAD_API guint rdmad_inventory_count(RdmadInventory *inv);
/* In order; `index` below the count. */
RDMAD_API const RdmadDevice *rdmad_inventory_nth(RdmadInventory *inv, guint index);

RDMAD_API guint rdmad_inventory_gpu_count(RdmadInventory *inv);
RDMAD_API const RdmadGpu *rdmad_inventory_gpu(RdmadInventory *inv, guint index);

typedef struct {
	void (*added)(const RdmadDevice *dev, gpointer data);
	void (*changed)(const RdmadDevice *before, const RdmadDevice *now, gpointer data);
	void (*removed)(const RdmadDevice *dev, gpointer data);
	/* Called once after the calls above for one scan: the moment to act on the whole.  A new
	 * watch gets it even when there is no device, but not before the first scan. */
	void (*settled)(gpointer data);
} RdmadInventoryOps;

/* `ops` must outlive the watch; NULL members are skipped. */
RDMAD_API RdmadWatch *rdmad_inventory_watch(RdmadInventory *inv, RdmadModule *owner,
					    const RdmadInventoryOps *ops,
					    gpointer data) G_GNUC_WARN_UNUSED_RESULT;

typedef struct {
	void (*scanned)(gpointer data);
} RdmadScanOps;

/* Called once after each scan, whether or not it found a change: the kernel has reported something, which
 * may be about what the inventory does not hold, such as a module.  A new watch is called for the last
 * scan. */
RDMAD_API RdmadWatch *rdmad_inventory_watch_scans(RdmadInventory *inv, RdmadModule *owner,
						  const RdmadScanOps *ops,
						  gpointer data) G_GNUC_WARN_UNUSED_RESULT;

/* Any service's watch; takes NULL, may be called from a callback of it. */
RDMAD_API void rdmad_watch_free(RdmadWatch *watch);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadWatch, rdmad_watch_free)
