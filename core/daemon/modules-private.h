/* SPDX-License-Identifier: Apache-2.0 */
/* What modules.c and modules-reload.c share: a place in the list. */
#pragma once

#include "daemon/modules.h"

typedef struct {
	char *name;
	gboolean optional;
	RdmadModuleState state;
	RdmadModule *module; /* NULL: failed, or ended */
	char *error;	     /* of a failed one */
} RdmadModuleSlot;

struct RdmadModules {
	const RdmadServices *services;
	GHashTable *classes; /* name -> RdmadModuleClass, of all that were ever loaded */
	GPtrArray *slots;    /* RdmadModuleSlot * */
	guint draining;	     /* modules that have not said so yet */
	void (*drained)(gpointer data);
	gpointer drained_data;
};

RdmadModuleSlot *rdmad_modules_slot(const RdmadModules *modules, const char *name);
/* At the end of the list. */
RdmadModuleSlot *rdmad_modules_add_slot(RdmadModules *modules, const RdmadModuleEntry *entry);

/* Steps of a module's life.  TRUE also for an optional one that failed; after that, and for one that
 * failed before, they do nothing. */
gboolean rdmad_module_slot_load(RdmadModules *modules, RdmadModuleSlot *slot,
				const char *module_dir, GError **error);
gboolean rdmad_module_slot_create(RdmadModuleSlot *slot, const RdmadConfigNode *config,
				  GError **error);
gboolean rdmad_module_slot_start(RdmadModuleSlot *slot, GError **error);
/* Stops and destroys, if there is something to. */
void rdmad_module_slot_end(RdmadModuleSlot *slot);
