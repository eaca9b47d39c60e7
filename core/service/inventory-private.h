/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/inventory.h>
#include <rdmad/state.h>
#include <rdmad/sysroot.h>

typedef struct RdmadAwayTable RdmadAwayTable;

RdmadInventory *rdmad_inventory_new(RdmadLoop *loop, RdmadEventLog *event_log);
void rdmad_inventory_free(RdmadInventory *inv);
/* Borrows the table of devices that are away; NULL: no device is. */
void rdmad_inventory_set_away(RdmadInventory *inv, RdmadAwayTable *away);
/* Sets whether RDMA namespaces are exclusive: devices can move into pods. */
void rdmad_inventory_set_can_move(RdmadInventory *inv, gboolean can_move);
/* Takes the arrays over; `gpus` NULL: keeps the GPUs.  Posts the differences to the event log, and
 * notifies the watchers on the next turn. */
void rdmad_inventory_replace(RdmadInventory *inv, GPtrArray *devices, GPtrArray *gpus);
/* The same for some devices of the inventory (taken over). */
void rdmad_inventory_update(RdmadInventory *inv, GPtrArray *found);
/* Reports of ports, see port-history.h.  Reports of unknown ports are ignored. */
void rdmad_inventory_expect_events(RdmadInventory *inv, const char *id);
void rdmad_inventory_port_event(RdmadInventory *inv, const char *id, guint port, gboolean active);
/* Records that the device has another holder, if it is present; see port-history.h. */
void rdmad_inventory_holder_changed(RdmadInventory *inv, const char *id);
/* Call before a scan whose result is passed to rdmad_inventory_replace() or
 * rdmad_inventory_update(). */
void rdmad_inventory_begin_scan(RdmadInventory *inv);
/* Marks a device as given up by its driver until it is removed or re-added. */
void rdmad_inventory_set_fatal(RdmadInventory *inv, const char *id);
/* Frees the owner's watches.  Returns their number. */
guint rdmad_inventory_reap(RdmadInventory *inv, const RdmadModule *owner);

/* ---- away.c ---- */

/*
 * Away: the devices of this host that are in the network namespace of a pod
 *
 * A device is away when it leaves the host while an allocation has it that may move it, and its PCI
 * function stays with its driver.  This needs exclusive RDMA namespaces; without them only the
 * interface of a port moves, and its RDMA device stays on the host (`netdev_in_pod`).  Both are
 * away until they return, also after the end of the allocation.  They are written to the
 * database, because a pod outlives rdmad.
 */

/* Reads what an earlier rdmad wrote.  Errors as those of rdmad_tables_open(). */
RdmadAwayTable *rdmad_away_open(RdmadState *state, RdmadAllocations *allocations,
				const RdmadSysroot *sysroot, GError **error);
void rdmad_away_close(RdmadAwayTable *away);

/* Judges a scan: `before` and `now` are all devices of the last scan and of this one, sorted by id.
 * `can_move` FALSE: RDMA namespaces are shared.  Returns whether a device was away before and is
 * gone or back now, or is away now. */
gboolean rdmad_away_scanned(RdmadAwayTable *away, const GPtrArray *before, const GPtrArray *now,
			    gboolean can_move);
/* Sets `netdev_in_pod` of the ports of a device that is not published yet; `last`: of the last
 * scan, or NULL. */
void rdmad_away_set_ports(RdmadAwayTable *away, const RdmadDevice *last, RdmadDevice *now);

const RdmadAwayDevice *rdmad_away_find(RdmadAwayTable *away, const char *id);
void rdmad_away_foreach(RdmadAwayTable *away,
			void (*fn)(const RdmadAwayDevice *device, gpointer data), gpointer data);
