/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <rdmad/inventory.h>

RdmadInventory *rdmad_inventory_new(RdmadLoop *loop, RdmadJournal *journal);
void rdmad_inventory_free(RdmadInventory *inv);
/* Takes the arrays over.  Works out what was added, removed, changed, posts it to the journal, and
 * tells the watchers on the next turn. */
void rdmad_inventory_replace(RdmadInventory *inv, GPtrArray *devices, GPtrArray *gpus);
/* Marks a device as given up by its driver until it is removed or re-added. */
void rdmad_inventory_set_fatal(RdmadInventory *inv, const char *id);
guint rdmad_inventory_reap(RdmadInventory *inv, const RdmadModule *owner);
