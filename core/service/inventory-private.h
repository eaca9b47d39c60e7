/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/inventory.h>

RdmadInventory *rdmad_inventory_new(RdmadLoop *loop, RdmadEventLog *event_log);
void rdmad_inventory_free(RdmadInventory *inv);
/* Takes the arrays over; `gpus` NULL: they stay.  Works out what was added, removed, changed, posts it to the event log, and
 * tells the watchers on the next turn. */
void rdmad_inventory_replace(RdmadInventory *inv, GPtrArray *devices, GPtrArray *gpus);
/* What was told of ports, see port-history.h; of a port that is not known it is nothing. */
void rdmad_inventory_hears(RdmadInventory *inv, const char *id);
void rdmad_inventory_port_event(RdmadInventory *inv, const char *id, guint port, gboolean active);
/* A look at the hardware begins, whose result comes by rdmad_inventory_replace(). */
void rdmad_inventory_look_begins(RdmadInventory *inv);
/* Marks a device as given up by its driver until it is removed or re-added. */
void rdmad_inventory_set_fatal(RdmadInventory *inv, const char *id);
guint rdmad_inventory_reap(RdmadInventory *inv, const RdmadModule *owner);
