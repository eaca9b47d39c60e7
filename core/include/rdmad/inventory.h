/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inventory: the devices of this node
 *
 * Watches are notified from the top of the loop, never from inside a call that changed the
 * inventory.  A new watch gets `added` for each present device.  Devices are in the order of their
 * ids, with numbers compared as numbers (mlx5_2 before mlx5_10).
 */
#pragma once

#include <rdmad/types.h>

/* Return a device or NULL, borrowed until the turn of the loop ends. */
RDMAD_API const RdmadDevice *rdmad_inventory_lookup(RdmadInventory *inv, const char *id);
RDMAD_API const RdmadDevice *rdmad_inventory_lookup_name(RdmadInventory *inv, const char *name);
RDMAD_API guint rdmad_inventory_count(RdmadInventory *inv);
/* Returns device `index` in order, borrowed likewise; `index` is less than the count. */
RDMAD_API const RdmadDevice *rdmad_inventory_nth(RdmadInventory *inv, guint index);

/* Return the number of GPUs, and GPU `index`, borrowed likewise. */
RDMAD_API guint rdmad_inventory_gpu_count(RdmadInventory *inv);
RDMAD_API const RdmadGpu *rdmad_inventory_gpu(RdmadInventory *inv, guint index);

/* A device in the network namespace of a pod, or one that has not returned from it.  Such a device
 * is not among the devices above. */
typedef struct {
	/* As it left: without GIDs and addresses, which are those of a namespace.  After a restart
	 * of rdmad it has its names, ports, interfaces and what its PCI function tells. */
	const RdmadDevice *device;
	char *allocation; /* id of the holder with which it left, and which may have ended */
	gint64 since_us;  /* wall clock, microseconds since 1970 */
} RdmadAwayDevice;

/* Returns the device of that id that is away, borrowed until the turn of the loop ends, or NULL. */
RDMAD_API const RdmadAwayDevice *rdmad_inventory_find_away(RdmadInventory *inv, const char *id);
RDMAD_API void rdmad_inventory_foreach_away(RdmadInventory *inv,
					    void (*fn)(const RdmadAwayDevice *device,
						       gpointer data),
					    gpointer data);

/* Returns the devices on the host and those that are away, in the order of their ids; each is
 * borrowed likewise. */
RDMAD_API GPtrArray *rdmad_inventory_list_everywhere(RdmadInventory *inv);
/* Returns a device by its id or its name, on the host or away, borrowed likewise, or NULL. */
RDMAD_API const RdmadDevice *rdmad_inventory_find_everywhere(RdmadInventory *inv, const char *name);

typedef struct {
	void (*added)(const RdmadDevice *dev, gpointer data);
	void (*changed)(const RdmadDevice *before, const RdmadDevice *now, gpointer data);
	/* rdmad_inventory_find_away() says whether it is in a pod. */
	void (*removed)(const RdmadDevice *dev, gpointer data);
	/* Called once after the calls above for a scan, to act on all of them.  A new watch gets it
	 * even if there is no device, but not before the first scan. */
	void (*settled)(gpointer data);
} RdmadInventoryOps;

/* `ops` must outlive the watch; NULL members are skipped. */
RDMAD_API RdmadWatch *rdmad_inventory_watch(RdmadInventory *inv, RdmadModule *owner,
					    const RdmadInventoryOps *ops,
					    gpointer data) G_GNUC_WARN_UNUSED_RESULT;

typedef struct {
	void (*scanned)(gpointer data);
} RdmadScanOps;

/* Calls `scanned` after each scan, with a change or without: the kernel may have reported a change
 * that is not in the inventory, such as of a module.  A new watch is called for the last scan, if
 * any.  `ops` must outlive the watch. */
RDMAD_API RdmadWatch *rdmad_inventory_watch_scans(RdmadInventory *inv, RdmadModule *owner,
						  const RdmadScanOps *ops,
						  gpointer data) G_GNUC_WARN_UNUSED_RESULT;

/* Frees the watch of any service; may be called from its callback.  Does nothing if `watch` is
 * NULL. */
RDMAD_API void rdmad_watch_free(RdmadWatch *watch);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadWatch, rdmad_watch_free)
