/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/inventory.h>

#include "service/away.h"

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
