/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From one configuration to the next, as a whole or not at all
 *
 * Modules that stay come first, since what they refuse can be taken back; then the new ones, which
 * can be ended again; last, and without a way to fail, the end of those that are no longer named.
 */
#define RDMAD_LOG_TOPIC "daemon"

#include <rdmad/log.h>

#include "daemon/module-private.h"
#include "daemon/modules-private.h"

static gboolean slot_reload(RdmadModuleSlot *slot, const RdmadSettings *settings, GError **error)
{
	const RdmadModuleEntry *entry = rdmad_settings_module(settings, slot->name);

	if (!entry || slot->state != RDMAD_MODULE_RUNNING)
		return TRUE;
	return rdmad_module_reload(slot->module, entry->config, error);
}

/* Gives the first `n` modules their old settings back. */
static void modules_take_back(RdmadModules *modules, guint n, const RdmadSettings *before)
{
	while (n-- > 0) {
		g_autoptr(GError) problem = NULL;

		if (!slot_reload(g_ptr_array_index(modules->slots, n), before, &problem))
			rdmad_err("cannot go back to the old configuration: %s", problem->message);
	}
}

static gboolean modules_reload_staying(RdmadModules *modules, const RdmadSettings *before,
				       const RdmadSettings *now, GError **error)
{
	for (guint i = 0; i < modules->slots->len; i++) {
		RdmadModuleSlot *slot = g_ptr_array_index(modules->slots, i);

		/* One that is about to end needs no settings, and keeps its old ones. */
		if (slot_reload(slot, now, error))
			continue;
		modules_take_back(modules, i, before);
		return FALSE;
	}
	return TRUE;
}

/* A module that is new, or optional and was not to be had before. */
static gboolean modules_start_one(RdmadModules *modules, const RdmadModuleEntry *entry,
				  const char *module_dir, GPtrArray *started, GError **error)
{
	RdmadModuleSlot *slot = rdmad_modules_slot(modules, entry->name);

	if (slot && slot->module)
		return TRUE;
	if (!slot)
		slot = rdmad_modules_add_slot(modules, entry);
	slot->optional = entry->optional;
	g_ptr_array_add(started, slot);
	return rdmad_module_slot_load(modules, slot, module_dir, error) &&
	       rdmad_module_slot_create(slot, entry->config, error) &&
	       rdmad_module_slot_start(slot, error);
}

static gboolean modules_start_new(RdmadModules *modules, const RdmadSettings *now,
				  GPtrArray *started, GError **error)
{
	for (guint i = 0; i < now->modules->len; i++)
		if (!modules_start_one(modules, g_ptr_array_index(now->modules, i), now->module_dir,
				       started, error))
			return FALSE;
	return TRUE;
}

/* A failed one that `before` names stays in the list. */
static void modules_end_new(RdmadModules *modules, GPtrArray *started, const RdmadSettings *before)
{
	for (guint i = started->len; i-- > 0;) {
		RdmadModuleSlot *slot = g_ptr_array_index(started, i);

		rdmad_module_slot_end(slot);
		if (rdmad_settings_module(before, slot->name))
			slot->state = RDMAD_MODULE_FAILED;
		else
			g_ptr_array_remove(modules->slots, slot);
	}
}

static void modules_end_removed(RdmadModules *modules, const RdmadSettings *now)
{
	for (guint i = modules->slots->len; i-- > 0;) {
		const RdmadModuleSlot *slot = g_ptr_array_index(modules->slots, i);

		if (rdmad_settings_module(now, slot->name))
			continue;
		rdmad_info("module %s ends: the configuration no longer names it", slot->name);
		g_ptr_array_remove_index(modules->slots, i);
	}
}

gboolean rdmad_modules_reload(RdmadModules *modules, const RdmadSettings *before,
			      const RdmadSettings *now, GError **error)
{
	g_autoptr(GPtrArray) started = g_ptr_array_new();

	if (!modules_reload_staying(modules, before, now, error))
		return FALSE;
	if (!modules_start_new(modules, now, started, error)) {
		modules_end_new(modules, started, before);
		modules_take_back(modules, modules->slots->len, before);
		return FALSE;
	}
	modules_end_removed(modules, now);
	return TRUE;
}
